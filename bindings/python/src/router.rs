//! Brings grants to gates.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};
use sluicegate::{CreditRouter, Delivery};

use crate::errors;
use crate::fork::Owned;
use crate::gate::Gate;
use crate::number::Count;

/// What names a request: an integer, a text or bytes. The three are never equal.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Number(u64),
    Text(String),
    Bytes(Vec<u8>),
}

impl<'py> FromPyObject<'_, 'py> for Key {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if given.is_instance_of::<PyInt>() {
            Ok(Key::Number(given.extract::<Count>()?.0))
        } else if given.is_instance_of::<PyString>() {
            Ok(Key::Text(given.extract()?))
        } else if let Ok(bytes) = given.cast::<PyBytes>() {
            Ok(Key::Bytes(bytes.as_bytes().to_vec()))
        } else {
            let name = given.get_type().qualname()?;
            Err(PyTypeError::new_err(format!("a request is an int, str or bytes, not {name}")))
        }
    }
}

/// The core of `sluicegate.Router`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Router(Owned<CreditRouter<Key>>);

#[pymethods]
impl Router {
    #[new]
    fn new() -> Self {
        Router(Owned::new(CreditRouter::new()))
    }

    #[pyo3(signature = (request, stream, gate, /))]
    fn register(&self, request: Key, stream: Option<&str>, gate: &Gate) -> PyResult<()> {
        self.0.get()?.register(request, stream, gate.0.get()?);
        Ok(())
    }

    #[pyo3(signature = (request, stream, /))]
    fn unregister(&self, request: Key, stream: Option<&str>) -> PyResult<()> {
        self.0.get()?.unregister(&request, stream);
        Ok(())
    }

    /// "granted", "no_stream" or "no_request".
    #[pyo3(signature = (request, stream, n, /))]
    fn grant(&self, request: Key, stream: Option<&str>, n: Count) -> PyResult<&'static str> {
        Ok(match self.0.get()?.grant(&request, stream, n.0) {
            Delivery::Granted => "granted",
            Delivery::NoStream => "no_stream",
            Delivery::NoRequest => "no_request",
        })
    }

    #[pyo3(signature = (request, reason, /))]
    fn close_request(&self, request: Key, reason: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.get()?.close_request(&request, errors::reason(reason)?);
        Ok(())
    }

    #[pyo3(signature = (reason, /))]
    fn close_all(&self, reason: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.get()?.close_all(errors::reason(reason)?);
        Ok(())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.0.get()?.len())
    }
}
