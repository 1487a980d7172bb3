//! Fork safety: a handle knows the process it was made in.
//!
//! After a fork only the forking thread is left: locks of the core may be held by threads that are
//! gone, and nobody reads the connections. So an inherited handle answers `ForkedError` before it
//! touches anything of the core, and is leaked rather than dropped. New handles work.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use pyo3::prelude::*;
use sluicegate::{Error, ErrorKind};

use crate::{attach, bell, errors};

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Starts to count forks of this process, once.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler is a plain function of this library, which is never unloaded, and
        // only touches atomics, as a child of a threaded process must.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        assert_eq!(failed, 0, "no memory to watch for forks");
    });
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    bell::NOTIFIER.forget();
    attach::COMING.forget();
}

/// A core handle that must not be used, nor dropped, in a process forked after it was made.
pub(crate) struct Owned<T> {
    born: u64,
    inner: ManuallyDrop<T>,
}

impl<T> Owned<T> {
    pub(crate) fn new(inner: T) -> Self {
        Owned { born: GENERATION.load(Ordering::Relaxed), inner: ManuallyDrop::new(inner) }
    }

    fn is_ours(&self) -> bool {
        self.born == GENERATION.load(Ordering::Relaxed)
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

/// Something that each process has one of, made on first use and kept as long as the process lives.
pub(crate) struct PerProcess<T>(AtomicPtr<T>);

impl<T: Default> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        PerProcess(AtomicPtr::new(ptr::null_mut()))
    }

    pub(crate) fn get(&self) -> &'static T {
        let current = self.0.load(Ordering::Acquire);
        if !current.is_null() {
            // SAFETY: made by `Box::into_raw` below and never freed.
            return unsafe { &*current };
        }
        let new = Box::into_raw(Box::<T>::default());
        match self.0.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: made above and never freed from now on.
            Ok(_) => unsafe { &*new },
            Err(other) => {
                // SAFETY: made above and shared with nobody.
                drop(unsafe { Box::from_raw(new) });
                // SAFETY: another thread made it by the lines above.
                unsafe { &*other }
            }
        }
    }

    /// True if `this` is the one of the current process.
    pub(crate) fn is(&self, this: &'static T) -> bool {
        ptr::eq(self.0.load(Ordering::Acquire), this)
    }

    /// In a forked child: locks in it may be held for ever, so the next use makes a new one.
    fn forget(&self) {
        self.0.store(ptr::null_mut(), Ordering::Release);
    }
}
