//! Hazards W and S: what windows count, and how streams share a link.

#[path = "support/flow.rs"]
mod flow;
#[path = "support/raw.rs"]
mod raw;
mod support;

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use flow::{FOREVER, attach_forever};
use raw::{Raw, granted};
use sluicegate::frame::{Frame, FrameType};
use sluicegate::{AttributionClass, Cap, InputStream, TryRecv, Value};
use support::{ECHO, attach_echo, engine, limits, until, within};

const LIMIT: Duration = Duration::from_secs(180);

/// HZ-W04: two consumers of one stream never give a chunk back twice, and none is forgotten.
#[test]
fn hz_w04_two_consumers_give_back_each_chunk_once() {
    const CHUNKS: u64 = 20_000;
    within(LIMIT, "two consumers", || {
        let (mut raw, _running) = Raw::host(Cap::new(ECHO), ECHO, limits(16, 64), |request| {
            let input = request.blocking_input()?;
            thread::scope(|scope| {
                let consumers: Vec<_> = (0..2)
                    .map(|_| {
                        scope.spawn(|| {
                            input.iter().map(|item| item.map(drop)).collect::<Result<Vec<_>, _>>()
                        })
                    })
                    .collect();
                consumers.into_iter().try_for_each(|c| c.join().expect("no panic").map(drop))
            })
        });
        raw.req(1, ECHO);
        raw.start(1, "in");
        let (mut credit, mut given) = (16_u64, 0);
        for index in 0..CHUNKS {
            while credit == 0 {
                let n = raw.expect(FrameType::Credit).credit.expect("a grant");
                credit += n;
                given += n;
                assert!(n > 0 && credit <= 16, "more than the window: {credit}");
            }
            credit -= 1;
            raw.chunk(1, "in", index, &Value::Null);
        }
        while given < CHUNKS {
            given += raw.expect(FrameType::Credit).credit.expect("a grant");
        }
        raw.stream_end(1, "in", CHUNKS);
        raw.end(1);
        let rest = std::iter::from_fn(|| raw.next().filter(|f| !f.is_terminal()));
        assert_eq!(given + granted(&rest.collect::<Vec<_>>()), CHUNKS);
    });
}

/// HZ-W05: the receiver's count equals the sender's at every quiet point.
#[test]
fn hz_w05_the_counts_agree_at_every_quiet_point() {
    const CHUNKS: u64 = 10_000;
    within(LIMIT, "one at a time", || {
        let engine = engine(limits(2, 64));
        let peer = attach_echo(&engine);
        let call = peer.call(ECHO).expect("live");
        let input = call.input("media:blob").expect("open");
        input.blocking_emit(Value::Uint(0)).expect("sent");
        let output = call.blocking_output().expect("a result");
        for n in 0..CHUNKS {
            let item = output.blocking_recv().expect("no violation").expect("no end");
            assert_eq!(item.value, Value::Uint(n));
            if n + 1 < CHUNKS {
                input.blocking_emit(Value::Uint(n + 1)).expect("sent");
            }
        }
        assert_eq!(output.try_recv().expect("live"), TryRecv::Wait); // grants what is pending
        assert_eq!((output.stats().chunks, output.stats().window), (CHUNKS, 2));
        until("all is given back", || input.stats().window == 2);
        assert_eq!(input.stats().chunks, CHUNKS);
        call.blocking_finish_input().expect("sent");
        call.blocking_wait().expect("success");
    });
}

