//! A source that is a clock.

use std::task::Poll;
use std::time::Duration;

use super::blueprint::{NotUsed, Source};
use super::context::{Context, Signal, Upstream};
use super::meter::Meter;
use super::stage::some_time;
use crate::error::Error;
use crate::model::demand::Stage;

impl<T: Clone + Send + Sync + 'static> Source<T> {
    /// `value` each time `every` has passed since the start. A tick that nobody has asked for is
    /// left out, so ticks never pile up.
    ///
    /// # Errors
    /// `InvalidArgument` for no time.
    pub fn tick(every: Duration, value: T) -> Result<Self, Error> {
        some_time("tick", every)?;
        Ok(Source::from_make(move |build| {
            let meter = build.meter("tick", Stage::each(u64::MAX).expect("not 0"));
            let value = value.clone();
            Ok((Box::new(Tick { meter, every, value, start: None, next: None }), NotUsed))
        }))
    }
}

struct Tick<T> {
    meter: Meter,
    every: Duration,
    value: T,
    start: Option<Duration>,
    /// The next tick, while one is wanted.
    next: Option<Duration>,
}

impl<T> Tick<T> {
    /// The first tick after `now`.
    fn after(&mut self, now: Duration) -> Duration {
        let start = *self.start.get_or_insert(now);
        let since = now.saturating_sub(start).as_nanos();
        let into = since.checked_rem(self.every.as_nanos()).unwrap_or(0);
        let into = Duration::from_nanos(u64::try_from(into).unwrap_or(u64::MAX));
        now.saturating_add(self.every.saturating_sub(into))
    }
}

impl<T: Clone + Send> Upstream<T> for Tick<T> {
    fn request(&mut self, n: u64) {
        self.meter.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        let now = context.now();
        self.start.get_or_insert(now);
        if !self.meter.wanted() {
            self.next = None;
            return Poll::Pending;
        }
        let at = match self.next {
            Some(at) => at,
            None => self.after(now),
        };
        if now < at {
            self.next = Some(at);
            context.wake_at(at);
            return Poll::Pending;
        }
        self.next = Some(self.after(now));
        let _asked_of_itself = self.meter.arrive();
        self.meter.emit(1);
        Poll::Ready(Signal::Next(self.value.clone()))
    }
}
