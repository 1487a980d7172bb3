//! How a check is explored, and what its threads have in common.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sync::thread::{JoinHandle, spawn};

/// Schedules of the running check.
static EXPLORED: AtomicUsize = AtomicUsize::new(0);

/// How many schedules were explored since this was asked last.
pub fn explored() -> usize {
    EXPLORED.swap(0, Ordering::Relaxed)
}

/// Every schedule of `body` with at most `preemptions` switches away from a thread that could go on.
#[cfg(loom)]
pub fn every(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(move || {
        EXPLORED.fetch_add(1, Ordering::Relaxed);
        body();
    });
}

/// `times` random schedules of `body`.
#[cfg(shuttle)]
pub fn many(times: usize, body: impl Fn() + Send + Sync + 'static) {
    let counted = move || {
        EXPLORED.fetch_add(1, Ordering::Relaxed);
        body();
    };
    shuttle::check_random(counted, times);
}

/// Runs `body` on a thread of the checker.
pub fn go<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> Running<T> {
    Running(spawn(body))
}

/// A thread of the checker.
pub struct Running<T>(JoinHandle<T>);

impl<T> Running<T> {
    /// Its answer.
    pub fn end(self) -> T {
        self.0.join().expect("a thread of a check does not panic")
    }
}
