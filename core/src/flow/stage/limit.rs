//! Limits of time: on the first element, on each, on the whole; and what lies within a time.

use std::task::Poll;
use std::time::Duration;

use super::Inlet;
use crate::error::{Error, ErrorKind};
use crate::flow::context::{Context, Signal, Upstream};
use crate::flow::plan::Tempo;
use crate::flow::{Flow, NotUsed};
use crate::model::demand::Stage;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Idle,
    Initial,
    Completion,
    Take,
    Drop,
}

impl<T: Send + 'static> Flow<T, T> {
    /// Fails with `TimedOut` if an element was asked for and none has come for `limit`. Time in which
    /// nothing is wanted does not count.
    #[must_use]
    pub fn idle_timeout(limit: Duration) -> Self {
        Self::within("idle_timeout", Kind::Idle, limit)
    }

    /// Fails with `TimedOut` if no first element has come within `limit` of the start.
    #[must_use]
    pub fn initial_timeout(limit: Duration) -> Self {
        Self::within("initial_timeout", Kind::Initial, limit)
    }

    /// Fails with `TimedOut` if the upstream has not ended within `limit` of the start.
    #[must_use]
    pub fn completion_timeout(limit: Duration) -> Self {
        Self::within("completion_timeout", Kind::Completion, limit)
    }

    /// What comes within `time` of the start; then the upstream is cancelled.
    #[must_use]
    pub fn take_within(time: Duration) -> Self {
        Self::within("take_within", Kind::Take, time)
    }

    /// What comes later than `time` after the start. For each that is dropped another is asked for.
    #[must_use]
    pub fn drop_within(time: Duration) -> Self {
        Self::within("drop_within", Kind::Drop, time)
    }

    fn within(name: &'static str, kind: Kind, limit: Duration) -> Self {
        Flow::from_make(move |build, up| {
            let meter = build.meter(name, Stage::each(u64::MAX).expect("not 0"));
            let inlet = Inlet::new(up, meter);
            Ok((Box::new(Within { inlet, kind, limit, since: None, met: false }), NotUsed))
        })
        .at(if kind == Kind::Drop { Tempo::FREE } else { Tempo::EACH })
    }
}

struct Within<T> {
    inlet: Inlet<T>,
    kind: Kind,
    limit: Duration,
    /// From when on it is counted.
    since: Option<Duration>,
    /// A first element came.
    met: bool,
}

impl<T: Send> Within<T> {
    /// True once the time is over; else the stage is asked again then.
    fn over(&mut self, context: &mut Context<'_>) -> bool {
        let now = context.now();
        let due = self.since.get_or_insert(now).saturating_add(self.limit);
        if now < due {
            context.wake_at(due);
        }
        now >= due
    }

    fn late(&mut self, what: &str) -> Poll<Signal<T>> {
        let message = format!("stage {:?}: {what} within {:?}", self.inlet.name(), self.limit);
        self.inlet.fail(Error::new(ErrorKind::TimedOut, message))
    }
}

impl<T: Send> Upstream<T> for Within<T> {
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        let whole = matches!(self.kind, Kind::Completion | Kind::Take);
        if whole && self.over(context) {
            if self.kind == Kind::Completion {
                return self.late("no end");
            }
            self.inlet.close(Ok(()));
            return self.inlet.end();
        }
        loop {
            match self.inlet.pull(context) {
                Poll::Ready(Some(_)) if self.kind == Kind::Drop && !self.over(context) => {
                    self.inlet.discard();
                    if context.stopping() {
                        return Poll::Pending;
                    }
                }
                Poll::Ready(Some(input)) => {
                    if self.kind == Kind::Idle {
                        self.since = None;
                    }
                    self.met = true;
                    self.inlet.emit(1);
                    return Poll::Ready(Signal::Next(input));
                }
                Poll::Ready(None) => return self.inlet.end(),
                Poll::Pending => {
                    let counts = match self.kind {
                        Kind::Idle if !self.inlet.wanted() => {
                            self.since = None;
                            false
                        }
                        Kind::Idle => true,
                        Kind::Initial => !self.met,
                        Kind::Drop => {
                            self.since.get_or_insert(context.now());
                            false
                        }
                        Kind::Completion | Kind::Take => false, // looked at above
                    };
                    if counts && self.over(context) {
                        return self.late("no element");
                    }
                    return Poll::Pending;
                }
            }
        }
    }
}
