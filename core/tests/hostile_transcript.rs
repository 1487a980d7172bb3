//! Sessions recorded between public peers, with one side of each played by ours.
//!
//! Compared is the kind and order of what comes back, per stream; ids of streams, numbers of
//! interleaved frames and the grouping of grants are ours to choose.

#[path = "support/raw.rs"]
mod raw;
mod support;

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use raw::Raw;
use serde_json::Value as Json;
use sluicegate::frame::{self, Frame, FrameType};
use sluicegate::{
    AttributionClass, Cap, Cartridge, Error, ErrorKind, InputStream, Limits, Manifest, MessageId,
    Mode, OutputStream, Reason, Request, StartOptions, Value,
};
use support::within;

const LIMIT: Duration = Duration::from_secs(180);
const VIOLATION: &str = "window2_violation_then_next_request";
const CANCEL: &str = "window1_cancel_of_blocked_producer";

struct Session {
    name: String,
    limits: Limits,
    /// In the order of the recording; true for what the host sent.
    frames: Vec<(bool, Frame)>,
}

fn sessions() -> Vec<Session> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/transcript.json");
    let text = std::fs::read_to_string(path).expect("the recording");
    let all: Json = serde_json::from_str(&text).expect("JSON");
    let session = |json: &Json| {
        let limit = |name: &str| json["negotiated_limits"][name].as_u64().expect("a limit");
        let frames = json["frames"].as_array().expect("frames").iter().map(|recorded| {
            let hex = recorded["hex"].as_str().expect("hex");
            let bytes: Vec<u8> = (0..hex.len() / 2)
                .map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).expect("hex"))
                .collect();
            let frame = frame::decode(Bytes::copy_from_slice(&bytes[4..])).expect("a frame");
            (recorded["dir"] == "host_to_cartridge", frame)
        });
        Session {
            name: json["name"].as_str().expect("a name").to_owned(),
            limits: Limits {
                max_frame: limit("max_frame"),
                max_chunk: limit("max_chunk"),
                max_reorder_buffer: limit("max_reorder_buffer"),
                initial_credit: limit("initial_credit"),
            },
            frames: frames.collect(),
        }
    };
    all["sessions"].as_array().expect("sessions").iter().map(session).collect()
}

/// What a stream may still send, by direction, request and stream, as an observer counts it.
#[derive(Default)]
struct Account {
    window: u64,
    left: HashMap<(bool, MessageId, Option<String>), i64>,
}

impl Account {
    fn of(limits: &Limits) -> Self {
        Account { window: limits.initial_credit, ..Account::default() }
    }

    /// Books a frame; answers what its stream has left if it is a chunk.
    fn book(&mut self, from_host: bool, frame: &Frame) -> Option<i64> {
        let key = |from_host, frame: &Frame| (from_host, frame.id, frame.stream_id.clone());
        match frame.frame_type {
            FrameType::StreamStart => {
                let window = i64::try_from(self.window).expect("small");
                self.left.insert(key(from_host, frame), window);
                None
            }
            FrameType::Chunk => {
                let left = self.left.get_mut(&key(from_host, frame)).expect("started");
                *left -= 1;
                Some(*left)
            }
            FrameType::Credit => {
                let n = i64::try_from(frame.credit.expect("a grant")).expect("small");
                let to = (!from_host, frame.id);
                let named = self.left.iter_mut().find(|(k, _)| {
                    (k.0, k.1) == to && (frame.stream_id.is_none() || k.2 == frame.stream_id)
                });
                if let Some((_, left)) = named {
                    *left += n;
                }
                None
            }
            _ => None,
        }
    }
}

#[test]
fn the_recorded_accounts_never_go_below_zero_but_for_the_violation() {
    for session in sessions() {
        let mut account = Account::of(&session.limits);
        let lowest =
            session.frames.iter().filter_map(|(host, frame)| account.book(*host, frame)).min();
        let lowest = lowest.expect("chunks");
        assert_eq!(lowest < 0, session.name == VIOLATION, "{}: {lowest}", session.name);
    }
}

type Handler = fn(&Request) -> Result<(), Error>;

fn echo(request: &Request) -> Result<(), Error> {
    let (input, output) = (request.blocking_input()?, request.output());
    input.iter().try_for_each(|item| output.blocking_emit(item?.value))
}

