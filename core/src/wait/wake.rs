//! Waking several at once.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

/// Fires every waker, with no lock held by the caller. A waker that panics takes no wake from those
/// behind it; its panic goes on once all have been fired.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    let mut panic = None;
    for waker in wakers {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
            panic.get_or_insert(payload);
        }
    }
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
}
