//! Explanations, the control socket and the trace: what a process says of itself.

use std::sync::Arc;

use sluicegate::account::Explanation;
use sluicegate::control::{self, Control, Question, Report};
use sluicegate::link::{self, TraceFormat, offload};

use crate::error::Failure;
use crate::guard::{guard, quiet};
use crate::op::taking;
use crate::sync::Mutex;

taking! {
    /// An operation that answers a text: an explanation or statistics, JSON.
    TextOp -> String
}

/// An open control socket.
#[derive(uniffi::Object)]
pub struct ControlCore {
    socket: Mutex<Option<Control>>,
    address: String,
}

#[uniffi::export]
impl ControlCore {
    /// Where it listens.
    pub fn address(&self) -> String {
        self.address.clone()
    }

    /// Closes it. Closing it again is harmless.
    pub fn close(&self) {
        quiet((), || {
            let socket = self.socket.lock().take();
            drop(socket); // with the lock released
        });
    }
}

/// Opens a control socket; no address is this process's own place.
pub(crate) fn serve(
    address: Option<String>,
    report: Arc<dyn Report>,
) -> Result<Arc<ControlCore>, Failure> {
    guard(|| {
        let socket = match address {
            Some(address) => Control::serve(&address.parse()?, report)?,
            None => Control::serve_here(report)?,
        };
        let address = socket.address().to_string();
        Ok::<_, sluicegate::Error>(Arc::new(ControlCore {
            socket: Mutex::new(Some(socket)),
            address,
        }))
    })
}

/// Asks a running process by its control socket: "explain" or "stats".
#[uniffi::export]
pub fn ask_control(target: String, question: String) -> Arc<TextOp> {
    TextOp::start(offload("ask", move || {
        let address = control::address_of(&target)?;
        let question: Question = question.parse()?;
        Ok(control::ask(&address, question)?.to_string())
    }))
}

/// An explanation in words.
///
/// # Errors
/// `Malformed` if it is not one.
#[uniffi::export]
pub fn explanation_text(json: &str) -> Result<String, Failure> {
    guard(|| Ok::<_, sluicegate::Error>(json.parse::<Explanation>()?.to_string()))
}

/// What of an explanation is about one request.
///
/// # Errors
/// `Malformed` if it is not one.
#[uniffi::export]
pub fn explanation_of(json: &str, request: &str) -> Result<String, Failure> {
    guard(|| {
        let told = json.parse::<Explanation>()?.of_request(request);
        Ok::<_, sluicegate::Error>(told.to_json().to_string())
    })
}

/// Writes down every frame of this process.
///
/// # Errors
/// `Io`; `InvalidArgument` if a frame has gone over a link already, or it is traced already.
#[uniffi::export]
pub fn trace_frames(place: &str, json: bool) -> Result<(), Failure> {
    guard(|| link::trace(place, if json { TraceFormat::Json } else { TraceFormat::Text }))
}
