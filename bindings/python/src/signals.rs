//! Threads that take no signals.

/// Leaves signals to the threads of the program, so that one that waits is interrupted by them.
pub(crate) fn take_no_signals() {
    // SAFETY: `all` is initialised by `sigfillset` before it is read; only this thread is changed.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}
