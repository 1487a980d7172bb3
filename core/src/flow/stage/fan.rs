//! broadcast, balance, partition: one input, several outputs, each behind an edge of its own.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Task, Poll};

use super::Turns;
use super::input::Input;
use crate::credit::{AcquireFuture, TryAcquire};
use crate::error::{Error, ErrorKind};
use crate::flow::build::Build;
use crate::flow::context::{Context, Gone, Signal, Up};
use crate::flow::edge::{Credit, EdgeCore, Offer};
use crate::flow::guard::guarded;
use crate::flow::held::{Kept, own};
use crate::flow::island::Drive;
use crate::flow::meter::{Meter, StageView};
use crate::flow::pump::Pump;
use crate::flow::source::edge;
use crate::flow::{EdgeOptions, Flow, Sink};
use crate::model::branches::{Division, in_all};
use crate::model::demand::{Stage, is_request, together};
use crate::model::hub::{Hub, HubArrival, Turn};
use crate::sync::Arc;

/// How the branches of a fan-out are joined to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FanOptions {
    edge: EdgeOptions,
    ends_with_first: bool,
}

impl FanOptions {
    /// The edge in front of each branch; 16 elements with backpressure unless told otherwise. A limit
    /// in bytes has no effect here: the fan-out knows no sizes.
    #[must_use]
    pub fn edge(self, edge: EdgeOptions) -> Self {
        FanOptions { edge, ..self }
    }

    /// A branch that cancels ends all of them: the others complete. By default they go on, and the
    /// upstream is cancelled with the last.
    #[must_use]
    pub fn end_with_first(self) -> Self {
        FanOptions { ends_with_first: true, ..self }
    }
}

type Choose<T> = dyn Fn(&T) -> Result<usize, Error> + Send + Sync;

/// Who gets an element.
enum Mode<T> {
    /// Every branch, each a copy. Waits for the slowest.
    Broadcast(fn(&T) -> T),
    /// One branch that has room, in turn.
    Balance,
    /// The branch of this number.
    Partition(Arc<Choose<T>>),
}

impl<T: 'static> Mode<T> {
    fn partition(choose: impl Fn(&T) -> Result<usize, Error> + Send + Sync + 'static) -> Self {
        let choose = own(choose);
        Mode::Partition(Arc::new(move |element: &T| choose(element)))
    }
}

impl<T> Clone for Mode<T> {
    fn clone(&self) -> Self {
        match self {
            Mode::Broadcast(copy) => Mode::Broadcast(*copy),
            Mode::Balance => Mode::Balance,
            Mode::Partition(choose) => Mode::Partition(Arc::clone(choose)),
        }
    }
}

struct Branch<T> {
    core: Arc<EdgeCore<T>>,
    /// The credit of the edge that was taken and not used yet.
    meter: Meter,
    line: Option<Pin<Box<AcquireFuture>>>,
    gone: bool,
}

impl<T> Branch<T> {
    fn new(core: Arc<EdgeCore<T>>, mut meter: Meter) -> Self {
        if !core.options().waits() {
            meter.request(u64::MAX); // the strategy decides, not the demand
        }
        Branch { core, meter, line: None, gone: false }
    }

    /// Takes what credit there is, and hears of more, or of the end.
    fn look(&mut self, context: &Context<'_>) {
        // Of an edge that never waits only the end is of interest: more than any gate holds.
        let n = if self.core.options().waits() { 1 } else { u64::MAX };
        while !self.gone {
            let line = self.line.get_or_insert_with(|| Box::pin(self.core.gate.acquire(n)));
            match line.as_mut().poll(&mut Task::from_waker(context.waker())) {
                Poll::Pending => return,
                Poll::Ready(Err(_)) => self.leave(),
                Poll::Ready(Ok(())) => {
                    self.line = None;
                    let more = self.core.gate.available();
                    let all = self.core.gate.try_acquire(more) == TryAcquire::Taken;
                    self.meter.request(if all { together(n, more) } else { n });
                }
            }
        }
    }

    fn leave(&mut self) {
        self.gone = true;
        self.line = None;
        self.meter.close();
    }

    /// May an element be put into it now?
    fn takes(&self) -> bool {
        !self.gone && self.meter.wanted()
    }

    fn push(&mut self, element: T) {
        let accepted = self.meter.arrive();
        debug_assert!(accepted, "a branch has asked for what is put into it");
        self.meter.emit(1);
        if !matches!(self.core.push(self.core.sized(element)), Offer::Enqueued | Offer::Dropped) {
            self.leave();
        }
    }
}

