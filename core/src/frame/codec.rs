//! Frame to body and back.
//!
//! Writing: definite lengths, shortest heads, keys in ascending order, so that equal frames are equal bytes.
//! Reading: any key order and any well-formed encoding, unknown keys skipped, everything else strict.

use bytes::{BufMut, Bytes};
use minicbor::Decoder;
use minicbor::data::Token;

use super::Frame;
use super::cbor::{self, CborError, MAX_DEPTH, Reader};
use super::error::{DecodeError, EncodeError, FrameRule, Key};
use super::id::MessageId;
use super::kind::FrameType;
use super::limits::{HARD_MAX_FRAME, PREFIX_LEN};
use super::value::{self, Value};
use super::version::{Version, Versions};
use crate::account::load;

/// Most values that a frame's metadata may hold. Real frames stay below a hundred; without a bound, a body
/// of one-byte values would cost forty times its size in memory.
pub const MAX_META_VALUES: u64 = load::META_VALUES;

/// A frame as it goes on the wire, in three parts for one vectored write. The payload is the frame's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncodedFrame {
    /// Length prefix, then the body up to the payload's content; all of the body when there is none.
    pub head: Vec<u8>,
    /// Content of the payload.
    pub payload: Bytes,
    /// The body behind the payload.
    pub tail: Vec<u8>,
}

impl EncodedFrame {
    /// Bytes on the wire, length prefix included.
    #[must_use]
    pub fn wire_len(&self) -> usize {
        self.head.len() + self.payload.len() + self.tail.len()
    }

    /// Bytes of the body: what the length prefix says.
    #[must_use]
    pub fn body_len(&self) -> usize {
        self.wire_len() - PREFIX_LEN
    }

    /// The three parts, in their order on the wire. Parts may be empty.
    #[must_use]
    pub fn parts(&self) -> [&[u8]; 3] {
        [&self.head, &self.payload, &self.tail]
    }

    /// The three parts as one buffer. Copies the payload.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.parts().concat()
    }
}

/// Encodes a body, without length prefix, of at most [`HARD_MAX_FRAME`] bytes. Copies the payload.
///
/// # Errors
/// [`EncodeError::TooLarge`], or [`EncodeError::Frame`] when a peer would refuse the frame.
pub fn encode(frame: &Frame) -> Result<Vec<u8>, EncodeError> {
    let parts = encode_parts(frame, HARD_MAX_FRAME)?;
    let mut body = Vec::with_capacity(parts.body_len());
    body.extend_from_slice(&parts.head[PREFIX_LEN..]);
    body.extend_from_slice(&parts.payload);
    body.extend_from_slice(&parts.tail);
    Ok(body)
}

/// Encodes a frame for a vectored write. Its body may have `max_frame` bytes, and never more than
/// [`HARD_MAX_FRAME`]. The payload is not copied.
///
/// # Errors
/// As [`encode`].
pub fn encode_parts(frame: &Frame, max_frame: u64) -> Result<EncodedFrame, EncodeError> {
    let mut parts = EncodedFrame { head: Vec::with_capacity(128), ..Default::default() };
    encode_into(frame, max_frame, &mut parts.head, &mut parts.tail)?;
    parts.payload = frame.payload.clone().unwrap_or_default();
    Ok(parts)
}

/// Appends what stands before the content of the payload (length prefix first) to `head`, and what stands
/// behind it to `tail`, for a writer that keeps its buffers. Answers the frame's bytes on the wire,
/// payload and prefix included.
///
/// # Errors
/// As [`encode`]; both buffers are as they were.
pub fn encode_into(
    frame: &Frame,
    max_frame: u64,
    head: &mut Vec<u8>,
    tail: &mut Vec<u8>,
) -> Result<usize, EncodeError> {
    let (head_start, tail_start) = (head.len(), tail.len());
    let written = write_frame(frame, max_frame, head, tail);
    if written.is_err() {
        head.truncate(head_start);
        tail.truncate(tail_start);
    }
    written
}