/// HZ-W07: an overrun ends its own request; two others carry a thousand more chunks each.
#[test]
fn hz_w07_an_overrun_ends_its_own_request_only() {
    within(LIMIT, "overrun", || {
        let (hold, held) = mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let (mut raw, _running) = Raw::host(Cap::new(ECHO), ECHO, limits(4, 64), move |request| {
            if request.id() == 2_u64.into() {
                let _let_go = held.lock().expect("one request").recv(); // all five have come
            }
            let count =
                request.blocking_input()?.iter().try_fold(0_u64, |n, item| item.map(|_| n + 1))?;
            request.output().blocking_emit(Value::Uint(count))
        });
        for id in 1..=3 {
            raw.req(id, ECHO);
            raw.start(id, "in");
        }
        for index in 0..5 {
            raw.chunk(2, "in", index, &Value::Null);
        }
        raw.settle();
        drop(hold);
        let err = raw.until(FrameType::Err);
        assert_eq!((err.id, err.error_code()), (2_u64.into(), Some("CREDIT_VIOLATION")));
        let mut credit = [0, 4_u64, 0, 4];
        let mut sent = [0_u64; 4];
        while sent[1] < 1000 || sent[3] < 1000 {
            for id in [1, 3] {
                while credit[id] > 0 && sent[id] < 1000 {
                    raw.chunk(id as u64, "in", sent[id], &Value::Null);
                    sent[id] += 1;
                    credit[id] -= 1;
                }
            }
            if sent[1] < 1000 || sent[3] < 1000 {
                let grant = raw.expect(FrameType::Credit);
                let id = [1, 3].into_iter().find(|&id| grant.id == (id as u64).into());
                let id = id.expect("nothing of 2 comes behind its end");
                credit[id] += grant.credit.expect("a grant");
            }
        }
        for id in [1, 3] {
            raw.stream_end(id, "in", 1000);
            raw.end(id);
        }
        for _ in 0..2 {
            let chunk = raw.until(FrameType::Chunk);
            assert_eq!(chunk.payload_bytes(), Value::Uint(1000).encode());
        }
    });
}

/// HZ-W01, L10: a consumer that only ever tries starves nobody, also with a batch above the
/// sender's window.
#[test]
fn hz_w01_trying_grants_what_is_pending() {
    within(LIMIT, "tries", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(16, 64)), ECHO);
        let call = peer.call(ECHO).expect("live");
        let id = raw.expect(FrameType::Req).id;
        raw.start(id, "out");
        let output = call.blocking_output().expect("a result");
        for n in 0..100 {
            raw.chunk(id, "out", n, &Value::Uint(n)); // as a sender with a window of 1
            until("it came", || matches!(output.try_recv(), Ok(TryRecv::Item(_))));
            assert_eq!(output.try_recv().expect("live"), TryRecv::Wait);
            assert_eq!(raw.expect(FrameType::Credit).credit, Some(1));
        }
    });
}

/// How many values each of these streams gives to a reader of its own within `time`.
fn shares(streams: &[InputStream], time: Duration) -> Vec<u64> {
    let begin = std::sync::Barrier::new(streams.len());
    let share = |stream: &InputStream| {
        begin.wait();
        let end = Instant::now() + time;
        let mut count = 0;
        while Instant::now() < end {
            stream.blocking_recv().expect("live").expect("no end");
            count += 1;
        }
        count
    };
    thread::scope(|scope| {
        let readers: Vec<_> = streams.iter().map(|stream| scope.spawn(|| share(stream))).collect();
        readers.into_iter().map(|reader| reader.join().expect("no panic")).collect()
    })
}

/// HZ-S18: streams that are always ready share the link evenly.
#[test]
fn hz_s18_streams_share_the_link_evenly() {
    const STREAMS: usize = 40;
    within(LIMIT, "fairness", || {
        let engine = engine(limits(8, 1024));
        let peer = attach_forever(&engine);
        let calls: Vec<_> = (0..STREAMS).map(|_| peer.call(FOREVER).expect("live")).collect();
        let streams: Vec<_> =
            calls.iter().map(|call| call.blocking_output().expect("a result")).collect();
        // Whether all readers are ready all the time is the machine's to say: a busy one may not let them.
        loop {
            let counts = shares(&streams, Duration::from_secs(2));
            let mean = counts.iter().sum::<u64>() / STREAMS as u64;
            if counts.iter().all(|count| (mean / 2..=mean * 2).contains(count)) {
                break;
            }
            eprintln!("not even, of a mean of {mean}: {counts:?}");
        }
    });
}

