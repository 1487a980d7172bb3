//! Flush before any wait (L10), in one place.
//!
//! A consumer batches its grants. A party that waits, for input, for credit downstream, for room on
//! the wire, while it holds grants it has not sent can starve the very producer that would unblock
//! it. So everything that consumes notes here that it owes something, and every wait of the same
//! runtime is wrapped in [`Owed::before_wait`], which settles all of it before the wait begins.

use std::future::Future;
use std::pin::Pin;
use std::sync::Weak;
use std::task::{Context, Poll};

use crate::sync::{Arc, AtomicBool, Mutex, Ordering};

/// Something that may hold grants it has not sent.
pub(crate) trait Owing: Send + Sync {
    /// Sends every pending grant. Never waits.
    fn settle(&self);
}

/// What one runtime, engine or cartridge owes.
#[derive(Default)]
pub(crate) struct Owed {
    any: AtomicBool,
    list: Mutex<Vec<Weak<dyn Owing>>>,
}

impl Owed {
    /// Notes that `debtor` holds a pending grant, unless it is `noted` already. The mark is set last:
    /// who sees it and waits must find the debtor in the list.
    pub(crate) fn note(&self, debtor: Weak<dyn Owing>, noted: &AtomicBool) {
        let mut list = self.list.lock();
        if !noted.load(Ordering::Acquire) {
            list.push(debtor);
            self.any.store(true, Ordering::Release);
            noted.store(true, Ordering::Release);
        }
    }

    /// Sends everything that is owed.
    pub(crate) fn settle_all(&self) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        let mut list = self.list.lock();
        self.any.store(false, Ordering::Release);
        let debtors = std::mem::take(&mut *list);
        drop(list);
        for debtor in debtors {
            if let Some(debtor) = debtor.upgrade() {
                debtor.settle();
            }
        }
    }

    /// `future`, settling every debt before it waits.
    pub(crate) fn before_wait<F: Future>(self: &Arc<Self>, future: F) -> BeforeWait<F> {
        BeforeWait { owed: Arc::clone(self), future: Box::pin(future) }
    }
}

/// See [`Owed::before_wait`].
pub(crate) struct BeforeWait<F> {
    owed: Arc<Owed>,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for BeforeWait<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let answer = self.future.as_mut().poll(context);
        if answer.is_pending() {
            self.owed.settle_all(); // L10: flush before any wait
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Deadline;
    use crate::wait::block_on;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    struct Debtor(AtomicUsize);

    impl Owing for Debtor {
        fn settle(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn l10_a_wait_settles_what_is_owed_and_a_ready_answer_does_not() {
        let owed = Arc::new(Owed::default());
        let debtor = Arc::new(Debtor(AtomicUsize::new(0)));
        let weak: Weak<Debtor> = Arc::downgrade(&debtor);
        owed.note(weak, &AtomicBool::new(false));
        assert_eq!(block_on(owed.before_wait(async { 1 }), Deadline::NEVER), Ok(1));
        assert_eq!(debtor.0.load(Ordering::SeqCst), 0);
        let never = owed.before_wait(std::future::pending::<()>());
        assert!(block_on(never, Deadline::after(Duration::from_millis(1))).is_err());
        assert_eq!(debtor.0.load(Ordering::SeqCst), 1);
    }
}
