//! The producing side of an edge that stands behind stages: credit of the edge becomes their demand.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Task, Poll};

use super::context::{Context, Signal, Up};
use super::edge::{EdgeCore, Offer, Weighed};
use super::held::Kept;
use super::island::Drive;
use super::meter::{Meter, StageView};
use crate::credit::{AcquireFuture, TryAcquire};
use crate::error::Error;
use crate::model::demand::{Stage, together};
use crate::sync::Arc;

type Parked<T> = (Weighed<T>, Pin<Box<AcquireFuture>>);

/// Runs the stages above and hands what they give to the edge.
pub(super) struct Pump<T> {
    up: Option<Up<T>>,
    core: Arc<EdgeCore<T>>,
    /// In line for the next unit of credit; its turn becomes a request for one.
    line: Option<Pin<Box<AcquireFuture>>>,
    /// An element that waits for room in bytes.
    parked: Kept<Option<Parked<T>>>,
    /// Where it is counted as held: the stage behind the edge.
    shown: Option<Arc<StageView>>,
    begun: bool,
    /// What was asked for above and has not come yet.
    meter: Meter,
}

impl<T> Pump<T> {
    fn show(&self) {
        if let Some(view) = &self.shown {
            view.set_parked(self.parked.is_some());
        }
    }
}

impl<T: Send> Pump<T> {
    pub(super) fn new(up: Up<T>, core: Arc<EdgeCore<T>>) -> Self {
        let meter = Meter::new("pump".to_owned(), Stage::each(u64::MAX).expect("not 0"));
        let (line, parked, shown) = (None, Kept::default(), None);
        Pump { up: Some(up), core, line, parked, shown, begun: false, meter }
    }

    /// The same, with what waits for room in bytes counted by the stage behind the edge.
    pub(super) fn shown(mut self, view: &Arc<StageView>) -> Self {
        self.shown = Some(Arc::clone(view));
        self
    }

    /// Turns what credit there is into demand. False if there was none; `None` once the edge takes
    /// nothing more.
    fn ask(&mut self, context: &Context<'_>) -> Option<bool> {
        let up = self.up.as_mut()?;
        let mut asked = false;
        let waits = self.core.options().waits();
        if !waits && !std::mem::replace(&mut self.begun, true) {
            up.request(self.meter.request(u64::MAX)); // the strategy decides, not the demand
        }
        // Of an edge that never waits only the end is of interest: more than any gate holds.
        let n = if waits { 1 } else { u64::MAX };
        loop {
            let line = self.line.get_or_insert_with(|| Box::pin(self.core.gate.acquire(n)));
            match line.as_mut().poll(&mut Task::from_waker(context.waker())) {
                Poll::Pending => return Some(asked),
                Poll::Ready(Err(_)) => return None,
                Poll::Ready(Ok(())) => {
                    self.line = None;
                    if waits {
                        let more = self.core.gate.available();
                        let all = self.core.gate.try_acquire(more) == TryAcquire::Taken;
                        let turn = if all { together(1, more) } else { 1 };
                        up.request(self.meter.request(turn));
                        asked = true;
                    }
                }
            }
        }
    }

    /// Hands one element to the edge. False once it takes nothing more; `None` if it must wait.
    fn hand(&mut self, element: T, context: &Context<'_>) -> Option<bool> {
        let element = self.core.sized(element);
        let charge = if self.core.options().waits() { self.core.charge(&element) } else { None };
        match charge {
            Some((bytes, n)) if bytes.try_acquire(n) != TryAcquire::Taken => {
                *self.parked = Some((element, Box::pin(bytes.acquire(n))));
                self.unpark(context)
            }
            _ => Some(matches!(self.core.push(element), Offer::Enqueued | Offer::Dropped)),
        }
    }

    fn unpark(&mut self, context: &Context<'_>) -> Option<bool> {
        let Some((element, mut line)) = self.parked.take() else { return Some(true) };
        let answer = match line.as_mut().poll(&mut Task::from_waker(context.waker())) {
            Poll::Pending => {
                *self.parked = Some((element, line));
                None
            }
            Poll::Ready(Err(_)) => Some(false),
            Poll::Ready(Ok(())) => {
                Some(matches!(self.core.push(element), Offer::Enqueued | Offer::Dropped))
            }
        };
        self.show();
        answer
    }
}

impl<T: Send> Drive for Pump<T> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            match self.unpark(context) {
                None => return Poll::Pending,
                Some(false) => return Poll::Ready(()),
                Some(true) => {}
            }
            // With demand left the gate is not looked at for each element: what is pushed into an edge
            // that ended tells as well.
            if !self.meter.wanted() && self.ask(context).is_none() {
                return Poll::Ready(()); // dropped: that cancels above
            }
            let Some(up) = &mut self.up else { return Poll::Ready(()) };
            if context.stopping() {
                return Poll::Pending;
            }
            match up.poll(context) {
                Poll::Pending => match self.ask(context) {
                    None => return Poll::Ready(()),
                    Some(false) => return Poll::Pending,
                    Some(true) => {}
                },
                Poll::Ready(Signal::Next(element)) => {
                    let _asked_for = self.meter.arrive();
                    self.meter.emit(1);
                    match self.hand(element, context) {
                        None => return Poll::Pending,
                        Some(false) => return Poll::Ready(()),
                        Some(true) => {}
                    }
                }
                Poll::Ready(Signal::Complete) => {
                    self.core.finish(None);
                    return Poll::Ready(());
                }
                Poll::Ready(Signal::Fail(error)) => {
                    self.core.finish(Some(error));
                    return Poll::Ready(());
                }
            }
        }
    }

    fn stop(&mut self, why: &Error) {
        self.core.finish(Some(why.clone()));
    }
}

impl<T> Drop for Pump<T> {
    fn drop(&mut self) {
        drop(self.parked.all());
        self.show();
        let gone = "the stages above the edge went away";
        self.core.finish(Some(Error::new(crate::error::ErrorKind::Cancelled, gone)));
    }
}