/// HZ-W09: a receiver closes its side while chunks are on the wire. They are within what it granted, so
/// they are taken and forgotten; both ends count the same, and then nothing.
#[test]
fn hz_w09_what_crosses_a_close_is_accepted() {
    within(LIMIT, "a closed reader", || {
        let (closed, is_closed) = mpsc::channel();
        let (goes_on, may_go_on) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let may_go_on = std::sync::Mutex::new(may_go_on);
        let (mut raw, _running) = Raw::host(Cap::new(ECHO), ECHO, limits(10, 64), move |request| {
            let input = request.blocking_input()?;
            input.cancel();
            closed.send(()).expect("heard");
            may_go_on.lock().expect("one handler").recv().expect("told");
            tell.send(input.stats()).expect("heard");
            Ok(())
        });
        raw.req(1, ECHO);
        raw.start(1, "in");
        is_closed.recv().expect("closed");
        for n in 0..4 {
            raw.chunk(1, "in", n, &Value::Uint(n));
        }
        let frames = raw.settle(); // the four have come
        assert_eq!(granted(&frames), 0, "nobody consumed them");
        assert!(frames.iter().all(|frame| frame.frame_type != FrameType::Err), "{frames:?}");
        goes_on.send(()).expect("it waits");
        let stats = told.recv().expect("told");
        assert_eq!(stats.window, 6, "10 granted and 4 sent, as the sender counts");
        raw.stream_end(1, "in", 4);
        raw.end(1);
        raw.until(FrameType::End);
        raw.grant(1, None, 1); // the end took back all that was outstanding: this means nothing
        raw.send(&Frame::heartbeat(9_u64.into()));
        let beat = raw.until(FrameType::Heartbeat);
        assert_eq!(beat.meta_u64("drops_total"), Some(0), "nothing was a violation: {beat:?}");
    });
}

/// HZ-W09: the same at a caller, whose close cancels the call: what was on the wire is a straggler.
#[test]
fn hz_w09_what_crosses_a_callers_close_is_benign() {
    within(LIMIT, "a dropped reader", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(10, 64)), ECHO);
        let call = peer.call(ECHO).expect("live");
        let id = raw.expect(FrameType::Req).id;
        raw.start(id, "out");
        drop(call.blocking_output().expect("a result"));
        assert_eq!(raw.until(FrameType::Cancel).id, id);
        for n in 0..4 {
            raw.chunk(id, "out", n, &Value::Uint(n));
        }
        raw.send(&Frame::err(id, None, "CANCELLED", AttributionClass::User, "as you say"));
        assert_eq!(granted(&raw.settle()), 0);
        let seen = peer.counters();
        assert_eq!((seen.drops_total(), seen.stragglers.get("chunk")), (0, Some(&4)), "{seen:?}");
        assert_eq!(peer.live_calls(), 0);
    });
}

/// HZ-W08: a window is agreed on at the handshake and never lowered. Who tries is refused, and what is
/// in flight under the old window stays good.
#[test]
fn hz_w08_a_window_is_agreed_on_once() {
    within(LIMIT, "a second hello", || {
        let (ready, is_ready) = mpsc::channel::<()>();
        let is_ready = std::sync::Mutex::new(is_ready);
        let (mut raw, _running) = Raw::host(Cap::new(ECHO), ECHO, limits(10, 64), move |request| {
            let input = request.blocking_input()?;
            is_ready.lock().expect("one handler").recv().expect("told");
            input.iter().try_for_each(|item| item.map(drop))
        });
        raw.req(1, ECHO);
        raw.start(1, "in");
        for n in 0..8 {
            raw.chunk(1, "in", n, &Value::Uint(n));
        }
        raw.send(&Frame::hello(&limits(4, 64), 6));
        assert_eq!(raw.until(FrameType::Err).error_code(), Some("PROTOCOL_ERROR"));
        ready.send(()).expect("it waits");
        let mut window = 2;
        while window < 10 {
            window += raw.until(FrameType::Credit).credit.expect("a number");
        }
        assert_eq!(window, 10, "the window is what it was");
        for n in 8..18 {
            raw.chunk(1, "in", n, &Value::Uint(n));
        }
        raw.stream_end(1, "in", 18);
        raw.end(1);
        raw.until(FrameType::End);
    });
}
