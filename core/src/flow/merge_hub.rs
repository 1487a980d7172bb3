//! [`MergeHub`]: one running consumer, producers that come and go.

use std::task::{Poll, Waker};

use super::blueprint::{Sink, Source};
use super::context::{Context, Signal, Up, Upstream};
use super::edge::{Credit, EdgeOptions};
use super::meter::Meter;
use super::pump::Pump;
use super::source::edge;
use super::stage::{Input, Turns};
use crate::check;
use crate::error::{Error, ErrorKind};
use crate::model::demand::Stage;
use crate::sync::{Arc, Mutex};
use crate::wait::wake_all;

struct State<T> {
    /// Producers that the stage has not taken over yet.
    new: Vec<Input<T>>,
    /// No more producers will come.
    complete: bool,
    /// The consumer went away.
    closed: bool,
    failures: u64,
    last_failure: Option<Error>,
    waker: Option<Waker>,
}

struct Core<T>(Mutex<State<T>>);

impl<T> Core<T> {
    /// Changes the state, then wakes the stage with the lock released.
    fn change<R>(&self, change: impl FnOnce(&mut State<T>) -> R) -> R {
        let mut state = self.0.lock();
        let result = change(&mut state);
        let waker = state.waker.take().map(|waker| check::due(waker, "a merge hub"));
        drop(state);
        wake_all(waker);
        result
    }

    fn is_open(&self) -> bool {
        let state = self.0.lock();
        !state.complete && !state.closed
    }

    /// One producer more. Dropped, which cancels it, if the hub has closed since its run was begun.
    fn attach(&self, input: Input<T>) {
        let mut input = Some(input);
        self.change(|state| {
            if !state.complete && !state.closed {
                state.new.extend(input.take());
            }
        });
    }
}

/// The control of a source that many may feed. Cheap to clone; safe from any thread.
///
/// Each producer has an edge of its own, and those that have an element take turns. A producer that
/// completes leaves the others running, and so does one that fails: its failure is counted here. The
/// source completes once [`complete`](Self::complete) was called, or the last handle and the last
/// [`sink`](Self::sink) are gone, and every producer has ended.
pub struct MergeHub<T>(Arc<Owner<T>>);

struct Owner<T>(Arc<Core<T>>, EdgeOptions);

impl<T> Drop for Owner<T> {
    fn drop(&mut self) {
        self.0.change(|state| state.complete = true);
    }
}

impl<T> Clone for MergeHub<T> {
    fn clone(&self) -> Self {
        MergeHub(Arc::clone(&self.0))
    }
}

impl<T: Send + 'static> MergeHub<T> {
    /// A sink into the source. Each run, on any scope, attaches one producer more; a run that is
    /// refused attaches none. Running it fails with `Closed` once the source is complete or its
    /// consumer went away.
    #[must_use]
    pub fn sink(&self) -> Sink<T> {
        let hub = self.clone();
        Sink::from_make(move |build, up| {
            let Owner(core, options) = &*hub.0;
            let (out, edge) = edge(build, "merge_hub", *options, Credit::Mark, Arc::new(|_: &T| 0));
            let input = Input::new(build, "merge_hub", Box::new(out));
            if !core.is_open() {
                return Err(Error::new(ErrorKind::Closed, "the merge hub takes no more producers"));
            }
            build.island("merge_hub", Pump::new(up, edge));
            let core = Arc::clone(core);
            build.join(move || core.attach(input));
            Ok(super::NotUsed)
        })
    }

    /// No more producers: the source completes with the last that is attached.
    pub fn complete(&self) {
        self.0.0.change(|state| state.complete = true);
    }

    /// Producers that have failed so far.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.0.0.0.lock().failures
    }

    /// What the last of them failed with.
    #[must_use]
    pub fn last_failure(&self) -> Option<Error> {
        self.0.0.0.lock().last_failure.clone()
    }
}

struct Merged<T> {
    core: Arc<Core<T>>,
    turns: Turns<T>,
    meter: Meter,
}

impl<T: Send> Upstream<T> for Merged<T> {
    fn request(&mut self, n: u64) {
        self.meter.request(n);
        self.turns.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        loop {
            if context.stopping() {
                return Poll::Pending;
            }
            let waker = context.waker().clone();
            let mut state = self.core.0.lock();
            let (new, complete) = (std::mem::take(&mut state.new), state.complete);
            let replaced = state.waker.replace(waker);
            drop(state);
            drop(replaced);
            for mut input in new {
                input.request(self.meter.view().demand().downstream); // as all the others owe
                self.turns.push(input);
            }
            match self.turns.poll(context) {
                Poll::Ready(Signal::Next(element)) => {
                    let accepted = self.meter.arrive();
                    debug_assert!(accepted, "the producers were asked");
                    self.meter.emit(1);
                    return Poll::Ready(Signal::Next(element));
                }
                Poll::Ready(Signal::Fail(error)) => {
                    let mut state = self.core.0.lock();
                    state.failures = state.failures.saturating_add(1);
                    let before = state.last_failure.replace(error);
                    drop(state);
                    drop(before);
                }
                Poll::Ready(Signal::Complete) if complete => return Poll::Ready(Signal::Complete),
                Poll::Ready(Signal::Complete) | Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl<T> Drop for Merged<T> {
    fn drop(&mut self) {
        let new = self.core.change(|state| {
            state.closed = true;
            std::mem::take(&mut state.new)
        });
        drop(new); // cancels those that were never taken over
    }
}

impl<T: Send + 'static> Source<T, MergeHub<T>> {
    /// What the sinks of its control give, each behind an edge of `options`. A limit in bytes has no
    /// effect here: the hub knows no sizes.
    #[must_use]
    pub fn merge_hub(options: EdgeOptions) -> Self {
        Source::from_make(move |build| {
            let meter = build.meter("merge_hub", Stage::each(u64::MAX).expect("not 0"));
            let core = Arc::new(Core(Mutex::new(State {
                new: Vec::new(),
                complete: false,
                closed: false,
                failures: 0,
                last_failure: None,
                waker: None,
            })));
            let turns = Turns::new(Vec::new(), false);
            let stage = Merged { core: Arc::clone(&core), turns, meter };
            Ok((Box::new(stage) as Up<T>, MergeHub(Arc::new(Owner(core, options)))))
        })
    }
}

impl<T> std::fmt::Debug for MergeHub<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let failures = self.0.0.0.lock().failures;
        f.debug_struct("MergeHub").field("failures", &failures).finish_non_exhaustive()
    }
}
