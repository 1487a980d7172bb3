//! Versions 4, 5 and 6 of the wire: what is spoken is what the host declares, by both ends, in every frame,
//! and what a version lacks is neither sent nor needed.

#[path = "support/raw.rs"]
mod raw;
#[path = "support/relay.rs"]
mod relay;
mod support;

use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use raw::{Raw, Running};
use sluicegate::frame::{self, CreditDirection, Frame, FrameType};
use sluicegate::{
    AttributionClass, Call, Cap, Cartridge, Engine, EngineOptions, Error, ErrorKind, Host,
    HostOptions, Limits, Manifest, MessageId, NetworkPolicy, Peer, Request, Value, Version,
};
use support::{ECHO, echo, limits, within};

const LIMIT: Duration = Duration::from_secs(180);
const WINDOW: u64 = 2;
const VALUES: u64 = 7;
const TWO: &str = "cap:two;in=media:blob;out=media:blob";
const OTHER: &str = "media:other";

/// The version of each number that a host proposes, and the number.
const PROPOSED: [Version; 3] = [Version::V4, Version::V5, Version::V6];

fn small() -> Limits {
    limits(WINDOW, 1024)
}

fn cartridge(
    cap: Cap,
    urn: &str,
    handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
) -> Cartridge {
    Cartridge::new(Manifest::new("test", "1").cap(cap)).handler(urn, handler)
}

/// A cartridge and its host, which has said hello in `version`. The cartridge's answer comes with them.
fn host_in(version: Version, cartridge: Cartridge) -> (Raw, Frame, Running) {
    let (mut raw, running) = Raw::host_of(cartridge);
    raw.speak(version);
    let answer = raw.greet(small());
    (raw, answer, running)
}

/// The same, when the host has done all that the version wants of it before a request.
fn ready(version: Version, cartridge: Cartridge) -> (Raw, Running) {
    let (mut raw, _, running) = host_in(version, cartridge);
    if version == Version::V6 {
        raw.send(&Frame::policy(NetworkPolicy::Full));
    }
    (raw, running)
}

fn echoes() -> Cartridge {
    cartridge(Cap::new(ECHO), ECHO, echo)
}

/// How the cartridge took it.
fn failure(raw: Raw, running: Running) -> Error {
    let error = running.join().expect("no panic").expect_err("refused");
    raw.hang_up();
    error
}

fn engine(version: Version) -> Engine {
    Engine::new(EngineOptions { version, ..support::options(small()) })
}

/// A cartridge's hello of `version`, and what its form says of its capacity.
fn hello(version: Version) -> Frame {
    let manifest = Manifest::new("raw", "1").cap(Cap::new(ECHO)).to_json();
    let mut hello = Frame::hello(&small(), version.number());
    hello.set_meta("manifest", Bytes::from(manifest));
    match version {
        Version::V4Early => hello.set_meta("handler_capacity", 3_u64),
        _ => hello.set_meta("pools", Bytes::from_static(b"{}")),
    }
    hello
}

type Attaching = JoinHandle<Result<Peer, Error>>;

/// A cartridge by hand that an engine of `version` has said hello to.
fn greeted(version: Version) -> (Raw, Frame, Attaching) {
    let (mut raw, attaching) = Raw::attaching(&engine(version));
    raw.speak(version);
    let proposal = raw.expect(FrameType::Hello);
    (raw, proposal, attaching)
}

/// A cartridge by hand that has answered in `version` and was taken in.
fn attached(version: Version) -> (Raw, Peer) {
    let (mut raw, _, attaching) = greeted(version);
    raw.send(&hello(version));
    raw.prove_identity();
    (raw, attaching.join().expect("no panic").expect("the handshake passes"))
}

fn not_agreed(raw: Raw, attaching: Attaching) -> Error {
    let error = attaching.join().expect("no panic").expect_err("refused");
    raw.hang_up();
    error
}

fn names_both(error: &Error, one: u64, other: u64) {
    let message = error.message();
    let names = |n: u64| message.contains(&n.to_string());
    assert!(names(one) && names(other), "{one} and {other}: {error}");
}

/// Another number than that of `version`.
fn another(version: Version) -> Version {
    if version.number() == 5 { Version::V6 } else { Version::V5 }
}

/// A frame of another version than the link's.
fn send_in(raw: &mut Raw, version: Version, frame: &Frame) {
    let body = frame::encode(&frame.clone().with_version(version.number())).expect("it fits");
    raw.send_body(&body);
}

