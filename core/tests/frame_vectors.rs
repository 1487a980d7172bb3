//! The shared vectors, byte for byte: golden frames, malformed frames, recorded sessions.

use bytes::Bytes;
use serde_json::Value as Json;
use sluicegate::frame::{
    self, AttributionClass, CreditDirection, DecodeClass, DecodeError, Frame, FrameRule, FrameType,
    Key, Limits, MessageId, NetworkPolicy, Value, Versions,
};

fn json(text: &str) -> Json {
    serde_json::from_str(text).expect("a vector file is JSON")
}

fn vectors() -> Json {
    json(include_str!("../../tests/vectors/vectors.json"))
}

fn transcript() -> Json {
    json(include_str!("../../tests/vectors/transcript.json"))
}

fn list<'a>(json: &'a Json, name: &str) -> &'a [Json] {
    json[name].as_array().expect("a list")
}

fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json[name].as_str().expect("a text")
}

fn unhex(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2), "odd number of hex digits");
    let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits");
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// What a reader makes of a whole byte stream that holds one frame, or less.
fn read_stream(wire: &[u8], max_frame: u64) -> Result<Option<Frame>, DecodeError> {
    let mut buffered = Bytes::copy_from_slice(wire);
    let Some(body) = frame::take_body(&mut buffered, max_frame)? else {
        return frame::check_end(&buffered).map(|()| None);
    };
    assert!(buffered.is_empty(), "a vector is one frame");
    frame::decode(body).map(Some)
}

fn body_of(wire: &[u8]) -> Bytes {
    Bytes::copy_from_slice(&wire[frame::PREFIX_LEN..])
}

/// Whether a value is what the vectors' notation says. Map entries may stand in any order there.
fn same(value: &Value, json: &Json) -> bool {
    let number = |json: &Json| json.as_str().and_then(|text| text.parse::<u64>().ok());
    match (value, json) {
        (Value::Uint(n), Json::Object(o)) => o.get("u64").and_then(number) == Some(*n),
        (Value::Uint(n), json) => json.as_u64() == Some(*n),
        (Value::Nint(_), json) => json.as_i64() == value.as_i64() && json.is_i64(),
        (Value::Float(f), Json::Object(o)) => o.get("float").and_then(Json::as_f64) == Some(*f),
        (Value::Text(t), Json::String(s)) => t == s,
        (Value::Bool(b), Json::Bool(j)) => b == j,
        (Value::Null, Json::Null) => true,
        (Value::Bytes(b), Json::Object(o)) => {
            o.get("hex").and_then(Json::as_str).map(unhex).as_deref() == Some(b)
        }
        (Value::Array(items), Json::Array(list)) => {
            items.len() == list.len() && items.iter().zip(list).all(|(v, j)| same(v, j))
        }
        (Value::Map(entries), Json::Object(o)) => {
            let entry = |(key, value): &(Value, Value)| {
                key.as_text().and_then(|key| o.get(key)).is_some_and(|json| same(value, json))
            };
            entries.len() == o.len() && entries.iter().all(entry)
        }
        _ => false,
    }
}

fn id_value(id: MessageId) -> Json {
    match id {
        MessageId::Uint(number) => serde_json::json!({ "uint": number.to_string() }),
        MessageId::Uuid(_) => {
            serde_json::json!({ "uuid": id.to_string().replace('-', "") })
        }
    }
}

/// A frame's fields by name, so that nothing that was decoded goes unlooked at.
fn fields_of(frame: &Frame) -> Vec<(Key, Option<Value>)> {
    let uint = |number: Option<u64>| number.map(Value::from);
    let text = |text: &Option<String>| text.as_deref().map(Value::from);
    let truth = |truth: Option<bool>| truth.map(Value::from);
    vec![
        (Key::Version, uint(Some(frame.version))),
        (Key::FrameType, uint(Some(frame.frame_type.code()))),
        (Key::Seq, uint(Some(frame.seq))),
        (Key::ContentType, text(&frame.content_type)),
        (Key::Meta, frame.meta.clone()),
        (Key::Payload, frame.payload.clone().map(Value::from)),
        (Key::Len, uint(frame.len)),
        (Key::Offset, uint(frame.offset)),
        (Key::Eof, truth(frame.eof)),
        (Key::Cap, text(&frame.cap)),
        (Key::StreamId, text(&frame.stream_id)),
        (Key::MediaUrn, text(&frame.media_urn)),
        (Key::ChunkIndex, uint(frame.chunk_index)),
        (Key::ChunkCount, uint(frame.chunk_count)),
        (Key::Checksum, uint(frame.checksum)),
        (Key::IsSequence, truth(frame.is_sequence)),
        (Key::ForceKill, truth(frame.force_kill)),
        (Key::Credit, uint(frame.credit)),
        (Key::Unbounded, truth(frame.unbounded)),
        (Key::Output, text(&frame.output)),
    ]
}

