//! Frames: what two ends say to each other, as values and as bytes.
//!
//! This room is pure. It does no I/O, reads no clock, starts no thread, waits for nothing: bytes and frames
//! go in, frames and bytes come out.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | [`Frame`], its fields and what they say |
//! | `build` | one constructor per frame type |
//! | `id`, `kind` | [`MessageId`], [`FlowKey`]; [`FrameType`] and the other closed vocabularies |
//! | `value`, `cbor` | [`Value`]: owned CBOR; heads and well-formedness below it |
//! | `codec`, `error` | [`encode_parts`], [`decode`]; why they refuse |
//! | `held` | what a frame holds in memory |
//! | `limits` | [`Limits`]; cutting a byte stream into bodies |
//! | `checksum` | [`fnv1a64`] |
//! | `order` | numbering, reordering, the writer's terminal gate |
//! | `scan` | [`ItemScanner`]: where an item of a sequence ends |
//! | `version` | [`Version`], [`Versions`]: what 4, 5 and 6 have that another lacks |
//!
//! ```
//! use sluicegate::frame::{self, CreditDirection, Frame, MessageId};
//!
//! let grant = Frame::credit(MessageId::Uint(7), None, Some("s1"), 16, CreditDirection::Request);
//! let body = frame::encode(&grant)?;
//! assert_eq!(frame::decode(body.into())?, grant);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod cbor;
mod checksum;
mod codec;
mod error;
mod held;
mod id;
mod kind;
mod limits;
mod order;
mod scan;
mod value;
mod version;

use std::fmt;

use bytes::Bytes;

pub use cbor::{CborError, MAX_DEPTH};
pub use checksum::{Fnv1a, fnv1a64};
pub use codec::{
    EncodedFrame, MAX_META_VALUES, decode, decode_with, encode, encode_into, encode_parts,
};
pub use error::{DecodeClass, DecodeError, EncodeError, FrameRule, Key};
pub use id::{FlowKey, MessageId};
pub use kind::{AttributionClass, CreditDirection, FrameType, NetworkPolicy, UnknownName};
pub(crate) use limits::{CHUNK_HEAD, SCALAR_HEAD};
pub use limits::{HARD_MAX_FRAME, Limits, PREFIX_LEN, check_end, check_length, take_body};
pub use order::{
    Admitted, ENDED_FLOWS_KEPT, Refusal, Refused, Reorder, ReorderBuffer, Reordered, SeqAssigner,
    WriterGate,
};
pub use scan::{ItemScanner, Scan};
pub use value::{Value, encode_bytes, encode_text};
pub use version::{Version, Versions};

/// The protocol version that a frame is made of, and that a host proposes unless it is told otherwise.
pub const PROTOCOL_VERSION: u64 = Version::V6.number();

/// One frame. Each field but the first four is absent from the wire when it is `None`.
///
/// Which fields belong on which type is for the constructors to know; a decoder takes them anywhere, except
/// `output`. What a frame *must* have (`chunk_index` and `checksum` on CHUNK, `credit` on CREDIT, a known
/// policy on POLICY) holds for every frame that was decoded, and is checked before one is encoded.
#[derive(Clone, PartialEq)]
pub struct Frame {
    /// Key 0. The protocol version.
    pub version: u64,
    /// Key 1. What kind of frame this is.
    pub frame_type: FrameType,
    /// Key 2. The request, or [`MessageId::CONNECTION`].
    pub id: MessageId,
    /// Key 3. Place in the flow, set by the writer when it writes; 0 on all other frames.
    pub seq: u64,
    /// Key 4. Content type: REQ, and the first CHUNK of the offset form.
    pub content_type: Option<String>,
    /// Key 5. Metadata: a map with text keys.
    pub meta: Option<Value>,
    /// Key 6. Payload: REQ (empty), CHUNK, RELAY_STATE, rarely END.
    pub payload: Option<Bytes>,
    /// Key 7. Total bytes: first CHUNK of the offset form.
    pub len: Option<u64>,
    /// Key 8. Bytes before this one: CHUNK of the offset form.
    pub offset: Option<u64>,
    /// Key 9. `true` on END, and on the last CHUNK of the offset form.
    pub eof: Option<bool>,
    /// Key 10. The capability asked for: REQ.
    pub cap: Option<String>,
    /// Key 11. The stream: STREAM_START, CHUNK, STREAM_END, and where named CREDIT and CLOSE_STREAM. The
    /// empty name is a name.
    pub stream_id: Option<String>,
    /// Key 12. What the stream carries: STREAM_START.
    pub media_urn: Option<String>,
    /// Key 13. The switch's number for the request, beyond a switch.
    pub routing_id: Option<MessageId>,
    /// Key 14. Place in the stream, from 0: CHUNK.
    pub chunk_index: Option<u64>,
    /// Key 15. How many CHUNKs the stream had: STREAM_END of a bounded stream.
    pub chunk_count: Option<u64>,
    /// Key 16. [`fnv1a64`] of the payload: CHUNK.
    pub checksum: Option<u64>,
    /// Key 17. Whether payloads are fragments of a sequence of items: STREAM_START. Absent means no.
    pub is_sequence: Option<bool>,
    /// Key 18. Whether the host shall kill the process: CANCEL.
    pub force_kill: Option<bool>,
    /// Key 19. How many more chunks may be sent: CREDIT.
    pub credit: Option<u64>,
    /// Key 20. No promise of an end: STREAM_START. Absent means bounded.
    pub unbounded: Option<bool>,
    /// Key 21. Which output, when not the main one: STREAM_START of a response stream.
    pub output: Option<String>,
}

