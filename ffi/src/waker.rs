//! The one call from the library into foreign code: a one-shot callback.

use std::ffi::c_void;

use crate::guard::Fail;
use crate::status::Status;

/// A one-shot callback, by which a wait is built on the caller's own primitive.
///
/// `wake` runs at most once, on any thread (also inside the call that the waker was handed to), with
/// no lock of the library held. It must not wait, and may call anything that does not wait.
/// `release` runs exactly once for every waker that was handed over, whatever the call answered:
/// after `wake` returned, or when the waker is withdrawn without having fired. Neither may throw or
/// jump out.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Waker {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Says that asking again is worth while. Not NULL.
    pub wake: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
    /// Frees what `ctx` stands for. NULL: nothing to free.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// A waker that the library owns: rings once, and is released when it goes.
pub(crate) struct Ringer(Waker);

// SAFETY: the contract of `sluice_waker` says that both functions may be called on any thread.
unsafe impl Send for Ringer {}

impl Ringer {
    /// Takes the waker over. From here on its release function runs exactly once, come what may.
    pub(crate) fn take(waker: *const Waker) -> Option<Self> {
        if waker.is_null() {
            return None;
        }
        // SAFETY: the caller's duty: a waker is NULL or points to a readable `sluice_waker`.
        Some(Ringer(unsafe { *waker }))
    }

    /// Fails if there is nothing to ring with.
    pub(crate) fn check(&self) -> Result<(), Fail> {
        if self.0.wake.is_none() { Err(Status::SLUICE_INVALID_ARGUMENT.into()) } else { Ok(()) }
    }

    /// Calls `wake`, then lets go.
    pub(crate) fn ring(self) {
        if let Some(wake) = self.0.wake {
            // SAFETY: the contract of `sluice_waker`; `self` is consumed, so this is the only call.
            unsafe { wake(self.0.ctx) };
        }
    }
}

impl Drop for Ringer {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: the contract of `sluice_waker`; a value is dropped once.
            unsafe { release(self.0.ctx) };
        }
    }
}
