//! `group_by`: a stream for each key, all of them side by side.

use std::collections::HashMap;
use std::hash::Hash;
use std::pin::Pin;
use std::task::{Context as Task, Poll};

use super::input::Input;
use super::{Inlet, Turns};
use crate::credit::AcquireFuture;
use crate::error::{Error, ErrorKind};
use crate::flow::build::Build;
use crate::flow::context::{Context, Signal, Upstream};
use crate::flow::edge::{Credit, EdgeCore, EdgeOptions, positive};
use crate::flow::guard::guarded;
use crate::flow::held::{Kept, Own, own};
use crate::flow::scope::ScopeCore;
use crate::flow::source::edge;
use crate::flow::{Flow, NotUsed};
use crate::model::demand::Stage;
use crate::sync::Arc;

impl<T: Send + 'static, O: Send + 'static> Flow<T, O> {
    /// Each element through a run of `flow` of its own for each key, behind an edge of 16 elements;
    /// the outputs are merged, and groups that have one take turns. The element of a group whose edge
    /// is full holds the others up. A group whose flow has ended takes no more: its later elements
    /// are dropped. Fails with `LimitReached` at the first key beyond `max_groups`.
    ///
    /// `slots` is how many groups can be merged at once. Groups that wait for a slot would never get
    /// one, for none ends before the stream does: a plan with fewer slots than groups is refused.
    ///
    /// # Errors
    /// `InvalidArgument` for 0 groups; `PlanRefused` for fewer slots than groups.
    pub fn group_by<K, F>(
        max_groups: u64,
        slots: u64,
        key: F,
        flow: Flow<T, O>,
    ) -> Result<Self, Error>
    where
        K: Eq + Hash + Send + 'static,
        F: Fn(&T) -> K + Send + Sync + 'static,
    {
        Self::try_group_by(max_groups, slots, move |element| Ok(key(element)), flow)
    }

    /// The same with a key that may not be known: its error fails the stream.
    ///
    /// # Errors
    /// As [`Flow::group_by`].
    pub fn try_group_by<K, F>(
        max_groups: u64,
        slots: u64,
        key: F,
        flow: Flow<T, O>,
    ) -> Result<Self, Error>
    where
        K: Eq + Hash + Send + 'static,
        F: Fn(&T) -> Result<K, Error> + Send + Sync + 'static,
    {
        positive("group_by", "groups", max_groups)?;
        if slots < max_groups {
            return Err(Error::new(
                ErrorKind::PlanRefused,
                format!(
                    "group_by of up to {max_groups} groups into a merge of {slots} slots can lock \
                     up: a group without a slot holds the source up, and no group that has one \
                     ends before the source does; give it at least {max_groups} slots"
                ),
            ));
        }
        let key = own(key);
        Ok(Flow::from_make(move |build, up| {
            let meter = build.meter("group_by", Stage::whole(1).expect("not 0"));
            let plan = Plan { max: max_groups, flow: flow.clone(), scope: build.scope() };
            Ok((Box::new(GroupBy::new(Inlet::new(up, meter), Arc::clone(&key), plan)), NotUsed))
        }))
    }
}

struct Plan<T, O> {
    max: u64,
    flow: Flow<T, O>,
    scope: Arc<ScopeCore>,
}

/// The way into one group.
struct Feed<T> {
    core: Arc<EdgeCore<T>>,
    /// In line for room in its edge.
    line: Option<Pin<Box<AcquireFuture>>>,
}

struct GroupBy<K, T, O, F> {
    inlet: Inlet<T>,
    key: Arc<Own<F>>,
    plan: Plan<T, O>,
    groups: Kept<HashMap<K, usize>>,
    feeds: Vec<Feed<T>>,
    outputs: Turns<O>,
    /// An element and its group.
    held: Kept<Option<(T, usize)>>,
    /// The groups know that nothing more comes.
    told: bool,
}

