//! Knows whether this process is the one that a handle was made in.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);
static WATCH: Once = Once::new();

extern "C" fn in_the_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// How many forks lie between the process that first used the library and this one. Costs one load;
/// no signal and no system call.
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Starts to watch for forks. Called before the first handle is made.
pub(crate) fn watch() {
    WATCH.call_once(|| {
        // SAFETY: `in_the_child` only adds to an atomic, which a child may do at once after a fork.
        let refused = unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
        assert_eq!(refused, 0, "no memory to watch for forks");
    });
}
