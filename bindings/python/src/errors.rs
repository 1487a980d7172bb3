//! Errors of the core become exceptions of `sluicegate.errors`, one class a kind, and back.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};
use sluicegate::{AttributionClass, Error, ErrorKind, Reason};

/// The table that every language's errors come from: number, name, code, class, text.
#[pyfunction]
pub(crate) fn error_kinds() -> Vec<(i32, &'static str, &'static str, &'static str, &'static str)> {
    let row = |kind: &ErrorKind| {
        (kind.number(), kind.name(), kind.code(), kind.class().as_str(), kind.text().trim())
    };
    ErrorKind::ALL.iter().map(row).collect()
}

/// The exception for `error`, to be raised. The interpreter must be attached.
pub(crate) fn raise(error: &Error) -> PyErr {
    Python::attach(|py| match exception(py, error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failed) => failed,
    })
}

/// The exception for `error`, as an object.
pub(crate) fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    static BASE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let base = BASE.import(py, "sluicegate.errors", "SluicegateError")?;
    let kind = error.kind().number();
    base.call_method1("of", (kind, error.code(), error.class().as_str(), error.message()))
}

/// The closing reason that a text or an exception of ours stands for.
pub(crate) fn reason(given: &Bound<'_, PyAny>) -> PyResult<Reason> {
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Reason::from(text.to_cow()?.as_ref()));
    }
    known(given)?.ok_or_else(|| {
        PyTypeError::new_err(format!("a reason is a str or a SluicegateError, not {given:?}"))
    })
}

/// The error that `given` came from, if it is an exception of ours.
pub(crate) fn known(given: &Bound<'_, PyAny>) -> PyResult<Option<Error>> {
    static BASE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let base = BASE.import(given.py(), "sluicegate.errors", "SluicegateError")?;
    if !given.is_instance(base)? {
        return Ok(None);
    }
    let number: i32 = given.getattr("number")?.extract()?;
    let class: String = given.getattr("class_")?.extract()?;
    let kind = ErrorKind::ALL.iter().find(|kind| kind.number() == number);
    let kind = kind.copied().unwrap_or(ErrorKind::Remote);
    let class = class.parse::<AttributionClass>().unwrap_or(kind.class());
    let code: String = given.getattr("code")?.extract()?;
    let message: String = given.getattr("message")?.extract()?;
    Ok(Some(Error::with_code(kind, code, class, message)))
}
