//! Wakers. A core thread that fires one must not wait, and taking the interpreter lock can wait: so
//! it posts the bell to the one notifier thread of this binding, which enters the interpreter and
//! calls the target.
//!
//! A bell stands in the queue once at most, so the queue is never longer than there are bells.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::attach;
use crate::fork::Owned;
use crate::process::PerProcess;
use crate::signals::take_no_signals;
use crate::sync::{Condvar, Mutex};

/// Calls a Python function, on the notifier thread, each time it is rung: at least once for one or
/// more rings.
///
/// `withdraw` takes the function back: once it returns, the function is not running and never will,
/// unless it is the function itself that withdraws. Dropping the bell withdraws it.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Bell(Owned<Arc<Ring>>);

#[pymethods]
impl Bell {
    #[new]
    fn new(py: Python<'_>, target: Py<PyAny>) -> PyResult<Self> {
        NOTIFIER.get().start(py)?;
        Ok(Bell(Owned::new(Arc::new(Ring {
            posted: AtomicBool::new(false),
            state: Mutex::new(State { target: Some(target), calling: None }),
            called: Condvar::default(),
        }))))
    }

    /// Has the function called soon.
    fn ring(&self) -> PyResult<()> {
        self.0.get()?.post();
        Ok(())
    }

    fn withdraw(&self, py: Python<'_>) -> PyResult<()> {
        self.0.get()?.withdraw(py);
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(ring) = self.0.if_ours()
            && let Some(state) = ring.state.try_lock()
        {
            visit.call(&state.target)?;
        }
        Ok(())
    }

    fn __clear__(&self) {
        if let Some(ring) = self.0.if_ours() {
            let target = ring.state.lock().target.take();
            drop(target);
        }
    }
}

impl Bell {
    /// What a core thread rings.
    pub(crate) fn ringer(&self) -> PyResult<impl FnOnce() + Send + use<>> {
        let ring = Arc::clone(self.0.get()?);
        Ok(move || ring.post())
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        if let Some(ring) = self.0.if_ours() {
            Python::try_attach(|py| ring.withdraw(py));
        }
    }
}

struct Ring {
    posted: AtomicBool,
    state: Mutex<State>,
    called: Condvar,
}

struct State {
    /// Taken out and dropped by attached threads only.
    target: Option<Py<PyAny>>,
    calling: Option<ThreadId>,
}

impl Ring {
    /// From any thread, attached or not. Never waits.
    fn post(self: &Arc<Self>) {
        if !self.posted.swap(true, Ordering::AcqRel) {
            NOTIFIER.get().post(Arc::clone(self));
        }
    }

    fn call(&self, py: Python<'_>) {
        self.posted.store(false, Ordering::Release);
        let target = {
            let mut state = self.state.lock();
            let target = state.target.as_ref().map(|target| target.clone_ref(py));
            state.calling = target.is_some().then(|| thread::current().id());
            target
        };
        let Some(target) = target else { return };
        if let Err(raised) = target.call0(py) {
            raised.write_unraisable(py, Some(target.bind(py)));
        }
        drop(target);
        self.state.lock().calling = None;
        self.called.notify_all();
    }

    fn withdraw(&self, py: Python<'_>) {
        let target = self.state.lock().target.take();
        drop(target);
        let others = |state: &State| state.calling.is_some_and(|by| by != thread::current().id());
        if others(&self.state.lock()) && !attach::is_ending() {
            attach::detach(py, || {
                drop(self.called.wait_while(self.state.lock(), |state| others(state)));
            });
        }
    }
}

/// The one thread of this binding that enters the interpreter for others.
#[derive(Default)]
struct Notifier {
    queue: Mutex<Queue>,
    due: Condvar,
}

#[derive(Default)]
struct Queue {
    rings: VecDeque<Arc<Ring>>,
    running: bool,
    stopped: bool,
}

static NOTIFIER: PerProcess<Notifier> = PerProcess::new();

/// Stops the notifier's thread once it has finished the call it is in.
pub(crate) fn stop() {
    let notifier = NOTIFIER.get();
    notifier.queue.lock().stopped = true;
    notifier.due.notify_all();
}

impl Notifier {
    /// Has Python start the thread, so that it belongs to the interpreter from its first moment. A
    /// thread of our own would register itself each time it enters, under a lock of the interpreter
    /// but without *the* interpreter lock: a fork at that moment leaves that lock held in the child.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        {
            let mut queue = self.queue.lock();
            if queue.stopped {
                return Err(PyRuntimeError::new_err("cannot wait: the interpreter is ending"));
            }
            if std::mem::replace(&mut queue.running, true) {
                return Ok(());
            }
        }
        let started = wrap_pyfunction!(serve_bells, py)
            .and_then(|serve| py.import("_thread")?.call_method1("start_new_thread", (serve, ())));
        self.queue.lock().running = started.is_ok();
        started.map(drop)
    }

    fn post(&self, ring: Arc<Ring>) {
        let mut queue = self.queue.lock();
        if !queue.stopped {
            queue.rings.push_back(ring);
            drop(queue);
            self.due.notify_all();
        }
    }

    fn run(&self, py: Python<'_>) {
        loop {
            // Counted until the calls are over: the end of the interpreter waits for them.
            let (rings, _coming) = attach::detach_counted(py, || self.next());
            let Some(rings) = rings else { return };
            for ring in rings {
                ring.call(py);
            }
        }
    }

    fn next(&self) -> Option<VecDeque<Arc<Ring>>> {
        let idle = |queue: &mut Queue| queue.rings.is_empty() && !queue.stopped;
        let mut queue = self.due.wait_while(self.queue.lock(), idle);
        (!queue.stopped).then(|| std::mem::take(&mut queue.rings))
    }
}

/// What the notifier's thread does, as long as the interpreter runs.
#[pyfunction]
fn serve_bells(py: Python<'_>) {
    take_no_signals();
    NOTIFIER.get().run(py);
}
