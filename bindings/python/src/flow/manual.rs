//! The control of a source that is fed by hand, and of a publisher probe.

use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use sluicegate::flow::{Manual, Offer};

use super::element::Element;
use crate::attach;
use crate::errors;
use crate::fork::Owned;
use crate::number::Count;
use crate::op::Op;

/// The core of `sluicegate.flow.Manual`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowManual(Owned<Manual<Element>>);

impl FlowManual {
    pub(super) fn new(manual: Manual<Element>) -> Self {
        FlowManual(Owned::new(manual))
    }
}

/// The number of the result, and the error of a failure.
fn result(py: Python<'_>, offer: Offer) -> PyResult<Py<PyAny>> {
    let (number, error) = match offer {
        Offer::Enqueued => (0, None),
        Offer::Dropped => (1, None),
        Offer::QueueClosed => (2, None),
        Offer::Failure(error) => (3, Some(errors::exception(py, &error)?)),
    };
    Ok((number, error).into_pyobject(py)?.into_any().unbind())
}

#[pymethods]
impl FlowManual {
    /// An offer to wait for. Answers its result.
    #[pyo3(signature = (element, size, /))]
    fn offer(&self, element: Py<PyAny>, size: Count) -> PyResult<Op> {
        let offer = self.0.get()?.offer(Element::sized(element, size.0));
        Ok(Op::new(async move { Ok(offer.await) }, result))
    }

    /// None if that needs a wait.
    #[pyo3(signature = (element, size, /))]
    fn try_offer(
        &self,
        py: Python<'_>,
        element: Py<PyAny>,
        size: Count,
    ) -> PyResult<Option<Py<PyAny>>> {
        let (manual, element) = (self.0.get()?, Element::sized(element, size.0));
        let offer = attach::detach(py, || manual.try_offer(element).ok());
        offer.map(|offer| result(py, offer)).transpose()
    }

    fn complete(&self, py: Python<'_>) -> PyResult<bool> {
        let manual = self.0.get()?;
        Ok(attach::detach(py, || manual.complete()))
    }

    #[pyo3(signature = (error, /))]
    fn fail(&self, py: Python<'_>, error: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (manual, error) = (self.0.get()?, errors::failure(error));
        Ok(attach::detach(py, || manual.fail(error)))
    }

    #[getter]
    fn demand(&self, py: Python<'_>) -> PyResult<u64> {
        let manual = self.0.get()?;
        Ok(attach::detach(py, || manual.demand()))
    }

    #[getter]
    fn held(&self, py: Python<'_>) -> PyResult<u64> {
        let manual = self.0.get()?;
        Ok(attach::detach(py, || manual.held()))
    }

    /// A function that tells `held`, and keeps neither the source nor what that has failed with.
    fn held_apart<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCFunction>> {
        let held = Owned::new(self.0.get()?.held_apart());
        PyCFunction::new_closure(py, None, None, move |args, _| {
            let held = held.get()?;
            Ok::<_, PyErr>(attach::detach(args.py(), held))
        })
    }

    #[getter]
    fn lost(&self, py: Python<'_>) -> PyResult<u64> {
        let manual = self.0.get()?;
        Ok(attach::detach(py, || manual.lost()))
    }

    #[getter]
    fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        let manual = self.0.get()?;
        Ok(attach::detach(py, || manual.is_over()))
    }

    /// Answers True once `n` can be offered, False if the source ends first.
    #[pyo3(signature = (n, /))]
    fn ready(&self, n: Count) -> PyResult<Op> {
        let ready = self.0.get()?.ready(n.0);
        Ok(Op::new(async move { Ok(ready.await) }, |py, ready| {
            Ok(ready.into_pyobject(py)?.to_owned().into_any().unbind())
        }))
    }
}