impl Frame {
    /// A frame of the current version with nothing but type and id, number 0.
    #[must_use]
    pub const fn new(frame_type: FrameType, id: MessageId) -> Self {
        Self {
            version: PROTOCOL_VERSION,
            frame_type,
            id,
            seq: 0,
            content_type: None,
            meta: None,
            payload: None,
            len: None,
            offset: None,
            eof: None,
            cap: None,
            stream_id: None,
            media_urn: None,
            routing_id: None,
            chunk_index: None,
            chunk_count: None,
            checksum: None,
            is_sequence: None,
            force_kill: None,
            credit: None,
            unbounded: None,
            output: None,
        }
    }

    /// The flow that this frame would belong to by its ids, whatever its type.
    #[must_use]
    pub const fn flow_key(&self) -> FlowKey {
        FlowKey::new(self.id, self.routing_id)
    }

    /// Whether this frame is numbered and gated; see [`FrameType::is_flow`].
    #[must_use]
    pub const fn is_flow(&self) -> bool {
        self.frame_type.is_flow()
    }

    /// Whether this frame ends its flow (L4).
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        self.frame_type.is_terminal()
    }

    /// The payload's bytes; an absent payload is an empty one.
    #[must_use]
    pub fn payload_bytes(&self) -> &[u8] {
        self.payload.as_deref().unwrap_or_default()
    }

    /// Whether the checksum fits the payload. False when there is none.
    #[must_use]
    pub fn checksum_matches(&self) -> bool {
        self.checksum == Some(fnv1a64(self.payload_bytes()))
    }

    /// The metadata under `name`.
    #[must_use]
    pub fn meta_get(&self, name: &str) -> Option<&Value> {
        self.meta.as_ref()?.get(name)
    }

    /// The metadata under `name`, if it is a text.
    #[must_use]
    pub fn meta_text(&self, name: &str) -> Option<&str> {
        self.meta_get(name)?.as_text()
    }

    /// The metadata under `name`, if it is an integer from 0 to 2^64-1.
    #[must_use]
    pub fn meta_u64(&self, name: &str) -> Option<u64> {
        self.meta_get(name)?.as_u64()
    }

    /// The metadata under `name`, if it is an integer that fits an `i64`.
    #[must_use]
    pub fn meta_i64(&self, name: &str) -> Option<i64> {
        self.meta_get(name)?.as_i64()
    }

    /// The metadata under `name`, if it is a number of any kind.
    #[must_use]
    pub fn meta_f64(&self, name: &str) -> Option<f64> {
        self.meta_get(name)?.as_f64()
    }

    /// The metadata under `name`, if it is a byte string.
    #[must_use]
    pub fn meta_bytes(&self, name: &str) -> Option<&Bytes> {
        self.meta_get(name)?.as_bytes()
    }

    /// Sets the metadata under `name`: replaces the entry, or adds one behind all others. Metadata that is
    /// absent, or not a map, becomes one.
    pub fn set_meta(&mut self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        let Some(Value::Map(entries)) = &mut self.meta else {
            self.meta = Some(Value::text_map([(name, value)]));
            return;
        };
        match entries.iter_mut().find(|(key, _)| key.as_text() == Some(name)) {
            Some((_, old)) => *old = value,
            None => entries.push((name.into(), value)),
        }
    }

    /// Which way a CREDIT frame goes, by `meta.credit_dir`. `None` when that is absent or names no
    /// direction: a router then has no route for it, an endpoint still takes the credit.
    #[must_use]
    pub fn credit_direction(&self) -> Option<CreditDirection> {
        self.meta_text("credit_dir")?.parse().ok()
    }

    /// The policy of a POLICY frame, by `meta.network`.
    #[must_use]
    pub fn network_policy(&self) -> Option<NetworkPolicy> {
        self.meta_text("network")?.parse().ok()
    }

    /// Whether requests are routed to the host that a POLICY of a switch goes to, by `meta.routable`, if the
    /// switch says so.
    pub(crate) fn routable(&self) -> Option<bool> {
        match self.meta_get("routable")? {
            Value::Bool(routable) => Some(*routable),
            _ => None,
        }
    }

    /// The class of an ERR, LOG or CANCEL, by `meta.attribution_class`. `None` when that is absent or names
    /// no class.
    #[must_use]
    pub fn attribution_class(&self) -> Option<AttributionClass> {
        self.meta_text("attribution_class")?.parse().ok()
    }

    /// The error code of an ERR or CANCEL. An empty text counts as absent.
    #[must_use]
    pub fn error_code(&self) -> Option<&str> {
        self.meta_text("code").filter(|code| !code.is_empty())
    }

    /// The message of an ERR, LOG, CANCEL or END. An empty text counts as absent.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.meta_text("message").filter(|message| !message.is_empty())
    }

    /// The exit code of an END. 0 is success; absent or another is not.
    #[must_use]
    pub fn exit_code(&self) -> Option<i64> {
        self.meta_i64("exit_code")
    }

    /// The progress of a LOG, END or ERR: 0 to 1, sent as any kind of number. A successful END that says
    /// nothing reads as 1 (L3); a failure never invents one.
    #[must_use]
    pub fn progress_value(&self) -> Option<f64> {
        let succeeded = self.frame_type == FrameType::End && self.exit_code() == Some(0);
        self.meta_f64("progress").or(succeeded.then_some(1.0))
    }

    /// The request that a peer call's REQ names as its parent.
    #[must_use]
    pub fn parent_rid(&self) -> Option<MessageId> {
        MessageId::from_value(self.meta_get("parent_rid")?)
    }

    /// Whether STREAM_START opens a sequence stream; absent means scalar.
    #[must_use]
    pub fn opens_sequence(&self) -> bool {
        self.is_sequence == Some(true)
    }

    /// Whether STREAM_START opens an unbounded stream (L16); absent means bounded.
    #[must_use]
    pub fn opens_unbounded(&self) -> bool {
        self.unbounded == Some(true)
    }

    /// How many keys the frame's map has.
    fn key_count(&self) -> u64 {
        let optional = [
            self.content_type.is_some(),
            self.meta.is_some(),
            self.payload.is_some(),
            self.len.is_some(),
            self.offset.is_some(),
            self.eof.is_some(),
            self.cap.is_some(),
            self.stream_id.is_some(),
            self.media_urn.is_some(),
            self.routing_id.is_some(),
            self.chunk_index.is_some(),
            self.chunk_count.is_some(),
            self.checksum.is_some(),
            self.is_sequence.is_some(),
            self.force_kill.is_some(),
            self.credit.is_some(),
            self.unbounded.is_some(),
            self.output.is_some(),
        ];
        4 + optional.iter().map(|&present| u64::from(present)).sum::<u64>()
    }
}

