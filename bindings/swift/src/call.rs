//! One call, at the caller's end.

use std::sync::Arc;

use sluicegate::{Call, Error, Event, Terminal};

use crate::error::{Failure, Fault};
use crate::guard::{guard, quiet};
use crate::input::{InputCore, InputOp};
use crate::limits::within;
use crate::op::{UnitOp, taking};
use crate::output::OutputCore;

/// Core's call.
#[derive(uniffi::Object)]
pub struct CallCore(pub(crate) Call);

/// How a call that succeeded ended.
#[derive(Clone, Debug, uniffi::Record)]
pub struct TerminalFacts {
    /// 0.
    pub exit_code: i64,
    /// Final progress, 0 to 1.
    pub progress: f64,
    /// What the handler had to say.
    pub message: Option<String>,
}

impl From<Terminal> for TerminalFacts {
    fn from(terminal: Terminal) -> Self {
        TerminalFacts {
            exit_code: terminal.exit_code,
            progress: terminal.progress,
            message: terminal.message,
        }
    }
}

/// A log or progress of a call.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum EventFacts {
    /// A message for people.
    Log {
        /// As the handler says.
        level: String,
        /// What it is about, if the wire says.
        class: Option<String>,
        /// The text.
        message: String,
    },
    /// How far the handler is.
    Progress {
        /// 0 to 1.
        value: f64,
        /// What it is doing.
        message: String,
    },
}

impl From<Event> for EventFacts {
    fn from(event: Event) -> Self {
        match event {
            Event::Log { level, class, message } => {
                EventFacts::Log { level, class: class.map(|c| c.as_str().to_owned()), message }
            }
            Event::Progress { value, message } => EventFacts::Progress { value, message },
        }
    }
}

#[uniffi::export]
impl CallCore {
    /// The request's id in its text form.
    pub fn id(&self) -> String {
        self.0.id().to_string()
    }

    /// Opens an argument stream.
    ///
    /// # Errors
    /// As core's `input`.
    pub fn input(&self, media: &str) -> Result<Arc<OutputCore>, Failure> {
        guard(|| self.0.input(media).map(|input| Arc::new(OutputCore(input))))
    }

    /// Ends the arguments.
    pub fn finish_input(&self) -> Arc<UnitOp> {
        UnitOp::start(self.0.finish_input())
    }

    /// The next result stream; none once the call has succeeded.
    pub fn next_output(&self) -> Arc<InputOp> {
        let next = self.0.next_output();
        InputOp::start(
            async move { next.await.map(|output| output.map(|o| Arc::new(InputCore(o)))) },
        )
    }

    /// The next result stream, which the caller needs.
    pub fn output(&self) -> Arc<InputOp> {
        let next = self.0.output();
        InputOp::start(async move { next.await.map(|output| Some(Arc::new(InputCore(output)))) })
    }

    /// The next log or progress; none after the end.
    pub fn next_event(&self) -> Arc<EventOp> {
        let next = self.0.next_event();
        EventOp::start(async move { Ok::<_, Error>(next.await.map(EventFacts::from)) })
    }

    /// Waits for the end.
    pub fn wait(&self) -> Arc<TerminalOp> {
        let end = self.0.wait();
        TerminalOp::start(async move { end.await.map(TerminalFacts::from) })
    }

    /// Asks the handler to stop capturing.
    pub fn close_stream(&self, stream: Option<String>) {
        quiet((), || self.0.close_stream(stream.as_deref()));
    }

    /// Allows the call so many microseconds from now; none is no limit.
    ///
    /// # Errors
    /// As core's `limit`.
    pub fn limit(&self, micros: Option<u64>) -> Result<(), Failure> {
        guard(|| self.0.limit(within(micros)))
    }

    /// Cancels the call.
    pub fn cancel(&self, reason: Fault) {
        quiet((), || self.0.cancel(&Error::from(reason)));
    }
}

taking! {
    /// An operation that answers an event, or that there will be none any more.
    EventOp -> Option<EventFacts>
}

taking! {
    /// An operation that answers the end of a call.
    TerminalOp -> TerminalFacts
}
