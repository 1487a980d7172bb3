//! The plugin's end: a session with the host, and the requests that come over it.

use std::sync::Arc;

use pyo3::prelude::*;
use sluicegate::link::offload;
use sluicegate::{
    AttributionClass, Cap, Cartridge, Error, ErrorKind, Manifest, Request as CoreRequest,
    Session as CoreSession,
};

use crate::call::Call;
use crate::errors;
use crate::fork::Owned;
use crate::notices::Losses;
use crate::number::{self, Count};
use crate::op::Op;
use crate::report::{self, Control};
use crate::stream::{InputStream, OutputStream, StreamSender};
use crate::transport::{LimitsTuple, duplicate, limits_in, limits_out};

/// urn, title, the input is a sequence, the output is a sequence, further outputs as (media, is a
/// sequence), the main output may have no end.
type CapRow = (String, Option<String>, bool, bool, Vec<(String, bool)>, bool);

/// The manifest, as JSON.
#[pyfunction]
#[pyo3(signature = (name, version, description, caps, /))]
pub(crate) fn manifest(
    name: &str,
    version: &str,
    description: Option<&str>,
    caps: Vec<CapRow>,
) -> String {
    let mut manifest = Manifest::new(name, version);
    if let Some(description) = description {
        manifest = manifest.description(description);
    }
    for (urn, title, input_sequence, output_sequence, outputs, streaming) in caps {
        let mut cap = Cap::new(&urn)
            .input_sequence(input_sequence)
            .output_sequence(output_sequence)
            .streaming(streaming);
        if let Some(title) = title {
            cap = cap.title(&title);
        }
        for (media, sequence) in outputs {
            cap = cap.output(&media, sequence);
        }
        manifest = manifest.cap(cap);
    }
    manifest.to_json()
}

/// A cartridge's connection to its host.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Session(Owned<CoreSession>);

#[pymethods]
impl Session {
    /// The handshake on stdin and stdout, or on two descriptors, which are duplicated. Answers a
    /// session. `losses` collects what is lost.
    #[staticmethod]
    #[pyo3(signature = (manifest, limits, losses, quiet_losses, descriptors, /))]
    fn serve(
        manifest: &str,
        limits: (Count, Count, Count, Count),
        losses: &Losses,
        quiet_losses: bool,
        descriptors: Option<(i32, i32)>,
    ) -> PyResult<Op> {
        let manifest = Manifest::from_json(manifest).map_err(|error| errors::raise(&error))?;
        let cartridge = Cartridge::new(manifest)
            .limits(limits_in(limits)?)
            .on_loss(losses.on_loss(quiet_losses)?);
        let session =
            |py: Python<'_>, session| Ok(Py::new(py, Session(Owned::new(session)))?.into_any());
        Ok(match descriptors {
            None => Op::new(offload("handshake", || cartridge.serve_stdio()), session),
            Some((reader, writer)) => {
                let (reader, writer) = (duplicate(reader)?, duplicate(writer)?);
                Op::new(offload("handshake", || cartridge.serve(reader, writer)), session)
            }
        })
    }

    /// The next request; answers None once the host has closed the connection.
    fn next_request(&self) -> PyResult<Op> {
        Ok(Op::new(self.0.get()?.next_request(), |py, request| {
            request.map_or_else(
                || Ok(py.None()),
                |request| Ok(Py::new(py, Request(Owned::new(request)))?.into_any()),
            )
        }))
    }

    #[getter]
    fn limits(&self) -> PyResult<LimitsTuple> {
        Ok(limits_out(self.0.get()?.limits()))
    }

    /// What is live and what was lost, as JSON.
    fn stats(&self) -> PyResult<String> {
        Ok(self.0.get()?.stats().to_string())
    }

    /// What stands still in this cartridge, as JSON.
    fn explain(&self) -> PyResult<String> {
        Ok(self.0.get()?.explain().to_json().to_string())
    }

    #[pyo3(signature = (address, /))]
    fn serve_control(&self, address: Option<&str>) -> PyResult<Control> {
        report::serve(Arc::new(self.0.get()?.clone()), address)
    }

