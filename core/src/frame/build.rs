//! One constructor per frame type, and the few fields that are set afterwards.

use bytes::Bytes;

use super::Frame;
use super::checksum::fnv1a64;
use super::id::MessageId;
use super::kind::{AttributionClass, CreditDirection, FrameType, NetworkPolicy};
use super::limits::Limits;
use super::value::Value;

impl Frame {
    fn of_request(frame_type: FrameType, id: MessageId, routing_id: Option<MessageId>) -> Self {
        Self { routing_id, ..Self::new(frame_type, id) }
    }

    /// HELLO as a host sends it: proposed limits, and `version` both in key 0 and in the metadata. A
    /// cartridge adds [`with_manifest`](Self::with_manifest).
    #[must_use]
    pub fn hello(limits: &Limits, version: u64) -> Self {
        let mut entries = limit_entries(limits);
        entries.push(("version", version.into()));
        let meta = Some(Value::text_map(entries));
        Self { version, meta, ..Self::new(FrameType::Hello, MessageId::CONNECTION) }
    }

    /// Adds what a cartridge's HELLO says besides: its manifest and its pools, each JSON as bytes.
    #[must_use]
    pub fn with_manifest(mut self, manifest: Bytes, pools: Bytes) -> Self {
        self.set_meta("manifest", manifest);
        self.set_meta("pools", pools);
        self
    }

    /// REQ, with the empty payload that it must have.
    #[must_use]
    pub fn req(
        id: MessageId,
        routing_id: Option<MessageId>,
        cap: impl Into<String>,
        content_type: impl Into<String>,
    ) -> Self {
        Self {
            content_type: Some(content_type.into()),
            payload: Some(Bytes::new()),
            cap: Some(cap.into()),
            ..Self::of_request(FrameType::Req, id, routing_id)
        }
    }

    /// STREAM_START. Scalar or sequence is said with [`with_sequence`](Self::with_sequence), else left
    /// open, which means scalar.
    #[must_use]
    pub fn stream_start(
        id: MessageId,
        routing_id: Option<MessageId>,
        stream_id: impl Into<String>,
        media_urn: impl Into<String>,
    ) -> Self {
        Self {
            stream_id: Some(stream_id.into()),
            media_urn: Some(media_urn.into()),
            ..Self::of_request(FrameType::StreamStart, id, routing_id)
        }
    }

    /// Says on STREAM_START whether payloads are fragments of a sequence of items.
    #[must_use]
    pub fn with_sequence(mut self, is_sequence: bool) -> Self {
        self.is_sequence = Some(is_sequence);
        self
    }

    /// Says on STREAM_START that the stream has no promised end (L16). `false` leaves the key out.
    #[must_use]
    pub fn with_unbounded(mut self, unbounded: bool) -> Self {
        self.unbounded = unbounded.then_some(true);
        self
    }

    /// Names the output on STREAM_START of a response stream that is not the main one.
    #[must_use]
    pub fn with_output(mut self, output: impl Into<String>) -> Self {
        self.output = Some(output.into());
        self
    }

    /// CHUNK: `index` from 0 per stream, and the checksum of `payload`, which is computed here. A payload
    /// must not be empty: a public peer charges the credit and never gives it back.
    #[must_use]
    pub fn chunk(
        id: MessageId,
        routing_id: Option<MessageId>,
        stream_id: impl Into<String>,
        index: u64,
        payload: Bytes,
    ) -> Self {
        Self {
            stream_id: Some(stream_id.into()),
            chunk_index: Some(index),
            checksum: Some(fnv1a64(&payload)),
            payload: Some(payload),
            ..Self::of_request(FrameType::Chunk, id, routing_id)
        }
    }

    /// STREAM_END. `chunk_count` is how many CHUNKs went before it, and is left out when the stream is
    /// unbounded.
    #[must_use]
    pub fn stream_end(
        id: MessageId,
        routing_id: Option<MessageId>,
        stream_id: impl Into<String>,
        chunk_count: Option<u64>,
    ) -> Self {
        Self {
            stream_id: Some(stream_id.into()),
            chunk_count,
            ..Self::of_request(FrameType::StreamEnd, id, routing_id)
        }
    }

    /// END of a request's body: no metadata. A handler's END is [`end_with`](Self::end_with).
    #[must_use]
    pub fn end(id: MessageId, routing_id: Option<MessageId>) -> Self {
        Self { eof: Some(true), ..Self::of_request(FrameType::End, id, routing_id) }
    }

    /// END of a response: exit code (0 is success), final progress (0 to 1; L3) and message.
    #[must_use]
    pub fn end_with(
        id: MessageId,
        routing_id: Option<MessageId>,
        exit_code: i64,
        progress: Option<f64>,
        message: Option<&str>,
    ) -> Self {
        let mut frame = Self::end(id, routing_id);
        frame.set_meta("exit_code", exit_code);
        if let Some(progress) = progress {
            frame.set_meta("progress", progress);
        }
        if let Some(message) = message {
            frame.set_meta("message", message);
        }
        frame
    }

    /// LOG of any level but `progress`, with its class. `message` must not be empty.
    #[must_use]
    pub fn log(
        id: MessageId,
        routing_id: Option<MessageId>,
        level: &str,
        class: AttributionClass,
        message: &str,
    ) -> Self {
        let entries =
            [("level", level), ("attribution_class", class.as_str()), ("message", message)];
        Self { meta: Some(texts(entries)), ..Self::of_request(FrameType::Log, id, routing_id) }
    }

