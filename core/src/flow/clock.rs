//! The time that stages see: the machine's, or a test's.

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::sync::{Arc, Mutex};
use crate::time::{Deadline, now};
use crate::wait::wake_all;

/// The clock of a [`Scope`](super::Scope). Cheap to clone; clones are the same clock.
#[derive(Clone)]
pub struct Clock(Arc<Kind>);

enum Kind {
    Machine(Instant),
    Hand(Mutex<Hand>),
}

#[derive(Default)]
struct Hand {
    now: Duration,
    sleepers: BTreeMap<Sleeper, (Duration, Waker)>,
}

/// An island that sleeps: its number in its scope, and its address, since scopes may share a clock.
pub(super) type Sleeper = (u64, usize);

impl Clock {
    /// The machine's monotonic clock, which begins now.
    #[must_use]
    pub fn machine() -> Self {
        Clock(Arc::new(Kind::Machine(now())))
    }

    /// A clock that stands still until [`advance`](Self::advance) is called.
    #[must_use]
    pub fn hand() -> Self {
        Clock(Arc::new(Kind::Hand(Mutex::default())))
    }

    /// The time since the clock began.
    #[must_use]
    pub fn now(&self) -> Duration {
        match &*self.0 {
            Kind::Machine(start) => now().saturating_duration_since(*start),
            Kind::Hand(hand) => hand.lock().now,
        }
    }

    /// Moves a clock made by [`hand`](Self::hand) and wakes every stage whose time has come. False,
    /// and nothing else, for the machine's clock.
    pub fn advance(&self, by: Duration) -> bool {
        let Kind::Hand(hand) = &*self.0 else { return false };
        let mut state = hand.lock();
        state.now = state.now.saturating_add(by);
        let now = state.now;
        let (due, later) = std::mem::take(&mut state.sleepers)
            .into_iter()
            .partition::<BTreeMap<_, _>, _>(|(_, (at, _))| *at <= now);
        state.sleepers = later;
        drop(state);
        wake_all(due.into_values().map(|(_, waker)| waker));
        true
    }

    /// Until when `who` may sleep: on the machine's clock as a deadline, on a clock moved by hand by an
    /// entry that `advance` wakes.
    pub(super) fn deadline(
        &self,
        who: Sleeper,
        until: Option<Duration>,
        waker: &Waker,
    ) -> Deadline {
        match (&*self.0, until) {
            (Kind::Machine(start), Some(at)) => {
                start.checked_add(at).map_or(Deadline::NEVER, Deadline::at)
            }
            (Kind::Machine(_), None) => Deadline::NEVER,
            (Kind::Hand(hand), Some(at)) => {
                let waker = waker.clone();
                let mut state = hand.lock();
                let due = at <= state.now;
                let replaced = state.sleepers.insert(who, (at, waker));
                drop(state);
                drop(replaced);
                if due { Deadline::after(Duration::ZERO) } else { Deadline::NEVER }
            }
            (Kind::Hand(hand), None) => {
                let replaced = hand.lock().sleepers.remove(&who);
                drop(replaced);
                Deadline::NEVER
            }
        }
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}
