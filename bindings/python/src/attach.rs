//! How a thread leaves the interpreter and comes back.
//!
//! While an interpreter ends, a thread that asks for its lock is ended by it in the middle of the
//! call, and a native frame cannot survive that. So coming back is counted, and once the interpreter
//! has begun to end, threads other than the ending one stay outside for good.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pyo3::ffi;
use pyo3::prelude::*;

use crate::process::PerProcess;
use crate::signals::take_no_signals;
use crate::sync::{Condvar, Mutex};

/// The number of the thread that ends the interpreter, 0 while it runs.
static ENDING: AtomicU64 = AtomicU64::new(0);

static COMING: PerProcess<Crowd> = PerProcess::new();

/// How long the end of the interpreter waits for a callback that is running.
const PATIENCE: Duration = Duration::from_secs(1);

/// Threads that are on their way to the interpreter lock.
#[derive(Default)]
struct Crowd {
    count: Mutex<usize>,
    fewer: Condvar,
}

/// Runs `work` without the interpreter lock: for what may wait for a lock or a pipe, or copies much.
pub(crate) fn detach<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    detach_counted(py, work).0
}

/// The same; the end of the interpreter waits a while for what the thread does next, as long as it
/// keeps what comes with the answer.
pub(crate) fn detach_counted<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send,
) -> (T, Coming) {
    py.detach(|| {
        let answer = work();
        (answer, Coming::or_stay_outside())
    })
}

/// Runs `work` inside the interpreter, from any thread; `None`, and nothing else, once the interpreter
/// has begun to end. No lock may be held that a thread inside could wait for.
pub(crate) fn enter<R>(work: impl FnOnce(Python<'_>) -> R) -> Option<R> {
    let _coming = Coming::new()?;
    RESIDENT.try_with(Resident::settle).ok()?;
    Python::try_attach(work)
}

thread_local!(static RESIDENT: Resident = const { Resident(Cell::new(None)) });

/// The interpreter's record of a thread of the core's: made when it first comes, and kept as long as
/// the thread lives, so that coming again is cheap and `threading.local` holds.
struct Resident(Cell<Option<(ffi::PyGILState_STATE, *mut ffi::PyThreadState)>>);

impl Resident {
    fn settle(&self) {
        if self.0.get().is_some() {
            return;
        }
        // SAFETY: the interpreter runs, and its end waits for this thread, which is counted.
        unsafe {
            if ffi::PyGILState_GetThisThreadState().is_null() {
                take_no_signals();
                let state = ffi::PyGILState_Ensure();
                self.0.set(Some((state, ffi::PyEval_SaveThread())));
            }
        }
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        let Some((state, thread)) = self.0.take() else { return };
        let Some(_coming) = Coming::new() else { return };
        // SAFETY: as above; the two belong together and to this thread, which is outside.
        unsafe {
            ffi::PyEval_RestoreThread(thread);
            ffi::PyGILState_Release(state);
        }
    }
}

/// One thread on its way to the interpreter lock, or inside for others.
pub(crate) struct Coming(&'static Crowd);

impl Coming {
    fn new() -> Option<Self> {
        let crowd = COMING.get();
        let mut count = crowd.count.lock();
        match ENDING.load(Ordering::SeqCst) {
            0 => {}
            ending if ending == this_thread() => {}
            _ => return None,
        }
        *count += 1;
        Some(Coming(crowd))
    }

    fn or_stay_outside() -> Self {
        loop {
            match Coming::new() {
                Some(coming) => return coming,
                None => std::thread::park(), // the process is ending; nobody unparks
            }
        }
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        if COMING.is(self.0) {
            *self.0.count.lock() -= 1;
            self.0.fewer.notify_all();
        } // else this process was forked by the very thread that was counted
    }
}

/// True once the interpreter has begun to end.
pub(crate) fn is_ending() -> bool {
    ENDING.load(Ordering::SeqCst) != 0
}

fn this_thread() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    thread_local!(static NUMBER: Cell<u64> = const { Cell::new(0) });
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
        }
        number.get()
    })
}

/// Lets nobody else in from now on, has `stop` stop what comes in for others, and waits a while for those
/// who were on their way.
pub(crate) fn close(stop: impl FnOnce()) {
    let crowd = COMING.get();
    let count = crowd.count.lock();
    ENDING.store(this_thread(), Ordering::SeqCst);
    stop();
    // Those counted wait for the lock that was just let go, or run a callback, which must not
    // wait; one that does anyway does not hold up the end.
    drop(crowd.fewer.wait_while_for(count, PATIENCE, |count| *count > 0));
}