#[track_caller]
fn assert_fields(name: &str, frame: &Frame, fields: &Json) {
    let expected = fields.as_object().expect("fields are an object");
    let mut found = 2 - usize::from(frame.routing_id.is_none());
    assert_eq!(id_value(frame.id), expected["id"], "{name}: id");
    assert_eq!(frame.routing_id.map(id_value).as_ref(), expected.get("routing_id"), "{name}: xid");
    for (key, value) in fields_of(frame) {
        match (value, expected.get(key.name())) {
            (None, None) => {}
            (Some(value), Some(json)) => {
                assert!(same(&value, json), "{name}: {key} is {value:?}, not {json}");
                found += 1;
            }
            (value, json) => panic!("{name}: {key} is {value:?}, not {json:?}"),
        }
    }
    assert_eq!(found, expected.len(), "{name}: a field was not looked at");
}

/// One frame, both directions.
#[track_caller]
fn assert_golden(name: &str, wire: &[u8], fields: &Json) -> Frame {
    let frame = read_stream(wire, Limits::DEFAULT.max_frame)
        .unwrap_or_else(|error| panic!("{name}: {error}"))
        .unwrap_or_else(|| panic!("{name}: no frame"));
    assert_fields(name, &frame, fields);
    assert_eq!(frame::encode(&frame).as_deref(), Ok(&wire[frame::PREFIX_LEN..]), "{name}");
    let parts = frame::encode_parts(&frame, Limits::DEFAULT.max_frame).expect("encodes");
    assert_eq!(parts.to_vec(), wire, "{name}: in parts");
    assert_eq!(parts.wire_len(), wire.len(), "{name}");
    assert_eq!(parts.body_len() + frame::PREFIX_LEN, wire.len(), "{name}");
    assert_eq!(&parts.payload[..], frame.payload_bytes(), "{name}: payload apart");
    frame
}

#[test]
fn golden_frames_decode_and_encode_byte_for_byte() {
    let vectors = vectors();
    let golden = list(&vectors, "golden");
    for case in golden {
        let name = text(case, "name");
        let frame = assert_golden(name, &unhex(text(case, "hex")), &case["fields"]);
        assert_eq!(frame.frame_type.name().to_uppercase(), text(case, "type"), "{name}");
        assert_eq!(Some(frame.is_flow()), case["flow"].as_bool(), "{name}: flow");
        assert_eq!(Some(frame.is_terminal()), case["terminal"].as_bool(), "{name}: terminal");
        if let Some(fits) = case["checksum_ok"].as_bool() {
            assert_eq!(frame.checksum_matches(), fits, "{name}: checksum");
        }
    }
    println!("golden frames: {}", golden.len());
    assert_eq!(golden.len(), 91);
}

#[test]
fn golden_payloads_are_slices_of_the_body() {
    let mut slices = 0;
    for case in list(&vectors(), "golden") {
        let body = body_of(&unhex(text(case, "hex")));
        let range = body.as_ptr_range();
        let frame = frame::decode(body.clone()).expect("golden");
        let payload = frame.payload.unwrap_or_default();
        if !payload.is_empty() {
            assert!(range.contains(&payload.as_ptr()), "{}: copied", text(case, "name"));
            slices += 1;
        }
    }
    assert!(slices > 10, "only {slices} golden frames have a payload");
}

