//! `map_parallel`: several threads at once, for functions that block or work hard.

use std::collections::{BTreeMap, VecDeque};
use std::task::Poll;

use super::Inlet;
use crate::error::{Error, ErrorKind};
use crate::flow::context::{Context, Signal, Upstream};
use crate::flow::edge::positive;
use crate::flow::guard::guarded;
use crate::flow::held::{Kept, Own, own};
use crate::flow::island::Drive;
use crate::flow::plan::Tempo;
use crate::flow::{Flow, NotUsed};
use crate::model::demand::Stage;
use crate::sync::Arc;
use crate::wait::watched::Watched;

/// The most threads that one stage may have.
const MOST: u64 = 1024;

impl<I: Send + 'static, O: Send + 'static> Flow<I, O> {
    /// Each element through `function` on `n` threads of the scope, in order. At most `n` elements are
    /// in work or wait for their turn. An error fails the stream at its place, behind what came before
    /// it.
    ///
    /// # Errors
    /// `InvalidArgument` for an `n` of 0 or above 1024.
    pub fn map_parallel<F>(n: u64, function: F) -> Result<Self, Error>
    where
        F: Fn(I) -> Result<O, Error> + Send + Sync + 'static,
    {
        Self::workers("map_parallel", n, true, function)
    }

    /// The same, handing each output down as soon as it is there.
    ///
    /// # Errors
    /// `InvalidArgument` for an `n` of 0 or above 1024.
    pub fn map_parallel_unordered<F>(n: u64, function: F) -> Result<Self, Error>
    where
        F: Fn(I) -> Result<O, Error> + Send + Sync + 'static,
    {
        Self::workers("map_parallel_unordered", n, false, function)
    }

    fn workers<F>(kind: &'static str, n: u64, ordered: bool, function: F) -> Result<Self, Error>
    where
        F: Fn(I) -> Result<O, Error> + Send + Sync + 'static,
    {
        if positive(kind, "threads", n)? > MOST {
            let message = format!("{kind} of {n} threads: {MOST} are the most for one stage");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let function = own(function);
        Ok(Flow::from_make(move |build, up| {
            let meter = build.meter(kind, Stage::each(n).expect("not 0"));
            let shared = Arc::new(Shared::new());
            for _ in 0..n {
                let (name, function) = (meter.name().to_owned(), Arc::clone(&function));
                let shared = Arc::clone(&shared);
                build.island(name.clone(), Worker { name, function, shared, key: None });
            }
            let inlet = Inlet::new(up, meter);
            let stage = Parallel { inlet, shared, key: None, ordered, given: 0, taken: 0 };
            Ok((Box::new(stage), NotUsed))
        })
        .at(Tempo::EACH))
    }
}

struct Jobs<I> {
    queue: Kept<VecDeque<(u64, I)>>,
    over: bool,
}

/// Between the stage and its workers. Both sides together hold no more elements than there are
/// workers.
struct Shared<I, O> {
    jobs: Watched<Jobs<I>>,
    done: Watched<Kept<BTreeMap<u64, Result<O, Error>>>>,
}

impl<I, O> Shared<I, O> {
    fn new() -> Self {
        Shared {
            jobs: Watched::new(Jobs { queue: Kept::default(), over: false }),
            done: Watched::new(Kept::default()),
        }
    }

    fn close(&self) {
        let left = self.jobs.update(|jobs| {
            jobs.over = true;
            jobs.queue.all()
        });
        drop(left);
    }
}

struct Worker<I, O, F> {
    name: String,
    function: Arc<Own<F>>,
    shared: Arc<Shared<I, O>>,
    key: Option<u64>,
}

impl<I, O, F> Drive for Worker<I, O, F>
where
    I: Send,
    O: Send,
    F: Fn(I) -> Result<O, Error> + Send + Sync,
{
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while !context.stopping() {
            let job = self.shared.jobs.ask(&mut self.key, context.waker(), |jobs| {
                let job = jobs.queue.pop_front();
                (job.is_some() || jobs.over).then_some(job)
            });
            match job {
                None => return Poll::Pending,
                Some(None) => return Poll::Ready(()),
                Some(Some((id, input))) => {
                    let outcome = guarded(&self.name, || (self.function)(input));
                    self.shared.done.update(|done| _ = done.insert(id, outcome));
                }
            }
        }
        Poll::Pending
    }
}

impl<I, O, F> Drop for Worker<I, O, F> {
    fn drop(&mut self) {
        self.shared.jobs.forget(&mut self.key);
    }
}

struct Parallel<I, O> {
    inlet: Inlet<I>,
    shared: Arc<Shared<I, O>>,
    key: Option<u64>,
    ordered: bool,
    given: u64,
    taken: u64,
}

impl<I: Send, O: Send> Upstream<O> for Parallel<I, O> {
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<O>> {
        loop {
            let (ordered, next) = (self.ordered, self.taken);
            let outcome = self.shared.done.ask(&mut self.key, context.waker(), |done| {
                if ordered { done.remove(&next) } else { done.pop_first().map(|(_, first)| first) }
            });
            match outcome {
                Some(Ok(output)) => {
                    self.taken = self.taken.saturating_add(1);
                    self.inlet.emit(1);
                    return Poll::Ready(Signal::Next(output));
                }
                Some(Err(error)) => {
                    self.shared.close();
                    return self.inlet.fail(error);
                }
                None => {}
            }
            if self.inlet.ended() {
                return if self.given == self.taken { self.inlet.end() } else { Poll::Pending };
            }
            match self.inlet.pull(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => {}
                Poll::Ready(Some(input)) => {
                    let id = self.given;
                    self.given = id.saturating_add(1);
                    self.shared.jobs.update(|jobs| jobs.queue.push_back((id, input)));
                }
            }
        }
    }
}

impl<I, O> Drop for Parallel<I, O> {
    fn drop(&mut self) {
        self.shared.done.forget(&mut self.key);
        self.shared.close();
    }
}
