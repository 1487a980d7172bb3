//! Laws of the protocol, each seen from the other end of the wire, where a peer by hand counts what
//! comes.

#[path = "support/raw.rs"]
mod raw;
#[path = "support/relay.rs"]
mod relay;
mod support;

use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use raw::{Raw, granted};
use sluicegate::frame::{Frame, FrameType};
use sluicegate::wait::block_on;
use sluicegate::{
    Call, Cap, Deadline, Error, ErrorKind, InputStream, MessageId, Peer, Request, Value,
};
use support::{ECHO, echo, engine, limits, tells_waits, within};

const LIMIT: Duration = Duration::from_secs(180);
const COUNT: &str = "cap:count;in=media:void;out=media:blob";

fn of_flow(frames: &[Frame], id: u64) -> Vec<FrameType> {
    let flow = frames.iter().filter(|frame| frame.id == id.into() && frame.is_flow());
    flow.map(|frame| frame.frame_type).collect()
}

/// L4: nothing of a request follows its terminal, although its handler goes on to send while it is
/// finished or cancelled.
#[test]
fn l4_nothing_follows_a_terminal() {
    const REQUESTS: u64 = 200;
    within(LIMIT, "terminals", || {
        let (mut raw, _running) = Raw::host(Cap::new(COUNT), COUNT, limits(64, 64), |request| {
            let (output, noisy) = (request.output(), request.clone());
            let (begun, begins) = mpsc::channel();
            let sends = thread::spawn(move || {
                for n in 0_u64.. {
                    noisy.progress(0.5, "still here");
                    if output.blocking_emit(Value::Uint(n)).is_err() {
                        return;
                    }
                    let _told = begun.send(());
                }
            });
            begins.recv().expect("it sends");
            block_on(request.finish(None, None), Deadline::NEVER)??;
            sends.join().expect("it is released");
            request.progress(0.9, "too late");
            Ok(())
        });
        let mut ended = Vec::new();
        for id in 1..=REQUESTS {
            raw.req(id, COUNT);
            raw.end(id);
            raw.grant(id, Some("resp-0"), id % 7 * 50);
            raw.until(FrameType::Chunk);
            if id % 2 == 0 {
                raw.send(&Frame::cancel(id.into(), None, false));
            }
            raw.grant(id, Some("resp-0"), 1_000_000);
            loop {
                let frame = raw.next().expect("the link lives");
                assert!(!frame.is_flow() || frame.id == id.into(), "late: {frame:?}");
                if frame.is_terminal() {
                    ended.push(frame.id);
                    break;
                }
            }
        }
        let late = raw.settle();
        assert!((1..=REQUESTS).all(|id| of_flow(&late, id).is_empty()), "{late:?}");
        assert_eq!(ended, (1..=REQUESTS).map(MessageId::Uint).collect::<Vec<_>>());
    });
}

/// L6: what belongs to no request is counted, and is no error; a relay forwards a terminal before the
/// state of its request goes, so that what crosses it is a straggler and not unroutable.
#[test]
fn l6_what_cannot_be_routed_is_counted_and_is_no_error() {
    within(LIMIT, "strays", || {
        let (mut raw, _running) = Raw::host(Cap::new(ECHO), ECHO, limits(4, 64), |request| {
            echo(request)?;
            while request.blocking_next_input()?.is_some() {}
            Ok(()) // the body has ended: nothing of it is left to cross the answer
        });
        raw.chunk(7, "in", 0, &Value::Null);
        raw.stream_end(7, "in", 1);
        raw.end(7);
        raw.grant(7, None, 1);
        raw.request(1, ECHO, &[Value::Uint(1)]);
        assert_eq!(raw.until(FrameType::End).exit_code(), Some(0), "the link lives on");
        raw.grant(1, None, 1); // it crossed the end
        raw.send(&Frame::heartbeat(MessageId::Uint(8)));
        let beat = raw.until(FrameType::Heartbeat);
        assert_eq!(beat.meta_u64("drops_total"), Some(4), "{beat:?}");
        assert_eq!(beat.meta_u64("stragglers_total"), Some(1), "{beat:?}");

        let switch = relay::switch(limits(4, 64));
        let _host = relay::host_of(&switch, limits(4, 64), ECHO, echo);
        let mut raw = relay::raw_caller(&switch, limits(4, 64));
        raw.request(1, ECHO, &[Value::Uint(1)]);
        assert_eq!(raw.until(FrameType::End).exit_code(), Some(0), "it has passed");
        relay::quiet(&switch);
        raw.grant(1, Some("resp-0"), 1);
        raw.settle();
        let stats = relay::quiet(&switch);
        assert_eq!(stats["drops"]["total"], 0, "{stats}");
        assert!(stats["stragglers"]["by_frame_type"]["credit"].as_u64() >= Some(1), "{stats}");
    });
}

