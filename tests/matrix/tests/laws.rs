//! The laws of flow control, each kept by a real process of each language, whose frames a host by hand
//! writes and counts.

use std::time::Duration;

use sluicegate::frame::{Frame, FrameType};
use sluicegate::{AttributionClass, Value};
use sluicegate_matrix::by_hand::Host;
use sluicegate_matrix::{close, each_language, engine, feed, integers, start};

const LIMIT: Duration = Duration::from_secs(180);
const ECHO: &str = "cap:fc-echo;in=media:blob;out=media:blob";
const PRODUCE: &str = "cap:fc-produce;in=media:json;out=media:blob";
const FOREVER: &str = "cap:fc-forever;in=media:blob;out=media:blob";
const SINK: &str = "cap:fc-sink;in=media:blob;out=media:json";
const SLOW: &str = "cap:fc-slow;in=media:blob;out=media:json";
const TWO: &str = "cap:fc-two;in=media:json;out=media:blob";
const MULTI: &str = "cap:fc-multi;in=media:blob;out=media:text";

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
        while host.frame().frame_type != FrameType::Heartbeat {}
        host.ask(2, MULTI, &Value::Uint(0));
        let told: Vec<_> = (0..2).map(|_| host.until(2, FrameType::Log)).collect();
        assert!(told.iter().all(|log| log.message().is_some()), "{language}: {told:?}");
        host.until(2, FrameType::End);
        host.grant(&first, 19);
        assert_eq!(host.until(1, FrameType::End).exit_code(), Some(0), "{language}");
    });
}

/// All that comes of request `id` up to its end; nothing is granted.
fn all_of(host: &mut Host, id: u64) -> Vec<Frame> {
    let mut frames = Vec::new();
    loop {
        let frame = host.frame();
        let mine = frame.id == id.into();
        let over = mine && frame.is_terminal();
        if mine {
            frames.push(frame);
        }
        if over {
            return frames;
        }
    }
}

fn count(frames: &[Frame], kind: FrameType) -> usize {
    frames.iter().filter(|frame| frame.frame_type == kind).count()
}

/// L14: each stream has one credit, which its one chunk takes. STREAM_START, STREAM_END, LOG and END come all
/// the same, while every window of the link is at zero and no grant is given.
#[test]
fn l14_streams_open_and_close_and_requests_end_without_credit() {
    each_language(LIMIT, |language| {
        let mut host = Host::of(language, 1);
        host.produce(1, 20);
        host.until(1, FrameType::Chunk);
        host.ask(2, MULTI, &Value::Uint(0));
        let came = all_of(&mut host, 2);
        let told = format!("{language}: {came:?}");
        for (kind, wanted) in [
            (FrameType::Log, 2),
            (FrameType::StreamStart, 2),
            (FrameType::Chunk, 2),
            (FrameType::StreamEnd, 2),
            (FrameType::End, 1),
        ] {
            assert_eq!(count(&came, kind), wanted, "{kind}, {told}");
        }
        let ends = came.iter().filter(|frame| frame.frame_type == FrameType::StreamEnd);
        assert!(ends.map(|end| end.chunk_count).all(|chunks| chunks == Some(1)), "{told}");
        assert_eq!(came[came.len() - 1].exit_code(), Some(0), "{told}");
        // Two streams that each stand still at their end: both have opened.
        host.ask(3, TWO, &Value::Bytes(br#"{"chunks":20}"#.to_vec().into()));
        let mut came = Vec::new();
        while count(&came, FrameType::Chunk) < 2 {
            came.extend(host.settle());
        }
        assert_eq!(count(&came, FrameType::StreamStart), 2, "{language}: {came:?}");
        assert_eq!(chunks(&host.settle(), 3), 0, "{language}: beyond the window");
    });
}

/// L14: an ERR comes at once from a request whose windows are at zero, and from one beside it.
#[test]
fn l14_an_error_needs_no_credit() {
    each_language(LIMIT, |language| {
        let mut host = Host::of(language, 1);
        host.produce(1, 20);
        host.until(1, FrameType::Chunk);
        assert_eq!(chunks(&host.settle(), 1), 0, "{language}: it waits");
        host.ask(2, PRODUCE, &Value::Bytes(b"not a plan".to_vec().into()));
        let err = host.until(2, FrameType::Err);
        assert!(err.error_code().is_some(), "{language}: {err:?}");
        host.send(&Frame::cancel(1_u64.into(), None, false));
        let err = host.until(1, FrameType::Err);
        assert_eq!(err.error_code(), Some("CANCELLED"), "{language}: {err:?}");
    });
}

/// L14: of what a host sends, chunks alone take from the window. A handler that reads nothing holds it at
/// zero, and STREAM_START, STREAM_END and the end of the arguments still overrun nothing.
#[test]
fn l14_a_host_needs_credit_for_chunks_alone() {
    each_language(LIMIT, |language| {
        let mut host = Host::of(language, 2);
        host.open(1, FOREVER);
        (0..2).for_each(|n| host.chunk(1, n, &Value::Uint(n)));
        host.send(&Frame::stream_end(1_u64.into(), None, "in", Some(2)));
        for stream in ["more", "and more"] {
            host.send(&Frame::stream_start(1_u64.into(), None, stream, "media:blob"));
            host.send(&Frame::stream_end(1_u64.into(), None, stream, Some(0)));
        }
        host.send(&Frame::end(1_u64.into(), None));
        host.send(&Frame::heartbeat(5_u64.into()));
        let mut answered = false;
        while !answered {
            let frame = host.frame();
            assert_ne!(frame.frame_type, FrameType::Err, "{language}: {frame:?}");
            answered = frame.frame_type == FrameType::Heartbeat;
        }
        host.send(&Frame::cancel(1_u64.into(), None, false));
        let err = host.until(1, FrameType::Err);
        assert_eq!(err.error_code(), Some("CANCELLED"), "{language}: {err:?}");
        // An ERR ends the arguments, whatever is left of the window.
        host.open(2, SLOW);
        (0..2).for_each(|n| host.chunk(2, n, &Value::Uint(n)));
        host.send(&Frame::err(2_u64.into(), None, "GIVEN_UP", AttributionClass::User, "enough"));
        let err = host.until(2, FrameType::Err);
        assert_ne!(err.error_code(), Some("CREDIT_VIOLATION"), "{language}: {err:?}");
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
