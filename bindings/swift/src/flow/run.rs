//! What runs: scopes, and what a run yields.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sluicegate::flow::{Manual, Offer, Outlet, Scope, Switch};
use sluicegate::link::offload;
use sluicegate::{Error, ErrorKind};

use super::blueprint::GraphCore;
use super::element::{Element, own};
use super::mats::{Mat, Mats};
use super::once;
use super::promise::{CompletionCore, ElementsOp};
use crate::engine::EngineCore;
use crate::error::{Failure, Fault};
use crate::guard::{guard, quiet};
use crate::op::{UnitOp, taking};
use crate::sync::Mutex;

/// What a run yielded, by position.
#[derive(uniffi::Object)]
pub struct RunCore(pub(super) Mats);

/// A scope; `None` once it is gone.
#[derive(uniffi::Object)]
pub struct ScopeCore(pub(super) Mutex<Option<Arc<Scope>>>);

#[uniffi::export]
impl GraphCore {
    /// Runs it on `scope`.
    ///
    /// # Errors
    /// As core's `run`.
    pub fn run(&self, scope: &ScopeCore) -> Result<Arc<RunCore>, Failure> {
        guard(|| {
            let scope = scope.0.lock().clone();
            let scope = scope
                .ok_or_else(|| Error::new(ErrorKind::ScopeShutDown, "the scope was shut down"))?;
            Ok::<_, Error>(Arc::new(RunCore(once::running(|| self.0.run(&scope))?)))
        })
    }
}

/// The two counters of a stage.
#[derive(Clone, Debug, uniffi::Record)]
pub struct StageFacts {
    /// Its name.
    pub name: String,
    /// Asked for below and not handed down yet.
    pub downstream: u64,
    /// Asked for above and not arrived yet.
    pub upstream: u64,
    /// Arrived and not left yet.
    pub held: u64,
    /// Handed down so far.
    pub passed: u64,
    /// Discarded by an overflow strategy.
    pub lost: u64,
    /// Came after the end and was dropped.
    pub late: u64,
}

/// Who waits for whom in a scope.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ScopeFacts {
    /// As every language writes it.
    pub json: String,
    /// In words.
    pub text: String,
}

#[uniffi::export]
impl ScopeCore {
    /// A scope with threads, or without them and with a seed for their order.
    ///
    /// # Errors
    /// As core's `Scope::new`.
    #[uniffi::constructor]
    pub fn new(name: String, seed: Option<u64>) -> Result<Arc<Self>, Failure> {
        guard(|| {
            let scope = match seed {
                None => Scope::new(name)?,
                Some(seed) => Scope::stepped(name, seed),
            };
            Ok::<_, Error>(Arc::new(ScopeCore(Mutex::new(Some(Arc::new(scope))))))
        })
    }

    /// Runs what can run in a scope without threads.
    pub fn settle(&self) -> u64 {
        quiet(0, || self.get().map_or(0, |scope| scope.settle()))
    }

    /// Moves a stepped scope's clock.
    pub fn advance(&self, micros: u64) -> bool {
        let by = Duration::from_micros(micros);
        quiet(false, || self.get().is_ok_and(|scope| scope.advance(by)))
    }

    /// Every stage that runs.
    pub fn stages(&self) -> Vec<StageFacts> {
        quiet(Vec::new(), || {
            let stages = self.get().map(|scope| scope.stages()).unwrap_or_default();
            let facts = stages.iter().map(|view| {
                let demand = view.demand();
                StageFacts {
                    name: view.name().to_owned(),
                    downstream: demand.downstream,
                    upstream: demand.upstream,
                    held: demand.held,
                    passed: view.passed(),
                    lost: view.lost(),
                    late: view.late(),
                }
            });
            facts.collect()
        })
    }

    /// Who waits for whom, now.
    ///
    /// # Errors
    /// `ScopeShutDown`.
    pub fn explain(&self) -> Result<ScopeFacts, Failure> {
        guard(|| {
            let explanation = self.get()?.explain();
            let (json, text) = (explanation.to_json().to_string(), explanation.to_string());
            Ok::<_, Error>(ScopeFacts { json, text })
        })
    }