#[test]
fn a_cartridge_answers_in_the_version_that_its_host_declares() {
    within(LIMIT, "three handshakes", || {
        for version in PROPOSED {
            let (raw, answer, running) = host_in(version, echoes());
            let number = version.number();
            assert_eq!((answer.version, answer.meta_u64("version")), (number, Some(number)));
            assert!(answer.meta_bytes("pools").is_some(), "{answer:?}");
            // A host of 4 may be of its early form, which wants this.
            let capacity = answer.meta_u64("handler_capacity");
            assert_eq!(capacity.is_some_and(|n| n > 0), number == 4, "{answer:?}");
            raw.half_close();
            running.join().expect("no panic").expect("a clean end");
        }
    });
}

#[test]
fn another_version_or_two_at_once_are_refused_by_both_numbers() {
    within(LIMIT, "refusals", || {
        for (stamped, told) in [(3, 3), (7, 7), (0, 0), (5, 6), (6, 5), (4, 5)] {
            let (mut raw, running) = Raw::host_of(echoes());
            let hello = Frame::hello(&small(), told).with_version(stamped);
            raw.send_body(&frame::encode(&hello).expect("it fits"));
            let error = failure(raw, running);
            assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
            names_both(&error, stamped, told);
            assert!(error.message().contains("4 to 6"), "{error}");
        }
        for version in PROPOSED {
            let (mut raw, _, attaching) = greeted(version);
            let other = another(version);
            send_in(&mut raw, other, &hello(other));
            let error = not_agreed(raw, attaching);
            assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
            names_both(&error, version.number(), other.number());
        }
    });
}

/// Sends `VALUES` chunks of `stream` by hand as far as the other end grants, and grants by hand what it
/// sends, to the end of the other stream. Answers the names that came with its grants, and all of that.
fn both_ways(
    raw: &mut Raw,
    id: MessageId,
    grants: (CreditDirection, bool),
) -> (Vec<Option<String>>, Vec<Value>) {
    let (mut credit, mut sent, mut from, mut values) = (WINDOW, 0, Vec::new(), Vec::new());
    let mut ended = false;
    raw.start(id, "raw");
    loop {
        while credit > 0 && sent < VALUES {
            raw.chunk(id, "raw", sent, &Value::Uint(sent));
            (credit, sent) = (credit - 1, sent + 1);
            if sent == VALUES {
                raw.stream_end(id, "raw", VALUES);
            }
        }
        if ended && sent == VALUES {
            return (from, values);
        }
        let frame = raw.next().expect("the link lives");
        match frame.frame_type {
            _ if frame.id != id => {} // of the identity check
            FrameType::Credit => {
                credit += frame.credit.expect("a grant");
                from.push(frame.stream_id);
            }
            FrameType::Chunk => {
                assert!(values.len() as u64 <= VALUES, "no more than was sent");
                values.push(Value::decode(frame.payload_bytes()).expect("a value"));
                let (direction, named) = grants;
                let stream = frame.stream_id.filter(|_| named);
                raw.send(&Frame::credit(id, None, stream.as_deref(), 1, direction));
            }
            FrameType::StreamEnd => ended = true, // now an answer leaves nothing behind to be sent
            FrameType::End if ended => {} // of a caller, who may say all before the answer is there
            FrameType::StreamStart => {}
            other => panic!("a {other} in the middle of the call: {frame:?}"),
        }
    }
}

fn all_values() -> Vec<Value> {
    (0..VALUES).map(Value::Uint).collect()
}

#[test]
fn a_cartridge_serves_a_host_of_each_version_with_credit_both_ways() {
    within(LIMIT, "three calls", || {
        for version in PROPOSED {
            let (mut raw, running) = ready(version, echoes());
            raw.req(1, ECHO);
            let named = version != Version::V4; // the grants of a response
            let (from, values) = both_ways(&mut raw, 1.into(), (CreditDirection::Response, named));
            assert_eq!(values, all_values(), "version {version}");
            assert!(from.iter().all(|stream| stream.as_deref() == Some("raw")), "{from:?}");
            assert!(!from.is_empty(), "more than a window was sent");
            raw.end(1);
            assert_eq!(raw.until(FrameType::End).exit_code(), Some(0));
            raw.half_close();
            running.join().expect("no panic").expect("a clean end");
        }
    });
}

