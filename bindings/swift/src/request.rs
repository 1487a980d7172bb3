//! One call, at the handler's end.

use std::sync::Arc;

use sluicegate::{AttributionClass, Error, ErrorKind, Request};

use crate::call::CallCore;
use crate::error::{Failure, Fault};
use crate::guard::{guard, quiet};
use crate::input::{InputCore, InputOp};
use crate::limits::within;
use crate::op::{UnitOp, taking};
use crate::output::{OutputCore, SenderCore};

/// Core's request.
#[derive(uniffi::Object)]
pub struct RequestCore(pub(crate) Request);

#[uniffi::export]
impl RequestCore {
    /// The request's id in its text form.
    pub fn id(&self) -> String {
        self.0.id().to_string()
    }

    /// The cap that was called.
    pub fn cap(&self) -> String {
        self.0.cap().to_owned()
    }

    /// The next argument stream; none when the caller has ended its body.
    pub fn next_input(&self) -> Arc<InputOp> {
        let next = self.0.next_input();
        InputOp::start(async move { next.await.map(|input| input.map(|i| Arc::new(InputCore(i)))) })
    }

    /// The next argument stream, which the handler needs.
    pub fn input(&self) -> Arc<InputOp> {
        let next = self.0.input();
        InputOp::start(async move { next.await.map(|input| Some(Arc::new(InputCore(input)))) })
    }

    /// The main output.
    ///
    /// # Errors
    /// `InvalidArgument` if the cap declares none.
    pub fn output(&self) -> Result<Arc<OutputCore>, Failure> {
        guard(|| {
            self.0.try_output().map(|output| Arc::new(OutputCore(output))).ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    format!("{} declares no output", self.0.cap()),
                )
            })
        })
    }

    /// Another declared output.
    ///
    /// # Errors
    /// `InvalidArgument` if the cap declares no such output.
    pub fn output_for(&self, media: &str) -> Result<Arc<OutputCore>, Failure> {
        guard(|| self.0.output_for(media).map(|output| Arc::new(OutputCore(output))))
    }

    /// A detached emitter on the main output.
    ///
    /// # Errors
    /// `InvalidArgument` if the cap declares no output.
    pub fn stream_sender(&self) -> Result<Arc<SenderCore>, Failure> {
        self.output().map(|output| output.sender())
    }

    /// Says how far the handler is.
    pub fn progress(&self, value: f64, message: &str) {
        quiet((), || self.0.progress(value, message));
    }

    /// Says something to people. A class that is none counts as internal.
    pub fn log(&self, level: &str, class: &str, message: &str) {
        let class = class.parse().unwrap_or(AttributionClass::Internal);
        quiet((), || self.0.log(level, class, message));
    }

    /// Calls a cap through the host.
    ///
    /// # Errors
    /// As core's `peer`.
    pub fn peer(&self, cap: &str) -> Result<Arc<CallCore>, Failure> {
        guard(|| self.0.peer(cap).map(|call| Arc::new(CallCore(call))))
    }

    /// Allows the request so many microseconds from now; none is no limit.
    ///
    /// # Errors
    /// As core's `limit`.
    pub fn limit(&self, micros: Option<u64>) -> Result<(), Failure> {
        guard(|| self.0.limit(within(micros)))
    }

    /// Why the handler has to stop, if it has.
    pub fn is_cancelled(&self) -> Option<Fault> {
        quiet(None, || self.0.is_cancelled().map(|reason| Fault::from(&reason)))
    }

    /// Waits until the handler has to stop; kind `Closed` if it finished before.
    pub fn cancelled(&self) -> Arc<ReasonOp> {
        let cancelled = self.0.cancelled();
        ReasonOp::start(async move { Ok::<_, Error>(Fault::from(&cancelled.await)) })
    }

    /// Ends the request as done.
    pub fn finish(&self, progress: Option<f64>, message: Option<String>) -> Arc<UnitOp> {
        UnitOp::start(self.0.finish(progress, message))
    }

    /// Ends the request as failed.
    pub fn fail(&self, error: Fault) {
        quiet((), || self.0.fail(&Error::from(error)));
    }
}

taking! {
    /// An operation that answers a reason.
    ReasonOp -> Fault
}

taking! {
    /// An operation that answers a request, or that there will be none any more.
    RequestOp -> Option<Arc<RequestCore>>
}