fn write_frame(
    frame: &Frame,
    max_frame: u64,
    head: &mut Vec<u8>,
    tail: &mut Vec<u8>,
) -> Result<usize, EncodeError> {
    let (head_start, tail_start) = (head.len(), tail.len());
    head.put_bytes(0, PREFIX_LEN);
    cbor::put(head, |to| to.map(frame.key_count()));
    put_uint(head, Key::Version, frame.version);
    put_uint(head, Key::FrameType, frame.frame_type.code());
    put_id(head, Key::Id, frame.id);
    put_uint(head, Key::Seq, frame.seq);
    put_text(head, Key::ContentType, frame.content_type.as_deref());
    if let Some(meta) = &frame.meta {
        cbor::put(head, |to| to.u64(Key::Meta.number()));
        let extent = value::write_value(head, meta);
        // The frame's own map is a level too.
        if extent.depth >= MAX_DEPTH {
            return Err(FrameRule::MetaTooDeep.into());
        }
        if extent.values > MAX_META_VALUES {
            return Err(FrameRule::MetaTooLarge { limit: MAX_META_VALUES }.into());
        }
    }
    check_rules(frame)?;
    let payload_len = match &frame.payload {
        Some(payload) => {
            cbor::put(head, |to| to.u64(Key::Payload.number())?.bytes_len(payload.len() as u64));
            payload.len()
        }
        None => 0,
    };
    write_behind_payload(frame, if payload_len == 0 { &mut *head } else { &mut *tail });
    let wire = head.len() - head_start + payload_len + tail.len() - tail_start;
    let length = (wire - PREFIX_LEN) as u64;
    let max = max_frame.min(HARD_MAX_FRAME);
    match u32::try_from(length) {
        Ok(prefix) if length <= max => {
            head[head_start..head_start + PREFIX_LEN].copy_from_slice(&prefix.to_be_bytes());
            Ok(wire)
        }
        _ => Err(EncodeError::TooLarge { length, max }),
    }
}

fn write_behind_payload(frame: &Frame, out: &mut Vec<u8>) {
    put_opt_uint(out, Key::Len, frame.len);
    put_opt_uint(out, Key::Offset, frame.offset);
    put_bool(out, Key::Eof, frame.eof);
    put_text(out, Key::Cap, frame.cap.as_deref());
    put_text(out, Key::StreamId, frame.stream_id.as_deref());
    put_text(out, Key::MediaUrn, frame.media_urn.as_deref());
    if let Some(id) = frame.routing_id {
        put_id(out, Key::RoutingId, id);
    }
    put_opt_uint(out, Key::ChunkIndex, frame.chunk_index);
    put_opt_uint(out, Key::ChunkCount, frame.chunk_count);
    put_opt_uint(out, Key::Checksum, frame.checksum);
    put_bool(out, Key::IsSequence, frame.is_sequence);
    put_bool(out, Key::ForceKill, frame.force_kill);
    put_opt_uint(out, Key::Credit, frame.credit);
    put_bool(out, Key::Unbounded, frame.unbounded);
    put_text(out, Key::Output, frame.output.as_deref());
}

fn put_uint(out: &mut Vec<u8>, key: Key, number: u64) {
    cbor::put(out, |to| to.u64(key.number())?.u64(number));
}

fn put_opt_uint(out: &mut Vec<u8>, key: Key, number: Option<u64>) {
    if let Some(number) = number {
        put_uint(out, key, number);
    }
}

fn put_bool(out: &mut Vec<u8>, key: Key, truth: Option<bool>) {
    if let Some(truth) = truth {
        cbor::put(out, |to| to.u64(key.number())?.bool(truth));
    }
}

fn put_text(out: &mut Vec<u8>, key: Key, text: Option<&str>) {
    if let Some(text) = text {
        cbor::put(out, |to| to.u64(key.number())?.str(text));
    }
}

fn put_id(out: &mut Vec<u8>, key: Key, id: MessageId) {
    match id {
        MessageId::Uint(number) => put_uint(out, key, number),
        MessageId::Uuid(bytes) => cbor::put(out, |to| to.u64(key.number())?.bytes(&bytes)),
    }
}

/// The rules between keys, the same for a writer and a reader.
fn check_rules(frame: &Frame) -> Result<(), FrameRule> {
    let need = |key, present: bool| match present {
        true => Ok(()),
        false => Err(FrameRule::Missing { key }),
    };
    if let Some(meta) = &frame.meta {
        check_meta(meta)?;
    }
    if frame.output.is_some() && frame.frame_type != FrameType::StreamStart {
        return Err(FrameRule::MisplacedOutput { frame_type: frame.frame_type });
    }
    match frame.frame_type {
        FrameType::Chunk => {
            need(Key::ChunkIndex, frame.chunk_index.is_some())?;
            need(Key::Checksum, frame.checksum.is_some())
        }
        FrameType::Credit => need(Key::Credit, frame.credit.is_some()),
        frame_type @ (FrameType::CloseStream | FrameType::Policy)
            if !Version::may_have(frame.version, frame_type) =>
        {
            Err(FrameRule::TypeOfAnotherVersion { version: frame.version, frame_type })
        }
        FrameType::Policy if frame.network_policy().is_none() => Err(FrameRule::UnknownPolicy),
        _ => Ok(()),
    }
}

fn check_meta(meta: &Value) -> Result<(), FrameRule> {
    let Value::Map(entries) = meta else {
        let (key, expected) = (Key::Meta, "map");
        return Err(FrameRule::WrongType { key, expected, found: meta.kind() });
    };
    match entries.iter().find(|(key, _)| key.as_text().is_none()) {
        Some((key, _)) => Err(FrameRule::MetaKey { found: key.kind() }),
        None => check_duplicates(meta),
    }
}

