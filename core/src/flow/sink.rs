//! Where elements go: into a value, a function, a hand.

use std::task::{Poll, ready};

use super::blueprint::{Flow, NotUsed, Sink, Source};
use super::build::Build;
use super::context::{Context, Signal, Up};
use super::edge::{Credit, EdgeCore, EdgeOptions, SizeOf};
use super::guard::guarded;
use super::held::{Kept, own};
use super::island::{Drive, Interrupt};
use super::meter::Meter;
use super::outlet::Outlet;
use super::plan::Tempo;
use super::promise::{Completion, Promise};
use super::pump::Pump;
use super::source::edge;
use crate::error::Error;
use crate::model::demand::{Stage, is_request};
use crate::sync::Arc;

/// The part of a sink that differs. `None` from `next` ends it: the upstream is cancelled.
pub(super) trait Collect<T, R>: Send {
    /// One element. True to go on.
    fn next(&mut self, element: T) -> Result<bool, Error>;

    /// The result, once the upstream has completed or `next` said that it is enough.
    fn finish(&mut self) -> Result<R, Error>;
}

struct Drain<T, R, C> {
    up: Up<T>,
    collect: C,
    meter: Meter,
    promise: Promise<R>,
    begun: bool,
}

impl<T, R, C> Drain<T, R, C>
where
    R: Send + Sync + 'static,
    C: Collect<T, R>,
{
    fn settle(&mut self) {
        match guarded(self.meter.name(), || self.collect.finish()) {
            Ok(value) => self.promise.try_success(value),
            Err(error) => self.promise.end(error),
        };
    }
}

impl<T, R, C> Drive for Drain<T, R, C>
where
    T: Send,
    R: Send + Sync + 'static,
    C: Collect<T, R>,
{
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !std::mem::replace(&mut self.begun, true) {
            let ask = self.meter.request(u64::MAX);
            self.up.request(ask);
        }
        loop {
            if context.stopping() {
                return Poll::Pending;
            }
            match ready!(self.up.poll(context)) {
                Signal::Next(element) => {
                    if !self.meter.arrive() {
                        continue;
                    }
                    let ask = self.meter.emit(1);
                    if is_request(ask) {
                        self.up.request(ask);
                    }
                    match guarded(self.meter.name(), || self.collect.next(element)) {
                        Ok(true) => {}
                        Ok(false) => {
                            self.up = Box::new(super::context::Gone); // cancelled before it is told
                            self.settle();
                            return Poll::Ready(());
                        }
                        Err(error) => {
                            self.up = Box::new(super::context::Gone);
                            self.promise.end(error);
                            return Poll::Ready(());
                        }
                    }
                }
                Signal::Complete => {
                    self.settle();
                    return Poll::Ready(());
                }
                Signal::Fail(error) => {
                    self.promise.end(error);
                    return Poll::Ready(());
                }
            }
        }
    }

    fn stop(&mut self, why: &Error) {
        self.promise.end(why.clone());
    }
}

impl<T: Send + 'static, R: Send + Sync + 'static> Sink<T, Completion<R>> {
    /// A sink that asks for everything, round a collector made anew for each run.
    pub(super) fn drain<C: Collect<T, R> + 'static>(
        kind: &'static str,
        make: impl Fn() -> C + Send + Sync + 'static,
    ) -> Self {
        Sink::from_make(move |build, up| Ok(drained(build, up, kind, make(), Box::new(|| ()))))
    }
}

/// Runs the stages above into `collect`. `interrupt` ends a wait of the collector for something that
/// is no part of this crate.
pub(super) fn drained<T, R, C>(
    build: &mut Build,
    up: Up<T>,
    kind: &str,
    collect: C,
    interrupt: Interrupt,
) -> Completion<R>
where
    T: Send + 'static,
    R: Send + Sync + 'static,
    C: Collect<T, R> + 'static,
{
    let meter = build.meter(kind, Stage::each(u64::MAX).expect("not 0"));
    let promise = Promise::new();
    let completion = promise.completion();
    let name = meter.name().to_owned();
    build.island_with(name, Drain { up, collect, meter, promise, begun: false }, interrupt);
    completion
}

/// A fold, which most sinks are.
struct Folding<A, F, G> {
    state: Kept<Option<A>>,
    next: F,
    finish: G,
}

impl<T, R, A, F, G> Collect<T, R> for Folding<A, F, G>
where
    A: Send,
    F: FnMut(A, T) -> Result<(A, bool), Error> + Send,
    G: FnMut(A) -> Result<R, Error> + Send,
{
    fn next(&mut self, element: T) -> Result<bool, Error> {
        // Without a state the function panicked before, and the sink is over.
        let Some(state) = self.state.take() else { return Ok(false) };
        let (state, more) = (self.next)(state, element)?;
        *self.state = Some(state);
        Ok(more)
    }

    fn finish(&mut self) -> Result<R, Error> {
        let state = self.state.take().ok_or(crate::error::ErrorKind::StageFailed)?;
        (self.finish)(state)
    }
}