impl fmt::Debug for Frame {
    /// The fields that are there; of a payload, only its length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Frame");
        if self.version != PROTOCOL_VERSION {
            out.field("version", &self.version);
        }
        out.field("type", &format_args!("{}", self.frame_type));
        out.field("id", &format_args!("{}", self.id)).field("seq", &self.seq);
        let mut show = |name, value: Option<&dyn fmt::Debug>| {
            if let Some(value) = value {
                out.field(name, value);
            }
        };
        fn seen<T: fmt::Debug>(field: &Option<T>) -> Option<&dyn fmt::Debug> {
            field.as_ref().map(|value| value as &dyn fmt::Debug)
        }
        let payload_len = self.payload.as_ref().map(Bytes::len);
        show("content_type", seen(&self.content_type));
        show("meta", seen(&self.meta));
        show("payload_len", seen(&payload_len));
        show("len", seen(&self.len));
        show("offset", seen(&self.offset));
        show("eof", seen(&self.eof));
        show("cap", seen(&self.cap));
        show("stream_id", seen(&self.stream_id));
        show("media_urn", seen(&self.media_urn));
        show("routing_id", seen(&self.routing_id));
        show("chunk_index", seen(&self.chunk_index));
        show("chunk_count", seen(&self.chunk_count));
        show("checksum", seen(&self.checksum));
        show("is_sequence", seen(&self.is_sequence));
        show("force_kill", seen(&self.force_kill));
        show("credit", seen(&self.credit));
        show("unbounded", seen(&self.unbounded));
        show("output", seen(&self.output));
        out.finish()
    }
}
