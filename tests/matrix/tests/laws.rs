//! The laws of flow control, each kept by a real process of each language, whose frames a host by hand
//! writes and counts.

use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use sluicegate::frame::{CreditDirection, Frame, FrameType};
use sluicegate::link::{FrameReader, FrameWriter};
use sluicegate::{Limits, MessageId, NetworkPolicy, Value};
use sluicegate_matrix::{close, each_language, engine, feed, integers, program, start};

const LIMIT: Duration = Duration::from_secs(180);
const ECHO: &str = "cap:fc-echo;in=media:blob;out=media:blob";
const PRODUCE: &str = "cap:fc-produce;in=media:json;out=media:blob";
const FOREVER: &str = "cap:fc-forever;in=media:blob;out=media:blob";
const SINK: &str = "cap:fc-sink;in=media:blob;out=media:json";
const MULTI: &str = "cap:fc-multi;in=media:blob;out=media:text";

/// A host by hand.
struct Host {
    reader: FrameReader<ChildStdout>,
    writer: FrameWriter<ChildStdin>,
    child: Child,
    probes: u64,
}

impl Drop for Host {
    fn drop(&mut self) {
        let _gone = self.child.kill(); // it may have ended
        let _reaped = self.child.wait();
    }
}

impl Host {
    fn of(language: &str, initial_credit: u64) -> Self {
        let mut command = std::process::Command::new(program(language));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{language}: {error}"));
        let reader = FrameReader::new(child.stdout.take().expect("piped"));
        let writer = FrameWriter::new(child.stdin.take().expect("piped"));
        let mut host = Host { reader, writer, child, probes: u64::MAX };
        host.send(&Frame::hello(&Limits { initial_credit, ..Limits::default() }, 6));
        assert_eq!(host.next().frame_type, FrameType::Hello, "{language}");
        host.send(&Frame::policy(NetworkPolicy::Full));
        host
    }

    fn send(&mut self, frame: &Frame) {
        self.writer.write(frame).expect("it reads");
    }

    fn next(&mut self) -> Frame {
        self.reader.read().expect("a whole frame").expect("it lives")
    }

    /// The next `kind` of request `id`, whatever comes before it.
    fn until(&mut self, id: u64, kind: FrameType) -> Frame {
        loop {
            let frame = self.next();
            if frame.frame_type == kind && frame.id == id.into() {
                return frame;
            }
            assert!(
                !frame.is_terminal() || frame.id != id.into(),
                "the request ended before a {kind}: {frame:?}"
            );
        }
    }

    /// All that it says before it refuses a request of now.
    fn settle(&mut self) -> Vec<Frame> {
        self.probes -= 1;
        let probe = MessageId::Uint(self.probes);
        self.send(&Frame::req(probe, None, "cap:nobody", "application/cbor"));
        let mut frames = Vec::new();
        loop {
            let frame = self.next();
            if frame.frame_type == FrameType::Err && frame.id == probe {
                return frames;
            }
            frames.push(frame);
        }
    }

    fn open(&mut self, id: u64, cap: &str) {
        self.send(&Frame::req(id.into(), None, cap, "application/cbor"));
        self.send(&Frame::stream_start(id.into(), None, "in", "media:blob"));
    }

    fn chunk(&mut self, id: u64, index: u64, value: &Value) {
        self.send(&Frame::chunk(id.into(), None, "in", index, value.encode().into()));
    }

    fn finish(&mut self, id: u64, count: u64) {
        self.send(&Frame::stream_end(id.into(), None, "in", Some(count)));
        self.send(&Frame::end(id.into(), None));
    }

    /// A whole request with one value.
    fn ask(&mut self, id: u64, cap: &str, value: &Value) {
        self.open(id, cap);
        self.chunk(id, 0, value);
        self.finish(id, 1);
    }

    fn produce(&mut self, id: u64, chunks: u64) {
        let plan = format!("{{\"chunks\":{chunks}}}").into_bytes();
        self.ask(id, PRODUCE, &Value::Bytes(plan.into()));
    }

    /// Gives room for `n` chunks of the stream that `chunk` belongs to.
    fn grant(&mut self, chunk: &Frame, n: u64) {
        let stream = chunk.stream_id.as_deref();
        self.send(&Frame::credit(chunk.id, None, stream, n, CreditDirection::Response));
    }
}

fn chunks(frames: &[Frame], id: u64) -> usize {
    let of_request = frames.iter().filter(|frame| frame.id == id.into());
    of_request.filter(|frame| frame.frame_type == FrameType::Chunk).count()
}

/// L9: a sender starts with the negotiated window and waits at zero.
#[test]
fn l9_a_sender_starts_with_the_window_and_waits_at_zero() {
    each_language(LIMIT, |language| {
        let mut host = Host::of(language, 3);
        host.produce(1, 20);
        let first = host.until(1, FrameType::Chunk);
        (1..3).for_each(|_| drop(host.until(1, FrameType::Chunk)));
        assert_eq!(chunks(&host.settle(), 1), 0, "{language}: beyond the window");
        for n in [1, 2] {
            host.grant(&first, n);
            (0..n).for_each(|_| drop(host.until(1, FrameType::Chunk)));
            assert_eq!(chunks(&host.settle(), 1), 0, "{language}: beyond what was granted");
        }
    });
}