/// The island of a fan-out: asks above for what the branches can take, and hands it to them.
struct Fan<T> {
    up: Up<T>,
    name: String,
    mode: Mode<T>,
    branches: Vec<Branch<T>>,
    ends_with_first: bool,
    hub: Hub,
    /// What arrived and waits, the oldest first: no more than was asked for.
    held: Kept<VecDeque<T>>,
    /// The branch that the oldest is for, once that is known.
    target: Option<usize>,
    /// How the upstream ended, while elements stand before that.
    end: Option<Result<(), Error>>,
    next: usize,
    /// Where the hub's counters are shown.
    view: Arc<StageView>,
}

impl<T: Send> Fan<T> {
    fn live(&self) -> impl Iterator<Item = &Branch<T>> {
        self.branches.iter().filter(|branch| !branch.gone)
    }

    /// How many elements could be handed on.
    fn demand(&self) -> u64 {
        let division = match self.mode {
            Mode::Broadcast(_) => Division::ToAll,
            Mode::Balance => Division::ToAny,
            Mode::Partition(_) => Division::ToChosen,
        };
        let asked = self.live().map(|branch| branch.meter.owed());
        in_all(asked.fold(None, |so_far, owed| division.and_branch(so_far, owed)))
    }

    /// True once nobody is left to hand anything to, or one has left that ends all.
    fn is_over(&self) -> bool {
        self.live().next().is_none()
            || (self.ends_with_first && self.branches.iter().any(|branch| branch.gone))
    }

    /// The branch that the oldest element goes to; `None` if it must wait.
    fn place(&self) -> Option<usize> {
        if let Some(target) = self.target {
            let branch = &self.branches[target];
            return (branch.gone || branch.takes()).then_some(target);
        }
        let n = self.branches.len();
        (0..n).map(|k| self.next.wrapping_add(k) % n).find(|at| self.branches[*at].takes())
    }

    /// Finds out which branch the oldest element is for.
    fn choose(&mut self) -> Result<(), Error> {
        let Mode::Partition(choose) = &self.mode else { return Ok(()) };
        let Some(element) = self.held.front().filter(|_| self.target.is_none()) else {
            return Ok(());
        };
        let at = guarded(&self.name, || choose(element))?;
        let n = self.branches.len();
        if at >= n {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("stage {:?} chose branch {at} of {n}", self.name),
            ));
        }
        self.target = Some(at);
        Ok(())
    }

    /// Hands on the oldest element. False if it must wait; true if it has gone, or there is none.
    fn share(&mut self) -> Result<bool, Error> {
        self.choose()?;
        let everybody = matches!(self.mode, Mode::Broadcast(_));
        let place = if everybody { None } else { self.place() };
        let held_up = if everybody { self.live().any(|b| !b.takes()) } else { place.is_none() };
        let (hub, turn) = self.hub.share_next(self.live().next().is_some(), held_up);
        self.hub = hub;
        if turn != Turn::Share {
            return Ok(turn == Turn::Nothing);
        }
        let Some(element) = self.held.pop_front() else { return Ok(true) };
        self.target = None;
        self.view.count_passed();
        if let Some(at) = place {
            self.next = at.wrapping_add(1);
            if self.branches[at].gone {
                self.branches[at].meter.view().count_late(); // its branch wants no more
            } else {
                self.branches[at].push(element);
            }
        } else if let Mode::Broadcast(copy) = self.mode {
            let mut live: Vec<_> = self.branches.iter_mut().filter(|b| !b.gone).collect();
            let last = live.pop();
            for branch in live {
                branch.push(guarded(&self.name, || Ok(copy(&element)))?);
            }
            if let Some(branch) = last {
                branch.push(element);
            }
        }
        Ok(true)
    }

    fn arrive(&mut self, element: T) {
        let (hub, answer) = self.hub.arrive();
        self.hub = hub;
        if answer == HubArrival::Unasked {
            self.view.count_late(); // the upstream broke the demand gate
        } else {
            self.held.push_back(element);
        }
    }

    /// Nothing more comes. What waits stands before the end.
    fn close(&mut self, end: Result<(), Error>) {
        self.hub = self.hub.upstream_ended();
        self.up = Box::new(Gone);
        self.end = Some(end);
    }

    fn show(&self) {
        // Nobody overtakes an element that waits.
        let may_leave = if self.hub.is_shared() { self.demand() } else { 0 };
        self.view.set_downstream(may_leave);
        self.view.set_upstream(self.hub.asked);
        self.view.set_held(self.hub.queued);
    }

    fn finish(&self, error: Option<&Error>) {
        for branch in self.live() {
            branch.core.finish(error.cloned());
        }
    }

    /// Hands on what it can, and has the stages above go on whether or not an element waits: what was
    /// asked for is taken as it comes, a page fills itself, an end is heard. `Ready` with how it ended.
    fn step(&mut self, context: &mut Context<'_>) -> Result<Poll<()>, Error> {
        while !context.stopping() {
            self.branches.iter_mut().for_each(|branch| branch.look(context));
            if self.is_over() {
                return Ok(Poll::Ready(())); // dropped: that cancels above
            }
            let moved = self.share()?;
            if let Some(end) = &self.end {
                match (self.hub.is_shared(), moved) {
                    (true, _) => return end.clone().map(Poll::Ready),
                    (false, true) => continue,
                    (false, false) => break,
                }
            }
            if moved {
                let (hub, ask) = self.hub.replenish(self.demand());
                self.hub = hub;
                if is_request(ask) {
                    self.up.request(ask);
                }
            }
            match self.up.poll(context) {
                Poll::Pending if moved && !self.hub.is_shared() => {} // the next may go too
                Poll::Pending => break,
                Poll::Ready(Signal::Complete) => self.close(Ok(())),
                Poll::Ready(Signal::Fail(error)) => self.close(Err(error)),
                Poll::Ready(Signal::Next(element)) => self.arrive(element),
            }
        }
        // A branch whose end is known by its refusal of an element may have nobody to wake for it.
        let over = !context.stopping() && self.is_over();
        Ok(if over { Poll::Ready(()) } else { Poll::Pending })
    }
}

