//! What the codec refuses to write or to believe, and the vocabularies beside it.

use bytes::Bytes;
use sluicegate::frame::{
    self, AttributionClass, CborError, CreditDirection, DecodeClass, DecodeError, EncodeError,
    Frame, FrameRule, FrameType, HARD_MAX_FRAME, Key, Limits, MAX_DEPTH, MAX_META_VALUES,
    MessageId, NetworkPolicy, Value,
};

const ID: MessageId = MessageId::Uint(1);

fn chunk(payload: impl Into<Bytes>) -> Frame {
    Frame::chunk(ID, None, "s", 0, payload.into())
}

/// A HEARTBEAT body with this behind its four keys; `extra` more keys are declared.
fn heartbeat_with(extra: u8, behind: &[u8]) -> Bytes {
    [&[0xa4 + extra, 0, 6, 1, 7, 2, 1, 3, 0], behind].concat().into()
}

#[track_caller]
fn refused(frame: &Frame, rule: FrameRule) {
    assert_eq!(frame::encode(frame), Err(rule.into()));
}

#[test]
fn nothing_is_written_that_a_peer_refuses() {
    let without = |change: fn(&mut Frame)| {
        let mut frame = chunk("x");
        change(&mut frame);
        frame
    };
    let missing = |key| FrameRule::Missing { key };
    refused(&without(|frame| frame.chunk_index = None), missing(Key::ChunkIndex));
    refused(&without(|frame| frame.checksum = None), missing(Key::Checksum));
    let frame_type = FrameType::Chunk;
    let misplaced = FrameRule::MisplacedOutput { frame_type };
    refused(&without(|frame| frame.output = Some("o".into())), misplaced);
    refused(&Frame::new(FrameType::Credit, ID), missing(Key::Credit));
    refused(&Frame::new(FrameType::Policy, ID), FrameRule::UnknownPolicy);
    let list = chunk("x").with_meta(Value::Array(vec![]));
    let (key, expected, found) = (Key::Meta, "map", "array");
    refused(&list, FrameRule::WrongType { key, expected, found });
    let number_key = chunk("x").with_meta(Value::Map(vec![(Value::Uint(1), Value::Null)]));
    refused(&number_key, FrameRule::MetaKey { found: "unsigned integer" });
    // Further in, keys may be of any simple type.
    let inner = Value::Map(vec![(Value::Uint(1), Value::Null), (Value::Nint(1), Value::Null)]);
    let frame = chunk("x").with_meta(Value::text_map([("a", inner)]));
    let body = frame::encode(&frame).expect("numbers for keys");
    assert_eq!(frame::decode(body.into()), Ok(frame));
    let inner = Value::Map(vec![(Value::Array(vec![]), Value::Null)]);
    let container_key = chunk("x").with_meta(Value::text_map([("a", inner)]));
    refused(&container_key, FrameRule::MetaKey { found: "array" });
    let twice = Value::text_map([("a", Value::Null), ("a", Value::Null)]);
    refused(&chunk("x").with_meta(twice.clone()), FrameRule::MetaDuplicate);
    let nested = Value::text_map([("b", Value::Array(vec![twice]))]);
    refused(&chunk("x").with_meta(nested), FrameRule::MetaDuplicate);
}

#[test]
fn metadata_is_bounded_in_depth_and_number() {
    let nested = |depth: usize| {
        let inner = (1..depth).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        Frame::heartbeat(ID).with_meta(Value::text_map([("a", inner)]))
    };
    // The frame's map is one level, the metadata's another.
    let deepest = nested(MAX_DEPTH - 1);
    let body = frame::encode(&deepest).expect("as deep as a decoder goes");
    assert_eq!(frame::decode(body.into()), Ok(deepest));
    assert_eq!(frame::encode(&nested(MAX_DEPTH)), Err(FrameRule::MetaTooDeep.into()));

    let listed = |values: u64| {
        // The map, its key, the list.
        let items = vec![Value::Null; values as usize - 3];
        Frame::heartbeat(ID).with_meta(Value::text_map([("a", items.into())]))
    };
    let limit = MAX_META_VALUES;
    let largest = listed(limit);
    let body = frame::encode(&largest).expect("as many as allowed");
    assert_eq!(frame::decode(body.clone().into()), Ok(largest));
    assert_eq!(frame::encode(&listed(limit + 1)), Err(FrameRule::MetaTooLarge { limit }.into()));
    let mut one_more = body;
    let head =
        one_more.windows(3).position(|at| at == [0x99, 0xff, 0xfd]).expect("the list's head");
    one_more[head + 2] += 1;
    one_more.push(0xf6);
    let refused = frame::decode(one_more.into());
    assert_eq!(refused, Err(FrameRule::MetaTooLarge { limit }.into()));
}

#[test]
fn many_metadata_keys_are_told_apart() {
    let map = |extra: &str| {
        let names = (0..5000).map(|number| format!("k{number}")).chain([extra.to_owned()]);
        Frame::heartbeat(ID).with_meta(Value::text_map(names.map(|name| (name, Value::Null))))
    };
    let frame = map("other");
    assert_eq!(frame::decode(frame::encode(&frame).expect("no key twice").into()), Ok(frame));
    assert_eq!(frame::encode(&map("k4999")), Err(FrameRule::MetaDuplicate.into()));
}

