//! What an engine makes of a cartridge that breaks the protocol: an error that names the cartridge,
//! what it did and the limit. Other calls never notice where the protocol allows it.

#[path = "support/raw.rs"]
mod raw;
mod support;

use std::time::Duration;

use bytes::Bytes;
use raw::Raw;
use sluicegate::frame::{self, Frame, FrameType};
use sluicegate::{
    AttributionClass, Call, Engine, EngineOptions, Error, ErrorKind, Limits, MessageId,
    NetworkPolicy, Peer, Value,
};
use support::{ECHO, engine, limits, within};

const LIMIT: Duration = Duration::from_secs(180);

/// How attaching fails to a cartridge that behaves like `act`.
fn attaching(what: &str, act: impl FnOnce(&mut Raw) + Send + 'static) -> Error {
    let name = what.to_owned();
    within(LIMIT, what, move || {
        let (mut raw, attaching) = Raw::attaching(&engine(limits(8, 64)));
        raw.expect(FrameType::Hello);
        act(&mut raw);
        let error = attaching.join().expect("no panic").expect_err("refused");
        assert!(error.message().contains("cartridge"), "{name}: {error}");
        raw.hang_up();
        error
    })
}

fn hello_with(change: impl FnOnce(&mut Frame)) -> Frame {
    let mut hello = Raw::hello(ECHO, Limits::DEFAULT);
    change(&mut hello);
    hello
}

#[test]
fn a_handshake_that_cannot_be_kept_says_what_was_offered() {
    type Change = Box<dyn FnOnce(&mut Frame) + Send>;
    let cases: Vec<(&str, &str, Change)> = vec![
        ("version 5", "5", Box::new(|hello| hello.set_meta("version", 5_u64))),
        ("no version", "none", Box::new(|hello| hello.set_meta("version", "6"))),
        (
            "zero window",
            "initial_credit",
            Box::new(|hello| hello.set_meta("initial_credit", 0_u64)),
        ),
        ("no chunk", "max_chunk", Box::new(|hello| hello.set_meta("max_chunk", Value::Null))),
        ("manifest as text", "manifest", Box::new(|hello| hello.set_meta("manifest", "{}"))),
        (
            "manifest of no JSON",
            "manifest",
            Box::new(|hello| {
                hello.set_meta("manifest", Bytes::from_static(b"hello"));
            }),
        ),
        (
            "pools as a list",
            "pools",
            Box::new(|hello| hello.set_meta("pools", Bytes::from_static(b"[]"))),
        ),
        (
            "nothing but limits",
            "manifest",
            Box::new(|hello| *hello = Frame::hello(&Limits::DEFAULT, 6)),
        ),
    ];
    for (what, named, change) in cases {
        let error = attaching(what, move |raw| raw.send(&hello_with(change)));
        assert_eq!(error.kind(), ErrorKind::Handshake, "{what}: {error}");
        assert!(error.message().contains(named), "{what}: {error}");
    }
    let error = attaching("version 5 in key 0", |raw| {
        raw.send_body(&frame::encode(&hello_with(|h| h.version = 5)).expect("fits"));
    });
    assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
    assert!(error.message().contains("5 by the frame, this end 6"), "{error}");
    let error = attaching("a heartbeat first", |raw| raw.send(&Frame::heartbeat(1_u64.into())));
    assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
    let error = attaching("goes at once", |raw| raw.half_close());
    assert_eq!(error.kind(), ErrorKind::PeerDied, "{error}");
    let error = attaching("prints", |raw| raw.send_bytes(b"hello, world\n"));
    assert_eq!(error.kind(), ErrorKind::FrameTooLarge, "{error}");
    assert!(error.message().contains("hell") && error.message().contains("3670016"), "{error}");
}