fn echo_items(request: &Request) -> Result<(), Error> {
    let (input, output) = (request.blocking_input()?, request.output());
    input.iter().try_for_each(|item| output.blocking_emit_list_item(item?.value, None))
}

fn produce(request: &Request) -> Result<(), Error> {
    let first = request.blocking_input()?.blocking_recv()?.expect("a value").value;
    let json: Json = serde_json::from_slice(first.as_bytes().expect("bytes")).expect("JSON");
    let output = request.output();
    let chunks = json["chunks"].as_u64().expect("a number");
    (0..chunks).try_for_each(|n| output.blocking_emit(Value::Uint(n)))
}

fn count(request: &Request) -> Result<(), Error> {
    count_of(&request.blocking_input()?, request)
}

fn count_of(input: &InputStream, request: &Request) -> Result<(), Error> {
    let all = input.iter().try_fold(0, |n, item| item.map(|_| n + 1))?;
    request.output().blocking_emit(Value::Uint(all))
}

/// The same once nothing more comes, so that what comes meanwhile overruns the window for sure.
fn count_late(request: &Request) -> Result<(), Error> {
    let input = request.blocking_input()?;
    while !input.stats().ended {
        thread::yield_now();
    }
    count_of(&input, request)
}

fn cartridge(slow: Handler) -> Cartridge {
    const SAME: &str = "in=media:blob;out=media:blob";
    let caps: [(&str, Handler); 4] =
        [("fc-echo", echo), ("fc-produce", produce), ("fc-seqecho", echo_items), ("fc-slow", slow)];
    let urn = |name: &str| format!("cap:{name};{SAME}");
    let manifest = caps.iter().fold(Manifest::new("mini", "1.0.0"), |manifest, (name, _)| {
        let sequence = *name == "fc-seqecho";
        manifest.cap(Cap::new(&urn(name)).input_sequence(sequence).output_sequence(sequence))
    });
    caps.into_iter().fold(Cartridge::new(manifest), |cartridge, (name, handler)| {
        cartridge.handler(&urn(name), handler)
    })
}

/// What is compared of a frame: all but what each side is free to choose.
fn shape(frame: &Frame) -> String {
    let code = match frame.message() {
        // A public peer wraps it.
        Some(message) if message.starts_with("CREDIT_VIOLATION") => Some("CREDIT_VIOLATION"),
        _ => frame.error_code(),
    };
    format!(
        "{} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        frame.frame_type,
        frame.payload,
        frame.chunk_index,
        frame.chunk_count,
        frame.checksum,
        frame.opens_sequence(),
        frame.exit_code(),
        code,
        frame.attribution_class(),
    )
}

/// The recorded host against our cartridge.
#[test]
fn our_cartridge_answers_a_recorded_host() {
    for session in sessions() {
        let name = session.name.clone();
        within(LIMIT, &name, move || play_host(&session));
    }
}

