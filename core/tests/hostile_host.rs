//! What a cartridge makes of a host that breaks the protocol: a typed error for the request it is
//! about, or for the link where the protocol leaves no other way. Other requests never notice.

#[path = "support/raw.rs"]
mod raw;
mod support;

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use bytes::Bytes;
use raw::{Raw, Running, granted};
use sluicegate::frame::{self, Frame, FrameType};
use sluicegate::wait::block_on;
use sluicegate::{
    AttributionClass, Cap, Cartridge, Deadline, Error, ErrorKind, Limits, Manifest, MessageId,
    NetworkPolicy, Value,
};
use support::{ECHO, echo, limits, within};

const LIMIT: Duration = Duration::from_secs(180);
const HELD: &str = "cap:held;in=media:blob;out=media:blob";

fn served(window: u64) -> (Raw, Running) {
    Raw::host(Cap::new(ECHO), ECHO, limits(window, 1024), echo)
}

/// Sees that a request on this link is still answered.
fn still_serves(raw: &mut Raw, id: u64) {
    raw.request(id, ECHO, &[Value::Uint(id)]);
    let frames = frames_of(raw, id);
    let chunk = frames.iter().find(|f| f.frame_type == FrameType::Chunk).expect("an answer");
    assert_eq!(chunk.payload_bytes(), Value::Uint(id).encode());
    assert_eq!(frames.last().and_then(Frame::exit_code), Some(0));
}

/// The frames of request `id` up to its terminal.
fn frames_of(raw: &mut Raw, id: u64) -> Vec<Frame> {
    let mut frames = Vec::new();
    loop {
        let frame = raw.next().expect("the link lives");
        if frame.id == MessageId::Uint(id) {
            let last = frame.is_terminal();
            frames.push(frame);
            if last {
                return frames;
            }
        }
    }
}

fn terminal(raw: &mut Raw, id: u64) -> Frame {
    frames_of(raw, id).pop().expect("a terminal")
}

fn refused(raw: &mut Raw, id: u64, code: &str, class: AttributionClass) {
    let err = terminal(raw, id);
    assert_eq!((err.error_code(), err.attribution_class()), (Some(code), Some(class)), "{err:?}");
}

/// How a cartridge ends that was sent `first` instead of a proper HELLO.
fn ends_with(what: &str, first: impl FnOnce(&mut Raw) + Send + 'static) -> Error {
    within(LIMIT, what, move || {
        let manifest = Manifest::new("test", "1").cap(Cap::new(ECHO));
        let (mut raw, running) = Raw::host_of(Cartridge::new(manifest).handler(ECHO, echo));
        first(&mut raw);
        let error = running.join().expect("no panic").expect_err("refused");
        raw.hang_up();
        error
    })
}

#[test]
fn a_handshake_that_cannot_be_kept_names_both_sides() {
    let version = |key: u64, told: u64| {
        ends_with("version", move |raw| {
            raw.send_body(
                &frame::encode(&Frame::hello(&Limits::DEFAULT, told).with_version(key))
                    .expect("fits"),
            );
        })
    };
    for (stamped, told) in [(3, 3), (7, 7), (6, 5), (5, 6), (6, 4)] {
        let error = version(stamped, told);
        assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
        let names = |part: &str| error.message().contains(part);
        assert!(names(&stamped.to_string()) && names(&told.to_string()), "{error}");
        assert!(names("this end 4 to 6"), "{error}");
    }
    for (name, value) in [
        ("initial_credit", Value::Uint(0)),
        ("max_chunk", Value::Uint(0)),
        ("max_frame", Value::Nint(0)),
        ("max_reorder_buffer", Value::Text("64".into())),
        ("initial_credit", Value::Float(32.0)),
    ] {
        let error = ends_with(name, move |raw| {
            let mut hello = Frame::hello(&Limits::DEFAULT, 6);
            hello.set_meta(name, value);
            raw.send(&hello);
        });
        assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
        assert!(error.message().contains(name), "{error}");
    }
    let error = ends_with("policy first", |raw| raw.send(&Frame::policy(NetworkPolicy::Full)));
    assert_eq!(error.kind(), ErrorKind::Handshake);
    assert!(error.message().contains("policy"), "{error}");
}