#[test]
fn an_identity_that_is_not_kept_is_refused() {
    let answer = |what: &'static str, payloads: fn(Bytes) -> Vec<Bytes>| {
        attaching(what, move |raw| {
            raw.send(&Raw::hello(ECHO, Limits::DEFAULT));
            let request = raw.expect(FrameType::Req);
            let nonce = raw.until(FrameType::Chunk).payload.expect("a nonce");
            raw.until(FrameType::End);
            raw.answer(request.id, &payloads(nonce));
        })
    };
    let error = answer("other bytes", |_| vec![Value::Bytes(vec![0; 32].into()).encode().into()]);
    assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
    let error = answer("too few", |_| vec![Value::Bytes(vec![0; 3].into()).encode().into()]);
    assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
    let error = answer("a text", |_| vec![Value::Text("nonce".into()).encode().into()]);
    assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
    let error = answer("no CBOR", |_| vec![Bytes::from_static(&[0xff])]);
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
    let error = answer("twice", |nonce| vec![nonce.clone(), nonce]);
    assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
    let error = attaching("an error", |raw| {
        raw.send(&Raw::hello(ECHO, Limits::DEFAULT));
        let request = raw.expect(FrameType::Req);
        raw.send(&Frame::err(request.id, None, "NO", AttributionClass::Internal, "never"));
    });
    assert_eq!((error.kind(), error.code()), (ErrorKind::Remote, "NO"), "{error}");
}

#[test]
fn a_cartridge_that_is_silent_or_late_is_let_go() {
    within(LIMIT, "silence", || {
        let options = EngineOptions {
            handshake_timeout: Duration::from_millis(200),
            ..EngineOptions::default()
        };
        let engine = Engine::new(options);
        let (mut raw, attaching) = Raw::attaching(&engine);
        raw.expect(FrameType::Hello);
        let error = attaching.join().expect("no panic").expect_err("too slow");
        assert_eq!(error.kind(), ErrorKind::Handshake);
        assert!(error.message().contains("200ms"), "names the limit: {error}");
        raw.send(&Raw::hello(ECHO, Limits::DEFAULT)); // too late
        assert_eq!(raw.drain(), [], "the engine is not on this link any more");

        loop {
            let (mut raw, attaching) = Raw::attaching(&engine);
            raw.introduce(ECHO, Limits::DEFAULT); // and never answers the identity check
            let error = attaching.join().expect("no panic").expect_err("too slow");
            assert_eq!(error.kind(), ErrorKind::Handshake);
            raw.drain();
            if error.message().contains("identity") {
                break;
            }
            // On a busy machine its hello came too late as well.
            assert!(error.message().contains("say hello within 200ms"), "{error}");
        }
    });
}

/// Opens a call at the engine, and sees its REQ at the cartridge.
fn open(raw: &mut Raw, peer: &Peer) -> (Call, MessageId) {
    let call = peer.call(ECHO).expect("live");
    let req = raw.until(FrameType::Req);
    assert_eq!(req.id, call.id());
    (call, req.id)
}