/// Refuses a map that holds a key twice, at any depth; and one with containers for keys, which nobody sends
/// and which could be nested so that comparing them costs far more than reading them. Recursion is bounded
/// by [`MAX_DEPTH`].
fn check_duplicates(value: &Value) -> Result<(), FrameRule> {
    match value {
        Value::Array(items) => items.iter().try_for_each(check_duplicates),
        Value::Tag(_, inner) => check_duplicates(inner),
        Value::Map(entries) => {
            let container =
                |key: &&Value| matches!(key, Value::Array(_) | Value::Map(_) | Value::Tag(..));
            if let Some(key) = entries.iter().map(|(key, _)| key).find(container) {
                return Err(FrameRule::MetaKey { found: key.kind() });
            }
            if has_duplicate(entries) {
                return Err(FrameRule::MetaDuplicate);
            }
            entries.iter().try_for_each(|(_, value)| check_duplicates(value))
        }
        _ => Ok(()),
    }
}

/// Compares encodings, so that keys of any type can be told apart; pairwise only while that is cheap.
fn has_duplicate(entries: &[(Value, Value)]) -> bool {
    const PAIRWISE: usize = 16;
    if entries.len() <= PAIRWISE {
        let mut rest = entries;
        while let Some(((key, _), behind)) = rest.split_first() {
            if behind.iter().any(|(other, _)| other == key) {
                return true;
            }
            rest = behind;
        }
        return false;
    }
    let mut keys: Vec<Vec<u8>> = entries.iter().map(|(key, _)| key.encode()).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

/// Decodes a body of version [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION). A definite payload, and
/// definite byte strings in the metadata, are slices of `body`, which they keep alive.
///
/// # Errors
/// [`DecodeError::Cbor`] when the body is not well-formed, else [`DecodeError::Frame`] with the first rule
/// that it breaks.
pub fn decode(body: Bytes) -> Result<Frame, DecodeError> {
    decode_with(body, Versions::CURRENT)
}

/// Decodes a body of any of `versions`, as [`decode`] does.
///
/// # Errors
/// As [`decode`]; a version outside of `versions` is [`FrameRule::Version`].
pub fn decode_with(body: Bytes, versions: Versions) -> Result<Frame, DecodeError> {
    let error = match read_frame(&mut Reader::shared(&body), versions) {
        Ok(frame) => return Ok(frame),
        Err(error) => error,
    };
    // What is not CBOR at all is said to be that, also when a rule was broken before the damage.
    if let DecodeError::Frame(_) = error {
        Reader::new(&body).skip()?;
    }
    Err(error)
}

fn read_frame(reader: &mut Reader<'_>, versions: Versions) -> Result<Frame, DecodeError> {
    let mut left = match reader.token()? {
        Token::Map(pairs) => Some(pairs),
        Token::BeginMap => None,
        other => return Err(FrameRule::NotAMap { found: cbor::kind(other) }.into()),
    };
    let mut fields = Fields::new();
    while left != Some(0) {
        let at = reader.position();
        match reader.read(Decoder::u64)? {
            Ok(number) => match Key::from_number(number) {
                Some(key) => fields.read(reader, key, versions)?,
                None => reader.skip()?,
            },
            Err(Token::Break) if left.is_none() => break,
            // A key of another type means nothing to us.
            Err(_) => {
                reader.go_back(at);
                reader.skip()?;
                reader.skip()?;
            }
        }
        left = left.map(|left| left - 1);
    }
    let frame = fields.finish()?;
    match reader.left() {
        0 => Ok(frame),
        extra => Err(FrameRule::Trailing { extra }.into()),
    }
}

/// What was read of a frame so far.
struct Fields {
    /// One bit per key.
    seen: u32,
    /// All keys; type and id stand for nothing until they were seen.
    frame: Frame,
}

impl Fields {
    fn new() -> Self {
        Self { seen: 0, frame: Frame::new(FrameType::Hello, MessageId::CONNECTION) }
    }

    const fn has(&self, key: Key) -> bool {
        self.seen & (1 << key as u8) != 0
    }

    fn read(
        &mut self,
        reader: &mut Reader<'_>,
        key: Key,
        versions: Versions,
    ) -> Result<(), DecodeError> {
        if self.has(key) {
            return Err(FrameRule::Duplicate { key }.into());
        }
        self.seen |= 1 << key as u8;
        let frame = &mut self.frame;
        match key {
            Key::Version => {
                let version = read_uint(reader, key)?;
                if !versions.contains(version) {
                    return Err(FrameRule::Version { version, spoken: versions }.into());
                }
                frame.version = version;
            }
            Key::FrameType => {
                let code = read_uint(reader, key)?;
                let known = FrameType::from_code(code);
                frame.frame_type = known.ok_or(FrameRule::UnknownType { code })?;
            }
            Key::Id => frame.id = read_id(reader, key)?,
            Key::Seq => frame.seq = read_uint(reader, key)?,
            Key::ContentType => frame.content_type = Some(read_text(reader, key)?),
            Key::Meta => frame.meta = Some(read_meta(reader)?),
            Key::Payload => frame.payload = Some(read_payload(reader)?),
            Key::Len => frame.len = Some(read_uint(reader, key)?),
            Key::Offset => frame.offset = Some(read_uint(reader, key)?),
            Key::Eof => frame.eof = Some(read_bool(reader, key)?),
            Key::Cap => frame.cap = Some(read_text(reader, key)?),
            Key::StreamId => frame.stream_id = Some(read_text(reader, key)?),
            Key::MediaUrn => frame.media_urn = Some(read_text(reader, key)?),
            Key::RoutingId => frame.routing_id = Some(read_id(reader, key)?),
            Key::ChunkIndex => frame.chunk_index = Some(read_uint(reader, key)?),
            Key::ChunkCount => frame.chunk_count = Some(read_uint(reader, key)?),
            Key::Checksum => frame.checksum = Some(read_uint(reader, key)?),
            Key::IsSequence => frame.is_sequence = Some(read_bool(reader, key)?),
            Key::ForceKill => frame.force_kill = Some(read_bool(reader, key)?),
            Key::Credit => frame.credit = Some(read_uint(reader, key)?),
            Key::Unbounded => frame.unbounded = Some(read_bool(reader, key)?),
            Key::Output => frame.output = Some(read_text(reader, key)?),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Frame, FrameRule> {
        for key in [Key::Version, Key::FrameType, Key::Id] {
            if !self.has(key) {
                return Err(FrameRule::Missing { key });
            }
        }
        if Version::declared(self.frame.version).is_some_and(|version| !version.names_outputs()) {
            self.frame.output = None; // a key that means nothing to that version
        }
        check_rules(&self.frame)?;
        Ok(self.frame)
    }
}

fn wrong_type(key: Key, expected: &'static str, found: Token<'_>) -> DecodeError {
    FrameRule::WrongType { key, expected, found: cbor::kind(found) }.into()
}

fn read_uint(reader: &mut Reader<'_>, key: Key) -> Result<u64, DecodeError> {
    reader.read(Decoder::u64)?.map_err(|other| wrong_type(key, "unsigned integer", other))
}

fn read_bool(reader: &mut Reader<'_>, key: Key) -> Result<bool, DecodeError> {
    reader.read(Decoder::bool)?.map_err(|other| wrong_type(key, "boolean", other))
}

fn read_text(reader: &mut Reader<'_>, key: Key) -> Result<String, DecodeError> {
    match reader.read(Decoder::str)? {
        Ok(text) => Ok(text.to_owned()),
        Err(Token::BeginString) => Ok(reader.text_segments()?),
        Err(other) => Err(wrong_type(key, "text", other)),
    }
}

fn read_payload(reader: &mut Reader<'_>) -> Result<Bytes, DecodeError> {
    match reader.read(Decoder::bytes)? {
        Ok(content) => Ok(reader.keep(content)),
        Err(Token::BeginBytes) => Ok(reader.byte_segments()?.into()),
        Err(other) => Err(wrong_type(Key::Payload, "byte string", other)),
    }
}

fn read_id(reader: &mut Reader<'_>, key: Key) -> Result<MessageId, DecodeError> {
    let uuid = |content: &[u8]| match <[u8; 16]>::try_from(content) {
        Ok(uuid) => Ok(MessageId::Uuid(uuid)),
        Err(_) => Err(FrameRule::IdLength { key, len: content.len() }.into()),
    };
    match reader.token()? {
        Token::Bytes(content) => uuid(content),
        Token::BeginBytes => uuid(&reader.byte_segments()?),
        Token::U8(number) => Ok(MessageId::Uint(number.into())),
        Token::U16(number) => Ok(MessageId::Uint(number.into())),
        Token::U32(number) => Ok(MessageId::Uint(number.into())),
        Token::U64(number) => Ok(MessageId::Uint(number)),
        other => Err(wrong_type(key, "byte string of 16 or unsigned integer", other)),
    }
}

fn read_meta(reader: &mut Reader<'_>) -> Result<Value, DecodeError> {
    // One level, the frame's own map, is open round it.
    value::read_value(reader, 1, MAX_META_VALUES).map_err(|error| match error {
        CborError::TooManyValues { limit } => FrameRule::MetaTooLarge { limit }.into(),
        error => error.into(),
    })
}