#[test]
fn malformed_frames_follow_their_rule() {
    let vectors = vectors();
    let cases = list(&vectors["malformed"], "cases");
    let (mut accepted, mut rejected, mut strict, mut clean) = (0, 0, 0, 0);
    for case in cases {
        let name = text(case, "name");
        let limit = &case["reader_limits"]["max_frame"];
        let max_frame = limit.as_u64().unwrap_or(Limits::DEFAULT.max_frame);
        let result = read_stream(&unhex(text(case, "hex")), max_frame);
        let frame = |result: Result<Option<Frame>, DecodeError>| {
            let frame = result.unwrap_or_else(|error| panic!("{name}: {error}"));
            let frame = frame.unwrap_or_else(|| panic!("{name}: no frame"));
            assert_fields(name, &frame, &case["decoded_as"]);
            frame
        };
        match text(case, "our_rule") {
            "end of stream, no error" => {
                assert_eq!(result, Ok(None), "{name}");
                clean += 1;
            }
            "reject" => {
                let error = result.expect_err(name);
                assert_eq!(error.class().as_str(), text(case, "capdag_outcome"), "{name}: {error}");
                rejected += 1;
            }
            "may_reject" => {
                let error = result.expect_err(name);
                assert_eq!(error.class(), DecodeClass::InvalidFrame, "{name}: {error}");
                strict += 1;
            }
            rule => {
                let frame = frame(result);
                match rule {
                    "accept" => {}
                    "accept at decode, refuse at routing" => assert_eq!(frame.stream_id, None),
                    "accept at decode, no_route at a router" => {
                        assert_eq!(frame.credit_direction(), None, "{name}");
                    }
                    "accept at decode, refuse on verification" => {
                        assert!(!frame.checksum_matches(), "{name}");
                    }
                    rule => panic!("{name}: unknown rule {rule}"),
                }
                accepted += 1;
            }
        }
    }
    println!(
        "malformed: {accepted} accepted, {rejected} rejected, {strict} refused, {clean} clean"
    );
    assert_eq!((accepted, rejected, strict, clean), (19, 51, 25, 1));
    assert_eq!(cases.len(), 96);
}

#[test]
fn strict_refusals_say_what_and_where() {
    let vectors = vectors();
    let cases = list(&vectors["malformed"], "cases");
    let refused = |name: &str| {
        let case = cases.iter().find(|case| text(case, "name") == name).expect("a case");
        match read_stream(&unhex(text(case, "hex")), Limits::DEFAULT.max_frame) {
            Err(DecodeError::Frame(rule)) => rule,
            other => panic!("{name}: {other:?}"),
        }
    };
    let wrong = |key, expected, found| FrameRule::WrongType { key, expected, found };
    let uint = "unsigned integer";
    assert_eq!(refused("lax_ver_5"), FrameRule::Version { version: 5, spoken: Versions::CURRENT });
    assert_eq!(refused("bad_type_16"), FrameRule::UnknownType { code: 16 });
    assert_eq!(refused("bad_missing_id"), FrameRule::Missing { key: Key::Id });
    assert_eq!(refused("bad_id_15_bytes"), FrameRule::IdLength { key: Key::Id, len: 15 });
    assert_eq!(refused("lax_seq_neg"), wrong(Key::Seq, uint, "negative integer"));
    assert_eq!(refused("lax_credit_bignum"), wrong(Key::Credit, uint, "tagged value"));
    assert_eq!(refused("lax_eof_nonbool"), wrong(Key::Eof, "boolean", uint));
    assert_eq!(refused("lax_meta_not_map"), wrong(Key::Meta, "map", "array"));
    assert_eq!(refused("lax_dup_key_same"), FrameRule::Duplicate { key: Key::Seq });
    assert_eq!(refused("lax_dup_key_in_meta"), FrameRule::MetaDuplicate);
    assert_eq!(refused("lax_trailing_bytes"), FrameRule::Trailing { extra: 1 });
    assert_eq!(refused("lax_bool_key_true"), FrameRule::Missing { key: Key::FrameType });
    assert_eq!(refused("bad_self_described_tag"), FrameRule::NotAMap { found: "tagged value" });
    let frame_type = FrameType::Credit;
    assert_eq!(refused("bad_output_on_credit"), FrameRule::MisplacedOutput { frame_type });
    assert_eq!(refused("bad_policy_unknown"), FrameRule::UnknownPolicy);
}

#[test]
fn other_versions_are_read_where_they_are_asked_for() {
    let vectors = vectors();
    let cases = list(&vectors["malformed"], "cases");
    let spoken = Versions::between(4, 6);
    for (name, version) in [("lax_ver_4", 4), ("lax_ver_5", 5)] {
        let case = cases.iter().find(|case| text(case, "name") == name).expect("a case");
        let wire = unhex(text(case, "hex"));
        let frame = frame::decode_with(body_of(&wire), spoken).expect("4 and 5 are spoken");
        assert_eq!(frame.version, version);
        assert_eq!(frame::encode(&frame).as_deref(), Ok(&wire[frame::PREFIX_LEN..]));
        let spoken = Versions::only(6);
        let refused = frame::decode_with(body_of(&wire), spoken);
        assert_eq!(refused, Err(FrameRule::Version { version, spoken }.into()));
    }
}

