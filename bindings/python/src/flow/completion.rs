//! A value that comes once.

use pyo3::prelude::*;
use sluicegate::Error;
use sluicegate::flow::{Completion, Promise, Status};

use super::element::{Element, Function, inside};
use crate::attach;
use crate::errors;
use crate::fork::Owned;
use crate::op::Op;

/// How a value becomes a Python object.
pub(super) type Convert<T> = fn(Python<'_>, T) -> PyResult<Py<PyAny>>;

/// An element, or None.
pub(super) fn optional(py: Python<'_>, element: Option<Element>) -> PyResult<Py<PyAny>> {
    Ok(element.map_or_else(|| py.None(), |element| element.object(py)))
}

/// A value that has come, or why there is none, to be looked at inside.
type Settled = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

trait Settles: Send + Sync {
    fn status(&self) -> Status;
    fn wait(&self) -> Op;
    fn now(&self) -> Option<Settled>;
    fn on_settled(&self, callback: Box<dyn FnOnce() + Send>);
}

struct Typed<T>(Completion<T>, Convert<T>);

impl<T: Clone + Send + Sync + 'static> Settles for Typed<T> {
    fn status(&self) -> Status {
        self.0.status()
    }

    fn wait(&self) -> Op {
        Op::new(self.0.wait(), self.1)
    }

    fn now(&self) -> Option<Settled> {
        let (settled, convert) = (self.0.result()?, self.1);
        Some(Box::new(move |py| match settled {
            Ok(value) => convert(py, value),
            Err(error) => Err(errors::raise(&error)),
        }))
    }

    fn on_settled(&self, callback: Box<dyn FnOnce() + Send>) {
        self.0.on_settled(move |_| callback());
    }
}

/// The core of `sluicegate.flow.Completion`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowCompletion(Owned<Box<dyn Settles>>);

impl FlowCompletion {
    pub(super) fn new<T: Clone + Send + Sync + 'static>(
        completion: Completion<T>,
        convert: Convert<T>,
    ) -> Self {
        FlowCompletion(Owned::new(Box::new(Typed(completion, convert))))
    }
}

#[pymethods]
impl FlowCompletion {
    /// 0 pending, 1 success, 2 failure, 3 cancelled.
    #[getter]
    fn status(&self, py: Python<'_>) -> PyResult<u8> {
        let settled = self.0.get()?;
        Ok(match attach::detach(py, || settled.status()) {
            Status::Pending => 0,
            Status::Success => 1,
            Status::Failure => 2,
            Status::Cancelled => 3,
        })
    }

    /// Answers the value, or raises why there is none.
    fn wait(&self) -> PyResult<Op> {
        Ok(self.0.get()?.wait())
    }

    /// The value in a tuple, or None while it is pending; raises why there is none.
    fn now(&self, py: Python<'_>) -> PyResult<Option<(Py<PyAny>,)>> {
        let settled = self.0.get()?;
        let now = attach::detach(py, || settled.now());
        now.map(|now| Ok((now(py)?,))).transpose()
    }

    /// Calls `callback` once it is settled, on the thread that settles it.
    #[pyo3(signature = (callback, /))]
    fn on_settled(&self, py: Python<'_>, callback: Function) -> PyResult<()> {
        let settled = self.0.get()?;
        let call = move || {
            let _nobody_to_tell = inside(|py| {
                if let Err(raised) = callback.bind(py).call0() {
                    raised.write_unraisable(py, Some(callback.bind(py)));
                }
                Ok(())
            });
        };
        attach::detach(py, || settled.on_settled(Box::new(call)));
        Ok(())
    }
}

/// The core of `sluicegate.flow.Promise`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowPromise(Owned<Promise<Element>>);

impl FlowPromise {
    pub(super) fn new(promise: Promise<Element>) -> Self {
        FlowPromise(Owned::new(promise))
    }
}

#[pymethods]
impl FlowPromise {
    #[new]
    fn pending() -> Self {
        Self::new(Promise::new())
    }

    #[getter]
    fn completion(&self) -> PyResult<FlowCompletion> {
        let completion = self.0.get()?.completion();
        Ok(FlowCompletion::new(completion, |py, value: Element| Ok(value.object(py))))
    }

    #[pyo3(signature = (value, /))]
    fn try_success(&self, py: Python<'_>, value: Py<PyAny>) -> PyResult<bool> {
        let (promise, value) = (self.0.get()?, Element::from(value));
        Ok(attach::detach(py, || promise.try_success(value)))
    }

    #[pyo3(signature = (error, /))]
    fn try_failure(&self, py: Python<'_>, error: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (promise, error) = (self.0.get()?, errors::failure(error));
        Ok(attach::detach(py, || promise.try_failure(error)))
    }

    #[pyo3(signature = (reason, /))]
    fn try_cancel(&self, py: Python<'_>, reason: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let (promise, reason) = (self.0.get()?, reason.map(errors::failure));
        Ok(attach::detach(py, || match reason {
            Some(reason) => promise.try_cancel_with(reason),
            None => promise.try_cancel(),
        }))
    }

    /// Raises what is wrong with settling it a second time.
    fn settled_before(&self, py: Python<'_>) -> PyResult<()> {
        let promise = self.0.get()?;
        let nothing: Result<(), Error> = attach::detach(py, || promise.cancel());
        nothing.map_err(|error| errors::raise(&error))
    }
}