#[test]
fn what_is_not_a_frame_ends_the_link_with_what_it_was() {
    let error = ends_with("text", |raw| raw.send_bytes(b"GET / HTTP/1.1\r\n\r\n"));
    assert_eq!(error.kind(), ErrorKind::FrameTooLarge);
    assert!(error.message().contains("GET "), "{error}");
    assert!(error.message().contains("3670016"), "names the limit: {error}");
    let error = ends_with("cut", |raw| {
        raw.send_bytes(&[0, 0, 0, 9, 1]);
        raw.half_close();
    });
    assert_eq!(error.kind(), ErrorKind::Malformed);
    let error = ends_with("not CBOR", |raw| raw.send_body(&[0xff; 8]));
    assert_eq!(error.kind(), ErrorKind::Malformed);
}

#[test]
fn a_link_is_over_after_a_frame_that_cannot_be_read_past() {
    let body = |entries: Vec<(u64, Value)>| {
        let entries = entries.into_iter().map(|(key, value)| (Value::Uint(key), value));
        Value::Map(entries.collect()).encode()
    };
    let six = || (0, Value::Uint(6));
    let fatal: Vec<(&str, Vec<u8>, ErrorKind)> = vec![
        (
            "type 99",
            body(vec![six(), (1, Value::Uint(99)), (2, Value::Uint(1))]),
            ErrorKind::Malformed,
        ),
        (
            "type 2",
            body(vec![six(), (1, Value::Uint(2)), (2, Value::Uint(1))]),
            ErrorKind::Malformed,
        ),
        ("no id", body(vec![six(), (1, Value::Uint(7))]), ErrorKind::Malformed),
        (
            "id of 3 bytes",
            body(vec![six(), (1, Value::Uint(7)), (2, Value::Bytes(vec![1; 3].into()))]),
            ErrorKind::Malformed,
        ),
        (
            "negative grant",
            body(vec![six(), (1, Value::Uint(13)), (2, Value::Uint(1)), (19, Value::Nint(0))]),
            ErrorKind::Malformed,
        ),
        (
            "a relay's frame",
            frame::encode(&Frame::relay_state(Bytes::from_static(b"x"))).expect("fits"),
            ErrorKind::Protocol,
        ),
        (
            "a relay's notice",
            frame::encode(&Frame::relay_notify(Bytes::from_static(b"{}"), &Limits::DEFAULT))
                .expect("fits"),
            ErrorKind::Protocol,
        ),
    ];
    for (what, body, kind) in fatal {
        within(LIMIT, what, move || {
            let (tell, told) = mpsc::channel();
            let (mut raw, running) =
                Raw::host(Cap::new(ECHO), ECHO, limits(4, 64), move |request| {
                    let end = echo(request);
                    tell.send(request.is_cancelled()).expect("the test listens");
                    end
                });
            raw.req(1, ECHO);
            raw.start(1, "in");
            raw.chunk(1, "in", 0, &Value::Uint(7));
            raw.until(FrameType::Chunk); // the handler runs
            raw.send_body(&body);
            let error = running.join().expect("no panic").expect_err("the link is over");
            assert_eq!(error.kind(), kind, "{error}");
            assert_eq!(told.recv().expect("the handler ends").expect("told why"), error);
            raw.drain();
        });
    }
}

#[test]
fn a_second_hello_is_answered_and_the_link_lives() {
    within(LIMIT, "hello", || {
        let (mut raw, _running) = served(4);
        raw.send(&Frame::hello(&Limits::DEFAULT, 6));
        let err = raw.expect(FrameType::Err);
        assert_eq!(err.error_code(), Some("PROTOCOL_ERROR"));
        assert_eq!(err.attribution_class(), Some(AttributionClass::Internal));
        still_serves(&mut raw, 2);
    });
}

#[test]
fn a_request_that_may_not_be_made_is_refused_with_its_reason() {
    within(LIMIT, "refusals", || {
        let manifest = Manifest::new("test", "1").cap(Cap::new(ECHO));
        let (mut raw, _running) = Raw::host_of(Cartridge::new(manifest).handler(ECHO, echo));
        raw.greet(limits(4, 64));
        raw.request(1, ECHO, &[Value::Null]);
        refused(&mut raw, 1, "PROTOCOL_VIOLATION", AttributionClass::Internal); // no policy yet
        raw.send(&Frame::policy(NetworkPolicy::Offline));
        let mut loaded = Frame::req(2_u64.into(), None, ECHO, "application/cbor");
        loaded.payload = Some(Bytes::from_static(&[1]));
        raw.send(&loaded);
        refused(&mut raw, 2, "PROTOCOL_ERROR", AttributionClass::Internal);
        raw.send(&Frame { cap: None, ..Frame::req(3_u64.into(), None, "", "application/cbor") });
        refused(&mut raw, 3, "INVALID_REQUEST", AttributionClass::Internal);
        raw.request(4, "cap:nobody", &[Value::Null]);
        refused(&mut raw, 4, "NO_HANDLER", AttributionClass::Environment);
        still_serves(&mut raw, 5);
        // What came behind the refused requests crossed the answer in flight: nothing was lost.
        let probe = Frame::heartbeat(MessageId::Uint(1));
        raw.send(&probe);
        let beat = raw.until(FrameType::Heartbeat);
        assert_eq!(beat.meta_u64("drops_total"), Some(0), "{beat:?}");
    });
}