#[test]
fn recorded_sessions_decode_and_encode_byte_for_byte() {
    let transcript = transcript();
    let sessions = list(&transcript, "sessions");
    let mut frames = 0;
    for session in sessions {
        for case in list(session, "frames") {
            let name = format!("{} {}", text(session, "name"), case["n"]);
            let frame = assert_golden(&name, &unhex(text(case, "hex")), &case["fields"]);
            assert_eq!(frame.frame_type.name().to_uppercase(), text(case, "type"), "{name}");
            assert!(frame.frame_type != FrameType::Chunk || frame.checksum_matches(), "{name}");
            frames += 1;
        }
    }
    println!("recorded sessions: {}, frames: {frames}", sessions.len());
    assert_eq!((sessions.len(), frames), (5, 121));
}

/// Every prefix and every change of one byte of every golden frame: an answer, never a panic, and what is
/// accepted is encoded to something that decodes to the same again.
#[test]
fn damaged_frames_are_answered() {
    let (mut accepted, mut refused) = (0u64, 0u64);
    let mut try_one = |body: Bytes| match frame::decode_with(body, Versions::ANY) {
        Ok(frame) => {
            let again = frame::encode(&frame).expect("what was decoded can be encoded");
            let again = frame::decode_with(again.into(), Versions::ANY).expect("and decoded");
            assert_eq!(format!("{again:?}"), format!("{frame:?}"));
            accepted += 1;
        }
        Err(_) => refused += 1,
    };
    for case in list(&vectors(), "golden") {
        let body = body_of(&unhex(text(case, "hex")));
        for end in 0..body.len() {
            try_one(body.slice(..end));
        }
        for at in 0..body.len().min(120) {
            for change in [0x01, 0x20, 0x80, 0xff] {
                let mut damaged = body.to_vec();
                damaged[at] ^= change;
                try_one(damaged.into());
            }
        }
    }
    println!("damaged frames: {accepted} accepted, {refused} refused");
    assert!(accepted > 1000 && refused > 10_000);
}

