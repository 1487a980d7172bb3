//! One waiting operation: an acquire, a write, a receive. Polled from Python, which waits with its
//! own primitive between the polls.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sluicegate::Error;
use sluicegate::wait;

use crate::attach;
use crate::bell::Bell;
use crate::errors;
use crate::fork::Owned;
use crate::sync::Mutex;

/// A waiting operation in progress.
///
/// The answer stays in the operation until `value` is read, so an interrupt that strikes between
/// the two loses nothing: `cancel`, and dropping the operation, give back what was taken.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Op(Owned<Mutex<Slot>>);

enum Slot {
    Idle(Box<dyn Steps>),
    /// Another thread polls it.
    Busy,
    Over,
}

#[pymethods]
impl Op {
    /// Asks once; True once the answer is there. Otherwise the bell is rung when asking again is
    /// worth while; without a bell nothing is.
    #[pyo3(signature = (bell=None, /))]
    fn poll(&self, py: Python<'_>, bell: Option<&Bell>) -> PyResult<bool> {
        let slot = self.0.get()?;
        let ring = bell.map(Bell::ringer).transpose()?;
        let mut steps = self.take(slot)?;
        let done = steps.poll(py, ring.map(|ring| Box::new(ring) as Ring));
        *slot.lock() = Slot::Idle(steps);
        Ok(done)
    }

    /// The answer, given away: read it once. Raises what went wrong.
    #[getter]
    fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let slot = self.0.get()?;
        let mut steps = self.take(slot)?;
        *slot.lock() = Slot::Over;
        steps.answer(py)
    }

    /// Leaves every line, gives back what was taken and not fetched, withdraws the bell.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let slot = self.0.get()?;
        let given_up = match &mut *slot.lock() {
            Slot::Busy => return Err(busy()),
            slot => std::mem::replace(slot, Slot::Over),
        };
        if let Slot::Idle(mut steps) = given_up {
            steps.leave(py);
        }
        Ok(())
    }
}

impl Op {
    /// `convert` makes the answer a Python object.
    pub(crate) fn new<T: Send + 'static>(
        future: impl Future<Output = Result<T, Error>> + Send + 'static,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> Self {
        Self::with_undo(future, convert, drop)
    }

    /// `undo` gives back an answer that nobody fetched.
    pub(crate) fn with_undo<T: Send + 'static>(
        future: impl Future<Output = Result<T, Error>> + Send + 'static,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
        undo: impl FnOnce(T) + Send + 'static,
    ) -> Self {
        let steps =
            Typed { op: Some(wait::Op::new(future)), answer: None, end: Some((convert, undo)) };
        Op(Owned::new(Mutex::new(Slot::Idle(Box::new(steps)))))
    }

    fn take(&self, slot: &Mutex<Slot>) -> PyResult<Box<dyn Steps>> {
        let mut slot = slot.lock();
        match std::mem::replace(&mut *slot, Slot::Busy) {
            Slot::Idle(steps) => Ok(steps),
            Slot::Busy => Err(busy()),
            Slot::Over => {
                *slot = Slot::Over;
                Err(PyRuntimeError::new_err("the operation is over"))
            }
        }
    }
}

fn busy() -> PyErr {
    PyRuntimeError::new_err("another thread polls this operation")
}

type Ring = Box<dyn FnOnce() + Send>;

trait Steps: Send {
    fn poll(&mut self, py: Python<'_>, ring: Option<Ring>) -> bool;
    fn answer(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>>;
    /// Leaves every line. What the ends of the operation hold is dropped after that, attached.
    fn leave(&mut self, py: Python<'_>);
}

struct Typed<T, C, U>
where
    U: FnOnce(T),
{
    op: Option<wait::Op<Result<T, Error>>>,
    answer: Option<Result<T, Error>>,
    end: Option<(C, U)>,
}

impl<T, C, U> Steps for Typed<T, C, U>
where
    T: Send + 'static,
    C: FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    U: FnOnce(T) + Send + 'static,
{
    fn poll(&mut self, py: Python<'_>, ring: Option<Ring>) -> bool {
        if let (None, Some(op)) = (&self.answer, &mut self.op) {
            self.answer = attach::detach(py, || match ring {
                Some(ring) => op.poll(ring),
                None => op.try_now(),
            });
        }
        self.answer.is_some()
    }

    fn answer(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let answer = self.answer.take();
        let end = self.end.take();
        match (answer, end) {
            (Some(Ok(answer)), Some((convert, _))) => convert(py, answer),
            (Some(Err(error)), _) => Err(errors::raise(&error)),
            _ => Err(PyRuntimeError::new_err("the operation has not answered yet")),
        }
    }

    fn leave(&mut self, py: Python<'_>) {
        let op = self.op.take();
        attach::detach(py, || drop(op));
    }
}

impl<T, C, U: FnOnce(T)> Drop for Typed<T, C, U> {
    fn drop(&mut self) {
        if let (Some(Ok(answer)), Some((_, undo))) = (self.answer.take(), self.end.take()) {
            undo(answer);
        }
    }
}
