//! No test hangs: it fails with its name and what it waited for.
#![allow(dead_code)] // each test file uses a part of it

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A bound that a busy machine keeps: what it guards would otherwise take minutes or never end.
pub const PROMPT: Duration = Duration::from_secs(60);

/// Runs `test` on a thread of its own and fails if it takes longer than `limit`.
pub fn within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    test: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (done, is_done) = channel();
    let thread = std::thread::spawn(move || {
        let result = test();
        let _ = done.send(()); // nobody listens after the limit
        result
    });
    match is_done.recv_timeout(limit) {
        Ok(()) | Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        },
        Err(RecvTimeoutError::Timeout) => panic!("{what}: not done within {limit:?}"),
    }
}

/// Yields until `true_now`; for what has no wake of its own, such as the length of a line.
pub fn until(what: &str, mut true_now: impl FnMut() -> bool) {
    let end = Instant::now() + PROMPT * 2;
    while !true_now() {
        assert!(Instant::now() < end, "{what}: not so within {:?}", PROMPT * 2);
        std::thread::yield_now();
    }
}
