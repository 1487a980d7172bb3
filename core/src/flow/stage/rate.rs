//! throttle, delay: elements held back until their time.

use std::collections::VecDeque;
use std::task::Poll;
use std::time::Duration;

use super::Inlet;
use crate::error::{Error, ErrorKind};
use crate::flow::context::{Context, Signal, Upstream};
use crate::flow::edge::positive;
use crate::flow::held::Kept;
use crate::flow::plan::Tempo;
use crate::flow::{Flow, NotUsed};
use crate::model::demand::Stage;

impl<T: Send + 'static> Flow<T, T> {
    /// At most `elements` in each `per` on average, and at most `burst` at once after a pause. Holds
    /// one element; what is too fast waits above.
    ///
    /// # Errors
    /// `InvalidArgument` for 0 elements, no time or a burst of 0.
    pub fn throttle(elements: u64, per: Duration, burst: u64) -> Result<Self, Error> {
        positive("throttle", "elements", elements)?;
        positive("throttle burst", "elements", burst)?;
        some_time("throttle", per)?;
        // Times are counted in nanoseconds / elements, so that no rate is rounded.
        let each = per.as_nanos();
        let ahead = each.saturating_mul(u128::from(burst.saturating_sub(1)));
        Ok(Flow::from_make(move |build, up| {
            let meter = build.meter("throttle", Stage::each(1).expect("not 0"));
            let pace = Pace { elements: u128::from(elements), each, ahead, next: 0 };
            Ok((
                Box::new(Throttle { inlet: Inlet::new(up, meter), held: Kept::default(), pace }),
                NotUsed,
            ))
        })
        .at(Tempo::EACH))
    }

    /// Each element `by` later than it came, in order. Holds at most `room` of them; more wait above.
    ///
    /// # Errors
    /// `InvalidArgument` for a room of 0.
    pub fn delay(by: Duration, room: u64) -> Result<Self, Error> {
        positive("delay", "elements", room)?;
        Ok(Flow::from_make(move |build, up| {
            let meter = build.meter("delay", Stage::each(room).expect("not 0"));
            Ok((
                Box::new(Delay { inlet: Inlet::new(up, meter), held: Kept::default(), by }),
                NotUsed,
            ))
        })
        .at(Tempo::EACH))
    }
}

/// Refuses no time at all, naming what it was for.
pub(in crate::flow) fn some_time(what: &str, time: Duration) -> Result<Duration, Error> {
    if time.is_zero() {
        let message = format!("{what} of no time: more than 0 is needed");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    Ok(time)
}

/// When the next element may pass. `next` is when it would be due if all came evenly.
struct Pace {
    elements: u128,
    each: u128,
    ahead: u128,
    next: u128,
}

impl Pace {
    /// Passes one, or tells when it may pass.
    fn pass(&mut self, now: Duration) -> Result<(), Duration> {
        let now = now.as_nanos().saturating_mul(self.elements);
        let from = self.next.saturating_sub(self.ahead);
        if now < from {
            let nanos = from.div_ceil(self.elements);
            return Err(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)));
        }
        self.next = self.next.max(now).saturating_add(self.each);
        Ok(())
    }
}

struct Throttle<T> {
    inlet: Inlet<T>,
    held: Kept<Option<T>>,
    pace: Pace,
}

impl<T: Send> Upstream<T> for Throttle<T> {
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        loop {
            if let Some(element) = self.held.take() {
                match self.pace.pass(context.now()) {
                    Ok(()) => {
                        self.inlet.emit(1);
                        return Poll::Ready(Signal::Next(element));
                    }
                    Err(at) => {
                        *self.held = Some(element);
                        context.wake_at(at);
                        if self.inlet.ended() {
                            return Poll::Pending;
                        }
                    }
                }
            } else if self.inlet.ended() {
                return self.inlet.end();
            }
            match self.inlet.pull(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(input) => *self.held = self.held.take().or(input),
            }
        }
    }
}

struct Delay<T> {
    inlet: Inlet<T>,
    held: Kept<VecDeque<(Duration, T)>>,
    by: Duration,
}

impl<T: Send> Upstream<T> for Delay<T> {
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        loop {
            match self.held.front() {
                Some((at, _)) if *at <= context.now() => {
                    self.inlet.emit(1);
                    let first = self.held.pop_front();
                    return Poll::Ready(first.map_or(Signal::Complete, |(_, it)| Signal::Next(it)));
                }
                Some((at, _)) => {
                    context.wake_at(*at);
                    if self.inlet.ended() {
                        return Poll::Pending;
                    }
                }
                None if self.inlet.ended() => return self.inlet.end(),
                None => {}
            }
            match self.inlet.pull(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(input) => {
                    let at = context.now().saturating_add(self.by);
                    self.held.extend(input.map(|input| (at, input)));
                }
            }
        }
    }
}
