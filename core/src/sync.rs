//! Locks and atomics, from one place, so that a model checker can stand in for them.
//!
//! They are the standard library's, which wait on a futex word of their own: a process that forks
//! while threads wait leaves nothing behind that the child could trip over. (`parking_lot` keeps all
//! waiters in one table of the process, with entries on the stacks of their threads; a forked child
//! has the entries but not the threads.)
//!
//! A panic under one of these locks marks the lock broken, and every later use of it panics with
//! [`Broken`], which the C ABI reports as its own status: an object in an unknown state never
//! answers as if nothing had happened.
//!
//! Under `--cfg loom` and `--cfg shuttle` the locks, condition variables, atomics and threads are those
//! checkers' own. Only `tests/loom` builds the rooms like that. Reference counts stay the standard
//! library's: no decision hangs on them.

use std::ops::{Deref, DerefMut};
use std::panic::resume_unwind;
use std::sync::PoisonError;
use std::time::Instant;

#[cfg(not(any(loom, shuttle)))]
use std as base;

#[cfg(loom)]
use loom as base;

#[cfg(shuttle)]
use shuttle as base;

pub(crate) use base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub(crate) use base::thread;
pub(crate) use std::sync::Arc;

/// The payload of the panic that a use of a broken object raises.
#[derive(Clone, Copy, Debug)]
pub struct Broken;

#[derive(Default)]
pub(crate) struct Mutex<T>(base::sync::Mutex<T>);

/// Held until it is dropped. `None` only inside a wait, which has it then.
pub(crate) struct MutexGuard<'a, T>(Option<base::sync::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) const fn new(value: T) -> Self {
        Mutex(base::sync::Mutex::new(value))
    }

    #[cfg(any(loom, shuttle))]
    pub(crate) fn new(value: T) -> Self {
        Mutex(base::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        match self.0.lock() {
            Ok(guard) => MutexGuard(Some(guard)),
            // A thread that unwinds already lets go of what it has; it must not panic again.
            Err(broken) if std::thread::panicking() => MutexGuard(Some(broken.into_inner())),
            Err(broken) => {
                drop(broken);
                resume_unwind(Box::new(Broken)) // an answer, not news: no panic message
            }
        }
    }
}

const HELD: &str = "a guard that is not in a wait holds its lock";

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0.as_ref().expect(HELD)
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect(HELD)
    }
}

#[derive(Default)]
pub(crate) struct Condvar(base::sync::Condvar);

impl Condvar {
    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.0.take().expect(HELD);
        guard.0 = Some(self.0.wait(held).unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until notified or until `at`; the caller asks its condition again either way.
    pub(crate) fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, at: Instant) {
        let held = guard.0.take().expect(HELD);
        let limit = at.saturating_duration_since(crate::time::now());
        let (held, _) = self.0.wait_timeout(held, limit).unwrap_or_else(PoisonError::into_inner);
        guard.0 = Some(held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_panic_under_the_lock_breaks_the_object() {
        let mutex = Mutex::new(1);
        let first = catch_unwind(AssertUnwindSafe(|| {
            let _guard = mutex.lock();
            panic!("on purpose");
        }));
        assert!(first.is_err());
        let later = catch_unwind(AssertUnwindSafe(|| *mutex.lock())).expect_err("broken");
        assert!(later.is::<Broken>());
    }
}