/// What it is, how it is done, and the code that it is answered with.
type Breach = (&'static str, fn(&mut Raw), &'static str);

/// Each breaks request 1 after it was opened.
fn breaches() -> Vec<Breach> {
    vec![
        (
            "a chunk past its window",
            |raw| {
                raw.start(1, "in");
                for index in 0..40 {
                    raw.chunk(1, "in", index, &Value::Uint(index)); // more than can be echoed
                }
            },
            "CREDIT_VIOLATION",
        ),
        (
            "a chunk behind the end of its stream",
            |raw| {
                raw.start(1, "in");
                raw.stream_end(1, "in", 0);
                raw.chunk(1, "in", 0, &Value::Null);
            },
            "PROTOCOL_ERROR",
        ),
        (
            "a wrong index",
            |raw| {
                raw.start(1, "in");
                raw.chunk(1, "in", 1, &Value::Null);
            },
            "PROTOCOL_ERROR",
        ),
        (
            "a wrong count",
            |raw| {
                raw.start(1, "in");
                raw.chunk(1, "in", 0, &Value::Null);
                raw.stream_end(1, "in", 2);
            },
            "PROTOCOL_ERROR",
        ),
        (
            "a stream opened twice",
            |raw| {
                raw.start(1, "in");
                raw.start(1, "in");
            },
            "PROTOCOL_ERROR",
        ),
        (
            "a stream ended twice",
            |raw| {
                raw.start(1, "in");
                raw.stream_end(1, "in", 0);
                raw.stream_end(1, "in", 0);
            },
            "PROTOCOL_ERROR",
        ),
        ("a chunk of no stream", |raw| raw.chunk(1, "in", 0, &Value::Null), "PROTOCOL_ERROR"),
        ("an end of no stream", |raw| raw.stream_end(1, "in", 0), "PROTOCOL_ERROR"),
        (
            "a stream behind the end of the body",
            |raw| {
                raw.start(1, "in");
                raw.stream_end(1, "in", 0);
                raw.end(1);
                raw.start(1, "more");
            },
            "PROTOCOL_ERROR",
        ),
        (
            "the end of the body with a stream open",
            |raw| {
                raw.start(1, "in");
                raw.chunk(1, "in", 0, &Value::Null);
                raw.end(1);
            },
            "PROTOCOL_ERROR",
        ),
        (
            "a stream without a name",
            |raw| {
                let mut start = Frame::stream_start(1_u64.into(), None, "", "media:blob");
                start.stream_id = None;
                raw.send(&start);
            },
            "PROTOCOL_ERROR",
        ),
        (
            "an argument that names an output",
            |raw| {
                let start = Frame::stream_start(1_u64.into(), None, "in", "media:blob");
                raw.send(&start.with_output("media:blob"));
            },
            "PROTOCOL_ERROR",
        ),
        (
            "a wrong checksum",
            |raw| {
                raw.start(1, "in");
                let mut chunk = Frame::chunk(1_u64.into(), None, "in", 0, Bytes::from_static(&[7]));
                chunk.checksum = Some(1);
                raw.send(&chunk);
            },
            "CHECKSUM_MISMATCH",
        ),
        (
            "a value that is not CBOR",
            |raw| {
                raw.start(1, "in");
                raw.send(&Frame::chunk(1_u64.into(), None, "in", 0, Bytes::from_static(&[0xff])));
            },
            "MALFORMED",
        ),
        (
            "an item that is not CBOR",
            |raw| {
                raw.send(
                    &Frame::stream_start(1_u64.into(), None, "in", "media:blob")
                        .with_sequence(true),
                );
                raw.send(&Frame::chunk(1_u64.into(), None, "in", 0, Bytes::from_static(&[0xff])));
            },
            "MALFORMED",
        ),
        (
            "a stream that ends inside an item",
            |raw| {
                raw.send(
                    &Frame::stream_start(1_u64.into(), None, "in", "media:blob")
                        .with_sequence(true),
                );
                raw.send(&Frame::chunk(
                    1_u64.into(),
                    None,
                    "in",
                    0,
                    Bytes::from_static(&[0x42, 1]),
                ));
                raw.stream_end(1, "in", 1);
            },
            "PROTOCOL_ERROR",
        ),
        (
            "the same id again",
            |raw| {
                raw.start(1, "in");
                raw.req(1, ECHO);
            },
            "PROTOCOL_ERROR",
        ),
        ("a cancel", |raw| raw.send(&Frame::cancel(1_u64.into(), None, false)), "CANCELLED"),
        (
            "an error as the end of the body",
            |raw| {
                raw.start(1, "in");
                raw.send(&Frame::err(
                    1_u64.into(),
                    None,
                    "TOO_COLD",
                    AttributionClass::Input,
                    "brr",
                ));
            },
            "TOO_COLD",
        ),
    ]
}

