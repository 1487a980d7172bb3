//! The closed vocabularies of the wire: frame types, classes, directions, policies.

use std::fmt;
use std::str::FromStr;

pub use crate::error::AttributionClass;
pub use crate::model::facts::FrameType;

/// A text or number that names nothing in its vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a known {vocabulary}")]
pub struct UnknownName {
    vocabulary: &'static str,
}

impl UnknownName {
    pub(crate) const fn new(vocabulary: &'static str) -> Self {
        Self { vocabulary }
    }

    /// What was looked for, such as `"attribution class"`.
    #[must_use]
    pub const fn vocabulary(self) -> &'static str {
        self.vocabulary
    }
}

impl FrameType {
    /// All types, by code.
    pub const ALL: [Self; 15] = [
        Self::Hello,
        Self::Req,
        Self::Chunk,
        Self::End,
        Self::Log,
        Self::Err,
        Self::Heartbeat,
        Self::StreamStart,
        Self::StreamEnd,
        Self::RelayNotify,
        Self::RelayState,
        Self::Cancel,
        Self::Credit,
        Self::CloseStream,
        Self::Policy,
    ];

    /// The name in snapshots, such as `"stream_start"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Req => "req",
            Self::Chunk => "chunk",
            Self::End => "end",
            Self::Log => "log",
            Self::Err => "err",
            Self::Heartbeat => "heartbeat",
            Self::StreamStart => "stream_start",
            Self::StreamEnd => "stream_end",
            Self::RelayNotify => "relay_notify",
            Self::RelayState => "relay_state",
            Self::Cancel => "cancel",
            Self::Credit => "credit",
            Self::CloseStream => "close_stream",
            Self::Policy => "policy",
        }
    }
}

impl fmt::Display for FrameType {
    /// The snapshot name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl TryFrom<u64> for FrameType {
    type Error = UnknownName;

    fn try_from(code: u64) -> Result<Self, UnknownName> {
        Self::from_code(code).ok_or(UnknownName::new("frame type"))
    }
}

/// Declares an enum whose members are texts on the wire.
macro_rules! vocabulary {
    (
        $(#[$meta:meta])*
        $name:ident, $what:literal { $($(#[$member_meta:meta])* $member:ident = $text:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$member_meta])* $member,)+
        }

        impl $name {
            /// All members, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$member,)+];

            /// The text on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$member => $text,)+
                }
            }
        }

        impl FromStr for $name {
            type Err = UnknownName;

            /// Reads the text on the wire; spelling and case must match.
            fn from_str(text: &str) -> Result<Self, UnknownName> {
                match text {
                    $($text => Ok(Self::$member),)+
                    _ => Err(UnknownName::new($what)),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

vocabulary! {
    /// Which kind of stream a CREDIT frame is for, and so which way routers send it.
    CreditDirection, "credit direction" {
        /// Credits an argument stream; travels to the requester.
        Request = "request",
        /// Credits an output stream; travels to the handler.
        Response = "response",
    }
}

impl From<crate::model::direction::CreditDirection> for CreditDirection {
    fn from(decided: crate::model::direction::CreditDirection) -> Self {
        match decided {
            crate::model::direction::CreditDirection::Request => Self::Request,
            crate::model::direction::CreditDirection::Response => Self::Response,
        }
    }
}

vocabulary! {
    /// What a cartridge may use the network for.
    NetworkPolicy, "network policy" {
        /// Nothing.
        Offline = "offline",
        /// Anything but telemetry.
        NoTelemetry = "no_telemetry",
        /// Anything.
        Full = "full",
    }
}