    /// Has an engine tell of this scope's stages too.
    ///
    /// # Errors
    /// `ScopeShutDown`.
    pub fn tell(&self, engine: &EngineCore) -> Result<(), Failure> {
        guard(|| {
            self.get()?.tell(engine.engine());
            Ok::<_, Error>(())
        })
    }

    /// How many islands run.
    pub fn running(&self) -> u64 {
        quiet(0, || self.get().map_or(0, |scope| scope.running() as u64))
    }

    /// Stops everything, on a thread of its own; answers when it has stopped.
    pub fn shutdown(&self, limit_micros: u64) -> Arc<UnitOp> {
        let scope = self.get();
        let mut stopping = Box::pin(offload("scope", move || {
            scope?.shutdown(Duration::from_micros(limit_micros))
        }));
        // It begins now, also for a task that does not wait.
        let begun = stopping.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        UnitOp::start(async move {
            match begun {
                Poll::Ready(answer) => answer,
                Poll::Pending => stopping.await,
            }
        })
    }
}

impl ScopeCore {
    fn get(&self) -> Result<Arc<Scope>, Error> {
        self.0
            .lock()
            .clone()
            .ok_or_else(|| Error::new(ErrorKind::ScopeShutDown, "the scope was shut down"))
    }
}

impl Drop for ScopeCore {
    fn drop(&mut self) {
        // Stopping waits for functions of the user, which may be the ones that let go of it.
        if let Some(scope) = self.0.lock().take() {
            let _stopped = std::thread::Builder::new()
                .name("sluicegate-scope".into())
                .spawn(move || drop(scope));
        }
    }
}

impl RunCore {
    fn at<T>(&self, index: u64, pick: impl Fn(&Mat) -> Option<T>) -> Result<T, Failure> {
        guard(|| {
            let mat = usize::try_from(index).ok().and_then(|index| self.0.get(index));
            mat.and_then(pick).ok_or_else(|| {
                Error::new(ErrorKind::InvalidArgument, format!("value {index} is of another kind"))
            })
        })
    }
}

#[uniffi::export]
impl RunCore {
    /// The control of a manual source or a publisher.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none at `index`.
    pub fn manual(&self, index: u64) -> Result<Arc<ManualCore>, Failure> {
        self.at(index, |mat| match mat {
            Mat::Manual(manual) => Some(Arc::new(ManualCore(manual.clone()))),
            _ => None,
        })
    }

    /// A completion.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none at `index`.
    pub fn completion(&self, index: u64) -> Result<Arc<CompletionCore>, Failure> {
        self.at(index, |mat| match mat {
            Mat::Completion(completion) => Some(CompletionCore::elements(completion.clone())),
            Mat::Done(completion) => Some(CompletionCore::done(completion.clone())),
            _ => None,
        })
    }

    /// A kill switch.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none at `index`.
    pub fn kill_switch(&self, index: u64) -> Result<Arc<KillSwitchCore>, Failure> {
        self.at(index, |mat| match mat {
            Mat::Switch(switch) => Some(Arc::new(KillSwitchCore(switch.clone()))),
            _ => None,
        })
    }

    /// An outlet.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none at `index`.
    pub fn outlet(&self, index: u64) -> Result<Arc<OutletCore>, Failure> {
        self.at(index, |mat| match mat {
            Mat::Outlet(outlet) => Some(Arc::new(OutletCore(outlet.clone()))),
            _ => None,
        })
    }

    /// A hub.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none at `index`.
    pub fn hub(&self, index: u64) -> Result<Arc<super::join::HubCore>, Failure> {
        self.at(index, |mat| match mat {
            Mat::Hub(hub) => Some(Arc::new(super::join::HubCore(hub.clone()))),
            _ => None,
        })
    }

    /// A merge hub.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none at `index`.
    pub fn merge_hub(&self, index: u64) -> Result<Arc<super::join::MergeHubCore>, Failure> {
        self.at(index, |mat| match mat {
            Mat::MergeHub(hub) => Some(Arc::new(super::join::MergeHubCore(hub.clone()))),
            _ => None,
        })
    }