/// L12, HZ-W06, HZ-W07, HZ-L08: the request fails with a typed error, another one on the link goes
/// on as if nothing had happened, and what comes late is harmless.
#[test]
fn l12_a_request_that_breaks_the_protocol_fails_alone() {
    for (what, breach, code) in breaches() {
        within(LIMIT, what, move || {
            let manifest = Manifest::new("test", "1").cap(Cap::new(ECHO)).cap(Cap::new(HELD));
            let cartridge = Cartridge::new(manifest).handler(ECHO, echo).handler(HELD, |request| {
                echo(request)?;
                // All that comes is seen before it answers.
                Err(block_on(request.cancelled(), Deadline::NEVER)?)
            });
            let (mut raw, _running) = Raw::host_of(cartridge);
            raw.greet(limits(8, 1024));
            raw.send(&Frame::policy(NetworkPolicy::Full));
            raw.req(2, ECHO);
            raw.start(2, "in");
            raw.chunk(2, "in", 0, &Value::Uint(0));
            raw.until(FrameType::Chunk); // the other request is under way
            raw.grant(2, None, 1);
            raw.req(1, HELD);
            breach(&mut raw);
            let err = terminal(&mut raw, 1);
            assert_eq!(err.error_code(), Some(code), "{what}: {err:?}");
            assert!(err.message().is_some() && err.attribution_class().is_some(), "{err:?}");
            raw.chunk(1, "in", 1, &Value::Null); // late, all of them
            raw.grant(1, None, 1);
            raw.end(1);
            raw.chunk(2, "in", 1, &Value::Uint(1));
            raw.stream_end(2, "in", 2);
            raw.end(2);
            let beside = frames_of(&mut raw, 2);
            assert_eq!(beside.last().and_then(Frame::exit_code), Some(0), "{what}: {beside:?}");
            still_serves(&mut raw, 3);
        });
    }
}

