//! The receiver's side of a stream.

use std::sync::Arc;

use sluicegate::{CreditWindow, model};

use crate::error::Failure;
use crate::guard::{guard, quiet};

/// Core's window.
#[derive(uniffi::Object)]
pub struct WindowCore(CreditWindow);

#[uniffi::export]
impl WindowCore {
    /// A window of `window` chunks that grants back in halves.
    #[uniffi::constructor]
    pub fn new(window: u64) -> Arc<Self> {
        Arc::new(WindowCore(CreditWindow::new(window)))
    }

    /// A window whose grants are due after `batch` chunks, held between 1 and half the window.
    #[uniffi::constructor]
    pub fn with_batch(window: u64, batch: u64) -> Arc<Self> {
        Arc::new(WindowCore(CreditWindow::with_batch(window, batch)))
    }

    /// A chunk arrives.
    ///
    /// # Errors
    /// A credit violation if no credit was left for it.
    pub fn arrive(&self) -> Result<(), Failure> {
        guard(|| self.0.arrive())
    }

    /// A chunk was consumed; the grant now due, 0 for none.
    pub fn consumed(&self) -> u64 {
        quiet(0, || self.0.consumed())
    }

    /// Everything pending.
    pub fn flush(&self) -> u64 {
        quiet(0, || self.0.flush())
    }

    /// A chunk only continues an item: given back at once.
    pub fn continued(&self) -> u64 {
        quiet(0, || self.0.continued())
    }

    /// Chunks that may still arrive.
    pub fn remaining(&self) -> u64 {
        quiet(0, || self.0.remaining())
    }

    /// Chunks consumed and not granted back yet.
    pub fn pending(&self) -> u64 {
        quiet(0, || self.0.pending())
    }

    /// How many consumed chunks make a grant due.
    pub fn batch(&self) -> u64 {
        quiet(0, || self.0.batch())
    }

    /// The window that this was opened with.
    pub fn size(&self) -> u64 {
        self.0.size()
    }
}

/// The smaller of two proposals; none if either is zero.
#[uniffi::export]
pub fn negotiate(ours: u64, theirs: u64) -> Option<u64> {
    model::negotiate(ours, theirs)
}
