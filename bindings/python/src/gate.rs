//! The sender's side of a window.

use pyo3::prelude::*;
use pyo3::types::PyAny;
use sluicegate::{CreditGate, TryAcquire};

use crate::errors;
use crate::fork::Owned;
use crate::number::Count;
use crate::op::Op;

/// The core of `sluicegate.Gate`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Gate(pub(crate) Owned<CreditGate>);

#[pymethods]
impl Gate {
    #[new]
    #[pyo3(signature = (window, /))]
    fn new(window: Count) -> Self {
        Gate(Owned::new(CreditGate::new(window.0)))
    }

    /// True if taken, False if that needs a wait; raises the reason of a closed gate.
    #[pyo3(signature = (n, /))]
    fn try_acquire(&self, n: Count) -> PyResult<bool> {
        match self.0.get()?.try_acquire(n.0) {
            TryAcquire::Taken => Ok(true),
            TryAcquire::Wait => Ok(false),
            TryAcquire::Closed(reason) => Err(errors::raise(&reason)),
        }
    }

    /// An acquire to wait for. Answers None.
    #[pyo3(signature = (n, /))]
    fn acquire(&self, n: Count) -> PyResult<Op> {
        let gate = self.0.get()?.clone();
        let acquire = gate.acquire(n.0);
        let future = async move { acquire.await.map_err(Into::into) };
        Ok(Op::with_undo(future, |py, ()| Ok(py.None()), move |()| gate.grant(n.0)))
    }

    #[pyo3(signature = (n, /))]
    fn grant(&self, n: Count) -> PyResult<()> {
        self.0.get()?.grant(n.0);
        Ok(())
    }

    /// True if this call closed it.
    #[pyo3(signature = (reason, /))]
    fn close(&self, reason: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.0.get()?.close(errors::reason(reason)?))
    }

    #[getter]
    fn available(&self) -> PyResult<u64> {
        Ok(self.0.get()?.available())
    }

    #[getter]
    fn waiting(&self) -> PyResult<usize> {
        Ok(self.0.get()?.waiting())
    }

    #[getter]
    fn is_closed(&self) -> PyResult<bool> {
        Ok(self.0.get()?.is_closed())
    }

    /// The reason as an exception, None while open.
    #[getter]
    fn reason<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.get()?.reason().map(|reason| errors::exception(py, &reason)).transpose()
    }
}
