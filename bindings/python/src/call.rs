//! One request, at the caller's end.

use pyo3::prelude::*;
use sluicegate::{Call as CoreCall, Event, Terminal};

use crate::errors;
use crate::fork::Owned;
use crate::number;
use crate::op::Op;
use crate::stream::{InputStream, OutputStream};

/// The core of `sluicegate.Call`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Call(Owned<CoreCall>);

impl Call {
    pub(crate) fn new(call: CoreCall) -> Self {
        Call(Owned::new(call))
    }
}

#[pymethods]
impl Call {
    #[getter]
    fn id(&self) -> PyResult<String> {
        Ok(self.0.get()?.id().to_string())
    }

    #[getter]
    fn cap(&self) -> PyResult<&str> {
        Ok(self.0.get()?.cap())
    }

    #[pyo3(signature = (media, /))]
    fn input(&self, media: &str) -> PyResult<OutputStream> {
        self.0.get()?.input(media).map(OutputStream::new).map_err(|error| errors::raise(&error))
    }

    fn finish_input(&self) -> PyResult<Op> {
        Ok(Op::new(self.0.get()?.finish_input(), |py, ()| Ok(py.None())))
    }

    /// The next result stream; answers None once the call has succeeded.
    fn next_output(&self) -> PyResult<Op> {
        Ok(Op::new(self.0.get()?.next_output(), InputStream::optional))
    }

    /// The next result stream; its absence is an error.
    fn output(&self) -> PyResult<Op> {
        Ok(Op::new(self.0.get()?.output(), InputStream::object))
    }

    /// The next log or progress; answers None after the end.
    fn next_event(&self) -> PyResult<Op> {
        let next = self.0.get()?.next_event();
        Ok(Op::new(async move { Ok(next.await) }, event))
    }

    /// Answers the terminal: exit code, progress, message.
    fn wait(&self) -> PyResult<Op> {
        Ok(Op::new(self.0.get()?.wait(), terminal))
    }

    /// True once the call has ended, in whatever way.
    #[getter]
    fn ended(&self) -> PyResult<bool> {
        Ok(self.0.get()?.outcome().is_some())
    }

    /// Asks the handler to stop capturing.
    #[pyo3(signature = (stream, /))]
    fn close_stream(&self, stream: Option<&str>) -> PyResult<()> {
        self.0.get()?.close_stream(stream);
        Ok(())
    }

    /// Ends it unless it has ended so many seconds from now; None is no limit.
    #[pyo3(signature = (seconds, /))]
    fn limit(&self, seconds: Option<f64>) -> PyResult<()> {
        self.0.get()?.limit(number::limit(seconds)).map_err(|error| errors::raise(&error))
    }

    #[pyo3(signature = (reason, /))]
    fn cancel(&self, reason: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.get()?.cancel(&errors::reason(reason)?);
        Ok(())
    }
}

fn terminal(py: Python<'_>, terminal: Terminal) -> PyResult<Py<PyAny>> {
    let Terminal { exit_code, progress, message } = terminal;
    Ok((exit_code, progress, message).into_pyobject(py)?.into_any().unbind())
}

/// ("progress", value, message) or ("log", level, class, message).
fn event(py: Python<'_>, event: Option<Event>) -> PyResult<Py<PyAny>> {
    Ok(match event {
        None => py.None(),
        Some(Event::Progress { value, message }) => {
            ("progress", value, message).into_pyobject(py)?.into_any().unbind()
        }
        Some(Event::Log { level, class, message }) => {
            let class = class.map(sluicegate::AttributionClass::as_str);
            ("log", level, class, message).into_pyobject(py)?.into_any().unbind()
        }
    })
}
