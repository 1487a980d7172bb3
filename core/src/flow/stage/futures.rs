//! `map_async`: several futures at once, polled by the island.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Task, Poll, Wake, Waker};

use super::Inlet;
use crate::error::Error;
use crate::flow::context::{Context, Signal, Upstream};
use crate::flow::edge::positive;
use crate::flow::guard::guarded;
use crate::flow::held::{Kept, Own, own};
use crate::flow::plan::Tempo;
use crate::flow::{Flow, NotUsed};
use crate::model::demand::Stage;
use crate::sync::{Arc, AtomicBool, Ordering};

impl<I: Send + 'static, O: Send + 'static> Flow<I, O> {
    /// Each element through the future that `function` makes of it, at most `n` at once, in order. An
    /// error fails the stream at its place, behind what came before it. The futures are polled by the
    /// island; whatever they wait for must wake them.
    ///
    /// # Errors
    /// `InvalidArgument` for an `n` of 0.
    pub fn map_async<F, Fut>(n: u64, function: F) -> Result<Self, Error>
    where
        F: Fn(I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, Error>> + Send + 'static,
    {
        Self::futures("map_async", n, true, function)
    }

    /// The same, handing each output down as soon as it is there.
    ///
    /// # Errors
    /// `InvalidArgument` for an `n` of 0.
    pub fn map_async_unordered<F, Fut>(n: u64, function: F) -> Result<Self, Error>
    where
        F: Fn(I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, Error>> + Send + 'static,
    {
        Self::futures("map_async_unordered", n, false, function)
    }

    fn futures<F, Fut>(
        kind: &'static str,
        n: u64,
        ordered: bool,
        function: F,
    ) -> Result<Self, Error>
    where
        F: Fn(I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, Error>> + Send + 'static,
    {
        positive(kind, "elements at once", n)?;
        let function = own(function);
        Ok(Flow::from_make(move |build, up| {
            let meter = build.meter(kind, Stage::each(n).expect("not 0"));
            let (inlet, function) = (Inlet::new(up, meter), Arc::clone(&function));
            Ok((Box::new(Async { inlet, function, ordered, slots: Kept::default() }), NotUsed))
        })
        .at(Tempo::EACH))
    }
}

/// Wakes the island for one future's sake.
struct Flag {
    woken: AtomicBool,
    island: Waker,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.island.wake_by_ref();
    }
}

enum Slot<Fut, O> {
    Running(Pin<Box<Fut>>, Arc<Flag>),
    Done(Result<O, Error>),
}

impl<Fut, O> Slot<Fut, O>
where
    Fut: Future<Output = Result<O, Error>>,
{
    /// Asks the future again if it was woken. True once there is an outcome.
    fn done(&mut self, name: &str) -> bool {
        if let Slot::Running(future, flag) = self {
            if !flag.woken.swap(false, Ordering::AcqRel) {
                return false;
            }
            let waker = Waker::from(Arc::clone(flag));
            let mut task = Task::from_waker(&waker);
            match guarded(name, || Ok(future.as_mut().poll(&mut task))) {
                Ok(Poll::Pending) => return false,
                Ok(Poll::Ready(outcome)) => {
                    *self = Slot::Done(outcome.map_err(|e| e.context(format!("stage {name:?}"))));
                }
                Err(panicked) => *self = Slot::Done(Err(panicked)),
            }
        }
        true
    }
}

struct Async<I, O, F, Fut> {
    inlet: Inlet<I>,
    function: Arc<Own<F>>,
    ordered: bool,
    slots: Kept<VecDeque<Slot<Fut, O>>>,
}

impl<I, O, F, Fut> Async<I, O, F, Fut>
where
    Fut: Future<Output = Result<O, Error>>,
{
    /// The outcome that leaves next, if it is there. Every future that was woken is asked.
    fn next(&mut self) -> Option<Result<O, Error>> {
        let mut first = None;
        for (at, slot) in self.slots.iter_mut().enumerate() {
            let done = slot.done(self.inlet.name());
            if done && first.is_none() && (at == 0 || !self.ordered) {
                first = Some(at);
            }
        }
        match self.slots.remove(first?)? {
            Slot::Done(outcome) => Some(outcome),
            Slot::Running(..) => None,
        }
    }
}

impl<I, O, F, Fut> Upstream<O> for Async<I, O, F, Fut>
where
    I: Send,
    O: Send,
    F: Fn(I) -> Fut + Send + Sync,
    Fut: Future<Output = Result<O, Error>> + Send,
{
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<O>> {
        loop {
            match self.next() {
                Some(Ok(output)) => {
                    self.inlet.emit(1);
                    return Poll::Ready(Signal::Next(output));
                }
                Some(Err(error)) => {
                    drop(self.slots.all());
                    return self.inlet.fail(error);
                }
                None => {}
            }
            if self.inlet.ended() {
                return if self.slots.is_empty() { self.inlet.end() } else { Poll::Pending };
            }
            match self.inlet.pull(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => {}
                Poll::Ready(Some(input)) => {
                    let flag =
                        Flag { woken: AtomicBool::new(true), island: context.waker().clone() };
                    match guarded(self.inlet.name(), || Ok((self.function)(input))) {
                        Ok(new) => {
                            self.slots.push_back(Slot::Running(Box::pin(new), Arc::new(flag)));
                        }
                        Err(error) => {
                            self.slots.push_back(Slot::Done(Err(error)));
                        }
                    }
                }
            }
        }
    }
}