/// Each constructor against the frame that the public peer writes.
#[test]
fn constructors_write_what_peers_write() {
    let vectors = vectors();
    let golden = list(&vectors, "golden");
    let mut left: Vec<FrameType> = FrameType::ALL.to_vec();
    let mut check = |name: &str, seq: u64, mut frame: Frame| {
        let case = golden.iter().find(|case| text(case, "name") == name).expect("a golden frame");
        let wire = unhex(text(case, "hex"));
        frame.seq = seq;
        assert_eq!(frame::encode(&frame).as_deref(), Ok(&wire[frame::PREFIX_LEN..]), "{name}");
        left.retain(|frame_type| *frame_type != frame.frame_type);
    };
    let golden_bytes = |name: &str, field: &str| -> Bytes {
        let case = golden.iter().find(|case| text(case, "name") == name).expect("a golden frame");
        unhex(text(&case["fields"]["meta"][field], "hex")).into()
    };
    let id: MessageId = "00112233-4455-6677-8899-aabbccddeeff".parse().expect("an id");
    let other: MessageId = "f47ac10b-58cc-4372-a567-0e02b2c3d479".parse().expect("an id");
    let xid = |number| Some(MessageId::Uint(number));
    let cbor = "application/cbor";
    let class = AttributionClass::Internal;

    check("hello_host_default", 0, Frame::hello(&Limits::default(), 6));
    let (manifest, pools) =
        (golden_bytes("hello_cartridge", "manifest"), golden_bytes("hello_cartridge", "pools"));
    let hello = Frame::hello(&Limits::default(), 6).with_manifest(manifest, pools);
    check("hello_cartridge", 0, hello);

    check("req_uuid", 0, Frame::req(id, None, "cap:effect=none", cbor));
    let cap = "cap:fc-echo;in=media:blob;out=media:blob";
    check("req_uint_xid_uint", 0, Frame::req(MessageId::Uint(7), xid(1), cap, cbor));
    let mut peer_call = Frame::req(other, None, "cap:effect=none", cbor);
    peer_call.set_meta("parent_rid", id);
    assert_eq!(peer_call.parent_rid(), Some(id));
    check("req_parent_rid", 0, peer_call);

    check("stream_start_plain", 1, Frame::stream_start(id, None, "s1", "media:"));
    let start = Frame::stream_start(id, xid(3), "resp-0", "media:blob").with_sequence(true);
    check("stream_start_sequence", 0, start);
    let meta = Value::text_map([("feed", "synthetic".into()), ("interval_ms", Value::from(10u64))]);
    let feed = Frame::stream_start(id, None, "live", "media:feed-frames")
        .with_sequence(true)
        .with_unbounded(true);
    check("stream_start_unbounded", 2, feed.clone());
    check("stream_start_meta", 2, feed.with_meta(meta));
    let output = Frame::stream_start(id, None, "resp-1", "media:sidecar")
        .with_sequence(false)
        .with_output("media:sidecar");
    check("stream_start_output", 1, output);

    let hello = frame::encode_bytes(b"hello");
    check("chunk_scalar_bytes", 2, Frame::chunk(id, None, "s1", 0, hello));
    let text = frame::encode_text("h\u{e9}llo");
    check("chunk_scalar_text", 2, Frame::chunk(id, None, "s1", 0, text));

    check("stream_end_3", 6, Frame::stream_end(id, xid(1), "s1", Some(3)));
    check("stream_end_unbounded", 9, Frame::stream_end(id, None, "live", None));
    check("end_plain", 4, Frame::end(id, None));
    check("end_ok", 3, Frame::end_with(id, None, 0, None, None));
    let end = Frame::end_with(id, xid(2), 0, Some(0.75), Some("three quarters"));
    assert_eq!((end.exit_code(), end.progress_value()), (Some(0), Some(0.75)));
    check("end_ok_progress_message", 6, end);

    check("log_info", 0, Frame::log(id, None, "info", class, "hello log"));
    let input = AttributionClass::Input;
    let warn = Frame::log(id, xid(1), "warn", input, "odd input").with_arg_urn("media:blob");
    check("log_warn_arg", 1, warn);
    check("log_progress_quarter", 1, Frame::progress(id, None, 0.25, "quarter"));
    check("err_internal", 2, Frame::err(id, None, "HANDLER_ERROR", class, "it failed"));
    let big = Frame::err(id, xid(12), "TOO_BIG", input, "input is too big");
    check("err_arg", 3, big.with_arg_urn("media:blob"));

    check("heartbeat_probe", 0, Frame::heartbeat(other));
    let pools = golden_bytes("heartbeat_reply", "pools");
    check("heartbeat_reply", 0, Frame::heartbeat_reply(other, 1, 4, 28, pools));
    let limits =
        Limits { max_frame: 100_000, max_chunk: 1000, max_reorder_buffer: 16, initial_credit: 4 };
    let manifest = golden_bytes("relay_notify_limits", "manifest");
    check("relay_notify_limits", 0, Frame::relay_notify(manifest, &limits));
    check("relay_state", 0, Frame::relay_state(Bytes::from_static(b"{\"gpu\":false}")));

    check("cancel_force_kill", 0, Frame::cancel(id, xid(5), true));
    let user = AttributionClass::User;
    let cancel = Frame::cancel(id, None, false).with_reason("CANCELLED", user, "Cancelled by user");
    assert_eq!(cancel.attribution_class(), Some(user));
    assert_eq!(cancel.error_code(), Some("CANCELLED"));
    check("cancel_user", 0, cancel);

    let direction = CreditDirection::Request;
    check("credit_request", 0, Frame::credit(id, None, Some("s1"), 16, direction));
    let direction = CreditDirection::Response;
    check("credit_response", 0, Frame::credit(id, xid(42), Some("resp-0"), 1, direction));
    check("credit_no_stream", 0, Frame::credit(id, None, None, 8, direction));
    check("close_stream_all", 0, Frame::close_stream(id, None, None));
    check("close_stream_named", 0, Frame::close_stream(id, xid(8), Some("live")));
    for policy in NetworkPolicy::ALL {
        let frame = Frame::policy(*policy);
        assert_eq!(frame.network_policy(), Some(*policy));
        check(&format!("policy_{policy}"), 0, frame);
    }
    assert_eq!(left, [], "frame types without a constructor");
}
