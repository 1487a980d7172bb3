//! The one table of error kinds, and the one error type.
//!
//! Every language's error codes, names and texts come from [`ErrorKind`]: the numbers are part of
//! the C ABI, are never reused and never change their meaning.

use std::any::Any;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Whose fault an error is, as the wire says it (`attribution_class`). Every ERR carries one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttributionClass {
    /// The caller's data.
    Input,
    /// Memory, disk, a limit or a pool.
    Resource,
    /// What stands around the program: a missing handler, a dead process, the transport.
    Environment,
    /// The program itself.
    Internal,
    /// A person asked for it.
    User,
}

impl AttributionClass {
    /// All classes.
    pub const ALL: &'static [Self] =
        &[Self::Input, Self::Resource, Self::Environment, Self::Internal, Self::User];

    /// The text on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Resource => "resource",
            Self::Environment => "environment",
            Self::Internal => "internal",
            Self::User => "user",
        }
    }
}

impl fmt::Display for AttributionClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for AttributionClass {
    type Err = UnknownClass;

    fn from_str(text: &str) -> Result<Self, UnknownClass> {
        let named = Self::ALL.iter().find(|class| class.as_str() == text);
        named.copied().ok_or_else(|| UnknownClass(text.to_owned()))
    }
}

/// A text that names no attribution class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no attribution class: expected input, resource, environment, internal or user")]
pub struct UnknownClass(pub String);

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident = $number:literal, $code:literal, $class:ident;)+) => {
        /// What went wrong, in one word. The number is the C status, the name the exception,
        /// sentinel or case in every other language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        #[non_exhaustive]
        pub enum ErrorKind { $($(#[doc = $doc])+ $name = $number,)+ }

        impl ErrorKind {
            /// Every kind, in the order of the numbers.
            pub const ALL: &'static [ErrorKind] = &[$(Self::$name,)+];

            /// The number of this kind, the same in every language.
            #[must_use]
            pub const fn number(self) -> i32 { self as i32 }

            /// The name of this kind in code: `"CreditViolation"`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }

            /// The code that stands for this kind in an ERR or CANCEL frame.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// Whose fault this kind is unless the wire says otherwise.
            #[must_use]
            pub const fn class(self) -> AttributionClass {
                match self { $(Self::$name => AttributionClass::$class,)+ }
            }

            /// One sentence about this kind.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc,)+),)+ }
            }
        }
    };
}

kinds! {
    /// A limit passed: of a wait, which took nothing, or of a whole call or stream, now ended.
    TimedOut = 2, "DEADLINE_EXCEEDED", Resource;
    /// The gate, stream or request was closed; the reason says why.
    Closed = 3, "CLOSED", Environment;
    /// The stream ended as it should; there is nothing more to read.
    EndOfStream = 4, "END_OF_STREAM", Environment;
    /// The request was cancelled.
    Cancelled = 5, "CANCELLED", User;
    /// A chunk came that no credit had been granted for (L12).
    CreditViolation = 6, "CREDIT_VIOLATION", Internal;
    /// The process or connection at the other end is gone.
    PeerDied = 7, "PEER_DIED", Environment;
    /// An argument is outside what the call takes.
    InvalidArgument = 8, "INVALID_ARGUMENT", Input;
    /// A frame is larger than the limit of the link.
    FrameTooLarge = 9, "FRAME_TOO_LARGE", Resource;
    /// Bytes that are not a frame, or a value that is not CBOR.
    Malformed = 10, "MALFORMED", Input;
    /// A well-formed frame where the protocol does not allow it.
    Protocol = 11, "PROTOCOL_ERROR", Internal;
    /// The two ends could not agree on version, limits or identity.
    Handshake = 12, "HANDSHAKE_FAILED", Environment;
    /// A chunk's bytes do not match its checksum.
    Checksum = 13, "CHECKSUM_MISMATCH", Internal;
    /// A call that collects a whole stream met one without end (L16).
    Unbounded = 14, "UNBOUNDED_STREAM", Input;
    /// The other end failed the request; code, class and message are its own.
    Remote = 15, "HANDLER_ERROR", Internal;
    /// The operating system refused a read, a write or a start.
    Io = 16, "IO_ERROR", Environment;
    /// The cartridge could not be started.
    Spawn = 17, "SPAWN_FAILED", Environment;
    /// The handle was made before a fork and is used in the child.
    Forked = 18, "USED_AFTER_FORK", Input;
    /// An earlier panic left the object in an unknown state.
    Broken = 19, "BROKEN", Internal;
    /// The library panicked; the call had no effect that can be relied on.
    Panic = 20, "PANIC", Internal;
    /// Nobody serves this cap.
    NoHandler = 21, "NO_HANDLER", Environment;
    /// A stated bound was reached: item size, queued control frames, open requests.
    LimitReached = 22, "LIMIT_REACHED", Resource;
    /// Scalar and sequence calls were mixed on one stream.
    WrongMode = 23, "WRONG_MODE", Input;
    /// The live feed's ring was full and its policy is to fail rather than to drop.
    FeedOverrun = 24, "FEED_OVERRUN", Resource;
    /// A bounded queue between two stages was full and its strategy is to fail.
    BufferOverflow = 25, "BUFFER_OVERFLOW", Resource;
    /// A user's function in a stage failed or panicked.
    StageFailed = 26, "STAGE_FAILED", Internal;
    /// A stage that takes one subscriber has one already.
    AlreadySubscribed = 27, "ALREADY_SUBSCRIBED", Input;
    /// The scope was shut down: it runs nothing more.
    ScopeShutDown = 28, "SCOPE_SHUT_DOWN", Input;
    /// The plan of stages could lock up, or cannot do what it says.
    PlanRefused = 29, "PLAN_REFUSED", Input;
}

/// Why something failed or ended: a kind, the code and class the wire carries, and a message that
/// names what, where and the limit. Cheap to clone; every waiter of a request gets the same one.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

/// Why a gate, stream or request ended.
pub type Reason = Error;

struct Inner {
    kind: ErrorKind,
    code: String,
    class: AttributionClass,
    message: String,
    cause: Option<Cause>,
}

/// What an error came from, in the words of whoever made it: another language's exception, say.
pub type Cause = Arc<dyn Any + Send + Sync>;

impl Error {
    /// An error of `kind` with the kind's own code and class.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::with_code(kind, kind.code(), kind.class(), message)
    }

    /// An error whose code and class are somebody else's.
    #[must_use]
    pub fn with_code(
        kind: ErrorKind,
        code: impl Into<String>,
        class: AttributionClass,
        message: impl Into<String>,
    ) -> Self {
        let (code, message) = (code.into(), message.into());
        Error(Arc::new(Inner { kind, code, class, message, cause: None }))
    }

    /// The same error with what it came from, which [`context`](Self::context) keeps.
    #[must_use]
    pub fn with_cause(&self, cause: Cause) -> Self {
        self.with(self.message().to_owned(), Some(cause))
    }

    /// What it came from, if that was said.
    #[must_use]
    pub fn cause(&self) -> Option<&Cause> {
        self.0.cause.as_ref()
    }

    fn with(&self, message: String, cause: Option<Cause>) -> Self {
        let code = self.code().to_owned();
        Error(Arc::new(Inner { kind: self.kind(), code, class: self.class(), message, cause }))
    }

    /// What went wrong, in one word.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The code the wire carries, for example `CREDIT_VIOLATION`, or the text a gate was closed
    /// with. May be empty: the empty text is a reason like any other.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// Whose fault it is.
    #[must_use]
    pub fn class(&self) -> AttributionClass {
        self.0.class
    }

    /// The sentence for a person.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The same error with `context` put before its message.
    #[must_use]
    pub fn context(&self, context: impl fmt::Display) -> Self {
        let message = if self.0.message.is_empty() {
            context.to_string()
        } else {
            format!("{context}: {}", self.0.message)
        };
        self.with(message, self.0.cause.clone())
    }
}

