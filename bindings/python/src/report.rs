//! What a process says of itself: explanations, control sockets. JSON texts go across the border.

use std::sync::Arc;

use pyo3::prelude::*;
use sluicegate::account::Explanation;
use sluicegate::control::{self, Control as CoreControl, Question, Report};
use sluicegate::link::{TraceFormat, offload};

use crate::errors;
use crate::fork::Owned;
use crate::op::Op;
use crate::sync::Mutex;

/// Answers the explanation that `work` makes, which may take a second, as JSON.
pub(crate) fn explain(work: impl FnOnce() -> Explanation + Send + 'static) -> Op {
    text(offload("explain", move || Ok(work().to_json().to_string())))
}

/// An operation that answers a text.
pub(crate) fn text(
    future: impl Future<Output = Result<String, sluicegate::Error>> + Send + 'static,
) -> Op {
    Op::new(future, |py, text| Ok(text.into_pyobject(py)?.into_any().unbind()))
}

fn parsed(json: &str) -> PyResult<Explanation> {
    json.parse().map_err(|error| errors::raise(&error))
}

/// An explanation in words.
#[pyfunction]
#[pyo3(signature = (json, /))]
pub(crate) fn explanation_text(json: &str) -> PyResult<String> {
    Ok(parsed(json)?.to_string())
}

/// What of an explanation is about one request, as JSON.
#[pyfunction]
#[pyo3(signature = (json, request, /))]
pub(crate) fn explanation_of(json: &str, request: &str) -> PyResult<String> {
    Ok(parsed(json)?.of_request(request).to_json().to_string())
}

/// The core of `sluicegate.Control`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Control {
    socket: Owned<Mutex<Option<CoreControl>>>,
    address: String,
}

/// Opens a control socket; without an address where this process is looked for.
pub(crate) fn serve(report: Arc<dyn Report>, address: Option<&str>) -> PyResult<Control> {
    let served = match address {
        Some(address) => address.parse().and_then(|address| CoreControl::serve(&address, report)),
        None => CoreControl::serve_here(report),
    };
    let socket = served.map_err(|error| errors::raise(&error))?;
    let address = socket.address().to_string();
    Ok(Control { socket: Owned::new(Mutex::new(Some(socket))), address })
}

#[pymethods]
impl Control {
    #[getter]
    fn address(&self) -> &str {
        &self.address
    }

    fn close(&self) -> PyResult<()> {
        let socket = self.socket.get()?.lock().take();
        drop(socket); // with the lock released
        Ok(())
    }
}

/// Asks a running process. Answers JSON.
#[pyfunction]
#[pyo3(signature = (target, question, /))]
pub(crate) fn ask(target: &str, question: &str) -> PyResult<Op> {
    let address = control::address_of(target).map_err(|error| errors::raise(&error))?;
    let question: Question = question.parse().map_err(|error| errors::raise(&error))?;
    Ok(text(offload("ask", move || Ok(control::ask(&address, question)?.to_string()))))
}

/// Begins a trace of this process's frames.
#[pyfunction]
#[pyo3(signature = (place, json, /))]
pub(crate) fn trace(place: &str, json: bool) -> PyResult<()> {
    let format = if json { TraceFormat::Json } else { TraceFormat::Text };
    sluicegate::link::trace(place, format).map_err(|error| errors::raise(&error))
}
