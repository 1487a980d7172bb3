//! How a request ends.

use crate::error::{AttributionClass, Error, ErrorKind, Reason};
use crate::frame::Frame;

/// The end of a request that succeeded.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminal {
    /// 0.
    pub exit_code: i64,
    /// Final progress, 0 to 1. A success that names none reads as 1.
    pub progress: f64,
    /// What the handler had to say at the end.
    pub message: Option<String>,
}

/// Reads END: success, or what went wrong (`exit_code` absent or not 0).
pub(crate) fn read_end(frame: &Frame) -> Result<Terminal, Reason> {
    let message = frame.message().map(str::to_owned);
    match frame.exit_code() {
        Some(0) => {
            Ok(Terminal { exit_code: 0, progress: frame.progress_value().unwrap_or(1.0), message })
        }
        code => {
            let code = code.map_or_else(|| "no exit code".to_owned(), |c| format!("exit code {c}"));
            let message = message.map_or(code.clone(), |m| format!("{code}: {m}"));
            Err(Error::new(ErrorKind::Remote, message))
        }
    }
}

/// Bytes of text that a terminal carries, at most: it has to fit any frame.
const TEXT: usize = 8 * 1024;

/// As much of a text as a terminal carries.
pub(crate) fn fitting(text: &str) -> &str {
    let mut end = text.len().min(TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Reads ERR. A code that this library knows becomes its kind; class and message are the peer's.
pub(crate) fn read_err(frame: &Frame) -> Reason {
    let code = frame.error_code().unwrap_or("HANDLER_ERROR");
    let message = frame.message().unwrap_or("the peer gave no message");
    let class = frame.attribution_class().unwrap_or(AttributionClass::Internal);
    // A public peer wraps every failure of a handler, and begins the message with the code.
    let named = message.split(':').next().filter(|_| code == "HANDLER_ERROR").unwrap_or(code);
    let kind = match ErrorKind::ALL.iter().find(|kind| kind.code() == named) {
        Some(ErrorKind::Closed | ErrorKind::EndOfStream) | None => ErrorKind::Remote,
        Some(kind) => *kind,
    };
    Error::with_code(kind, code, class, message)
}

/// Reads CANCEL. Without a code it is a plain cancel.
pub(crate) fn read_cancel(frame: &Frame) -> Reason {
    let text = |name| frame.meta_text(name).filter(|text| !text.is_empty());
    let code = text("code").unwrap_or("CANCELLED");
    let default = if frame.meta.is_some() && code == "CANCELLED" {
        AttributionClass::User
    } else {
        AttributionClass::Internal
    };
    let class = frame.attribution_class().unwrap_or(default);
    let message = text("message").unwrap_or("the request was cancelled");
    let message = match code {
        "CANCELLED" => message.to_owned(),
        "ABORTED_COLLATERAL" => {
            format!("Request aborted as collateral of a failure elsewhere in the run: {message}")
        }
        "ABORTED" => format!("the host is stopping the run: {message}"),
        other => format!("{other}: {message}"),
    };
    Error::with_code(ErrorKind::Cancelled, code, class, message)
}

/// A LOG of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A message for people.
    Log {
        /// `info`, `warn`, `error`, `queued`, … as the handler says.
        level: String,
        /// What it is about, if the wire says.
        class: Option<AttributionClass>,
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

impl Event {
    /// Bytes of text that it holds.
    pub(crate) fn text_len(&self) -> usize {
        match self {
            Event::Log { level, message, .. } => level.len() + message.len(),
            Event::Progress { message, .. } => message.len(),
        }
    }
}

pub(crate) fn read_log(frame: &Frame) -> Event {
    let message = frame.message().unwrap_or_default().to_owned();
    match (frame.meta_text("level"), frame.progress_value()) {
        (Some("progress"), Some(value)) => Event::Progress { value, message },
        (level, _) => Event::Log {
            level: level.unwrap_or("info").to_owned(),
            class: frame.attribution_class(),
            message,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::MessageId;

    const ID: MessageId = MessageId::Uint(1);

    #[test]
    fn success_needs_exit_code_0_and_reads_as_whole() {
        let done = read_end(&Frame::end_with(ID, None, 0, None, None)).expect("success");
        assert_eq!(done, Terminal { exit_code: 0, progress: 1.0, message: None });
        assert!(read_end(&Frame::end(ID, None)).is_err());
        assert!(read_end(&Frame::end_with(ID, None, 3, None, None)).is_err());
    }

    #[test]
    fn violations_of_both_spellings_are_recognised() {
        let ours = Frame::err(ID, None, "CREDIT_VIOLATION", AttributionClass::Internal, "chunk 3");
        assert_eq!(read_err(&ours).kind(), ErrorKind::CreditViolation);
        let theirs = Frame::err(
            ID,
            None,
            "HANDLER_ERROR",
            AttributionClass::Internal,
            "CREDIT_VIOLATION: chunk received beyond the window",
        );
        assert_eq!(read_err(&theirs).kind(), ErrorKind::CreditViolation);
        let own = Frame::err(ID, None, "TOO_BIG", AttributionClass::Input, "no");
        assert_eq!(
            (read_err(&own).kind(), read_err(&own).code().to_owned()),
            (ErrorKind::Remote, "TOO_BIG".into())
        );
    }

    #[test]
    fn a_cancel_without_reason_still_cancels() {
        let reason = read_cancel(&Frame::cancel(ID, None, false));
        assert_eq!((reason.kind(), reason.code()), (ErrorKind::Cancelled, "CANCELLED"));
        assert_eq!(reason.class(), AttributionClass::Internal);
    }
}
