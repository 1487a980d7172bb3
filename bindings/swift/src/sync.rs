//! A lock that does not poison: what it guards here is taken out before anything that can panic runs.
//! The standard library's locks survive a fork (`core`'s `sync`).

use std::sync::{MutexGuard, PoisonError};

pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