#[test]
fn sizes_are_checked_before_and_behind() {
    let frame = chunk(vec![0; 1000]);
    let body = frame::encode(&frame).expect("small").len() as u64;
    assert!(frame::encode_parts(&frame, body).is_ok());
    let (mut head, mut tail) = (vec![1], vec![2]);
    let error = frame::encode_into(&frame, body - 1, &mut head, &mut tail);
    assert_eq!(error, Err(EncodeError::TooLarge { length: body, max: body - 1 }));
    assert_eq!((head, tail), (vec![1], vec![2]), "as they were");

    let huge = chunk(vec![0; HARD_MAX_FRAME as usize]);
    let refused = frame::encode_parts(&huge, u64::MAX);
    assert!(matches!(refused, Err(EncodeError::TooLarge { max: HARD_MAX_FRAME, .. })));

    assert_eq!(frame::check_length(100, 100), Ok(100));
    let too_large = |length, max| Err(DecodeError::TooLarge { length, max });
    assert_eq!(frame::check_length(101, 100), too_large(101, 100));
    assert_eq!(frame::check_length(1 << 24, u64::MAX), Ok(1 << 24));
    assert_eq!(frame::check_length(u32::MAX, u64::MAX), too_large(0xffff_ffff, HARD_MAX_FRAME));
}

#[test]
fn a_stream_is_cut_wherever_its_bytes_come_from() {
    let frames = [chunk("abc"), Frame::heartbeat(ID), Frame::end(ID, None)];
    let (mut wire, mut tail) = (Vec::new(), Vec::new());
    for frame in &frames {
        let before = wire.len();
        let len = frame::encode_into(frame, 1000, &mut wire, &mut tail).expect("small");
        wire.extend_from_slice(frame.payload_bytes());
        wire.append(&mut tail);
        assert_eq!(wire.len() - before, len);
    }
    for cut in 0..=wire.len() {
        let mut seen = Vec::new();
        let mut buffered = Bytes::copy_from_slice(&wire[..cut]);
        while let Some(body) = frame::take_body(&mut buffered, 1000).expect("small frames") {
            seen.push(frame::decode(body).expect("whole frames"));
        }
        assert_eq!(frame::check_end(&buffered).is_ok(), buffered.is_empty());
        if let Err(error) = frame::check_end(&buffered) {
            assert_eq!(error.class(), DecodeClass::UnexpectedEof);
        }
        let left = Bytes::from([&buffered, &wire[cut..]].concat());
        let mut buffered = left;
        while let Some(body) = frame::take_body(&mut buffered, 1000).expect("small frames") {
            seen.push(frame::decode(body).expect("whole frames"));
        }
        assert_eq!(seen, frames);
    }
    let mut buffered = Bytes::from_static(&[0, 0, 3, 0xe9]);
    assert!(frame::take_body(&mut buffered, 1000).is_err(), "refused before a byte of the body");
    assert_eq!(buffered.len(), 4);
}