impl From<&str> for Error {
    /// A closing reason whose code is the text.
    fn from(text: &str) -> Self {
        Error::with_code(ErrorKind::Closed, text, ErrorKind::Closed.class(), "")
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error::new(kind, kind.text().trim())
    }
}

impl From<TimedOut> for Error {
    fn from(_: TimedOut) -> Self {
        ErrorKind::TimedOut.into()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code(), self.message()) {
            ("", "") => write!(f, "{}", self.kind().name()),
            (code, "") => f.write_str(code),
            (code, message) => write!(f, "{code}: {message}"),
        }
    }
}

/// As [`Display`](fmt::Display): it is what `main` prints of the error that it returns.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.kind() == other.kind()
                && self.code() == other.code()
                && self.class() == other.class()
                && self.message() == other.message())
    }
}

impl Eq for Error {}

impl std::error::Error for Error {}

/// The limit of a wait passed first. Nothing was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the limit of the wait passed first; nothing was taken")]
pub struct TimedOut;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_leave_ok_and_wait_alone() {
        let mut seen = std::collections::HashSet::new();
        for kind in ErrorKind::ALL {
            assert!(kind.number() > 1, "{kind:?}: 0 is OK and 1 is WAIT");
            assert!(seen.insert(kind.number()), "{kind:?} reuses a number");
        }
    }

    #[test]
    fn a_text_is_a_reason_and_so_is_the_empty_one() {
        assert_eq!(Reason::from("CANCELLED").code(), "CANCELLED");
        assert_eq!(Reason::from("").code(), "");
        assert_eq!(Reason::from("").to_string(), "Closed");
    }

    #[test]
    fn what_an_error_came_from_stays_with_it() {
        let error = Error::new(ErrorKind::Io, "gone").with_cause(Arc::new(7_u64)).context("here");
        assert_eq!(error.cause().and_then(|cause| cause.downcast_ref()), Some(&7_u64));
        assert_eq!(error, Error::new(ErrorKind::Io, "here: gone"), "the cause is not compared");
    }
}