fn play_host(session: &Session) {
    let slow = if session.name == VIOLATION { count_late } else { count };
    let (mut raw, running) = Raw::host_of(cartridge(slow));
    let mut names: HashMap<String, String> = HashMap::new(); // theirs to ours
    let mut account = Account::of(&session.limits);
    let mut grants: HashMap<MessageId, (u64, u64)> = HashMap::new(); // ours, recorded
    for (from_host, recorded) in &session.frames {
        if *from_host {
            let mut frame = recorded.clone();
            if let Some(ours) = frame.stream_id.as_ref().and_then(|theirs| names.get(theirs)) {
                frame.stream_id = Some(ours.clone());
            }
            // A well-behaved host waits for its credit, whose grouping is ours.
            let key = (true, frame.id, frame.stream_id.clone());
            while frame.frame_type == FrameType::Chunk
                && session.name != VIOLATION
                && account.left.get(&key) == Some(&0)
            {
                let credit = raw.next().expect("a grant");
                assert_eq!(credit.frame_type, FrameType::Credit, "{}: {credit:?}", session.name);
                grants.entry(credit.id).or_default().0 += credit.credit.expect("a grant");
                account.book(false, &credit);
            }
            account.book(true, &frame);
            raw.send(&frame);
            if frame.frame_type == FrameType::Hello {
                let hello = raw.expect(FrameType::Hello);
                assert_eq!(hello.meta_u64("initial_credit"), Some(session.limits.initial_credit));
                assert_eq!(hello.meta_u64("max_chunk"), Some(session.limits.max_chunk));
            }
            continue;
        }
        if let FrameType::Hello | FrameType::Credit = recorded.frame_type {
            grants.entry(recorded.id).or_default().1 += recorded.credit.unwrap_or_default();
            continue;
        }
        let ours = loop {
            let frame = raw.next().unwrap_or_else(|| panic!("{}: it ended", session.name));
            account.book(false, &frame);
            if frame.frame_type != FrameType::Credit {
                break frame;
            }
            grants.entry(frame.id).or_default().0 += frame.credit.expect("a grant");
        };
        if let (FrameType::StreamStart, Some(theirs)) = (ours.frame_type, &recorded.stream_id) {
            names.insert(theirs.clone(), ours.stream_id.clone().expect("a name"));
        }
        assert_eq!(ours.id, recorded.id, "{}", session.name);
        assert_eq!(shape(&ours), shape(recorded), "{}", session.name);
        if ours.frame_type == FrameType::Heartbeat && session.name == CANCEL {
            assert_eq!(ours.meta_u64("drops_total"), Some(0), "{ours:?}");
            assert!(ours.meta_u64("stragglers_total") <= Some(1), "the late grant: {ours:?}");
        }
    }
    raw.half_close();
    for frame in raw.drain() {
        assert_eq!(frame.frame_type, FrameType::Credit, "{}: {frame:?}", session.name);
        grants.entry(frame.id).or_default().0 += frame.credit.expect("a grant");
    }
    for (id, (ours, theirs)) in grants {
        // What is not needed any more need not be given back: the request is over.
        assert!(
            ours <= theirs.max(session.limits.initial_credit),
            "{}: {id} {ours} {theirs}",
            session.name
        );
    }
    running.join().expect("no panic").expect("it ends as a host that goes away lets it");
}

/// The recorded cartridge against our host.
#[test]
fn our_host_understands_a_recorded_cartridge() {
    for session in sessions() {
        let name = session.name.clone();
        within(LIMIT, &name, move || play_cartridge(session));
    }
}

