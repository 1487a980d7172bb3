//! Locks that do not poison: what they guard here is taken out before anything that can panic runs.
//!
//! They are the standard library's, each a futex word of its own, so that a process that forks while
//! threads wait leaves nothing behind that the child could trip over (`core`'s `sync` says more).

use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while another thread holds it.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(broken)) => Some(broken.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[derive(Default)]
pub(crate) struct Condvar(std::sync::Condvar);

impl Condvar {
    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Waits as long as `condition` holds for what `guard` guards.
    pub(crate) fn wait_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.0.wait_while(guard, condition).unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, for `limit` at most.
    pub(crate) fn wait_while_for<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.0.wait_timeout_while(guard, limit, condition).unwrap_or_else(PoisonError::into_inner).0
    }
}
