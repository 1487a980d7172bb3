//! The receiver's side of a window.

use pyo3::prelude::*;
use sluicegate::{CreditWindow, Error};

use crate::errors;
use crate::fork::Owned;
use crate::number::Count;

/// The core of `sluicegate.Window`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Window(Owned<CreditWindow>);

#[pymethods]
impl Window {
    #[new]
    #[pyo3(signature = (window, batch=None, /))]
    fn new(window: Count, batch: Option<Count>) -> Self {
        Window(Owned::new(match batch {
            None => CreditWindow::new(window.0),
            Some(batch) => CreditWindow::with_batch(window.0, batch.0),
        }))
    }

    /// Raises CreditViolation if no credit is left for the chunk.
    fn arrive(&self) -> PyResult<()> {
        self.0.get()?.arrive().map_err(|violation| errors::raise(&Error::from(violation)))
    }

    fn consumed(&self) -> PyResult<u64> {
        Ok(self.0.get()?.consumed())
    }

    fn flush(&self) -> PyResult<u64> {
        Ok(self.0.get()?.flush())
    }

    fn continued(&self) -> PyResult<u64> {
        Ok(self.0.get()?.continued())
    }

    #[getter]
    fn remaining(&self) -> PyResult<u64> {
        Ok(self.0.get()?.remaining())
    }

    #[getter]
    fn pending(&self) -> PyResult<u64> {
        Ok(self.0.get()?.pending())
    }

    #[getter]
    fn batch(&self) -> PyResult<u64> {
        Ok(self.0.get()?.batch())
    }

    #[getter]
    fn size(&self) -> PyResult<u64> {
        Ok(self.0.get()?.size())
    }
}

/// The smaller of two proposals; None if either is 0.
#[pyfunction]
#[pyo3(signature = (ours, theirs, /))]
pub(crate) fn negotiate(ours: Count, theirs: Count) -> Option<u64> {
    sluicegate::model::negotiate(ours.0, theirs.0)
}
