//! The verb for a language that brings its own wait: an operation polled by hand.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::Bell;
use crate::sync::Arc;

/// One waiting operation in progress: an acquire, a write, a receive.
///
/// ```
/// # use sluicegate::{CreditGate, wait::Op};
/// let gate = CreditGate::new(0);
/// let mut acquire: Op<_> = gate.acquire_op(1);
/// let (ring, rung) = std::sync::mpsc::channel();
/// assert!(acquire.poll(move || { let _ = ring.send(()); }).is_none());
/// gate.grant(1);
/// rung.recv().expect("the bell rings when credit comes");
/// assert!(acquire.poll(|| ()).expect("ready").is_ok());
/// ```
///
/// Dropping the operation cancels it: it leaves its place in every line, gives back what it was
/// about to take, and joins its bell, so that no callback runs afterwards.
pub struct Op<T> {
    future: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    bell: Option<Arc<Bell>>,
}

impl<T> Op<T> {
    /// An operation that is `future`.
    pub fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Op { future: Some(Box::pin(future)), bell: None }
    }

    /// Asks once. `Some` is the answer; `None` means that `ring` will be called, once, from any
    /// thread, as soon as asking again is worth while. It may already have been called when this
    /// returns. A bell of an earlier poll is withdrawn first.
    ///
    /// # Panics
    /// If the operation has already answered.
    pub fn poll(&mut self, ring: impl FnOnce() + Send + 'static) -> Option<T> {
        self.withdraw();
        let bell = Bell::new(ring);
        let waker = Waker::from(Arc::clone(&bell));
        let answer = self.ask(&waker);
        if answer.is_none() {
            self.bell = Some(bell);
        } else {
            bell.withdraw();
        }
        answer
    }

    /// Asks once and leaves no bell behind.
    ///
    /// # Panics
    /// If the operation has already answered.
    pub fn try_now(&mut self) -> Option<T> {
        self.withdraw();
        self.ask(Waker::noop())
    }

    /// Takes back the bell of the last poll: once this returns, it is not ringing and never will.
    pub fn withdraw(&mut self) {
        if let Some(bell) = self.bell.take() {
            bell.withdraw();
        }
    }

    /// True once the operation has answered.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.future.is_none()
    }

    fn ask(&mut self, waker: &Waker) -> Option<T> {
        let future = self.future.as_mut().expect("an operation answers once");
        match future.as_mut().poll(&mut Context::from_waker(waker)) {
            Poll::Ready(answer) => {
                self.future = None;
                Some(answer)
            }
            Poll::Pending => None,
        }
    }
}

impl<T> Drop for Op<T> {
    fn drop(&mut self) {
        self.withdraw();
        self.future = None; // leaves the line; may wake whoever stood behind
    }
}