/// What it is, how it is done, and the kind of error that it becomes.
type Breach = (&'static str, fn(&mut Raw, MessageId), ErrorKind);

fn breaches() -> Vec<Breach> {
    vec![
        (
            "a chunk past its window",
            |raw, id| {
                raw.start(id, "out");
                for index in 0..9 {
                    raw.chunk(id, "out", index, &Value::Uint(index));
                }
            },
            ErrorKind::CreditViolation,
        ),
        (
            "a chunk behind the end of its stream",
            |raw, id| {
                raw.start(id, "out");
                raw.stream_end(id, "out", 0);
                raw.chunk(id, "out", 0, &Value::Null);
            },
            ErrorKind::Protocol,
        ),
        (
            "a wrong index",
            |raw, id| {
                raw.start(id, "out");
                raw.chunk(id, "out", 3, &Value::Null);
            },
            ErrorKind::Protocol,
        ),
        (
            "a wrong count",
            |raw, id| {
                raw.start(id, "out");
                raw.chunk(id, "out", 0, &Value::Null);
                raw.stream_end(id, "out", 9);
            },
            ErrorKind::Protocol,
        ),
        (
            "a stream opened twice",
            |raw, id| {
                raw.start(id, "out");
                raw.start(id, "out");
            },
            ErrorKind::Protocol,
        ),
        (
            "a chunk of no stream",
            |raw, id| raw.chunk(id, "out", 0, &Value::Null),
            ErrorKind::Protocol,
        ),
        (
            "a wrong checksum",
            |raw, id| {
                raw.start(id, "out");
                let mut chunk = Frame::chunk(id, None, "out", 0, Bytes::from_static(&[7]));
                chunk.checksum = Some(1);
                raw.send(&chunk);
            },
            ErrorKind::Checksum,
        ),
        (
            "a value that is not CBOR",
            |raw, id| {
                raw.start(id, "out");
                raw.send(&Frame::chunk(id, None, "out", 0, Bytes::from_static(&[0x18])));
            },
            ErrorKind::Malformed,
        ),
        (
            "an item cut short",
            |raw, id| {
                raw.send(&Frame::stream_start(id, None, "out", "media:blob").with_sequence(true));
                raw.send(&Frame::chunk(id, None, "out", 0, Bytes::from_static(&[0x42, 1])));
                raw.stream_end(id, "out", 1);
            },
            ErrorKind::Protocol,
        ),
        (
            "its end with a stream open",
            |raw, id| {
                raw.start(id, "out");
                raw.chunk(id, "out", 0, &Value::Null);
                raw.done(id);
            },
            ErrorKind::Protocol,
        ),
        (
            "an end without success",
            |raw, id| {
                raw.start(id, "out");
                raw.stream_end(id, "out", 0);
                raw.end(id);
            },
            ErrorKind::Remote,
        ),
        (
            "an error without a class",
            |raw, id| {
                let mut err = Frame::err(id, None, "ODD", AttributionClass::Input, "odd");
                err.meta = Some(Value::text_map([("code", Value::from("ODD"))]));
                raw.send(&err);
            },
            ErrorKind::Remote,
        ),
        (
            "the id of a call of ours",
            |raw, id| {
                raw.send(&Frame::req(id, None, ECHO, "application/cbor"));
            },
            ErrorKind::Protocol,
        ),
    ]
}

/// L12, HZ-W06, HZ-W07: the call fails with a typed error, another one goes on as if nothing had
/// happened, and the cartridge is told.
#[test]
fn l12_a_call_whose_answer_breaks_the_protocol_fails_alone() {
    for (what, breach, kind) in breaches() {
        within(LIMIT, what, move || {
            let (mut raw, peer) = Raw::cartridge(&engine(limits(8, 64)), ECHO);
            let (beside, other) = open(&mut raw, &peer);
            raw.start(other, "out");
            raw.chunk(other, "out", 0, &Value::Uint(0));
            let (call, id) = open(&mut raw, &peer);
            breach(&mut raw, id);
            if kind == ErrorKind::CreditViolation {
                let _over = call.blocking_wait(); // reading earlier would grant more
            }
            let read = || {
                while let Some(output) = call.blocking_next_output()? {
                    output.blocking_collect_items()?;
                }
                call.blocking_wait().map(drop)
            };
            let error = read().expect_err(what);
            assert_eq!(error.kind(), kind, "{what}: {error}");
            assert_eq!(call.blocking_wait().expect_err("over").kind(), kind, "{what}");
            if !matches!(kind, ErrorKind::Remote) && !what.contains("its end") {
                let cancel = raw.until(FrameType::Cancel);
                assert_eq!((cancel.id, cancel.error_code()), (id, Some(error.code())), "{what}");
            }
            raw.chunk(id, "out", 1, &Value::Null); // late, all of them
            raw.grant(id, None, 1);
            raw.done(id);
            raw.chunk(other, "out", 1, &Value::Uint(1));
            raw.stream_end(other, "out", 2);
            raw.done(other);
            let items = beside.blocking_output().expect("open").blocking_collect_items();
            assert_eq!(items.expect("unharmed").len(), 2, "{what}");
            beside.blocking_wait().expect("success");
            assert_eq!(peer.dead(), None);
            assert_eq!(peer.live_calls(), 0);
        });
    }
}

/// What ends the link ends every call on it, with an error that names the cartridge and what it did.
#[test]
fn a_link_that_cannot_go_on_ends_every_call_with_the_reason() {
    let above = u32::try_from(Limits::DEFAULT.max_frame + 1).expect("fits").to_be_bytes();
    let unknown = Value::Map(vec![
        (Value::Uint(0), Value::Uint(6)),
        (Value::Uint(1), Value::Uint(77)),
        (Value::Uint(2), Value::Uint(1)),
    ]);
    let framed = |body: Vec<u8>| {
        [&u32::try_from(body.len()).expect("short").to_be_bytes()[..], &body].concat()
    };
    let encoded = |frame: &Frame| framed(frame::encode(frame).expect("fits"));
    let cases: Vec<(&str, Vec<u8>, ErrorKind, &str)> = vec![
        ("too large", above.to_vec(), ErrorKind::FrameTooLarge, "3670016"),
        ("of no known type", framed(unknown.encode()), ErrorKind::Malformed, "77"),
        ("no CBOR", framed(vec![0xff; 3]), ErrorKind::Malformed, "CBOR"),
        ("a print", b"debug: 1\n".to_vec(), ErrorKind::FrameTooLarge, "debu"),
        ("a policy", encoded(&Frame::policy(NetworkPolicy::Full)), ErrorKind::Protocol, "policy"),
        (
            "a relay's",
            encoded(&Frame::relay_state(Bytes::new())),
            ErrorKind::Protocol,
            "relay_state",
        ),
    ];
    for (what, bytes, kind, named) in cases {
        within(LIMIT, what, move || {
            let (mut raw, peer) = Raw::cartridge(&engine(limits(8, 64)), ECHO);
            let (first, id) = open(&mut raw, &peer);
            let (second, _) = open(&mut raw, &peer);
            raw.start(id, "out");
            raw.chunk(id, "out", 0, &Value::Uint(7));
            raw.send_bytes(&bytes);
            let output = first.blocking_output().expect("it was opened before");
            let item = output.blocking_recv().expect("a value").expect("no end");
            assert_eq!(item.value, Value::Uint(7), "what came before is delivered");
            for error in [
                output.blocking_recv().expect_err("over"),
                first.blocking_wait().expect_err("over"),
                second.blocking_wait().expect_err("over"),
                peer.dead().unwrap_or_else(|| panic!("{what}: the link is over")),
                peer.call(ECHO).expect_err("over"),
            ] {
                assert_eq!(error.kind(), kind, "{what}: {error}");
                assert!(error.message().contains("cartridge"), "{what}: {error}");
                assert!(error.message().contains(named), "{what}: {error}");
            }
            raw.drain();
        });
    }
}

/// HZ-G06: grants saturate. A call from a cartridge is refused, its second hello passed over.
#[test]
fn what_is_strange_and_harmless_is_taken_as_that() {
    within(LIMIT, "strange", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(2, 64)), ECHO);
        let (call, id) = open(&mut raw, &peer);
        let input = call.input("media:blob").expect("open");
        input.blocking_emit(Value::Uint(0)).expect("sent");
        raw.until(FrameType::Chunk);
        raw.send(&Raw::hello(ECHO, Limits::DEFAULT));
        raw.grant(id, None, u64::MAX);
        raw.grant(id, None, u64::MAX);
        raw.settle();
        assert_eq!(input.stats().window, u64::MAX);
        for n in 1..1000_u64 {
            input.blocking_emit(Value::Uint(n)).expect("sent");
        }
        raw.send(&Frame::req(5_u64.into(), None, "cap:any", "application/cbor"));
        let err = raw.until(FrameType::Err);
        assert_eq!((err.id, err.error_code()), (5_u64.into(), Some("NO_HANDLER")));
        assert_eq!(peer.counters().drops_total(), 1, "the hello");
        raw.answer(id, &[]);
        call.blocking_wait().expect("success");
    });
}