/// L9: a sender starts with the window that both ends agreed on, and waits at zero.
#[test]
fn l9_a_sender_starts_with_the_negotiated_window_and_waits_at_zero() {
    within(LIMIT, "a window", || {
        for window in [1, 3, 8] {
            let (mut raw, _running) = Raw::host(Cap::new(COUNT), COUNT, limits(window, 64), |r| {
                let output = r.output();
                (0..20).try_for_each(|n| output.blocking_emit(Value::Uint(n)))
            });
            raw.req(1, COUNT);
            raw.end(1);
            let next = |raw: &mut Raw, many| {
                (0..many).for_each(|_| drop(raw.until(FrameType::Chunk)));
                assert!(of_flow(&raw.settle(), 1).is_empty(), "beyond the window of {window}");
            };
            next(&mut raw, window);
            for many in [1, 2, 3] {
                raw.grant(1, Some("resp-0"), many);
                next(&mut raw, many);
            }
        }
    });
}

/// L10: a receiver grants what it has consumed and no more, and whatever is pending before it waits.
#[test]
fn l10_a_receiver_grants_what_it_consumed_before_it_waits() {
    within(LIMIT, "grants", || {
        let (go, waits) = mpsc::channel::<()>();
        let waits = Mutex::new(waits);
        let (mut raw, _running) =
            Raw::host(Cap::new(COUNT), COUNT, limits(32, 64), move |request: &Request| {
                let _told = waits.lock().expect("not poisoned").recv(); // consumes nothing
                let input = request.blocking_input()?;
                while input.blocking_recv()?.is_some() {}
                Ok(())
            });
        raw.req(1, COUNT);
        raw.start(1, "in");
        (0..3).for_each(|n| raw.chunk(1, "in", n, &Value::Uint(n)));
        assert_eq!(granted(&raw.settle()), 0, "nothing was consumed");
        go.send(()).expect("the handler waits");
        // A batch of 16 is not full, and still all three come back: the handler waits for a fourth.
        let mut back = 0;
        while back < 3 {
            back += raw.until(FrameType::Credit).credit.expect("a grant");
        }
        assert_eq!(back, 3);
        raw.stream_end(1, "in", 3);
        raw.end(1);
        assert_eq!(raw.until(FrameType::End).exit_code(), Some(0));
    });
}

/// L13: the end of a request releases everyone who waits for its credit, and each is told the reason:
/// an ERR of the other side, its END, a cancel of this side, the end of the link.
#[test]
fn l13_every_end_of_a_request_releases_who_waits_for_its_credit() {
    type End = fn(&mut Raw, &Call, MessageId);
    let ends: [(&str, End, ErrorKind, &str, &str); 4] = [
        (
            "an ERR",
            |raw, _, id| {
                let class = sluicegate::AttributionClass::Input;
                raw.send(&Frame::err(id, None, "NO_PAPER", class, "tray 2"));
            },
            ErrorKind::Remote,
            "NO_PAPER",
            "tray 2",
        ),
        ("an END", |raw, _, id| raw.done(id), ErrorKind::Closed, "END", "the request has ended"),
        (
            "a cancel",
            |_, call, _| call.cancel(&Error::new(ErrorKind::Cancelled, "enough")),
            ErrorKind::Cancelled,
            "CANCELLED",
            "enough",
        ),
        (
            "the end of the link",
            |raw, _, _| raw.half_close(),
            ErrorKind::PeerDied,
            "PEER_DIED",
            "cartridge",
        ),
    ];
    for (what, end, kind, code, text) in ends {
        within(LIMIT, what, move || {
            let (mut raw, peer) = Raw::cartridge(&engine(limits(2, 64)), ECHO);
            let call = peer.call(ECHO).expect("live");
            let id = raw.until(FrameType::Req).id;
            let input = call.input("media:blob").expect("an argument");
            let (waits, is_waiting) = mpsc::channel();
            let waiters: Vec<_> = (0..8_u64)
                .map(|n| {
                    let (input, waits) = (input.clone(), waits.clone());
                    thread::spawn(move || {
                        let told = || waits.send(()).expect("the test listens");
                        (0..).find_map(|_| tells_waits(input.emit(n.into()), told).err())
                    })
                })
                .collect();
            raw.until(FrameType::Chunk);
            raw.until(FrameType::Chunk); // the window is used up
            for _ in 0..8 {
                is_waiting.recv().expect("each of them waits");
            }
            end(&mut raw, &call, id);
            for waiter in waiters {
                let why = waiter.join().expect("no panic").expect("an error");
                assert_eq!((why.kind(), why.code()), (kind, code), "{what}: {why}");
                assert!(why.message().contains(text), "{what}: {why}");
            }
            drop(is_waiting);
        });
    }
}