    /// LOG of level `progress`: 0 to 1, without a class. `message` must not be empty.
    #[must_use]
    pub fn progress(
        id: MessageId,
        routing_id: Option<MessageId>,
        progress: f64,
        message: &str,
    ) -> Self {
        let meta = Some(texts([("level", "progress"), ("message", message)]));
        let mut frame = Self { meta, ..Self::of_request(FrameType::Log, id, routing_id) };
        frame.set_meta("progress", progress);
        frame
    }

    /// ERR. None of the texts may be empty.
    #[must_use]
    pub fn err(
        id: MessageId,
        routing_id: Option<MessageId>,
        code: &str,
        class: AttributionClass,
        message: &str,
    ) -> Self {
        let meta = Some(reason(code, class, message));
        Self { meta, ..Self::of_request(FrameType::Err, id, routing_id) }
    }

    /// Names the argument that an ERR or LOG is about. Must not be empty.
    #[must_use]
    pub fn with_arg_urn(mut self, arg_urn: &str) -> Self {
        self.set_meta("arg_urn", arg_urn);
        self
    }

    /// HEARTBEAT probe.
    #[must_use]
    pub fn heartbeat(id: MessageId) -> Self {
        Self::new(FrameType::Heartbeat, id)
    }

    /// A cartridge's reply to a HEARTBEAT: running totals of the three families of loss (L8), and its pools,
    /// JSON as bytes.
    #[must_use]
    pub fn heartbeat_reply(
        id: MessageId,
        drops: u64,
        stragglers: u64,
        overruns: u64,
        pools: Bytes,
    ) -> Self {
        let meta = Value::text_map([
            ("drops_total", drops.into()),
            ("stragglers_total", stragglers.into()),
            ("overruns_total", overruns.into()),
            ("pools", pools.into()),
        ]);
        Self { meta: Some(meta), ..Self::heartbeat(id) }
    }

    /// RELAY_NOTIFY: what a host offers (JSON as bytes) and its limits.
    #[must_use]
    pub fn relay_notify(manifest: Bytes, limits: &Limits) -> Self {
        let mut entries = vec![("manifest", manifest.into())];
        entries.extend(limit_entries(limits));
        let meta = Some(Value::text_map(entries));
        Self { meta, ..Self::new(FrameType::RelayNotify, MessageId::CONNECTION) }
    }

    /// RELAY_STATE: something opaque for a host to keep.
    #[must_use]
    pub fn relay_state(payload: Bytes) -> Self {
        Self { payload: Some(payload), ..Self::new(FrameType::RelayState, MessageId::CONNECTION) }
    }

    /// CANCEL of the request `id`, without a reason.
    #[must_use]
    pub fn cancel(id: MessageId, routing_id: Option<MessageId>, force_kill: bool) -> Self {
        Self { force_kill: Some(force_kill), ..Self::of_request(FrameType::Cancel, id, routing_id) }
    }

    /// Adds the reason to CANCEL, in the words of an ERR. None of the texts may be empty.
    #[must_use]
    pub fn with_reason(mut self, code: &str, class: AttributionClass, message: &str) -> Self {
        self.meta = Some(reason(code, class, message));
        self
    }

    /// CREDIT for `credit` more chunks (L9) on the stream named, or on the request's only one. A grant of
    /// 0 means nothing and must not be sent.
    #[must_use]
    pub fn credit(
        id: MessageId,
        routing_id: Option<MessageId>,
        stream_id: Option<&str>,
        credit: u64,
        direction: CreditDirection,
    ) -> Self {
        Self {
            meta: Some(texts([("credit_dir", direction.as_str())])),
            stream_id: stream_id.map(str::to_owned),
            credit: Some(credit),
            ..Self::of_request(FrameType::Credit, id, routing_id)
        }
    }

    /// CLOSE_STREAM: stop capturing the input named, or all inputs of the request.
    #[must_use]
    pub fn close_stream(
        id: MessageId,
        routing_id: Option<MessageId>,
        stream_id: Option<&str>,
    ) -> Self {
        Self {
            stream_id: stream_id.map(str::to_owned),
            ..Self::of_request(FrameType::CloseStream, id, routing_id)
        }
    }

    /// POLICY.
    #[must_use]
    pub fn policy(policy: NetworkPolicy) -> Self {
        let meta = Some(texts([("network", policy.as_str())]));
        Self { meta, ..Self::new(FrameType::Policy, MessageId::CONNECTION) }
    }

    /// Sets the metadata, in place of what was there: an item's or an opened feed's description.
    #[must_use]
    pub fn with_meta(mut self, meta: Value) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Sets the protocol version in key 0, and nothing else, for a connection that speaks another than
    /// [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION).
    #[must_use]
    pub fn with_version(mut self, version: u64) -> Self {
        self.version = version;
        self
    }
}

/// The four limits, in the order in which every peer writes them.
fn limit_entries(limits: &Limits) -> Vec<(&'static str, Value)> {
    vec![
        ("max_frame", limits.max_frame.into()),
        ("max_chunk", limits.max_chunk.into()),
        ("max_reorder_buffer", limits.max_reorder_buffer.into()),
        ("initial_credit", limits.initial_credit.into()),
    ]
}

fn reason(code: &str, class: AttributionClass, message: &str) -> Value {
    texts([("code", code), ("attribution_class", class.as_str()), ("message", message)])
}

fn texts<const N: usize>(entries: [(&str, &str); N]) -> Value {
    Value::text_map(entries.map(|(name, text)| (name, Value::from(text))))
}