impl<K, T, O, F> GroupBy<K, T, O, F>
where
    K: Eq + Hash,
    T: Send + 'static,
    O: Send + 'static,
    F: Fn(&T) -> Result<K, Error>,
{
    fn new(inlet: Inlet<T>, key: Arc<Own<F>>, plan: Plan<T, O>) -> Self {
        let (groups, outputs) = (Kept::default(), Turns::new(Vec::new(), false));
        GroupBy {
            inlet,
            key,
            plan,
            groups,
            feeds: Vec::new(),
            outputs,
            held: Kept::default(),
            told: false,
        }
    }

    /// The group of an element, which is begun if its key is new.
    fn group(&mut self, element: &T) -> Result<usize, Error> {
        let key = guarded(self.inlet.name(), || (self.key)(element))?;
        if let Some(group) = self.groups.get(&key) {
            return Ok(*group);
        }
        let (name, max, group) = (self.inlet.name(), self.plan.max, self.feeds.len());
        if group as u64 >= max {
            let message = format!("stage {name:?}: a key beyond the {max} groups there may be");
            return Err(Error::new(ErrorKind::LimitReached, message));
        }
        let mut build = Build::later(&self.plan.scope)?;
        let options = EdgeOptions::default();
        let (out, core) = edge(&mut build, "group", options, Credit::Each, Arc::new(|_: &T| 0));
        let (up, NotUsed) = guarded(name, || self.plan.flow.make(&mut build, Box::new(out)))?;
        let mut output = Input::new(&mut build, "group_by", up);
        build.commit()?;
        output.request(self.inlet.owed());
        self.outputs.push(output);
        self.feeds.push(Feed { core, line: None });
        self.groups.insert(key, group);
        Ok(group)
    }

    /// Hands the held element to its group. False if that must wait for room.
    fn feed(&mut self, context: &Context<'_>) -> bool {
        let Some((element, group)) = self.held.take() else { return true };
        let feed = &mut self.feeds[group];
        let line = feed.line.get_or_insert_with(|| Box::pin(feed.core.gate.acquire(1)));
        let Poll::Ready(room) = line.as_mut().poll(&mut Task::from_waker(context.waker())) else {
            *self.held = Some((element, group));
            return false;
        };
        feed.line = None;
        if room.is_ok() {
            feed.core.push(feed.core.sized(element)); // else its flow has ended
        }
        self.inlet.discard();
        true
    }

    fn tell_end(&mut self) {
        if !std::mem::replace(&mut self.told, true) {
            let error = self.inlet.failure().cloned();
            self.feeds.iter().for_each(|feed| _ = feed.core.finish(error.clone()));
        }
    }
}

impl<K, T, O, F> Upstream<O> for GroupBy<K, T, O, F>
where
    K: Eq + Hash + Send,
    T: Send + 'static,
    O: Send + 'static,
    F: Fn(&T) -> Result<K, Error> + Send + Sync,
{
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
        self.outputs.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<O>> {
        while !context.stopping() {
            match self.outputs.poll(context) {
                Poll::Ready(Signal::Next(output)) => {
                    self.inlet.emit(0);
                    return Poll::Ready(Signal::Next(output));
                }
                Poll::Ready(Signal::Fail(error)) => return self.inlet.fail(error),
                Poll::Ready(Signal::Complete) if self.told => return self.inlet.end(),
                Poll::Ready(Signal::Complete) | Poll::Pending => {}
            }
            if !self.feed(context) {
                // What stands above goes on: a page fills itself, an end is heard, and told later.
                let _nothing_was_asked_for = self.inlet.pull(context);
                return Poll::Pending;
            }
            if self.told {
                return Poll::Pending;
            }
            match self.inlet.pull(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => self.tell_end(),
                Poll::Ready(Some(element)) => match self.group(&element) {
                    Ok(group) => *self.held = Some((element, group)),
                    Err(error) => return self.inlet.fail(error),
                },
            }
        }
        Poll::Pending
    }
}
