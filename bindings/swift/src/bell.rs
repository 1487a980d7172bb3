//! The one call from core into Swift.

use std::sync::Arc;

/// Wakes a Swift task. Fired at most once for each poll, from any thread, with no lock of core
/// held. It must not wait.
#[uniffi::export(with_foreign)]
pub trait Bell: Send + Sync {
    /// Asking the operation again is worth while now.
    fn ring(&self);
}

/// What core calls: rings the bell. A bell that throws cannot hurt the thread it is rung on.
pub(crate) fn ringer(bell: Arc<dyn Bell>) -> impl FnOnce() + Send + 'static {
    move || bell.ring()
}