/// L10: a receiver gives back what it has consumed before it waits, though no batch is full.
#[test]
fn l10_a_receiver_gives_back_what_it_consumed_before_it_waits() {
    each_language(LIMIT, |language| {
        let mut host = Host::of(language, 32);
        host.open(1, SINK);
        (0..3).for_each(|n| host.chunk(1, n, &Value::Uint(n)));
        let mut back = 0;
        while back < 3 {
            back += host.until(1, FrameType::Credit).credit.expect("a grant");
        }
        assert_eq!(back, 3, "{language}: each once");
        host.finish(1, 3);
        assert_eq!(host.until(1, FrameType::End).exit_code(), Some(0), "{language}");
    });
}

/// L12: a chunk beyond the window fails its request and no other.
#[test]
fn l12_a_chunk_beyond_the_window_fails_its_request_alone() {
    each_language(LIMIT, |language| {
        let mut host = Host::of(language, 2);
        host.open(1, FOREVER); // which never reads its input
        host.until(1, FrameType::StreamStart);
        (0..3).for_each(|n| host.chunk(1, n, &Value::Uint(n)));
        let err = host.until(1, FrameType::Err);
        assert_eq!(err.error_code(), Some("CREDIT_VIOLATION"), "{language}: {err:?}");
        host.ask(2, ECHO, &Value::Uint(7));
        assert_eq!(host.until(2, FrameType::End).exit_code(), Some(0), "{language}: lives on");
    });
}

/// L13: the end of a request releases a sender that waits for credit, so that its handler can end.
#[test]
fn l13_a_cancel_releases_who_waits_for_credit() {
    each_language(LIMIT, |language| {
        let mut host = Host::of(language, 1);
        host.produce(1, 20);
        host.until(1, FrameType::Chunk);
        assert_eq!(chunks(&host.settle(), 1), 0, "{language}: it waits");
        host.send(&Frame::cancel(1_u64.into(), None, false));
        let err = host.until(1, FrameType::Err);
        assert_eq!(err.error_code(), Some("CANCELLED"), "{language}: {err:?}");
    });
}

/// L14: progress, logs and heartbeats flow while no data may, and cost nothing.
#[test]
fn l14_control_flows_while_no_data_may() {
    each_language(LIMIT, |language| {
        let mut host = Host::of(language, 1);
        host.produce(1, 20);
        let first = host.until(1, FrameType::Chunk);
        host.send(&Frame::heartbeat(5_u64.into()));
        while host.next().frame_type != FrameType::Heartbeat {}
        host.ask(2, MULTI, &Value::Uint(0));
        let told: Vec<_> = (0..2).map(|_| host.until(2, FrameType::Log)).collect();
        assert!(told.iter().all(|log| log.message().is_some()), "{language}: {told:?}");
        host.until(2, FrameType::End);
        host.grant(&first, 19);
        assert_eq!(host.until(1, FrameType::End).exit_code(), Some(0), "{language}");
    });
}

/// L15: who sends and receives on one request serves both at the same time, with one chunk of room.
#[test]
fn l15_both_directions_of_a_request_are_served_at_once() {
    each_language(LIMIT, |language| {
        let engine = engine(1, 64);
        let peer = start(&engine, language);
        let call = peer.call(ECHO).expect("live");
        let fed = feed(&call, "media:blob", (0..200).map(Value::Uint).collect());
        let items = call.blocking_output().expect("a result").blocking_collect_items();
        let back = integers(&items.expect("every value"));
        assert_eq!(back, (0..200).collect::<Vec<_>>(), "{language}");
        fed.join().expect("no panic").expect("sent");
        call.blocking_wait().expect("success");
        close(&engine);
    });
}

/// L4, L16, L17: a stream that is declared unbounded goes on until a cancel, which works in its
/// middle; nothing follows the end.
#[test]
fn l17_a_cancel_works_in_the_middle_of_an_unbounded_stream() {
    each_language(LIMIT, |language| {
        let mut host = Host::of(language, 8);
        host.ask(1, FOREVER, &Value::Uint(0));
        let start = host.until(1, FrameType::StreamStart);
        assert!(start.opens_unbounded(), "{language}: {start:?}");
        for _ in 0..100 {
            let chunk = host.until(1, FrameType::Chunk);
            host.grant(&chunk, 1);
        }
        host.send(&Frame::cancel(1_u64.into(), None, false));
        let err = host.until(1, FrameType::Err);
        assert_eq!(err.error_code(), Some("CANCELLED"), "{language}: {err:?}");
        host.grant(&start, 100);
        let late = host.settle();
        assert!(!late.iter().any(|f| f.id == 1_u64.into() && f.is_flow()), "{language}: {late:?}");
    });
}