    /// A subscriber probe.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none at `index`.
    pub fn subscriber(&self, index: u64) -> Result<Arc<super::probe::SubscriberCore>, Failure> {
        self.at(index, |mat| match mat {
            Mat::Subscriber(probe) => Some(Arc::new(super::probe::SubscriberCore::new(probe))),
            _ => None,
        })
    }
}

/// The control of a source that is fed by hand.
#[derive(uniffi::Object)]
pub struct ManualCore(Manual<Element>);

/// What became of an element that was offered.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum OfferFacts {
    /// It is in the queue.
    Enqueued,
    /// It was discarded, and counted.
    Dropped,
    /// The queue is closed.
    QueueClosed,
    /// The queue has failed.
    Failed {
        /// With this.
        fault: Fault,
    },
}

impl From<Offer> for OfferFacts {
    fn from(offer: Offer) -> Self {
        match offer {
            Offer::Enqueued => OfferFacts::Enqueued,
            Offer::Dropped => OfferFacts::Dropped,
            Offer::QueueClosed => OfferFacts::QueueClosed,
            Offer::Failure(error) => OfferFacts::Failed { fault: Fault::from(&error) },
        }
    }
}

taking! {
    /// An offer that waits for room.
    OfferOp -> OfferFacts
}

#[uniffi::export]
impl ManualCore {
    /// Offers an element, whose token is taken over.
    pub fn offer(&self, token: u64) -> Arc<OfferOp> {
        let offer = self.0.offer(own(token));
        OfferOp::start(async move { Ok::<_, Error>(offer.await.into()) })
    }

    /// Offers an element if that needs no waiting; none: there was no room, and it is released.
    pub fn try_offer(&self, token: u64) -> Option<OfferFacts> {
        let element = own(token);
        quiet(None, || self.0.try_offer(element).ok().map(Into::into))
    }

    /// The source is done.
    pub fn complete(&self) -> bool {
        quiet(false, || self.0.complete())
    }

    /// The source fails.
    pub fn fail(&self, fault: Fault) -> bool {
        quiet(false, || self.0.fail(fault.into()))
    }

    /// What can be offered now without waiting.
    pub fn demand(&self) -> u64 {
        quiet(0, || self.0.demand())
    }

    /// What was accepted and not taken yet.
    pub fn held(&self) -> u64 {
        quiet(0, || self.0.held())
    }

    /// What was discarded.
    pub fn lost(&self) -> u64 {
        quiet(0, || self.0.lost())
    }

    /// True once it has ended.
    pub fn is_over(&self) -> bool {
        quiet(true, || self.0.is_over())
    }

    /// Waits until `n` elements can be offered; 0 if it ends first, else 1.
    pub fn ready(&self, n: u64) -> Arc<crate::op::CountOp> {
        let ready = self.0.ready(n);
        crate::op::CountOp::start(async move { Ok::<_, Error>(u64::from(ready.await)) })
    }
}

/// Ends a run from outside.
#[derive(uniffi::Object)]
pub struct KillSwitchCore(Switch);

#[uniffi::export]
impl KillSwitchCore {
    /// Cancels above and fails below. False if that was done before.
    pub fn cancel(&self, reason: Option<Fault>) -> bool {
        quiet(false, || match reason {
            None => self.0.cancel(),
            Some(reason) => self.0.cancel_with(reason.into()),
        })
    }
}

/// The end that is read by hand.
#[derive(uniffi::Object)]
pub struct OutletCore(Outlet<Element>);

#[uniffi::export]
impl OutletCore {
    /// The next element; no token at the end.
    pub fn recv(&self) -> Arc<ElementsOp> {
        let next = self.0.recv();
        ElementsOp::start(async move { Ok::<_, Error>(next.await?.into_iter().collect()) })
    }

    /// Cancels the pipeline.
    pub fn cancel(&self) {
        quiet((), || self.0.cancel());
    }

    /// What waits to be taken.
    pub fn held(&self) -> u64 {
        quiet(0, || self.0.held())
    }
}