impl<T: Send> Drive for Fan<T> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let step = self.step(context);
        self.show();
        match step {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(())) => {
                self.finish(None);
                Poll::Ready(())
            }
            Err(error) => {
                self.finish(Some(&error));
                Poll::Ready(())
            }
        }
    }

    fn stop(&mut self, why: &Error) {
        self.finish(Some(why));
    }
}

impl<T> Drop for Fan<T> {
    fn drop(&mut self) {
        let gone = Error::new(ErrorKind::Cancelled, "the stages above the fan-out went away");
        for branch in &self.branches {
            branch.core.finish(Some(gone.clone()));
        }
    }
}

/// Builds the fan, and answers the upstream of each of its `n` branches.
fn fan<T: Send + 'static>(
    build: &mut Build,
    (kind, mode): (&str, Mode<T>),
    (n, options): (usize, FanOptions),
    up: Up<T>,
) -> Vec<Up<T>> {
    let mut branches = Vec::with_capacity(n);
    let mut ups: Vec<Up<T>> = Vec::with_capacity(n);
    let own = build.meter(kind, Stage::each(u64::MAX).expect("not 0"));
    let name = own.name().to_owned();
    for _ in 0..n {
        let meter = build.meter(kind, Stage::each(u64::MAX).expect("not 0"));
        let (out, core) = edge(build, kind, options.edge, Credit::Mark, Arc::new(|_: &T| 0));
        branches.push(Branch::new(core, meter));
        ups.push(Box::new(out));
    }
    let hub = Hub::opened(u64::MAX).expect("not 0");
    let ends_with_first = options.ends_with_first;
    let drive = Fan {
        up,
        name: name.clone(),
        mode,
        branches,
        ends_with_first,
        hub,
        held: Kept::default(),
        target: None,
        end: None,
        next: 0,
        view: Arc::clone(own.view()),
    };
    build.island(name, drive);
    ups
}

impl<T: Send + 'static, M: 'static> Sink<T, Vec<M>> {
    /// Every element to every branch, a copy each. Each branch runs on its own behind an edge of 16
    /// elements, and the slowest sets the pace. A branch that cancels leaves the others running.
    /// Without branches the upstream is cancelled at once.
    #[must_use]
    pub fn broadcast(branches: Vec<Sink<T, M>>) -> Self
    where
        T: Clone,
    {
        Self::broadcast_with(branches, FanOptions::default())
    }

    /// The same with options.
    #[must_use]
    pub fn broadcast_with(branches: Vec<Sink<T, M>>, options: FanOptions) -> Self
    where
        T: Clone,
    {
        Self::fanned("broadcast", Mode::Broadcast(T::clone), branches, options)
    }

    /// Each element to one branch that has room for it; branches with room take turns. Edges and ends
    /// are as in [`broadcast`](Self::broadcast). What a branch that leaves had asked for may be on its
    /// way: it goes to the others, or waits for them, and is not asked for again.
    #[must_use]
    pub fn balance(branches: Vec<Sink<T, M>>) -> Self {
        Self::balance_with(branches, FanOptions::default())
    }

