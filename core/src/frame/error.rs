//! Why a frame can't be read or written.

use std::fmt;

use super::cbor::CborError;
use super::kind::FrameType;
use super::version::Versions;

/// The integer keys of a frame's map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "each is the key of the frame field of the same name")]
pub enum Key {
    Version = 0,
    FrameType = 1,
    Id = 2,
    Seq = 3,
    ContentType = 4,
    Meta = 5,
    Payload = 6,
    Len = 7,
    Offset = 8,
    Eof = 9,
    Cap = 10,
    StreamId = 11,
    MediaUrn = 12,
    RoutingId = 13,
    ChunkIndex = 14,
    ChunkCount = 15,
    Checksum = 16,
    IsSequence = 17,
    ForceKill = 18,
    Credit = 19,
    Unbounded = 20,
    Output = 21,
}

impl Key {
    /// All keys, by number.
    pub const ALL: [Self; 22] = [
        Self::Version,
        Self::FrameType,
        Self::Id,
        Self::Seq,
        Self::ContentType,
        Self::Meta,
        Self::Payload,
        Self::Len,
        Self::Offset,
        Self::Eof,
        Self::Cap,
        Self::StreamId,
        Self::MediaUrn,
        Self::RoutingId,
        Self::ChunkIndex,
        Self::ChunkCount,
        Self::Checksum,
        Self::IsSequence,
        Self::ForceKill,
        Self::Credit,
        Self::Unbounded,
        Self::Output,
    ];

    /// The number on the wire.
    #[must_use]
    pub const fn number(self) -> u64 {
        self as u64
    }

    /// The key with this number; `None` for one that no frame uses.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// The field's name, such as `"chunk_index"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::FrameType => "frame_type",
            Self::Id => "id",
            Self::Seq => "seq",
            Self::ContentType => "content_type",
            Self::Meta => "meta",
            Self::Payload => "payload",
            Self::Len => "len",
            Self::Offset => "offset",
            Self::Eof => "eof",
            Self::Cap => "cap",
            Self::StreamId => "stream_id",
            Self::MediaUrn => "media_urn",
            Self::RoutingId => "routing_id",
            Self::ChunkIndex => "chunk_index",
            Self::ChunkCount => "chunk_count",
            Self::Checksum => "checksum",
            Self::IsSequence => "is_sequence",
            Self::ForceKill => "force_kill",
            Self::Credit => "credit",
            Self::Unbounded => "unbounded",
            Self::Output => "output",
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key {} ({})", self.number(), self.name())
    }
}

/// A rule that a frame breaks although its CBOR is well-formed. The same rules hold for reading and for
/// writing, so what we write can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameRule {
    /// The body is not a map.
    #[error("the body is a {found}, not a map")]
    NotAMap {
        /// What it is instead.
        found: &'static str,
    },
    /// A key that this frame must have is absent.
    #[error("{key} is missing")]
    Missing {
        /// The key.
        key: Key,
    },
    /// A key occurs twice.
    #[error("{key} occurs twice")]
    Duplicate {
        /// The key.
        key: Key,
    },
    /// A key's value is of another type.
    #[error("{key} is a {found}, not a {expected}")]
    WrongType {
        /// The key.
        key: Key,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// An id that is a byte string of another length than 16.
    #[error("{key} is a byte string of {len} bytes, not 16")]
    IdLength {
        /// The key.
        key: Key,
        /// Length of the byte string, in bytes.
        len: usize,
    },
    /// Key 0 holds a version outside of those that were asked for.
    #[error("it is of protocol version {version}, and {spoken} is spoken here")]
    Version {
        /// The version found.
        version: u64,
        /// Those that are taken.
        spoken: Versions,
    },
    /// A type of frame that the frame's own version does not have.
    #[error("protocol version {version} has no {frame_type} frame")]
    TypeOfAnotherVersion {
        /// The version of the frame.
        version: u64,
        /// Its type.
        frame_type: FrameType,
    },
    /// No frame type has this number. Fatal to the connection: what it means can't be known.
    #[error("frame type {code} is not assigned")]
    UnknownType {
        /// The number found.
        code: u64,
    },
    /// Key 21 on another frame than STREAM_START.
    #[error("key 21 (output) on a {frame_type} frame")]
    MisplacedOutput {
        /// The frame's type.
        frame_type: FrameType,
    },
    /// A POLICY whose `meta.network` is absent, not a text, or names no policy.
    #[error("a policy frame without a known meta.network")]
    UnknownPolicy,
    /// A key of the metadata that is not a text; or, further in, one that is a container.
    #[error("a key in meta is a {found}")]
    MetaKey {
        /// What it is instead.
        found: &'static str,
    },
    /// A map in the metadata holds a key twice.
    #[error("a map in meta holds a key twice")]
    MetaDuplicate,
    /// The metadata holds more values than a frame may.
    #[error("meta holds more than {limit} values")]
    MetaTooLarge {
        /// Largest number of values.
        limit: u64,
    },
    /// The metadata nests deeper than a decoder takes.
    #[error("meta nests too deep")]
    MetaTooDeep,
    /// Bytes follow the map.
    #[error("{extra} bytes follow the frame's map")]
    Trailing {
        /// Number of bytes behind the map.
        extra: usize,
    },
}

