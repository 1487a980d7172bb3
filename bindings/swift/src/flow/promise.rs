//! Values that come once, and work of Swift's that ends with one.

use std::sync::Arc;

use sluicegate::flow::{Completion, Flow as CoreFlow, Promise, Status};
use sluicegate::{Error, ErrorKind};

use super::blueprint::FlowCore;
use super::element::{Element, own};
use super::stage::flow;
use crate::bell::{Bell, ringer};
use crate::error::{Failure, Fault};
use crate::guard::{guard, quiet};
use crate::op::operation;

operation! {
    /// Elements, lent for as long as the operation is held.
    ElementsOp -> Vec<Element>
}

#[uniffi::export]
impl ElementsOp {
    /// Their tokens.
    pub fn tokens(&self) -> Vec<u64> {
        quiet(Vec::new(), || {
            self.0.look(|all| all.iter().map(|one| one.token()).collect()).unwrap_or_default()
        })
    }
}

/// What a completion waits for.
enum Awaited {
    Elements(Completion<Vec<Element>>),
    /// The end alone.
    Done(Completion<()>),
}

/// A value that comes once.
#[derive(uniffi::Object)]
pub struct CompletionCore(Awaited);

impl CompletionCore {
    pub(super) fn elements(completion: Completion<Vec<Element>>) -> Arc<Self> {
        Arc::new(CompletionCore(Awaited::Elements(completion)))
    }

    pub(super) fn done(completion: Completion<()>) -> Arc<Self> {
        Arc::new(CompletionCore(Awaited::Done(completion)))
    }
}

#[uniffi::export]
impl CompletionCore {
    /// Waits for it.
    pub fn wait(&self) -> Arc<ElementsOp> {
        match &self.0 {
            Awaited::Elements(completion) => ElementsOp::start(completion.wait()),
            Awaited::Done(completion) => {
                let done = completion.wait();
                ElementsOp::start(async move { done.await.map(|()| Vec::new()) })
            }
        }
    }

    /// 0 pending, 1 success, 2 failure, 3 cancelled.
    pub fn status(&self) -> u8 {
        let status = quiet(Status::Pending, || match &self.0 {
            Awaited::Elements(completion) => completion.status(),
            Awaited::Done(completion) => completion.status(),
        });
        match status {
            Status::Pending => 0,
            Status::Success => 1,
            Status::Failure => 2,
            Status::Cancelled => 3,
        }
    }

    /// Rings `bell` once it is settled, on the thread that settles it, or at once.
    pub fn on_settled(&self, bell: Arc<dyn Bell>) {
        let ring = ringer(bell);
        quiet((), || match &self.0 {
            Awaited::Elements(completion) => completion.on_settled(|_| ring()),
            Awaited::Done(completion) => completion.on_settled(|_| ring()),
        });
    }
}

/// The side that settles.
#[derive(uniffi::Object)]
pub struct PromiseCore(Promise<Vec<Element>>);

#[uniffi::export]
impl PromiseCore {
    /// A promise, pending.
    #[uniffi::constructor]
    pub fn new() -> Arc<Self> {
        Arc::new(PromiseCore(Promise::new()))
    }

    /// The side that waits.
    pub fn completion(&self) -> Arc<CompletionCore> {
        CompletionCore::elements(self.0.completion())
    }

    /// Keeps it with an element, whose token is taken over. False if it was settled before.
    pub fn try_success(&self, token: u64) -> bool {
        let value = own(token);
        quiet(false, || self.0.try_success(vec![value]))
    }

    /// Fails it. False if it was settled before.
    pub fn try_failure(&self, fault: Fault) -> bool {
        quiet(false, || self.0.try_failure(fault.into()))
    }

    /// Cancels it. False if it was settled before.
    pub fn try_cancel(&self, fault: Option<Fault>) -> bool {
        quiet(false, || match fault {
            None => self.0.try_cancel(),
            Some(fault) => self.0.try_cancel_with(fault.into()),
        })
    }

    /// What is wrong with settling it a second time.
    ///
    /// # Errors
    /// `InvalidArgument` if it was settled before; else it is cancelled.
    pub fn settled_before(&self) -> Result<(), Failure> {
        guard(|| self.0.cancel())
    }
}

/// Work of Swift's in progress.
#[uniffi::export(with_foreign)]
pub trait Job: Send + Sync {
    /// Nobody waits for it any more. Must not wait.
    fn cancel(&self);
}

/// Begins work of Swift's.
#[uniffi::export(with_foreign)]
pub trait Begins: Send + Sync {
    /// Begins work on an element, whose token is lent for the length of the call; its end settles the
    /// promise.
    fn begin(&self, token: u64, promise: Arc<PromiseCore>) -> Arc<dyn Job>;
}

/// A job that is cancelled unless it ended.
struct Running {
    job: Arc<dyn Job>,
    ended: bool,
}

impl Running {
    fn end(&mut self) {
        self.ended = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            quiet((), || self.job.cancel());
        }
    }
}

/// Work on up to `n` elements at once, in order or as it ends.
///
/// # Errors
/// `InvalidArgument` for 0.
#[uniffi::export]
pub fn flow_async(
    n: u64,
    ordered: bool,
    begins: Arc<dyn Begins>,
) -> Result<Arc<FlowCore>, Failure> {
    let work = move |element: Element| {
        let promise = Promise::new();
        let answer = promise.completion().wait();
        let job = begins.begin(element.token(), Arc::new(PromiseCore(promise)));
        let mut running = Running { job, ended: false };
        async move {
            let answer = answer.await;
            running.end();
            let none = || Error::new(ErrorKind::StageFailed, "the work ended with no element");
            answer?.pop().ok_or_else(none)
        }
    };
    guard(|| {
        let stage = if ordered {
            CoreFlow::map_async(n, work)?
        } else {
            CoreFlow::map_async_unordered(n, work)?
        };
        Ok::<_, Error>(flow(stage))
    })
}
