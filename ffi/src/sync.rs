//! A lock that does not poison: what a panic leaves half-done here is a builder's next step or an
//! operation's answer, never a count. The standard library's locks survive a fork (`core`'s `sync`).

use std::sync::{MutexGuard, PoisonError};

pub(crate) use std::sync::Condvar;

#[derive(Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a change of what the lock guards.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
