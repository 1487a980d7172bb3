//! The malformed frames of the shared vectors over a link that is in use, to a cartridge and to an
//! engine: what may not be read ends the link with a typed error, which everybody on it is told; what
//! has to be read harms nobody.

#[path = "support/raw.rs"]
mod raw;
mod support;

use std::sync::mpsc;
use std::time::Duration;

use raw::Raw;
use serde_json::Value as Json;
use sluicegate::frame::{Frame, FrameType};
use sluicegate::{Cap, Error, ErrorKind, Limits, MessageId, Value};
use support::{ECHO, echo, engine, within};

const LIMIT: Duration = Duration::from_secs(180);

/// What has to become of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It ends with an error of this kind.
    Over(ErrorKind),
    /// The other end has gone, as it may.
    Closed,
    /// It lives.
    Lives,
}

struct Case {
    name: String,
    wire: Vec<u8>,
    limits: Limits,
    /// No more follows: a frame that is cut short.
    cut: bool,
    fate: Fate,
}

impl Case {
    /// The link takes such small frames only that nothing else fits beside it.
    fn is_tight(&self) -> bool {
        self.limits.max_frame < 1000
    }
}

fn unhex(hex: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits");
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn cases() -> Vec<Case> {
    let vectors: Json = serde_json::from_str(include_str!("../../tests/vectors/vectors.json"))
        .expect("a vector file is JSON");
    let case = |case: &Json| {
        let text = |name: &str| case[name].as_str().expect("a text").to_owned();
        let max_frame = case["reader_limits"]["max_frame"].as_u64();
        let over = match &*text("capdag_outcome") {
            "frame_too_large" => ErrorKind::FrameTooLarge,
            _ => ErrorKind::Malformed,
        };
        let fate = match &*text("our_rule") {
            "reject" | "may_reject" => Fate::Over(over),
            "end of stream, no error" => Fate::Closed,
            accept if accept.starts_with("accept") => Fate::Lives,
            other => panic!("unknown rule {other}"),
        };
        Case {
            name: text("name"),
            wire: unhex(&text("hex")),
            limits: Limits {
                initial_credit: 8,
                max_chunk: 64,
                max_frame: max_frame.unwrap_or(Limits::DEFAULT.max_frame),
                ..Limits::default()
            },
            cut: matches!(&*text("capdag_outcome"), "unexpected_eof" | "clean_eof"),
            fate,
        }
    };
    vectors["malformed"]["cases"].as_array().expect("a list").iter().map(case).collect()
}

fn count(fates: &[Fate]) -> (usize, usize, usize) {
    let of = |so: fn(&Fate) -> bool| fates.iter().filter(|fate| so(fate)).count();
    (
        of(|fate| matches!(fate, Fate::Over(_))),
        of(|fate| *fate == Fate::Lives),
        of(|fate| *fate == Fate::Closed),
    )
}

/// A request that is under way, with a number that no vector uses.
const BESIDE: u64 = 77;

fn say(raw: &mut Raw, case: &Case) {
    raw.send_bytes(&case.wire);
    if case.cut {
        raw.half_close();
    }
}

#[test]
fn a_cartridge_survives_or_ends_as_each_vector_says() {
    let mut fates = Vec::new();
    for case in cases() {
        fates.push(case.fate);
        let name = case.name.clone();
        within(LIMIT, &name, move || at_a_cartridge(&case));
    }
    assert_eq!(count(&fates), (51 + 25, 19, 1));
}

fn at_a_cartridge(case: &Case) {
    let name = &case.name;
    let (tell, told) = mpsc::channel();
    let (mut raw, running) = Raw::host(Cap::new(ECHO), ECHO, case.limits, move |request| {
        let end = echo(request);
        tell.send(request.is_cancelled()).expect("the test listens");
        end
    });
    if case.is_tight() {
        say(&mut raw, case);
        let error = running.join().expect("no panic").expect_err(name);
        assert_eq!(Fate::Over(error.kind()), case.fate, "{name}: {error}");
        assert!(error.message().contains("100"), "{name} names the limit: {error}");
        return;
    }
    raw.req(BESIDE, ECHO);
    raw.start(BESIDE, "in");
    raw.chunk(BESIDE, "in", 0, &Value::Uint(7));
    raw.until(FrameType::Chunk); // the handler runs
    say(&mut raw, case);
    if case.fate == Fate::Lives {
        raw.chunk(BESIDE, "in", 1, &Value::Uint(8));
        raw.stream_end(BESIDE, "in", 2);
        raw.end(BESIDE);
        let mut frames = Vec::new();
        while !frames.last().is_some_and(Frame::is_terminal) {
            let frame = raw.next().unwrap_or_else(|| panic!("{name}: the link has ended"));
            frames.extend(Some(frame).filter(|frame| frame.id == MessageId::Uint(BESIDE)));
        }
        let chunk = frames.iter().find(|f| f.frame_type == FrameType::Chunk).expect("an echo");
        assert_eq!(chunk.payload_bytes(), Value::Uint(8).encode(), "{name}");
        assert_eq!(frames.last().and_then(Frame::exit_code), Some(0), "{name}");
        assert_eq!(told.recv().expect("the handler ends"), None, "{name}");
        raw.half_close();
        raw.drain();
        running.join().expect("no panic").unwrap_or_else(|error| panic!("{name}: {error}"));
        return;
    }
    let ended = running.join().expect("no panic");
    let told = told.recv().expect("the handler ends").expect("it is told why");
    match case.fate {
        Fate::Over(kind) => {
            let error = ended.expect_err(name);
            assert_eq!(error.kind(), kind, "{name}: {error}");
            assert!(!error.message().is_empty(), "{name}");
            assert_eq!(told, error, "{name}");
        }
        _ => assert_eq!(ended, Ok(()), "{name}: a host may go"),
    }
    raw.drain();
}

#[test]
fn an_engine_survives_or_ends_as_each_vector_says() {
    let mut fates = Vec::new();
    // An engine has to get its handshake through.
    for case in cases().into_iter().filter(|case| !case.is_tight()) {
        fates.push(case.fate);
        let name = case.name.clone();
        within(LIMIT, &name, move || at_an_engine(&case));
    }
    assert_eq!(count(&fates), (50 + 25, 19, 1));
}

fn at_an_engine(case: &Case) {
    let name = &case.name;
    let engine = engine(case.limits);
    let (mut bystander, other) = Raw::cartridge(&engine, ECHO);
    let (mut raw, peer) = Raw::cartridge(&engine, ECHO);
    let call = peer.call(ECHO).expect("live");
    let id = raw.until(FrameType::Req).id;
    raw.start(id, "out");
    raw.chunk(id, "out", 0, &Value::Uint(7));
    let output = call.blocking_output().expect("a result");
    let next = || output.blocking_recv().map(|item| item.map(|item| item.value));
    assert_eq!(next().expect("live"), Some(Value::Uint(7)));
    say(&mut raw, case);
    match case.fate {
        Fate::Lives => {
            raw.chunk(id, "out", 1, &Value::Uint(8));
            raw.stream_end(id, "out", 2);
            raw.done(id);
            assert_eq!(next().unwrap_or_else(|e| panic!("{name}: {e}")), Some(Value::Uint(8)));
            assert_eq!(next().expect("its end"), None, "{name}");
            call.blocking_wait().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(peer.dead(), None, "{name}");
        }
        Fate::Over(kind) => over(name, &next().expect_err(name), kind, peer.name()),
        Fate::Closed => over(name, &next().expect_err(name), ErrorKind::PeerDied, peer.name()),
    }
    if case.fate != Fate::Lives {
        let error = call.blocking_wait().expect_err("over");
        assert_eq!(next().expect_err("still"), error, "{name}: everybody is told the same");
        let refused = peer.call(ECHO).map(drop).expect_err("it is gone");
        assert_eq!(refused.kind(), error.kind(), "{name}: {refused}");
    }
    // The cartridge beside it on the same engine never notices.
    let call = other.call(ECHO).expect("lives");
    let id = bystander.until(FrameType::Req).id;
    bystander.answer(id, &[Value::Uint(9).encode().into()]);
    let items = call.blocking_output().expect("a result").blocking_collect_items();
    assert_eq!(items.expect("whole").len(), 1, "{name}");
    call.blocking_wait().expect("success");
}

fn over(name: &str, error: &Error, kind: ErrorKind, cartridge: &str) {
    assert_eq!(error.kind(), kind, "{name}: {error}");
    assert!(error.message().contains(cartridge), "{name} names the cartridge: {error}");
}