#[test]
fn unknown_keys_are_skipped_whole_and_checked() {
    // 22: a map of lists, text in segments, a tag.
    let odd = b"\x16\xbf\x01\x9f\x02\x03\xff\x7f\x61a\xff\xc1\x00\xff";
    assert!(frame::decode(heartbeat_with(1, odd)).is_ok());
    // Keys of other types, containers among them.
    assert!(
        frame::decode(heartbeat_with(3, b"\x82\x01\x02\x00\x40\x01\xfb\0\0\0\0\0\0\0\0\x02"))
            .is_ok()
    );
    // Not well-formed, and said to be that.
    let refused = |behind: &[u8]| frame::decode(heartbeat_with(1, behind)).expect_err("refused");
    assert_eq!(refused(b"\x16\x62\xc3\x28"), CborError::InvalidUtf8 { at: 11 }.into());
    assert_eq!(refused(b"\x16\x1c"), CborError::Reserved { byte: 0x1c, at: 10 }.into());
    let deep = [&[0x16][..], &[0x81; MAX_DEPTH + 1], &[0]].concat();
    assert_eq!(refused(&deep), CborError::TooDeep.into());
    // Damage behind a broken rule: it is not CBOR at all.
    assert_eq!(refused(b"\x03\x1c").class(), DecodeClass::CborDecodeError);
    // A map that declares more keys than there are.
    assert_eq!(
        frame::decode(heartbeat_with(1, b"")).map_err(|e| e.class()),
        Err(DecodeClass::CborDecodeError)
    );
    let huge = Bytes::from_static(b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff\x00\x06");
    assert_eq!(frame::decode(huge).map_err(|e| e.class()), Err(DecodeClass::CborDecodeError));
}

#[test]
fn ids_take_either_form_of_byte_string() {
    let body =
        [&[0xa4, 0, 6, 1, 7, 2, 0x5f, 0x48], &[1; 8][..], &[0x48], &[2; 8], &[0xff, 3, 0]].concat();
    let id = frame::decode(body.into()).expect("sixteen bytes").id;
    assert_eq!(id.to_string(), "01010101-0101-0101-0202-020202020202");
}

#[test]
fn ids_are_told_apart_and_read_back() {
    assert_ne!(MessageId::Uuid([0; 16]), MessageId::Uint(0));
    assert_eq!(MessageId::CONNECTION, 0.into());
    for id in [MessageId::new_random(), MessageId::Uint(0), MessageId::Uint(u64::MAX)] {
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(MessageId::from_value(&id.into()), Some(id));
    }
    let MessageId::Uuid(random) = MessageId::new_random() else { panic!("a uuid") };
    assert_eq!((random[6] >> 4, random[8] >> 6), (4, 2), "version 4");
    assert_ne!(MessageId::new_random(), MessageId::new_random());
    assert!("18446744073709551616".parse::<MessageId>().is_err());
    assert!("not an id".parse::<MessageId>().is_err());
    assert_eq!(MessageId::from_value(&Value::from(vec![0; 15])), None);
    assert_eq!(MessageId::from_value(&"1".into()), None);
    let routed = chunk("x").flow_key();
    assert_eq!(routed.to_string(), "1");
    assert_eq!(frame::FlowKey::new(ID, Some(7.into())).to_string(), "7/1");
}

#[test]
fn vocabularies_are_closed() {
    for code in 0..300 {
        let known = FrameType::from_code(code);
        assert_eq!(known.is_some(), code != 2 && code < 16, "F1, {code}");
        assert!(known.is_none_or(|known| known.code() == code));
        assert_eq!(FrameType::try_from(code).ok(), known);
    }
    assert_eq!(FrameType::from_code(256 + 1), None);
    assert!(FrameType::ALL.iter().all(|known| known.is_flow() || !known.is_terminal()), "F2");
    assert_eq!(FrameType::ALL.iter().filter(|known| known.is_flow()).count(), 7, "F3");
    let names = |all: Vec<&str>| all.join(" ");
    let classes = AttributionClass::ALL.iter().map(|class| class.as_str()).collect();
    assert_eq!(names(classes), "input resource environment internal user");
    assert!(AttributionClass::ALL.iter().all(|class| class.as_str().parse() == Ok(*class)));
    assert!(CreditDirection::ALL.iter().all(|way| way.as_str().parse() == Ok(*way)));
    assert!(NetworkPolicy::ALL.iter().all(|policy| policy.as_str().parse() == Ok(*policy)));
    assert!("Input".parse::<AttributionClass>().is_err(), "case matters");
    let unknown = "".parse::<CreditDirection>().expect_err("no direction");
    assert_eq!(unknown.to_string(), "not a known credit direction");
    for (number, key) in Key::ALL.iter().enumerate() {
        assert_eq!(key.number(), number as u64);
        assert_eq!(Key::from_number(number as u64), Some(*key));
    }
    assert_eq!(Key::from_number(22), None);
    assert_eq!(Key::ChunkIndex.to_string(), "key 14 (chunk_index)");
}

#[test]
fn metadata_says_what_it_means() {
    let end = |exit_code, progress| Frame::end_with(ID, None, exit_code, progress, None);
    assert_eq!(end(0, None).progress_value(), Some(1.0), "L3");
    assert_eq!(end(1, None).progress_value(), None);
    assert_eq!(Frame::end(ID, None).progress_value(), None);
    assert_eq!(end(1, Some(0.5)).progress_value(), Some(0.5));
    assert_eq!(end(-1, None).exit_code(), Some(-1));
    // A peer may send progress as any number.
    let whole = Frame::heartbeat(ID).with_meta(Value::text_map([("progress", Value::Uint(1))]));
    assert_eq!(whole.progress_value(), Some(1.0));
    let empty = Frame::cancel(ID, None, false).with_reason("", AttributionClass::User, "");
    assert_eq!((empty.error_code(), empty.message()), (None, None));
    let mut frame = Frame::heartbeat(ID);
    assert_eq!(frame.meta_u64("a"), None);
    frame.set_meta("a", 1u64);
    frame.set_meta("b", 2u64);
    frame.set_meta("a", "x");
    assert_eq!(frame.meta_text("a"), Some("x"));
    assert_eq!(frame.meta.as_ref().and_then(Value::as_map).map(<[_]>::len), Some(2));
    assert_eq!(Limits::default(), Limits::DEFAULT);
    let start = Frame::stream_start(ID, None, "", "media:");
    assert!(!start.opens_sequence() && !start.opens_unbounded());
    assert!(start.with_sequence(true).with_unbounded(true).opens_unbounded());
}

#[test]
fn frames_are_shown_without_their_payload() {
    let shown = format!("{:?}", chunk(vec![7; 100_000]));
    assert!(shown.contains("payload_len: 100000") && shown.len() < 300, "{shown}");
    assert!(!shown.contains("credit"), "{shown}");
}
