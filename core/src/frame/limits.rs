//! What a connection allows, and how a byte stream is cut into frame bodies.

use bytes::{Buf, Bytes};

use super::error::DecodeError;

/// Largest body that any negotiation allows, in bytes.
pub const HARD_MAX_FRAME: u64 = 16 * 1024 * 1024;

/// What a CHUNK of this library holds beside the content of its payload and its metadata, at most, in bytes.
pub(crate) const CHUNK_HEAD: usize = 128;
/// What stands before the content of a scalar byte string or text, at most, in bytes.
pub(crate) const SCALAR_HEAD: usize = 9;

/// Bytes of the length prefix in front of each body: a big-endian `u32`.
pub const PREFIX_LEN: usize = 4;

/// The four numbers that both ends of a connection agree on. The default holds until they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Largest encoded body, in bytes, both directions.
    pub max_frame: u64,
    /// Most bytes of application data in a CHUNK, before any CBOR wrapping. A receiver does not police it.
    pub max_chunk: u64,
    /// Most out-of-order frames held per flow, at a relay boundary.
    pub max_reorder_buffer: u64,
    /// Chunks that a stream may send before the first grant (L9).
    pub initial_credit: u64,
}

impl Limits {
    /// The defaults of the protocol.
    pub const DEFAULT: Self = Self {
        max_frame: 3_670_016,
        max_chunk: 262_144,
        max_reorder_buffer: 64,
        initial_credit: 32,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Checks a length prefix before anything is read or reserved for its body: at most `max_frame` and
/// [`HARD_MAX_FRAME`] bytes. Answers the body's length in bytes.
///
/// # Errors
/// [`DecodeError::TooLarge`]; the stream can't be read on.
pub fn check_length(length: u32, max_frame: u64) -> Result<usize, DecodeError> {
    let max = max_frame.min(HARD_MAX_FRAME);
    match usize::try_from(length) {
        Ok(fits) if u64::from(length) <= max => Ok(fits),
        _ => Err(DecodeError::TooLarge { length: u64::from(length), max }),
    }
}

/// Takes the next body off the front of `buffered` and moves `buffered` behind it, without copying.
/// `None`: more bytes are needed, and `buffered` is as it was.
///
/// # Errors
/// [`DecodeError::TooLarge`] as soon as the four prefix bytes are there; `buffered` is as it was.
pub fn take_body(buffered: &mut Bytes, max_frame: u64) -> Result<Option<Bytes>, DecodeError> {
    let Some(prefix) = buffered.first_chunk::<PREFIX_LEN>() else {
        return Ok(None);
    };
    let length = check_length(u32::from_be_bytes(*prefix), max_frame)?;
    if buffered.len() - PREFIX_LEN < length {
        return Ok(None);
    }
    buffered.advance(PREFIX_LEN);
    Ok(Some(buffered.split_to(length)))
}

/// Judges the end of a byte stream by the `left` bytes behind its last whole frame: none is a clean end.
///
/// # Errors
/// [`DecodeError::Truncated`] when the stream ended inside a prefix or a body.
pub fn check_end(left: &[u8]) -> Result<(), DecodeError> {
    let have = left.len() as u64;
    let need = match left.first_chunk::<PREFIX_LEN>() {
        _ if left.is_empty() => return Ok(()),
        Some(prefix) => u64::from(u32::from_be_bytes(*prefix)) + PREFIX_LEN as u64,
        None => PREFIX_LEN as u64,
    };
    Err(DecodeError::Truncated { have, need })
}