/// How a refusal is classed, by the stage of reading at which it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecodeClass {
    /// The stream ends inside a prefix or a body.
    UnexpectedEof,
    /// The length prefix is above the limit; the body was not read.
    FrameTooLarge,
    /// The body is not well-formed CBOR, or nests too deep.
    CborDecodeError,
    /// Well-formed CBOR that breaks a frame rule.
    InvalidFrame,
}

impl DecodeClass {
    /// The class's name in the shared vectors.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnexpectedEof => "unexpected_eof",
            Self::FrameTooLarge => "frame_too_large",
            Self::CborDecodeError => "cbor_decode_error",
            Self::InvalidFrame => "invalid_frame",
        }
    }
}

impl fmt::Display for DecodeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why no frame could be read. Each is fatal to the connection: the stream has no frame to go on from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The length prefix is above the negotiated or the hard limit.
    #[error("frame of {length} bytes is larger than the limit of {max}")]
    TooLarge {
        /// Length of the body by its prefix, in bytes.
        length: u64,
        /// Largest body allowed, in bytes.
        max: u64,
    },
    /// The stream ended inside a frame.
    #[error("stream ended after {have} of {need} bytes of a frame")]
    Truncated {
        /// Bytes there were, prefix included.
        have: u64,
        /// Bytes needed: the whole frame, or the prefix while that is incomplete.
        need: u64,
    },
    /// The body is not one well-formed CBOR item.
    #[error("frame is not CBOR: {0}")]
    Cbor(#[from] CborError),
    /// The body is CBOR, but no frame.
    #[error("invalid frame: {0}")]
    Frame(#[from] FrameRule),
}

impl DecodeError {
    /// The stage at which reading failed.
    #[must_use]
    pub const fn class(&self) -> DecodeClass {
        match self {
            Self::TooLarge { .. } => DecodeClass::FrameTooLarge,
            Self::Truncated { .. } => DecodeClass::UnexpectedEof,
            Self::Cbor(_) => DecodeClass::CborDecodeError,
            Self::Frame(_) => DecodeClass::InvalidFrame,
        }
    }
}

/// Why a frame was not written. Nothing of it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The encoded body would be above the negotiated or the hard limit.
    #[error("frame of {length} bytes is larger than the limit of {max}")]
    TooLarge {
        /// Length of the body, in bytes.
        length: u64,
        /// Largest body allowed, in bytes.
        max: u64,
    },
    /// A peer would refuse the frame.
    #[error("invalid frame: {0}")]
    Frame(#[from] FrameRule),
}
