//! Locks and atomics, from one place, so that a model checker can stand in for them.
//!
//! `parking_lot` does not poison. A panic under one of these locks marks the lock broken, and every
//! later use of it panics with [`Broken`], which the C ABI reports as its own status: an object in
//! an unknown state never answers as if nothing had happened.

use std::ops::{Deref, DerefMut};
use std::time::Instant;

pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The payload of the panic that a use of a broken object raises.
#[derive(Clone, Copy, Debug)]
pub struct Broken;

#[derive(Default)]
pub(crate) struct Mutex<T> {
    broken: AtomicBool,
    inner: parking_lot::Mutex<T>,
}

pub(crate) struct MutexGuard<'a, T> {
    broken: &'a AtomicBool,
    /// The thread was unwinding when it took the lock: that panic is none of this lock's.
    unwinding: bool,
    inner: parking_lot::MutexGuard<'a, T>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex { broken: AtomicBool::new(false), inner: parking_lot::Mutex::new(value) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        let inner = self.inner.lock();
        let unwinding = std::thread::panicking();
        if self.broken.load(Ordering::Relaxed) && !unwinding {
            drop(inner);
            std::panic::panic_any(Broken);
        }
        MutexGuard { broken: &self.broken, unwinding, inner }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if !self.unwinding && std::thread::panicking() {
            self.broken.store(true, Ordering::Relaxed);
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

#[derive(Default)]
pub(crate) struct Condvar(parking_lot::Condvar);

impl Condvar {
    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.0.wait(&mut guard.inner);
    }

    /// Waits until notified or until `at`; the caller asks its condition again either way.
    pub(crate) fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, at: Instant) {
        self.0.wait_until(&mut guard.inner, at);
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