/// Sends all values on one thread and reads the answer on this one.
fn call_through(call: &Call) -> Vec<Value> {
    let (feeding, input) = (call.clone(), call.input("media:blob").expect("open"));
    let feed = thread::spawn(move || {
        (0..VALUES).try_for_each(|n| input.blocking_emit(Value::Uint(n)))?;
        feeding.blocking_finish_input()
    });
    let output = call.blocking_output().expect("a result");
    let values = output.iter().map(|item| item.expect("an item").value).collect();
    feed.join().expect("no panic").expect("all was sent");
    values
}

#[test]
fn an_engine_calls_a_cartridge_of_each_version_with_credit_both_ways() {
    within(LIMIT, "four calls", || {
        for version in Version::ALL {
            let (mut raw, proposal, attaching) = greeted(version);
            let number = version.number();
            assert_eq!((proposal.version, proposal.meta_u64("version")), (number, Some(number)));
            raw.send(&hello(version));
            raw.prove_identity();
            let peer = attaching.join().expect("no panic").expect("the handshake passes");
            assert_eq!(peer.version(), version, "4 is told from its early form");
            if version == Version::V6 {
                raw.expect(FrameType::Policy); // to no other: the next frame is the REQ
            }
            let call = peer.call(ECHO).expect("live");
            let req = raw.expect(FrameType::Req);
            let calling = thread::spawn(move || (call_through(&call), call.blocking_wait()));
            let (from, values) = both_ways(&mut raw, req.id, (CreditDirection::Request, true));
            assert_eq!(values, all_values(), "version {version}");
            // The grants of a response name their stream since 5.
            let name = (number > 4).then_some("raw");
            assert!(from.iter().all(|stream| stream.as_deref() == name), "{version}: {from:?}");
            assert!(!from.is_empty(), "more than a window was sent");
            raw.done(req.id);
            let (answered, ended) = calling.join().expect("no panic");
            assert_eq!(answered, all_values());
            ended.expect("it succeeded");
        }
    });
}

#[test]
fn a_frame_of_another_version_ends_the_link_and_names_both() {
    within(LIMIT, "wrong frames", || {
        for version in PROPOSED {
            let other = another(version);
            let (mut raw, running) = ready(version, echoes());
            send_in(&mut raw, other, &Frame::heartbeat(9.into()));
            let error = failure(raw, running);
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
            names_both(&error, version.number(), other.number());

            let (mut raw, peer) = attached(version);
            let call = peer.call(ECHO).expect("live");
            send_in(&mut raw, other, &Frame::heartbeat(9.into()));
            let error = call.blocking_wait().expect_err("the link is over");
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
            names_both(&error, version.number(), other.number());
        }
    });
}

#[test]
fn a_writer_writes_no_frame_of_another_version() {
    let mut writer = sluicegate::link::FrameWriter::new(Vec::new());
    writer.set_version(Version::V5);
    writer.write(&Frame::heartbeat(1.into()).with_version(5)).expect("its own");
    let error = writer.write(&Frame::heartbeat(1.into())).expect_err("of 6");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    names_both(&error, 5, 6);
}

#[test]
fn only_6_has_a_policy() {
    within(LIMIT, "policies", || {
        let (mut raw, _, running) = host_in(Version::V6, echoes());
        raw.req(1, ECHO);
        let refused = raw.expect(FrameType::Err);
        assert_eq!(refused.error_code(), Some("PROTOCOL_VIOLATION"), "{refused:?}");
        raw.half_close();
        running.join().expect("no panic").expect("a clean end");

        for version in [Version::V4, Version::V5] {
            let (mut raw, running) = ready(version, echoes());
            // No encoder writes this one.
            let meta = Value::text_map([("network", Value::from("full"))]);
            let entries = [Value::Uint(version.number()), Value::Uint(15), Value::Uint(0)];
            let mut entries: Vec<_> =
                (0..).map(Value::Uint).zip(entries).collect::<Vec<(Value, Value)>>();
            entries.push((Value::Uint(5), meta));
            raw.send_body(&Value::Map(entries).encode());
            let error = failure(raw, running);
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
            let names = |text: &str| error.message().contains(text);
            assert!(names("policy") && names(&version.to_string()), "{error}");

            let (mut raw, peer) = attached(version);
            peer.set_policy(NetworkPolicy::Offline).expect("nothing to tell it");
            let call = peer.call(ECHO).expect("live");
            raw.expect(FrameType::Req); // and no policy before it
            drop(call);
        }
    });
}

