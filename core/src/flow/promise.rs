//! A value that comes once: the promise is kept on one side, awaited on the other.

use std::future::Future;
use std::time::Duration;

use super::guard::contained;
use crate::error::{Error, ErrorKind};
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::watched::{Watched, until};
use crate::wait::{Op, block_on};

/// Where a [`Completion`] stands. Everything but `Pending` is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Not settled yet.
    Pending,
    /// It has its value.
    Success,
    /// It failed.
    Failure,
    /// It was cancelled, or its promise went away. A run's result is cancelled when its scope is shut
    /// down or a cancel went through it, which is an error of kind `Cancelled` or `ScopeShutDown`: of a
    /// kill switch, of a request, of a producer that went away.
    Cancelled,
}

type Callback<T> = Box<dyn FnOnce(&Completion<T>) + Send>;

struct State<T> {
    status: Status,
    /// Shared, so that the value's `Clone`, which is foreign code, runs under no lock.
    outcome: Option<Arc<Result<T, Error>>>,
    callbacks: Vec<Callback<T>>,
}

struct Core<T>(Watched<State<T>>);

/// The side that settles. One transition wins; dropping a promise that is pending cancels it.
pub struct Promise<T>(Completion<T>);

/// The side that waits. Cheap to clone, and safe from any thread. Every waiter gets the same answer.
pub struct Completion<T>(Arc<Core<T>>);

impl<T> Clone for Completion<T> {
    fn clone(&self) -> Self {
        Completion(Arc::clone(&self.0))
    }
}

impl<T: Send + 'static> Promise<T> {
    /// A promise, pending.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a promise nobody holds is cancelled")]
    pub fn new() -> Self {
        let state = State { status: Status::Pending, outcome: None, callbacks: Vec::new() };
        Promise(Completion(Arc::new(Core(Watched::new(state)))))
    }

    /// The side that waits.
    #[must_use]
    pub fn completion(&self) -> Completion<T> {
        self.0.clone()
    }

    /// Keeps the promise. False if it was settled before: nothing changes.
    pub fn try_success(&self, value: T) -> bool {
        self.0.settle(Ok(value), false)
    }

    /// Fails the promise. False if it was settled before.
    pub fn try_failure(&self, error: Error) -> bool {
        self.0.settle(Err(error), false)
    }

    /// Cancels the promise. False if it was settled before.
    pub fn try_cancel(&self) -> bool {
        self.try_cancel_with(Error::new(ErrorKind::Cancelled, "the promise was cancelled"))
    }

    /// The same, saying why.
    pub fn try_cancel_with(&self, reason: Error) -> bool {
        self.0.settle(Err(reason), true)
    }

    /// Ends a run's result: with a cancel if that is what the run ended by, else with a failure.
    pub(super) fn end(&self, error: Error) -> bool {
        match error.kind() {
            ErrorKind::Cancelled | ErrorKind::ScopeShutDown => self.try_cancel_with(error),
            _ => self.try_failure(error),
        }
    }

    /// Keeps the promise.
    ///
    /// # Errors
    /// `InvalidArgument` if it was settled before.
    pub fn success(&self, value: T) -> Result<(), Error> {
        self.once(self.try_success(value))
    }

    /// Fails the promise.
    ///
    /// # Errors
    /// `InvalidArgument` if it was settled before.
    pub fn failure(&self, error: Error) -> Result<(), Error> {
        self.once(self.try_failure(error))
    }

    /// Cancels the promise.
    ///
    /// # Errors
    /// `InvalidArgument` if it was settled before.
    pub fn cancel(&self) -> Result<(), Error> {
        self.once(self.try_cancel())
    }

    fn once(&self, won: bool) -> Result<(), Error> {
        if won {
            return Ok(());
        }
        let status = self.0.status();
        Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("the promise was settled before, as {status:?}: one transition wins"),
        ))
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.0.settle(Err(Error::new(ErrorKind::Cancelled, "the promise went away")), true);
    }
}

impl<T> Completion<T> {
    fn settle(&self, outcome: Result<T, Error>, cancelled: bool) -> bool {
        let mut loser = Some(outcome); // dropped with the lock released
        let callbacks = self.0.0.update(|state| {
            if state.outcome.is_some() {
                return None;
            }
            state.status = match &loser {
                Some(Ok(_)) => Status::Success,
                Some(Err(_)) if !cancelled => Status::Failure,
                _ => Status::Cancelled,
            };
            state.outcome = loser.take().map(Arc::new);
            Some(std::mem::take(&mut state.callbacks))
        });
        drop(loser);
        let won = callbacks.is_some();
        for callback in callbacks.into_iter().flatten() {
            self.call(callback);
        }
        won
    }

    fn call(&self, callback: Callback<T>) {
        contained(|| callback(self));
    }

    /// Where it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.0.0.with(|state| state.status)
    }

    /// True until it is settled.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.status() == Status::Pending
    }

    /// True once it has its value.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status() == Status::Success
    }

    /// True once it has failed.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.status() == Status::Failure
    }

    /// True once it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.status() == Status::Cancelled
    }

    /// Calls `callback` once, when it is settled: on the thread that settles it, or at once on this
    /// one. The callback must not wait; its panic is contained and lost.
    pub fn on_settled(&self, callback: impl FnOnce(&Completion<T>) + Send + 'static) {
        let mut callback: Option<Callback<T>> = Some(Box::new(callback));
        self.0.0.with(|state| {
            if state.outcome.is_none() {
                state.callbacks.extend(callback.take());
            }
        });
        if let Some(callback) = callback {
            self.call(callback);
        }
    }
}

impl<T: Clone + Send + Sync + 'static> Completion<T> {
    /// What it was settled with; `None` while it is pending. A cancel is an error, of kind `Cancelled`
    /// or `ScopeShutDown` if no other was given as its reason.
    #[must_use]
    pub fn result(&self) -> Option<Result<T, Error>> {
        self.0.0.with(|state| state.outcome.clone()).map(|outcome| (*outcome).clone())
    }

    /// Waits on any executor.
    ///
    /// # Errors
    /// What it failed with, or why it was cancelled.
    pub fn wait(&self) -> impl Future<Output = Result<T, Error>> + Send + use<T> {
        let core = Arc::clone(&self.0);
        let settled = until(core, |core| &core.0, |state: &mut State<T>| state.outcome.clone());
        async { (*settled.await).clone() }
    }

    /// The same as an operation to poll by hand.
    #[must_use]
    pub fn wait_op(&self) -> Op<Result<T, Error>> {
        Op::new(self.wait())
    }

    /// Waits on this thread.
    ///
    /// # Errors
    /// What it failed with, or why it was cancelled.
    pub fn blocking_wait(&self) -> Result<T, Error> {
        block_on(self.wait(), Deadline::NEVER)?
    }

    /// Waits on this thread, no longer than `limit`.
    ///
    /// # Errors
    /// `TimedOut` if it is pending still; else as [`blocking_wait`](Self::blocking_wait).
    pub fn blocking_wait_timeout(&self, limit: Duration) -> Result<T, Error> {
        block_on(self.wait(), Deadline::after(limit))
            .map_err(|_| Error::new(ErrorKind::TimedOut, format!("not settled within {limit:?}")))?
    }
}

impl<T> std::fmt::Debug for Completion<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Completion").field(&self.status()).finish()
    }
}

impl<T> std::fmt::Debug for Promise<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Promise").field(&self.0.status()).finish()
    }
}
