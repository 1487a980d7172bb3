//! Fork safety: a handle knows the process it was made in.
//!
//! After a fork only the forking thread is left: locks of the core may be held by threads that are
//! gone, and nobody reads the connections. So an inherited handle answers `ForkedError` before it
//! touches anything of the core, and is leaked rather than dropped. New handles work.

use std::mem::ManuallyDrop;

use pyo3::prelude::*;
use sluicegate::{Error, ErrorKind};

use crate::errors;
use crate::process::generation;

/// A core handle that must not be used, nor dropped, in a process forked after it was made.
pub(crate) struct Owned<T> {
    born: u64,
    inner: ManuallyDrop<T>,
}

impl<T> Owned<T> {
    pub(crate) fn new(inner: T) -> Self {
        Owned { born: generation(), inner: ManuallyDrop::new(inner) }
    }

    fn is_ours(&self) -> bool {
        self.born == generation()
    }

    /// The handle, or `ForkedError`.
    pub(crate) fn get(&self) -> PyResult<&T> {
        self.if_ours().ok_or_else(forked)
    }

    /// The handle unless it was inherited.
    pub(crate) fn if_ours(&self) -> Option<&T> {
        self.is_ours().then_some(&*self.inner)
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.is_ours() {
            // SAFETY: dropped here only, once.
            unsafe { ManuallyDrop::drop(&mut self.inner) }
        }
    }
}

fn forked() -> PyErr {
    let message = "the handle was made before a fork and is used in the child: make a new one";
    errors::raise(&Error::new(ErrorKind::Forked, message))
}