/// HZ-W06: the good chunks are delivered, the one beyond the window is not, and is counted.
#[test]
fn hz_w06_a_handler_gets_the_good_chunks_and_then_the_violation() {
    within(LIMIT, "violation", || {
        let (tell, told) = mpsc::channel();
        let (hold, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let (mut raw, _running) = Raw::host(Cap::new(ECHO), ECHO, limits(2, 64), move |request| {
            let input = request.blocking_input()?;
            let _let_go = held.lock().expect("one request").recv(); // all four have come
            let mut seen = Vec::new();
            let error = loop {
                match input.blocking_recv() {
                    Ok(item) => seen.push(item.expect("no clean end").value),
                    Err(error) => break error,
                }
            };
            tell.send((seen, error.clone())).expect("the test listens");
            Err(error)
        });
        raw.req(1, ECHO);
        raw.start(1, "in");
        for n in 0..4 {
            raw.chunk(1, "in", n, &Value::Uint(n));
        }
        raw.settle();
        drop(hold);
        let frames = frames_of(&mut raw, 1);
        let (seen, error) = told.recv().expect("the handler tells");
        assert_eq!(seen, [Value::Uint(0), Value::Uint(1)]);
        assert_eq!(error.kind(), ErrorKind::CreditViolation);
        assert!(error.message().contains("window of 2"), "names the limit: {error}");
        assert_eq!(granted(&frames), 2, "what was consumed was given back");
        assert_eq!(frames.last().and_then(Frame::error_code), Some("CREDIT_VIOLATION"));
        raw.send(&Frame::heartbeat(MessageId::Uint(7)));
        let beat = raw.until(FrameType::Heartbeat);
        assert_eq!(beat.meta_u64("drops_total"), Some(1), "counted once: {beat:?}");
        assert_eq!(beat.meta_u64("stragglers_total"), Some(1), "the chunk behind it came late");
    });
}

/// HZ-G06, HZ-G10, HZ-L02: strange grants credit what they can and harm nobody.
#[test]
fn strange_grants_harm_nobody() {
    const COUNT: &str = "cap:count;in=media:void;out=media:blob";
    within(LIMIT, "grants", || {
        let (mut raw, _running) = Raw::host(Cap::new(COUNT), COUNT, limits(1, 64), |request| {
            let output = request.output();
            (0..500).try_for_each(|n| output.blocking_emit(Value::Uint(n)))
        });
        raw.req(1, COUNT);
        raw.end(1);
        raw.until(FrameType::Chunk);
        raw.grant(1, Some("resp-0"), 0);
        raw.grant(1, Some("nobody"), 5);
        raw.grant(1, Some(""), 5);
        raw.grant(99, None, 5);
        raw.send(&Frame::cancel(98_u64.into(), None, true));
        assert!(raw.settle().is_empty(), "none of these lets a chunk through");
        raw.grant(1, None, u64::MAX);
        raw.grant(1, Some("resp-0"), u64::MAX);
        let frames = frames_of(&mut raw, 1);
        assert_eq!(frames.iter().filter(|f| f.frame_type == FrameType::Chunk).count(), 499);
        assert_eq!(frames.last().and_then(Frame::exit_code), Some(0));
        raw.send(&Frame::heartbeat(MessageId::Uint(7)));
        let beat = raw.until(FrameType::Heartbeat);
        assert_eq!(beat.meta_u64("drops_total"), Some(2), "for requests never seen: {beat:?}");
    });
}

/// A host that has said all it has to say still gets what was answered.
#[test]
fn what_was_answered_is_written_to_a_host_that_stopped_to_speak() {
    within(LIMIT, "half close", || {
        for _ in 0..50 {
            let (done, is_done) = mpsc::channel();
            let (mut raw, running) =
                Raw::host(Cap::new(ECHO), ECHO, limits(4, 64), move |request| {
                    echo(request)?;
                    block_on(request.finish(None, None), Deadline::NEVER)??;
                    done.send(()).expect("the test listens");
                    Ok(())
                });
            raw.request(1, ECHO, &[Value::Uint(1), Value::Uint(2)]);
            is_done.recv().expect("finished");
            raw.half_close();
            let frames = raw.drain();
            assert_eq!(frames.last().and_then(Frame::exit_code), Some(0), "{frames:?}");
            running.join().expect("no panic").expect("a host that closes is no error");
        }
    });
}

/// HZ-C09: a request that is cancelled before a handler took it never runs, and is answered at once.
#[test]
fn hz_c09_what_is_cancelled_before_it_started_never_runs() {
    within(LIMIT, "queued", || {
        let (mut raw, session) = serving();
        for id in 1..=300 {
            raw.req(id, ECHO);
            raw.send(&Frame::cancel(id.into(), None, false));
        }
        for id in 1..=300 {
            refused(&mut raw, id, "CANCELLED", AttributionClass::Internal);
        }
        raw.request(1000, ECHO, &[Value::Null]);
        let request = block_on(session.next_request(), Deadline::NEVER);
        let request = request.expect("no limit").expect("live").expect("a request");
        assert_eq!(request.id(), MessageId::Uint(1000), "the cancelled ones are gone");
        echo(&request).expect("echoed");
        block_on(request.finish(None, None), Deadline::NEVER).expect("no limit").expect("done");
        assert_eq!(terminal(&mut raw, 1000).exit_code(), Some(0));
    });
}

/// Requests that nobody takes are refused beyond a bound.
#[test]
fn requests_that_nobody_takes_are_bounded() {
    within(LIMIT, "untaken", || {
        let (mut raw, _session) = serving();
        for id in 0..300 {
            raw.req(id, ECHO);
        }
        let errs = raw.settle();
        assert_eq!(errs.len(), 300 - 256);
        assert!(errs.iter().all(|err| err.error_code() == Some("LIMIT_REACHED")));
    });
}

/// A cartridge that takes its requests itself.
fn serving() -> (Raw, sluicegate::Session) {
    let (host, plugin) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
    let manifest = Manifest::new("test", "1").cap(Cap::new(ECHO));
    let serve = std::thread::spawn(move || {
        let reader = plugin.try_clone().expect("a second handle");
        Cartridge::new(manifest).serve(reader, raw::Closing(plugin)).expect("the handshake passes")
    });
    let mut raw = Raw::over(host);
    raw.greet(limits(4, 64));
    raw.send(&Frame::policy(NetworkPolicy::Full));
    (raw, serve.join().expect("no panic"))
}
