//! What looks after the limits of time on one link: a thread that is there while a limit is.

use std::time::Instant;

use super::spawn_quiet;
use crate::error::{Error, ErrorKind};
use crate::sync::Arc;
use crate::time::{Deadline, now};
use crate::wait::block_on;
use crate::wait::watched::{Watched, until};

/// Ends whatever is due at a moment, and answers when the next is. Must not wait.
type Look = Box<dyn Fn(Instant) -> Option<Instant> + Send + Sync>;

/// Looks at the moments that were set, late by no more than the system's timer. One thread, however
/// many they are: it sleeps until the earliest, is woken when an earlier one is set, and ends when a
/// look finds that nothing is due any more. What has ended before its moment is not taken out; the
/// look at that moment finds nothing to do.
pub(crate) struct Alarm(Arc<Inner>);

struct Inner {
    clock: Watched<Clock>,
    look: Look,
}

#[derive(Default)]
struct Clock {
    /// When to look next.
    next: Option<Instant>,
    /// There is a thread.
    runs: bool,
    /// The link is over.
    over: bool,
}

impl Alarm {
    pub(crate) fn new(look: impl Fn(Instant) -> Option<Instant> + Send + Sync + 'static) -> Self {
        Alarm(Arc::new(Inner { clock: Watched::new(Clock::default()), look: Box::new(look) }))
    }

    /// Looks at `at`, or earlier if that is due earlier. What is due then has to be known to the look
    /// before. Never waits.
    ///
    /// # Errors
    /// `Io` if the system gives no thread.
    pub(crate) fn set(&self, at: Instant) -> Result<(), Error> {
        if self.0.clock.with(|clock| clock.over || clock.covers(at)) {
            return Ok(());
        }
        let starts = self.0.clock.update(|clock| {
            clock.next = Some(clock.next.map_or(at, |next| next.min(at)));
            !std::mem::replace(&mut clock.runs, true)
        });
        if !starts {
            return Ok(());
        }
        let inner = Arc::clone(&self.0);
        spawn_quiet("alarm", move || inner.run()).map(drop).map_err(|e| {
            self.0.clock.with(|clock| clock.runs = false);
            Error::new(ErrorKind::Io, format!("no thread to look after a limit: {e}"))
        })
    }

    /// Looks no more.
    pub(crate) fn end(&self) {
        self.0.clock.update(|clock| clock.over = true);
    }

    /// There is a thread.
    #[cfg(test)]
    fn runs(&self) -> bool {
        self.0.clock.with(|clock| clock.runs)
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.end();
    }
}

impl Clock {
    fn covers(&self, at: Instant) -> bool {
        self.runs && self.next.is_some_and(|next| next <= at)
    }
}

impl Inner {
    fn run(self: Arc<Self>) {
        while let Some(at) = self.clock.with(Self::next) {
            let moved =
                move |clock: &mut Clock| (clock.over || clock.next != Some(at)).then_some(());
            let moved = until(Arc::clone(&self), |inner| &inner.clock, moved);
            if block_on(moved, Deadline::at(at)).is_ok() {
                continue;
            }
            self.clock.with(|clock| clock.next = None); // what is set from here on may be new to the look
            let later = (self.look)(now());
            self.clock.with(|clock| clock.next = clock.next.into_iter().chain(later).min());
        }
    }

    /// When to look next. Without a moment, or a link, the thread ends.
    fn next(clock: &mut Clock) -> Option<Instant> {
        let next = clock.next.filter(|_| !clock.over);
        clock.runs = next.is_some();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(20);

    fn counting(later: Option<Duration>) -> (Alarm, mpsc::Receiver<Instant>) {
        let (looked, looks) = mpsc::channel();
        let alarm = Alarm::new(move |at| {
            let _ = looked.send(at);
            later.map(|later| at + later)
        });
        (alarm, looks)
    }

    fn ended(alarm: &Alarm) {
        let end = now() + LIMIT;
        while alarm.runs() {
            assert!(now() < end, "the thread stays");
            std::thread::yield_now();
        }
    }

    #[test]
    fn it_looks_when_the_earliest_is_due_and_its_thread_goes_when_nothing_is() {
        let (alarm, looks) = counting(None);
        let early = now() + Duration::from_millis(20);
        alarm.set(early + LIMIT).expect("a thread");
        alarm.set(early).expect("woken");
        assert!(looks.recv_timeout(LIMIT).expect("a look") >= early);
        ended(&alarm);
        assert!(looks.try_recv().is_err(), "one look");
        let again = now();
        alarm.set(again).expect("a thread again");
        assert!(looks.recv_timeout(LIMIT).expect("a look") >= again);
    }

    #[test]
    fn what_a_look_finds_for_later_is_looked_at_then() {
        let (alarm, looks) = counting(Some(Duration::from_millis(1)));
        alarm.set(now()).expect("a thread");
        let first = looks.recv_timeout(LIMIT).expect("a look");
        assert!(looks.recv_timeout(LIMIT).expect("another") >= first + Duration::from_millis(1));
        alarm.end();
        ended(&alarm);
        alarm.set(now()).expect("nothing to do");
        assert!(!alarm.runs());
    }
}