/// Does at our host what the recorded host did, while `frames` of the recorded cartridge are played.
fn play_cartridge(session: Session) {
    let engine = support::engine(session.limits);
    let (mut raw, attaching) = Raw::attaching(&engine);
    raw.expect(FrameType::Hello);
    let hello = session.frames.iter().find(|(host, f)| !host && f.frame_type == FrameType::Hello);
    raw.send(&hello.expect("a hello").1);
    raw.prove_identity();
    let peer = attaching.join().expect("no panic").expect("the recorded hello is taken");
    raw.expect(FrameType::Policy);

    let requests: Vec<&Frame> = session
        .frames
        .iter()
        .filter(|(host, f)| *host && f.frame_type == FrameType::Req)
        .map(|(_, frame)| frame)
        .filter(|frame| frame.cap.as_deref() != Some("cap:effect=none"))
        .collect();
    for request in requests {
        let of = |host: bool| {
            session
                .frames
                .iter()
                .filter(move |(h, f)| *h == host && f.id == request.id)
                .map(|(_, f)| f)
        };
        let sent: Vec<Frame> = of(true).cloned().collect();
        let answered: Vec<Frame> = of(false).cloned().collect();
        let call = peer.call(request.cap.as_deref().expect("a cap")).expect("live");
        assert_eq!(shape(&raw.expect(FrameType::Req)), shape(request));
        let id = call.id();
        let driver = {
            let call = call.clone();
            let sent: Arc<[Frame]> = sent.clone().into();
            thread::spawn(move || {
                drive(&call.input("media:blob")?, &sent).and_then(|()| call.blocking_finish_input())
            })
        };
        let reader = {
            let call = call.clone();
            thread::spawn(move || read_all(&call))
        };
        let mut account = Account::of(&session.limits);
        let violates = sent.iter().filter(|f| f.frame_type == FrameType::Chunk).count() as u64
            > session.limits.initial_credit
            && session.name == VIOLATION;
        // Its host's frames first, with the grants that our host waits for; then the answer.
        let mut granting = answered.iter().filter(|f| f.frame_type == FrameType::Credit);
        let mut left = i64::try_from(session.limits.initial_credit).expect("small");
        for recorded in sent.iter().filter(|f| f.is_flow() && f.frame_type != FrameType::Req) {
            if recorded.frame_type == FrameType::Chunk && left == 0 {
                let Some(grant) = granting.next() else { break };
                let mut grant = grant.clone();
                grant.id = id;
                grant.stream_id = None; // our name of the stream is another
                left += i64::try_from(grant.credit.expect("a grant")).expect("small");
                raw.send(&grant);
            }
            if violates && recorded.frame_type == FrameType::Chunk && left == 0 {
                break;
            }
            let ours = raw.expect(recorded.frame_type);
            account.book(true, &ours);
            assert_eq!(shape(&ours), shape(recorded), "{}", session.name);
            left -= i64::from(recorded.frame_type == FrameType::Chunk);
        }
        for recorded in answered.iter().filter(|f| f.frame_type != FrameType::Credit) {
            let mut frame = recorded.clone();
            frame.id = id;
            let key = (false, id, frame.stream_id.clone());
            while frame.frame_type == FrameType::Chunk && account.left.get(&key) == Some(&0) {
                let grant = raw.expect(FrameType::Credit);
                account.book(true, &grant);
            }
            if frame.frame_type == FrameType::Err && session.name == CANCEL {
                let reason = Reason::with_code(
                    ErrorKind::Cancelled,
                    "ABORTED_COLLATERAL",
                    AttributionClass::Resource,
                    "step 2 ran out of memory",
                );
                call.cancel(&reason);
                let cancel = raw.until(FrameType::Cancel);
                let recorded =
                    sent.iter().find(|f| f.frame_type == FrameType::Cancel).expect("one");
                assert_eq!((shape(&cancel), cancel.meta), (shape(recorded), recorded.meta.clone()));
            }
            account.book(false, &frame);
            raw.send(&frame);
        }
        let end = call.blocking_wait();
        let values = reader.join().expect("no panic");
        match answered.iter().rfind(|f| f.is_terminal()).expect("a terminal") {
            end if end.frame_type == FrameType::End => {
                let chunks = answered.iter().filter(|f| f.frame_type == FrameType::Chunk).count();
                let recorded = if session.name.contains("sequence") { 2 } else { chunks };
                assert_eq!(values.expect("whole"), recorded, "{}", session.name);
                driver.join().expect("no panic").expect("fed");
            }
            _ => {
                let kind = if session.name == CANCEL {
                    ErrorKind::Cancelled
                } else {
                    ErrorKind::CreditViolation
                };
                assert_eq!(end.expect_err("failed").kind(), kind, "{}", session.name);
                let _ = driver.join().expect("no panic"); // released by the error
            }
        }
        assert_eq!(peer.dead(), None);
    }
    assert_eq!(peer.counters().drops_total(), 0, "{}: {:?}", session.name, peer.counters());
}

/// Sends the values that the recorded chunks hold.
fn drive(input: &OutputStream, sent: &[Frame]) -> Result<(), Error> {
    let start = sent.iter().find(|f| f.frame_type == FrameType::StreamStart).expect("a stream");
    let mode = if start.opens_sequence() { Mode::Sequence } else { Mode::Scalar };
    input.start(StartOptions::mode(mode))?;
    let chunks: Vec<&Frame> = sent.iter().filter(|f| f.frame_type == FrameType::Chunk).collect();
    if mode == Mode::Scalar {
        return chunks.iter().try_for_each(|chunk| {
            input.blocking_emit(Value::decode(chunk.payload_bytes()).expect("a value"))?;
            input.blocking_flush()
        });
    }
    let (mut item, mut meta) = (Vec::new(), None);
    for chunk in chunks {
        meta = meta.or_else(|| chunk.meta.clone());
        item.extend_from_slice(chunk.payload_bytes());
        if let Ok(value) = Value::decode(&item) {
            input.blocking_emit_list_item(value, meta.take())?;
            item.clear();
        }
    }
    Ok(())
}

fn read_all(call: &sluicegate::Call) -> Result<usize, Error> {
    let mut values = 0;
    while let Some(output) = call.blocking_next_output()? {
        let output: InputStream = output;
        values += output.blocking_collect_items()?.len();
    }
    Ok(values)
}