/// An endless stream at its caller, of which one value has come and was taken.
fn endless() -> (Raw, Peer, Call, InputStream) {
    let (mut raw, peer) = Raw::cartridge(&engine(limits(4, 64)), ECHO);
    let call = peer.call(ECHO).expect("live");
    let id = raw.until(FrameType::Req).id;
    raw.send(&Frame::stream_start(id, None, "out", "media:blob").with_unbounded(true));
    raw.chunk(id, "out", 0, &Value::Uint(0));
    let output = call.blocking_output().expect("a result");
    assert!(output.info().unbounded);
    for refused in
        [output.blocking_collect_bytes().map(drop), output.blocking_collect_items().map(drop)]
    {
        assert_eq!(refused.expect_err("it has no end").kind(), ErrorKind::Unbounded);
    }
    let item = output.blocking_recv().expect("a value").expect("one");
    assert_eq!(item.value, Value::Uint(0), "nothing was taken by those who were refused");
    (raw, peer, call, output)
}

/// L16: a stream that is declared unbounded is never collected whole, and ends by its STREAM_END, which
/// need not say a count.
#[test]
fn l16_an_unbounded_stream_ends_by_its_stream_end() {
    within(LIMIT, "a stream's end", || {
        let (mut raw, _peer, call, output) = endless();
        let id = call.id();
        raw.chunk(id, "out", 1, &Value::Uint(1));
        raw.send(&Frame::stream_end(id, None, "out", None));
        let item = output.blocking_recv().expect("a value").expect("one");
        assert_eq!(item.value, Value::Uint(1), "what came before is delivered");
        assert!(output.blocking_recv().expect("its end").is_none());
        assert!(call.outcome().is_none(), "and the request goes on");
        raw.done(id);
        call.blocking_wait().expect("success");
    });
}

/// L16: the terminal of its request ends an unbounded stream: an ERR with its reason, an END cleanly, unless
/// it comes within an item.
#[test]
fn l16_an_unbounded_stream_ends_by_the_terminal() {
    within(LIMIT, "an ERR", || {
        let (mut raw, _peer, call, output) = endless();
        raw.chunk(call.id(), "out", 1, &Value::Uint(1));
        let class = sluicegate::AttributionClass::Environment;
        raw.send(&Frame::err(call.id(), None, "UNPLUGGED", class, "no camera"));
        let item = output.blocking_recv().expect("a value").expect("one");
        assert_eq!(item.value, Value::Uint(1), "what came before is delivered");
        let error = output.blocking_recv().expect_err("then the reason");
        assert_eq!((error.code(), error.message()), ("UNPLUGGED", "no camera"));
        assert_eq!(call.blocking_wait().expect_err("failed"), error);
    });
    within(LIMIT, "an END", || {
        let (mut raw, _peer, call, output) = endless();
        raw.chunk(call.id(), "out", 1, &Value::Uint(1));
        raw.done(call.id());
        let item = output.blocking_recv().expect("a value").expect("one");
        assert_eq!(item.value, Value::Uint(1), "what came before is delivered");
        assert_eq!(output.blocking_recv().expect("a clean end"), None);
        call.blocking_wait().expect("success");
    });
}

/// L16: a cancel of its reader ends an unbounded stream at both ends.
#[test]
fn l16_an_unbounded_stream_ends_by_a_cancel() {
    within(LIMIT, "a cancel", || {
        let (mut raw, _peer, call, output) = endless();
        call.cancel(&Error::new(ErrorKind::Cancelled, "enough"));
        assert_eq!(raw.until(FrameType::Cancel).id, call.id());
        let error = output.blocking_recv().expect_err("over");
        assert_eq!((error.kind(), error.message()), (ErrorKind::Cancelled, "enough"));
    });
}
