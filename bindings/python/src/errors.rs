//! Errors of the core become exceptions of `sluicegate.errors`, one class a kind, and back.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};
use sluicegate::{AttributionClass, Error, ErrorKind, Reason};

use crate::object::Element;

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

/// What a user's function raised, kept beside the error that it became.
struct Raised {
    exception: Element,
    text: String,
}

/// The error that an exception becomes on its way through the core. It keeps the exception, which is
/// what comes out at the other end.
pub(crate) fn failure(given: &Bound<'_, PyAny>) -> Error {
    let error = match known(given) {
        Ok(Some(error)) => error,
        _ => {
            let kind = given.get_type().name().map_or_else(|_| String::new(), |n| n.to_string());
            let text = given.str().map_or_else(|_| String::new(), |text| text.to_string());
            let text = if text.is_empty() { kind } else { format!("{kind}: {text}") };
            Error::new(ErrorKind::StageFailed, text)
        }
    };
    let text = error.message().to_owned();
    error.with_cause(Arc::new(Raised { exception: Element::from(given.clone().unbind()), text }))
}

/// The same for an exception that has just come out of a function. Up to Python 3.11 it does not know
/// its traceback by itself.
pub(crate) fn raised(py: Python<'_>, raised: &PyErr) -> Error {
    let exception = raised.value(py);
    if let Some(traceback) = raised.traceback(py) {
        // Refused by an exception that has replaced the attribute, whose traceback is then its affair.
        let _refused = exception.setattr("__traceback__", traceback);
    }
    failure(exception.as_any())
}

impl Raised {
    /// The exception itself, with a note that says where it came out.
    fn object<'py>(&self, py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
        let exception = self.exception.bind(py).clone();
        let place = error.message().strip_suffix(&self.text).unwrap_or_default();
        let place = place.trim_end_matches(": ");
        if !place.is_empty() {
            let note = format!("in {place} of a stream");
            let notes = exception.getattr("__notes__").and_then(|notes| notes.contains(&note));
            if !notes.unwrap_or(false) {
                exception.call_method1("add_note", (note,))?;
            }
        }
        Ok(exception)
    }
}

/// The exception for `error`, as an object: the very one that a user's function raised, if one did.
pub(crate) fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    if let Some(raised) = error.cause().and_then(|cause| cause.downcast_ref::<Raised>()) {
        return raised.object(py, error);
    }
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