    /// The same with options.
    #[must_use]
    pub fn balance_with(branches: Vec<Sink<T, M>>, options: FanOptions) -> Self {
        Self::fanned("balance", Mode::Balance, branches, options)
    }

    /// Each element to the branch whose number `choose` says, counted from 0. An element for a full
    /// branch holds up those behind it, which are held as well: no more than an edge's room. An element for a branch that has cancelled is dropped and
    /// counted as late; a number that no branch has fails the stream with `InvalidArgument`.
    #[must_use]
    pub fn partition(
        branches: Vec<Sink<T, M>>,
        choose: impl Fn(&T) -> usize + Send + Sync + 'static,
    ) -> Self {
        Self::partition_with(branches, FanOptions::default(), choose)
    }

    /// The same with options.
    #[must_use]
    pub fn partition_with(
        branches: Vec<Sink<T, M>>,
        options: FanOptions,
        choose: impl Fn(&T) -> usize + Send + Sync + 'static,
    ) -> Self {
        Self::try_partition_with(branches, options, move |element| Ok(choose(element)))
    }

    /// The same with a branch that may not be known: the error of `choose` fails the stream.
    #[must_use]
    pub fn try_partition_with(
        branches: Vec<Sink<T, M>>,
        options: FanOptions,
        choose: impl Fn(&T) -> Result<usize, Error> + Send + Sync + 'static,
    ) -> Self {
        Self::fanned("partition", Mode::partition(choose), branches, options)
    }

    fn fanned(
        kind: &'static str,
        mode: Mode<T>,
        branches: Vec<Sink<T, M>>,
        options: FanOptions,
    ) -> Self {
        Sink::from_make(move |build, up| {
            let ups = fan(build, (kind, mode.clone()), (branches.len(), options), up);
            branches.iter().zip(ups).map(|(branch, up)| branch.make(build, up)).collect()
        })
    }
}

impl<I: Send + 'static, O: Send + 'static, M: 'static> Flow<I, O, Vec<M>> {
    /// Every element through every branch; what they give is merged as it comes. Each branch runs on a
    /// thread of its own, between two edges of 16 elements. A branch that ends leaves the others
    /// running.
    #[must_use]
    pub fn broadcast(branches: Vec<Flow<I, O, M>>) -> Self
    where
        I: Clone,
    {
        Self::fanned("broadcast", Mode::Broadcast(I::clone), branches, FanOptions::default())
    }

    /// Each element through one branch that has room for it; what they give is merged as it comes, and
    /// elements of different branches may change places. Edges and ends are as in
    /// [`broadcast`](Self::broadcast).
    #[must_use]
    pub fn balance(branches: Vec<Flow<I, O, M>>) -> Self {
        Self::fanned("balance", Mode::Balance, branches, FanOptions::default())
    }

    /// Each element through the branch whose number `choose` says, as [`Sink::partition`]; what they
    /// give is merged as it comes.
    #[must_use]
    pub fn partition(
        branches: Vec<Flow<I, O, M>>,
        choose: impl Fn(&I) -> usize + Send + Sync + 'static,
    ) -> Self {
        Self::try_partition(branches, move |element| Ok(choose(element)))
    }

    /// The same with a branch that may not be known: the error of `choose` fails the stream.
    #[must_use]
    pub fn try_partition(
        branches: Vec<Flow<I, O, M>>,
        choose: impl Fn(&I) -> Result<usize, Error> + Send + Sync + 'static,
    ) -> Self {
        let mode = Mode::partition(choose);
        Self::fanned("partition", mode, branches, FanOptions::default())
    }

    fn fanned(
        kind: &'static str,
        mode: Mode<I>,
        branches: Vec<Flow<I, O, M>>,
        options: FanOptions,
    ) -> Self {
        Flow::from_make(move |build, up| {
            let ups = fan(build, (kind, mode.clone()), (branches.len(), options), up);
            let (mut inputs, mut mats) = (Vec::new(), Vec::new());
            for (branch, up) in branches.iter().zip(ups) {
                let (up, mat) = branch.make(build, up)?;
                let size = Arc::new(|_: &O| 0);
                let (out, core) = edge(build, kind, options.edge, Credit::Mark, size);
                build.island(kind, Pump::new(up, core));
                inputs.push(Input::new(build, kind, Box::new(out)));
                mats.push(mat);
            }
            Ok((Box::new(Turns::new(inputs, false)), mats))
        })
    }
}
