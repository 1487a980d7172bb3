//! The closed vocabularies of the wire: frame types, classes, directions, policies.

use std::fmt;
use std::str::FromStr;

pub use crate::error::AttributionClass;

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

/// The kind of a frame. 2 is retired; 16 and up are not assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FrameType {
    /// Opens a connection: limits and version.
    Hello = 0,
    /// Opens a request.
    Req = 1,
    /// One unit of data, and the only frame that costs credit (L9, L14).
    Chunk = 3,
    /// Ends a direction of a request, or the request.
    End = 4,
    /// Progress or a log line.
    Log = 5,
    /// Ends a request as failed.
    Err = 6,
    /// Probe or reply.
    Heartbeat = 7,
    /// Opens a stream of a request.
    StreamStart = 8,
    /// Ends a stream of a request.
    StreamEnd = 9,
    /// A host tells its switch what it offers.
    RelayNotify = 10,
    /// A switch gives a host something to keep.
    RelayState = 11,
    /// Cancels a request.
    Cancel = 12,
    /// Gives credit to a stream's sender, in chunks.
    Credit = 13,
    /// Asks live inputs to stop capturing.
    CloseStream = 14,
    /// Sets the network policy of a cartridge.
    Policy = 15,
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

    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> u64 {
        self as u64
    }

    /// The type with this number; `None` for the retired 2 and for 16 and up.
    #[must_use]
    pub const fn from_code(code: u64) -> Option<Self> {
        Some(match code {
            0 => Self::Hello,
            1 => Self::Req,
            3 => Self::Chunk,
            4 => Self::End,
            5 => Self::Log,
            6 => Self::Err,
            7 => Self::Heartbeat,
            8 => Self::StreamStart,
            9 => Self::StreamEnd,
            10 => Self::RelayNotify,
            11 => Self::RelayState,
            12 => Self::Cancel,
            13 => Self::Credit,
            14 => Self::CloseStream,
            15 => Self::Policy,
            _ => return None,
        })
    }

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

    /// Whether frames of this type are numbered, reordered and gated by their flow's terminal. All others
    /// bypass the three, CREDIT above all: it never waits behind the data that it unblocks.
    #[must_use]
    pub const fn is_flow(self) -> bool {
        matches!(
            self,
            Self::Req
                | Self::Chunk
                | Self::End
                | Self::Log
                | Self::Err
                | Self::StreamStart
                | Self::StreamEnd
        )
    }

    /// Whether this type ends its flow (L4): END and ERR.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::End | Self::Err)
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