/// What a cartridge is told when a call of it stops its live source and is then cancelled.
fn stopped(version: Version) -> Vec<Frame> {
    let (mut raw, peer) = attached(version);
    let call = peer.call(ECHO).expect("live");
    let req = raw.until(FrameType::Req);
    call.close_stream(None);
    call.cancel(&Error::new(ErrorKind::Cancelled, "enough"));
    let mut told = Vec::new();
    loop {
        let frame = raw.next().expect("the link lives");
        assert_eq!(frame.id, req.id, "{frame:?}");
        let last = frame.frame_type == FrameType::Cancel;
        told.push(frame);
        if last {
            return told;
        }
    }
}

#[test]
fn to_an_early_4_there_is_no_close_stream_and_a_cancel_says_no_reason() {
    within(LIMIT, "cancels", || {
        for version in [Version::V4, Version::V5, Version::V6] {
            let told = stopped(version);
            let kinds: Vec<_> = told.iter().map(|frame| frame.frame_type).collect();
            assert_eq!(kinds, [FrameType::CloseStream, FrameType::Cancel], "version {version}");
            assert_eq!(told[1].attribution_class(), Some(AttributionClass::User));
        }
        let told = stopped(Version::V4Early);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!((told[0].frame_type, &told[0].meta), (FrameType::Cancel, &None));
    });
}

#[test]
fn a_host_of_4_is_not_told_of_a_class_that_it_may_not_know() {
    within(LIMIT, "errors", || {
        for (version, class) in [
            (Version::V4, AttributionClass::Internal),
            (Version::V5, AttributionClass::User),
            (Version::V6, AttributionClass::User),
        ] {
            let refusing = cartridge(Cap::new(ECHO), ECHO, |request: &Request| {
                request.log("warn", AttributionClass::User, "a person's doing");
                let (kind, class) = (ErrorKind::Cancelled, AttributionClass::User);
                Err(Error::with_code(kind, "ENOUGH", class, "a person said so"))
            });
            let (mut raw, _running) = ready(version, refusing);
            raw.request(1, ECHO, &[]);
            let log = raw.until(FrameType::Log);
            let err = raw.until(FrameType::Err);
            assert_eq!(
                (log.attribution_class(), err.attribution_class()),
                (Some(class), Some(class))
            );
            assert_eq!(err.error_code(), Some("ENOUGH"));
        }
    });
}

#[test]
fn a_host_of_4_may_close_streams_since_it_may_be_a_late_one() {
    within(LIMIT, "a call", || {
        let (mut raw, _running) = ready(Version::V4, echoes());
        raw.send(&Frame::close_stream(5.into(), None, None)); // of no request: ignored
        raw.request(1, ECHO, &[Value::Uint(3)]);
        assert_eq!(raw.until(FrameType::End).exit_code(), Some(0));
    });
}

/// Serves both of its outputs, and tells what the second one said.
fn two(told: mpsc::Sender<Option<Error>>) -> Cartridge {
    let told = std::sync::Mutex::new(told);
    cartridge(Cap::new(TWO).output(OTHER, false), TWO, move |request: &Request| {
        request.output().blocking_emit(Value::Uint(1))?;
        let other = request.output_for(OTHER).and_then(|other| other.blocking_emit(Value::Uint(2)));
        told.lock().expect("no panic").send(other.err()).expect("the test listens");
        Ok(())
    })
}

#[test]
fn an_output_beside_the_main_one_is_there_since_5() {
    within(LIMIT, "responses", || {
        for version in PROPOSED {
            let (tell, told) = mpsc::channel();
            let (mut raw, _running) = ready(version, two(tell));
            raw.request(1, TWO, &[]);
            let mut outputs = Vec::new();
            loop {
                let frame = raw.next().expect("the link lives");
                match frame.frame_type {
                    FrameType::StreamStart => outputs.push(frame.output),
                    FrameType::End => break,
                    _ => {}
                }
            }
            let refused = told.recv().expect("the handler ran");
            match version {
                Version::V4 => {
                    assert_eq!(outputs, [None]);
                    let error = refused.expect("there is no other");
                    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                    assert!(error.message().contains("version 4"), "{error}");
                }
                _ => {
                    assert_eq!(outputs, [None, Some(OTHER.to_owned())]);
                    assert!(refused.is_none(), "{refused:?}");
                }
            }
        }
        // Key 21 means nothing in 4, and is passed over as any other such key.
        for (version, output) in [(Version::V4, None), (Version::V5, Some(OTHER))] {
            let (mut raw, peer) = attached(version);
            let call = peer.call(ECHO).expect("live");
            let id = raw.until(FrameType::Req).id;
            raw.send(&Frame::stream_start(id, None, "out", "media:blob").with_output(OTHER));
            let stream = call.blocking_output().expect("a result");
            assert_eq!(stream.info().output.as_deref(), output);
        }
    });
}