impl<T: Send + Sync + 'static> Sink<T, Completion<Vec<T>>> {
    /// All elements, in order. The memory is the caller's affair: the list grows with the stream.
    #[must_use]
    pub fn collect() -> Self {
        Sink::drain("collect", || All(Kept::default()))
    }
}

struct All<T>(Kept<Vec<T>>);

impl<T: Send> Collect<T, Vec<T>> for All<T> {
    fn next(&mut self, element: T) -> Result<bool, Error> {
        self.0.push(element);
        Ok(true)
    }

    fn finish(&mut self) -> Result<Vec<T>, Error> {
        Ok(std::mem::take(&mut *self.0))
    }
}

impl<T: Send + 'static, R: Send + Sync + 'static> Sink<T, Completion<R>> {
    /// The last state of `function` over all elements.
    #[must_use]
    pub fn fold(first: R, function: impl Fn(R, T) -> R + Send + Sync + 'static) -> Self
    where
        R: Clone,
    {
        let function = own(function);
        Sink::drain("fold", move || {
            let function = Arc::clone(&function);
            Folding {
                state: Kept::new(Some(first.clone())),
                next: move |state, element| Ok((function(state, element), true)),
                finish: Ok,
            }
        })
    }
}

impl<T: Send + 'static> Sink<T, Completion<()>> {
    /// Calls `function` with each element, on the thread of the island.
    #[must_use]
    pub fn foreach(function: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self::try_foreach(move |element| {
            function(element);
            Ok(())
        })
    }

    /// The same with a function whose error fails the stream.
    #[must_use]
    pub fn try_foreach(function: impl Fn(T) -> Result<(), Error> + Send + Sync + 'static) -> Self {
        let function = own(function);
        Sink::drain("foreach", move || {
            let function = Arc::clone(&function);
            Folding {
                state: Kept::new(Some(())),
                next: move |(), element| function(element).map(|()| ((), true)),
                finish: Ok,
            }
        })
    }

    /// Asks for everything and keeps nothing.
    #[must_use]
    pub fn ignore() -> Self {
        Self::foreach(drop).called("ignore")
    }
}

impl<T: Send + Sync + 'static> Sink<T, Completion<Option<T>>> {
    /// The first element, after which the upstream is cancelled; `None` of an empty stream.
    #[must_use]
    pub fn first() -> Self {
        Sink::drain("first", || Folding {
            state: Kept::new(Some(None)),
            next: |_, element| Ok((Some(element), false)),
            finish: Ok,
        })
    }

    /// The last element; `None` of an empty stream.
    #[must_use]
    pub fn last() -> Self {
        Sink::drain("last", || Folding {
            state: Kept::new(Some(None)),
            next: |_, element| Ok((Some(element), true)),
            finish: Ok,
        })
    }
}

impl<T: Send + 'static> Sink<T, Outlet<T>> {
    /// Elements taken by hand, through an edge: the pipeline runs ahead by its capacity.
    #[must_use]
    pub fn outlet(options: EdgeOptions) -> Self {
        let size: SizeOf<T> = Arc::new(|_| 0);
        Sink::from_make(move |build, up| {
            let core = EdgeCore::new(options, Credit::Mark, Arc::clone(&size));
            build.island("outlet", Pump::new(up, Arc::clone(&core)));
            Ok(Outlet::new(core))
        })
    }
}

impl<T: Send + 'static> Flow<T, T> {
    /// A boundary: what is above runs on a thread of its own and runs ahead by what the edge holds.
    #[must_use]
    pub fn buffer(options: EdgeOptions) -> Self {
        Self::buffer_sized(options, |_| 0)
    }

    /// The same for an edge that is limited in bytes: `size` tells the bytes of an element.
    #[must_use]
    pub fn buffer_sized(
        options: EdgeOptions,
        size: impl Fn(&T) -> u64 + Send + Sync + 'static,
    ) -> Self {
        let size = own(size);
        let size: SizeOf<T> = Arc::new(move |element: &T| size(element));
        Flow::from_make(move |build, up| {
            let (out, core) = edge(build, "buffer", options, Credit::Mark, Arc::clone(&size));
            build.island("buffer", Pump::new(up, core).shown(out.view()));
            Ok((Box::new(out), NotUsed))
        })
        .at(if options.waits() { Tempo::EACH } else { Tempo::LOOSE })
    }
}

impl<T: Send + 'static, M: 'static> Source<T, M> {
    /// Runs the source and hands its elements to the caller, who takes them by hand.
    ///
    /// # Errors
    /// As [`RunnableGraph::run`](super::RunnableGraph::run).
    pub fn run_outlet(&self, scope: &super::Scope) -> Result<Outlet<T>, Error> {
        self.to(Sink::outlet(EdgeOptions::default())).run(scope)
    }
}
