//! What passes between two stages of one island.

use std::task::{Poll, Waker};
use std::time::Duration;

use super::clock::Clock;
use crate::error::Error;
use crate::sync::{AtomicBool, Ordering};

/// What a stage hands down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal<T> {
    /// An element. Only against demand.
    Next(T),
    /// The end, as it should be. Needs no demand.
    Complete,
    /// The end, with its reason. Needs no demand.
    Fail(Error),
}

/// The side of a stage that faces downstream. Whoever owns it is its one subscriber; dropping it
/// cancels everything above.
pub trait Upstream<T>: Send {
    /// Adds `n` to the demand, up to 2^64 - 1; 0 is ignored.
    fn request(&mut self, n: u64);

    /// Hands down the next signal, or waits: then the context's waker is fired when asking again is
    /// worth while. After a terminal the stage is dropped and not asked again.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>>;
}

/// An upstream of any kind.
pub type Up<T> = Box<dyn Upstream<T>>;

/// What a stage may know while it is asked.
pub struct Context<'a> {
    waker: &'a Waker,
    clock: &'a Clock,
    stopping: &'a AtomicBool,
    alarm: Option<Duration>,
}

impl<'a> Context<'a> {
    pub(super) fn new(waker: &'a Waker, clock: &'a Clock, stopping: &'a AtomicBool) -> Self {
        Context { waker, clock, stopping, alarm: None }
    }

    /// Fired, it has the island ask again.
    #[must_use]
    pub fn waker(&self) -> &'a Waker {
        self.waker
    }

    /// The time since the scope's clock began.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Has the island ask again at `moment` at the latest, a time since the clock began. Said anew
    /// each time a stage waits.
    pub fn wake_at(&mut self, moment: Duration) {
        self.alarm = Some(self.alarm.map_or(moment, |other| other.min(moment)));
    }

    /// True once the scope is being shut down. A stage that loops without handing anything down looks
    /// here, and waits.
    #[must_use]
    pub fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(super) fn alarm(&self) -> Option<Duration> {
        self.alarm
    }
}

/// The upstream of a stage that has cancelled its own: it never says anything again.
pub(super) struct Gone;

impl<T> Upstream<T> for Gone {
    fn request(&mut self, _: u64) {}

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Signal<T>> {
        Poll::Pending
    }
}