#[test]
fn a_hello_tells_the_capacity_as_its_version_does() {
    within(LIMIT, "handshakes", || {
        let refused = |version: Version, answer: Frame| {
            let (mut raw, _, attaching) = greeted(version);
            raw.send(&answer);
            let error = not_agreed(raw, attaching);
            assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
            error
        };
        let without = |version: Version| {
            let mut bare = Frame::hello(&small(), version.number());
            let manifest = Manifest::new("raw", "1").cap(Cap::new(ECHO)).to_json();
            bare.set_meta("manifest", Bytes::from(manifest));
            bare
        };
        let error = refused(Version::V4, without(Version::V4));
        assert!(error.message().contains("handler_capacity"), "{error}");
        let mut wrong = without(Version::V4);
        wrong.set_meta("handler_capacity", "many");
        refused(Version::V4, wrong);
        for version in [Version::V5, Version::V6] {
            let mut early = without(version);
            early.set_meta("handler_capacity", 3_u64); // of no meaning to it
            let error = refused(version, early);
            assert!(error.message().contains("pools"), "{error}");
        }
    });
}

/// A cartridge of this library that a host speaks to in `version`, behind `switch`.
fn host_behind(switch: &sluicegate::Switch, version: Version, cartridge: Cartridge) -> Host {
    let engine = EngineOptions { version, ..support::options(small()) };
    let host = Host::new(HostOptions { engine, idle: None }).expect("a host");
    let [(reader, writer), (far_reader, far_writer)] =
        sluicegate::link::socket_pair().expect("sockets");
    thread::spawn(move || cartridge.run(far_reader, far_writer));
    host.attach("old", reader, writer).expect("the cartridge is taken in");
    relay::join(switch, &host, "host");
    host
}

#[test]
fn a_relay_joins_ends_of_different_versions() {
    within(LIMIT, "relayed calls", || {
        for (asking, serving) in
            [(Version::V6, Version::V4), (Version::V4, Version::V6), (Version::V5, Version::V5)]
        {
            let switch = relay::switch(small());
            let _host = host_behind(&switch, serving, echoes());
            let peer = switch.caller(&engine(asking)).expect("the switch answers in its version");
            assert_eq!(peer.version().number(), asking.number());
            let call = peer.call(ECHO).expect("live");
            assert_eq!(call_through(&call), all_values(), "{asking} to {serving}");
            call.blocking_wait().expect("it succeeded");
        }
    });
}

#[test]
fn an_output_that_the_caller_cannot_tell_fails_the_request_at_the_relay() {
    within(LIMIT, "a relayed call", || {
        let (tell, _told) = mpsc::channel();
        let switch = relay::switch(small());
        let _host = host_behind(&switch, Version::V6, two(tell));
        let call = |version: Version| {
            let peer = switch.caller(&engine(version)).expect("a caller");
            let call = peer.call(TWO).expect("live");
            call.blocking_finish_input().expect("no arguments");
            call.blocking_wait()
        };
        call(Version::V5).expect("it succeeded");
        let error = call(Version::V4).expect_err("there are two outputs");
        assert_eq!(error.code(), "VERSION_MISMATCH", "{error}");
        assert!(error.message().contains("version 4"), "{error}");
    });
}

#[test]
fn a_switch_takes_in_a_host_of_an_older_version_without_a_policy() {
    within(LIMIT, "hosts", || {
        for version in [Version::V4, Version::V5] {
            let switch = relay::switch(small());
            let mut host = relay::raw_host_in(&switch, "old", small(), ECHO, version);
            let peer = switch.caller(&engine(Version::V6)).expect("a caller");
            let call = peer.call(ECHO).expect("live");
            let req = host.expect(FrameType::Req); // and no policy before it
            let xid = req.routing_id;
            host.send(&Frame::end_with(req.id, xid, 0, None, None));
            call.blocking_wait().expect("it succeeded");
        }
        let (mut raw, joins) = relay::joining(&relay::switch(small()), "new");
        let mut notice = Frame::relay_notify(Bytes::from_static(b"{}"), &small());
        notice.version = 7;
        raw.send_body(&frame::encode(&notice).expect("it fits"));
        let error = joins.join().expect("no panic").expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
        assert!(error.message().contains('7') && error.message().contains("4 to 6"), "{error}");
    });
}
