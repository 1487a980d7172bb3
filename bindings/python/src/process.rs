//! Which process this is: the one that a thing was made in, or a child that was forked since.

use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// How many forks lie between the first process and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Starts to count forks of this process, once.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler is a plain function of this library, which is never unloaded, and
        // only touches an atomic, as a child of a threaded process must.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        assert_eq!(failed, 0, "no memory to watch for forks");
    });
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// The number of this process among its forefathers.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Something that each process has one of, made on first use and kept as long as the process lives. In a
/// forked child the next use makes a new one: locks in the inherited one may be held for ever.
pub(crate) struct PerProcess<T>(AtomicPtr<Kept<T>>);

struct Kept<T> {
    born: u64,
    value: T,
}

impl<T: Default> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        PerProcess(AtomicPtr::new(ptr::null_mut()))
    }

    pub(crate) fn get(&self) -> &'static T {
        let mut current = self.0.load(Ordering::Acquire);
        loop {
            // SAFETY: null, or made by `Box::into_raw` below and never freed from the moment that it
            // can be seen here.
            match unsafe { current.as_ref() } {
                Some(kept) if kept.born == generation() => return &kept.value,
                _ => {}
            }
            let new = Box::into_raw(Box::new(Kept { born: generation(), value: T::default() }));
            match self.0.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => current = new,
                Err(other) => {
                    // SAFETY: made above and shared with nobody.
                    drop(unsafe { Box::from_raw(new) });
                    current = other;
                }
            }
        }
    }

    /// True if `this` is the one of the current process.
    pub(crate) fn is(&self, this: &'static T) -> bool {
        // SAFETY: as in `get`.
        let kept = unsafe { self.0.load(Ordering::Acquire).as_ref() };
        kept.is_some_and(|kept| kept.born == generation() && ptr::eq(&raw const kept.value, this))
    }
}
