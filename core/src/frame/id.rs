//! Request ids and flow keys.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use super::kind::UnknownName;
use super::value::Value;

/// Names a request on one connection, or the routing number that a switch gave it.
///
/// The two kinds are never equal, whatever their bits. The text form, for maps, logs and snapshots, is the
/// hyphenated lower-case uuid or the decimal number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageId {
    /// A uuid, in network byte order.
    Uuid([u8; 16]),
    /// A number.
    Uint(u64),
}

impl MessageId {
    /// The id of frames that belong to no request: HELLO, RELAY_NOTIFY, RELAY_STATE, POLICY.
    pub const CONNECTION: Self = Self::Uint(0);

    /// A new random (version 4) uuid.
    ///
    /// # Panics
    /// When the operating system has no random numbers to give.
    #[must_use]
    pub fn new_random() -> Self {
        Self::Uuid(uuid::Uuid::new_v4().into_bytes())
    }

    /// The id that a metadata value holds (`parent_rid`): a byte string of 16, or an unsigned integer.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Uint(number) => Some(Self::Uint(*number)),
            Value::Bytes(bytes) => Some(Self::Uuid(bytes.as_ref().try_into().ok()?)),
            _ => None,
        }
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(bytes) => uuid::Uuid::from_bytes(*bytes).hyphenated().fmt(f),
            Self::Uint(number) => number.fmt(f),
        }
    }
}

impl FromStr for MessageId {
    type Err = UnknownName;

    /// Reads the text form back: a decimal number, else a uuid.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        if let Ok(number) = text.parse() {
            return Ok(Self::Uint(number));
        }
        uuid::Uuid::try_parse(text)
            .map(|uuid| Self::Uuid(uuid.into_bytes()))
            .map_err(|_| UnknownName::new("message id"))
    }
}

impl From<u64> for MessageId {
    fn from(number: u64) -> Self {
        Self::Uint(number)
    }
}

impl From<[u8; 16]> for MessageId {
    fn from(uuid: [u8; 16]) -> Self {
        Self::Uuid(uuid)
    }
}

impl From<MessageId> for Value {
    /// The id form of metadata: a byte string of 16, or an unsigned integer.
    fn from(id: MessageId) -> Self {
        match id {
            MessageId::Uuid(bytes) => Self::Bytes(Bytes::copy_from_slice(&bytes)),
            MessageId::Uint(number) => Self::Uint(number),
        }
    }
}

/// What frames are numbered and gated by: a request id, with or without the routing id of a switch. The
/// same id with and without one are two flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// The request.
    pub id: MessageId,
    /// The switch's number for it, on a link beyond a switch.
    pub routing_id: Option<MessageId>,
}

impl FlowKey {
    /// The flow of a request.
    #[must_use]
    pub const fn new(id: MessageId, routing_id: Option<MessageId>) -> Self {
        Self { id, routing_id }
    }
}

impl fmt::Display for FlowKey {
    /// `id`, or `routing id/id`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.routing_id {
            Some(routing) => write!(f, "{routing}/{}", self.id),
            None => self.id.fmt(f),
        }
    }
}
