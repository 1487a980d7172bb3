//! No wake is lost, in any wait but a gate's, which has a line and a ledger of its own.
//!
//! Two ways to lose one. A change takes the waiters out of their set and does not fire them: each that is
//! taken is [`due`], and a breach if it is dropped instead. Or the state changes and its waiters are not
//! taken: then whoever looks again without having been woken finds an answer while its waker still
//! stands. That is a [`Suspects`] until the next wake of the same state, which a change that is just
//! under way will bring, and a breach if none comes in time. A wait on a thread of ours looks again at
//! [`pace`]; so does an island.

use std::mem;
use std::task::{Wake, Waker};
use std::time::Instant;

use super::monitor::{self, Look};
use super::{Breach, hold, on, patience};
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::time::{Deadline, now};

/// A waker that was taken to be fired.
struct Due {
    waker: Waker,
    fired: AtomicBool,
    whose: &'static str,
}

impl Wake for Due {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.fired.store(true, Ordering::Release);
        self.waker.wake_by_ref();
    }
}

impl Drop for Due {
    fn drop(&mut self) {
        if !self.fired.load(Ordering::Acquire) && !std::thread::panicking() {
            let what = format!("{}: a waiter was taken to be woken, and dropped", self.whose);
            hold(Err(Breach::new("L13 (a wake was lost)", what)));
        }
    }
}

/// `waker`, which a change of `whose` has taken out of its set: from now on it is owed a wake.
#[inline]
pub(crate) fn due(waker: Waker, whose: &'static str) -> Waker {
    if !on() {
        return waker;
    }
    let due = Arc::new(Due { waker, fired: AtomicBool::new(false), whose });
    if lost(Lost::Dropped, whose) {
        drop(due); // ends the process
        return Waker::noop().clone();
    }
    Waker::from(due)
}

/// Waiters of one state that found an answer without having been woken.
#[derive(Default)]
pub(crate) struct Suspects(Vec<Arc<Suspect>>);

struct Suspect {
    whose: &'static str,
    since: Instant,
    woken: AtomicBool,
}

impl Suspects {
    /// One more, of `whose`; nothing while the process is not checked.
    #[inline]
    pub(crate) fn add(&mut self, whose: &'static str) {
        if on() {
            let suspect = Suspect { whose, since: now(), woken: AtomicBool::new(false) };
            let suspect = Arc::new(suspect);
            self.0.push(Arc::clone(&suspect));
            monitor::keep(suspect);
        }
    }

    /// A change wakes all who wait.
    #[inline]
    pub(crate) fn woken(&mut self) {
        for suspect in mem::take(&mut self.0) {
            suspect.woken.store(true, Ordering::Release);
        }
    }
}

impl Look for Suspect {
    fn look(&self) -> Result<(), Breach> {
        let age = now().saturating_duration_since(self.since);
        if self.is_over() || age <= patience() {
            return Ok(());
        }
        let what = format!(
            "{}: a waiter that nobody woke looked again and found its answer, and no wake came in {} ms",
            self.whose,
            age.as_millis()
        );
        Err(Breach::new("L13 (a wake was lost)", what))
    }

    fn is_over(&self) -> bool {
        self.woken.load(Ordering::Acquire)
    }
}

/// When a wait that nothing wakes looks again: at its deadline, and in a process that is checked before
/// that too.
#[inline]
pub(crate) fn pace(deadline: Deadline) -> Deadline {
    if !on() {
        return deadline;
    }
    let again = Deadline::after(patience());
    match (deadline.instant(), again.instant()) {
        (None, _) => again,
        (Some(at), Some(pace)) if pace < at => again,
        _ => deadline,
    }
}

/// A wake to be lost on purpose, so that a test sees the monitor find it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Taken and not fired.
    Dropped,
    /// Not taken.
    Forgotten,
}

/// Is a wake of `whose` to be lost in this way? Only in a process that is checked and is told to, by
/// `SLUICEGATE_CHECK_LOSE=dropped:…` or `forgotten:…` and a part of the name.
pub(crate) fn lost(how: Lost, whose: &str) -> bool {
    static LOSE: std::sync::OnceLock<Option<(Lost, String)>> = std::sync::OnceLock::new();
    let said = LOSE.get_or_init(|| {
        let said = std::env::var("SLUICEGATE_CHECK_LOSE").ok()?;
        let (how, whose) = said.split_once(':')?;
        let how = if how == "dropped" { Lost::Dropped } else { Lost::Forgotten };
        Some((how, whose.to_owned()))
    });
    said.as_ref().is_some_and(|(lost, part)| *lost == how && whose.contains(part.as_str()))
}
