//! recover, `recover_with`, retry: what stands in for a failure.

use std::task::{Poll, ready};
use std::time::Duration;

use super::Inlet;
use crate::error::Error;
use crate::flow::build::Build;
use crate::flow::context::{Context, Gone, Signal, Up, Upstream};
use crate::flow::edge::positive;
use crate::flow::guard::guarded;
use crate::flow::held::{Kept, Own, own};
use crate::flow::meter::Meter;
use crate::flow::plan::Tempo;
use crate::flow::scope::ScopeCore;
use crate::flow::{Flow, NotUsed, Source};
use crate::model::demand::Stage;
use crate::sync::Arc;

impl<T: Send + 'static> Flow<T, T> {
    /// If the upstream fails, `function` may make a last element of the error; then the stream
    /// completes. `None` lets the failure pass.
    #[must_use]
    pub fn recover(function: impl Fn(&Error) -> Option<T> + Send + Sync + 'static) -> Self {
        let function = own(function);
        Flow::from_make(move |build, up| {
            let meter = build.meter("recover", Stage::each(u64::MAX).expect("not 0"));
            let (inlet, function) = (Inlet::new(up, meter), Arc::clone(&function));
            Ok((Box::new(Recover { inlet, function, last: Kept::default() }), NotUsed))
        })
        .at(Tempo::EACH)
    }

    /// If the upstream fails, goes on with `source`, whose own failure passes.
    #[must_use]
    pub fn recover_with(source: Source<T>) -> Self {
        Flow::from_make(move |build, up| {
            let source = source.clone();
            let plan = Plan { source, left: 1, wait: Duration::ZERO, most: Duration::ZERO };
            Ok((again("recover_with", build, up, plan), NotUsed))
        })
        .at(Tempo::EACH)
    }
}

impl<T: Send + 'static> Source<T> {
    /// The source run again, from its start, each time it fails: at most `attempts` runs in all. The
    /// wait before the second run is `first`, and twice as long each time, up to `most`, on the
    /// scope's clock. Elements that were handed down stay so. The last failure passes.
    ///
    /// # Errors
    /// `InvalidArgument` for 0 attempts.
    pub fn retry(&self, attempts: u64, first: Duration, most: Duration) -> Result<Self, Error> {
        positive("retry", "attempts", attempts)?;
        let source = self.clone();
        Ok(Source::from_make(move |build| {
            let (up, NotUsed) = source.make(build)?;
            let left = attempts.saturating_sub(1);
            let plan = Plan { source: source.clone(), left, wait: first.min(most), most };
            Ok((again("retry", build, up, plan), NotUsed))
        }))
    }
}

struct Recover<T, F> {
    inlet: Inlet<T>,
    function: Arc<Own<F>>,
    last: Kept<Option<T>>,
}

impl<T, F> Upstream<T> for Recover<T, F>
where
    T: Send,
    F: Fn(&Error) -> Option<T> + Send + Sync,
{
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        if !self.inlet.ended() {
            if let Some(input) = ready!(self.inlet.pull(context)) {
                self.inlet.emit(1);
                return Poll::Ready(Signal::Next(input));
            }
            if let Some(error) = self.inlet.mend() {
                match guarded(self.inlet.name(), || Ok((self.function)(&error))) {
                    Ok(Some(last)) => *self.last = Some(last),
                    Ok(None) => return self.inlet.fail(error),
                    Err(error) => return self.inlet.fail(error),
                }
            }
        }
        if self.last.is_none() {
            return self.inlet.end();
        }
        if !self.inlet.wanted() {
            return Poll::Pending;
        }
        self.inlet.emit(0);
        let last = self.last.take();
        Poll::Ready(last.map_or(Signal::Complete, Signal::Next))
    }
}

/// What is run again after a failure, how often and after how long.
struct Plan<T> {
    source: Source<T>,
    left: u64,
    wait: Duration,
    most: Duration,
}

fn again<T: Send + 'static>(kind: &str, build: &mut Build, up: Up<T>, plan: Plan<T>) -> Up<T> {
    let meter = build.meter(kind, Stage::each(u64::MAX).expect("not 0"));
    Box::new(Again { up, meter, plan, scope: build.scope(), due: None })
}

struct Again<T> {
    up: Up<T>,
    meter: Meter,
    plan: Plan<T>,
    scope: Arc<ScopeCore>,
    /// When the next run begins, while none is on.
    due: Option<Duration>,
}

impl<T: Send + 'static> Again<T> {
    /// A run has failed: true if there is another.
    fn failed(&mut self, now: Duration) -> bool {
        self.up = Box::new(Gone); // whatever is left of it stops before the wait
        let Some(left) = self.plan.left.checked_sub(1) else { return false };
        self.plan.left = left;
        self.due = Some(now.saturating_add(self.plan.wait));
        self.plan.wait = self.plan.wait.saturating_mul(2).min(self.plan.most);
        true
    }

    /// Begins the next run, which is asked for what the one before has not given.
    fn open(&self) -> Result<Up<T>, Error> {
        let mut build = Build::later(&self.scope)?;
        let (mut up, NotUsed) = guarded(self.meter.name(), || self.plan.source.make(&mut build))?;
        build.commit()?;
        up.request(self.meter.asked());
        Ok(up)
    }
}

impl<T: Send + 'static> Upstream<T> for Again<T> {
    fn request(&mut self, n: u64) {
        let ask = self.meter.request(n);
        self.up.request(ask);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        while !context.stopping() {
            let now = context.now();
            let mut failure = None;
            if let Some(due) = self.due {
                if now < due {
                    context.wake_at(due);
                    return Poll::Pending;
                }
                self.due = None;
                match self.open() {
                    Ok(up) => self.up = up,
                    Err(error) => failure = Some(error),
                }
            }
            let error = match failure {
                Some(error) => error,
                None => match self.up.poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Signal::Complete) => return Poll::Ready(Signal::Complete),
                    Poll::Ready(Signal::Fail(error)) => error,
                    Poll::Ready(Signal::Next(element)) => {
                        if !self.meter.arrive() {
                            continue;
                        }
                        let ask = self.meter.emit(1);
                        self.up.request(ask);
                        return Poll::Ready(Signal::Next(element));
                    }
                },
            };
            if !self.failed(now) {
                return Poll::Ready(Signal::Fail(error));
            }
        }
        Poll::Pending
    }
}