    fn close(&self) -> PyResult<()> {
        self.0.get()?.close();
        Ok(())
    }
}

/// The core of `sluicegate.Request`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Request(Owned<CoreRequest>);

#[pymethods]
impl Request {
    #[getter]
    fn id(&self) -> PyResult<String> {
        Ok(self.0.get()?.id().to_string())
    }

    #[getter]
    fn cap(&self) -> PyResult<&str> {
        Ok(self.0.get()?.cap())
    }

    /// The next argument stream; answers None at the end of the body.
    fn next_input(&self) -> PyResult<Op> {
        Ok(Op::new(self.0.get()?.next_input(), InputStream::optional))
    }

    /// The next argument stream; its absence is an error.
    fn input(&self) -> PyResult<Op> {
        Ok(Op::new(self.0.get()?.input(), InputStream::object))
    }

    /// The main output.
    fn output(&self) -> PyResult<OutputStream> {
        let request = self.0.get()?;
        request.try_output().map(OutputStream::new).ok_or_else(|| {
            let message = format!("{} declares no output", request.cap());
            errors::raise(&Error::new(ErrorKind::InvalidArgument, message))
        })
    }

    #[pyo3(signature = (media, /))]
    fn output_for(&self, media: &str) -> PyResult<OutputStream> {
        let output = self.0.get()?.output_for(media);
        output.map(OutputStream::new).map_err(|error| errors::raise(&error))
    }

    fn stream_sender(&self) -> PyResult<StreamSender> {
        self.output()?.sender()
    }

    #[pyo3(signature = (value, message, /))]
    fn progress(&self, value: f64, message: &str) -> PyResult<()> {
        self.0.get()?.progress(value, message);
        Ok(())
    }

    #[pyo3(signature = (level, class_, message, /))]
    fn log(&self, level: &str, class_: &str, message: &str) -> PyResult<()> {
        let class: AttributionClass = class_.parse().map_err(|error| {
            errors::raise(&Error::new(ErrorKind::InvalidArgument, format!("{error}")))
        })?;
        self.0.get()?.log(level, class, message);
        Ok(())
    }

    #[pyo3(signature = (cap, /))]
    fn peer(&self, cap: &str) -> PyResult<Call> {
        self.0.get()?.peer(cap).map(Call::new).map_err(|error| errors::raise(&error))
    }

    /// Ends it unless it has ended so many seconds from now; None is no limit.
    #[pyo3(signature = (seconds, /))]
    fn limit(&self, seconds: Option<f64>) -> PyResult<()> {
        self.0.get()?.limit(number::limit(seconds)).map_err(|error| errors::raise(&error))
    }

    /// Why the handler has to stop, None while it may go on.
    #[getter]
    fn stopped<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let reason = self.0.get()?.is_cancelled();
        reason.map(|reason| errors::exception(py, &reason)).transpose()
    }

    /// Answers why the handler has to stop.
    fn cancelled(&self) -> PyResult<Op> {
        let cancelled = self.0.get()?.cancelled();
        Ok(Op::new(async move { Ok(cancelled.await) }, |py, reason| {
            Ok(errors::exception(py, &reason)?.unbind())
        }))
    }

    #[pyo3(signature = (progress, message, /))]
    fn finish(&self, progress: Option<f64>, message: Option<String>) -> PyResult<Op> {
        Ok(Op::new(self.0.get()?.finish(progress, message), |py, ()| Ok(py.None())))
    }

    /// Ends the request as failed, with an exception of ours or with any other's text.
    #[pyo3(signature = (raised, /))]
    fn fail(&self, raised: &Bound<'_, PyAny>) -> PyResult<()> {
        let request = self.0.get()?;
        let error = match errors::known(raised)? {
            Some(error) => error,
            None => {
                let name = raised.get_type().name()?;
                let text = raised.str()?.to_string();
                let message =
                    if text.is_empty() { name.to_string() } else { format!("{name}: {text}") };
                Error::new(ErrorKind::Remote, message)
            }
        };
        request.fail(&error);
        Ok(())
    }
}
