//! Hazards C: connections under load, over real sockets and pipes.

#[path = "support/flow.rs"]
mod flow;
#[path = "support/raw.rs"]
mod raw;
mod support;

use std::io::{PipeReader, PipeWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use flow::{FOREVER, attach_forever, forever};
use nix::fcntl::{FcntlArg, fcntl};
use raw::{Raw, granted};
use sluicegate::frame::{Frame, FrameType};
use sluicegate::{
    AttributionClass, Call, Cap, Cartridge, Error, ErrorKind, Event, InputStream, Limits, Manifest,
    TryRecv, Value,
};
use support::{
    ECHO, PROMPT, attach, attach_echo, echo, engine, limits, tells_waits, until, within,
};

const LIMIT: Duration = Duration::from_secs(180);

/// Looks at `stream` until its sender has run out of credit.
fn until_full(stream: &InputStream) {
    until("the window is full", || stream.stats().window == 0);
}

/// Feeds `count` integers to a call on a thread of its own and ends its body.
fn feed(call: &Call, count: u64) -> thread::JoinHandle<Result<(), Error>> {
    let (call, input) = (call.clone(), call.input("media:blob").expect("open"));
    thread::spawn(move || {
        for n in 0..count {
            input.blocking_emit(Value::Uint(n))?;
        }
        call.blocking_finish_input()
    })
}

/// HZ-C01: credit, streams and bytes come back from requests that are cancelled with a full window.
#[test]
fn hz_c01_nothing_leaks_when_full_streams_are_cancelled() {
    const ROUNDS: u64 = 1500;
    within(LIMIT, "cancels", || {
        let engine = engine(limits(4, 64));
        let (busy, peer) = (attach_echo(&engine), attach_forever(&engine));
        let long = peer.call(FOREVER).expect("live");
        let stream = long.blocking_output().expect("a result");
        let beside = busy.call(ECHO).expect("live");
        let feeder = feed(&beside, ROUNDS);
        let echoed = beside.blocking_output().expect("a result");
        for n in 0..ROUNDS {
            let call = peer.call(FOREVER).expect("live");
            let full = call.blocking_output().expect("a result");
            until_full(&full);
            match n % 3 {
                0 => call.cancel(&ErrorKind::Cancelled.into()),
                1 => full.cancel(),
                _ => drop(full),
            }
            drop(call);
            let item = stream.blocking_recv().expect("the long stream lives").expect("no end");
            assert_eq!(item.value, Value::Uint(n), "and never stalls");
            assert!(echoed.blocking_recv().expect("live").is_some());
        }
        feeder.join().expect("no panic").expect("fed");
        assert_eq!(peer.live_calls(), 1);
        drop((long, stream));
        assert_eq!(peer.live_calls(), 0);
        assert_eq!(peer.counters().drops_total(), 0, "{:?}", peer.counters());
    });
}

/// HZ-C02: a dropped reader cancels its producer and holds nobody up.
#[test]
fn hz_c02_a_dropped_reader_cancels_its_producer() {
    within(LIMIT, "dropped reader", || {
        let (stopped, was_stopped) = mpsc::channel();
        let engine = engine(limits(5, 64));
        let peer = attach(&engine, Cap::new(FOREVER), FOREVER, move |request| {
            let error = forever(request).expect_err("it never ends by itself");
            stopped.send(error.clone()).expect("the test listens");
            Err(error)
        });
        let (first, second) =
            (peer.call(FOREVER).expect("live"), peer.call(FOREVER).expect("live"));
        let unread = first.blocking_output().expect("a result");
        until_full(&unread); // five chunks, none of them read
        let other = second.blocking_output().expect("a result");
        drop(unread);
        let error = was_stopped.recv_timeout(PROMPT).expect("told at once");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        for n in 0..100 {
            let item = other.blocking_recv().expect("live").expect("no end");
            assert_eq!(item.value, Value::Uint(n));
        }
        assert_eq!(first.blocking_wait().expect_err("over").kind(), ErrorKind::Cancelled);
    });
}

/// HZ-C03: a handler that never reads its input costs nothing.
#[test]
fn hz_c03_a_handler_need_not_read_its_input() {
    const REQUESTS: u64 = 2000;
    within(LIMIT, "unread input", || {
        let engine = engine(limits(4, 64));
        let peer = attach(&engine, Cap::new(ECHO), ECHO, |request| {
            request.output().blocking_emit(Value::Uint(1))
        });
        for _ in 0..REQUESTS {
            let call = peer.call(ECHO).expect("live");
            let feed = || {
                let input = call.input("media:blob")?;
                (0..3).try_for_each(|n| input.blocking_emit(Value::Uint(n)))
            };
            if let Err(error) = feed() {
                // The answer came first: there is nobody to send to any more.
                assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
            }
            let items = call.blocking_output().expect("a result").blocking_collect_items();
            assert_eq!(items.expect("answered").len(), 1);
            call.blocking_wait().expect("success");
        }
        assert_eq!(peer.live_calls(), 0);
        assert_eq!(peer.counters().drops_total(), 0, "{:?}", peer.counters());
    });
}

/// A pipe with the smallest buffer that the system allows.
fn small_pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    fcntl(&writer, FcntlArg::F_SETPIPE_SZ(4096)).expect("a small one");
    (reader, writer)
}

/// HZ-C04: both ends send at once over the smallest pipes: reading never waits for writing.
#[test]
fn hz_c04_both_ends_send_at_once_over_the_smallest_pipes() {
    const BYTES: usize = 16 * 1024 * 1024;
    within(LIMIT, "both at once", || {
        let ((host_in, plugin_out), (plugin_in, host_out)) = (small_pipe(), small_pipe());
        let cartridge = Cartridge::new(Manifest::new("test", "1").cap(Cap::new(ECHO))).handler(
            ECHO,
            |request| {
                let (input, output) = (request.blocking_input()?, request.output());
                thread::scope(|scope| {
                    let sender = scope.spawn(move || output.blocking_write(&vec![7; BYTES]));
                    let got = input.iter().try_fold(0, |sum, item| {
                        item.map(|item| sum + item.value.as_bytes().map_or(0, |b| b.len()))
                    })?;
                    assert_eq!(got, BYTES);
                    sender.join().expect("no panic")
                })
            },
        );
        thread::spawn(move || cartridge.run(plugin_in, plugin_out));
        let engine = engine(Limits::default());
        let peer = engine.attach(host_in, host_out).expect("the handshake passes");
        let call = peer.call(ECHO).expect("live");
        let input = call.input("media:blob").expect("open");
        let feeding = call.clone();
        let feeder = thread::spawn(move || {
            input.blocking_write(&vec![9; BYTES])?;
            feeding.blocking_finish_input()
        });
        let got = call.blocking_output().expect("a result").blocking_collect_bytes();
        assert_eq!(got.expect("all").len(), BYTES);
        feeder.join().expect("no panic").expect("fed");
        call.blocking_wait().expect("success");
    });
}

/// HZ-C05: progress, logs, heartbeats, errors and cancels pass while every window is at zero.
#[test]
fn hz_c05_control_passes_while_no_credit_is_left() {
    within(LIMIT, "control", || {
        let engine = engine(limits(2, 64));
        let (stopped, was_stopped) = mpsc::channel();
        let peer = attach(&engine, Cap::new(FOREVER), FOREVER, move |request| {
            let output = request.output();
            let full = (0..2).try_for_each(|n| output.blocking_emit(Value::Uint(n)));
            full.expect("the window holds two");
            for n in 0..10 {
                request.progress(f64::from(n) / 10.0, "still");
                request.log("info", AttributionClass::Environment, "stuck");
            }
            let error = output.blocking_emit(Value::Null).expect_err("nobody grants");
            stopped.send(error.clone()).expect("the test listens");
            Err(error)
        });
        let call = peer.call(FOREVER).expect("live");
        let output = call.blocking_output().expect("a result");
        let begun = Instant::now();
        for n in 0..10 {
            let value = f64::from(n) / 10.0;
            let progress = call.blocking_next_event().expect("progress");
            assert_eq!(progress, Event::Progress { value, message: "still".into() });
            assert!(matches!(call.blocking_next_event(), Some(Event::Log { .. })));
        }
        peer.probe().expect("live");
        call.cancel(&ErrorKind::Cancelled.into());
        let error = was_stopped.recv_timeout(PROMPT).expect("cancelled");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(begun.elapsed() < PROMPT);
        drop(output);
    });
}

/// HZ-C05: an error of the handler passes too.
#[test]
fn hz_c05_an_error_passes_while_no_credit_is_left() {
    within(LIMIT, "error", || {
        let engine = engine(limits(1, 64));
        let peer = attach(&engine, Cap::new(FOREVER), FOREVER, |request| {
            request.output().blocking_emit(Value::Null)?;
            Err(Error::with_code(
                ErrorKind::Remote,
                "BROKEN_LENS",
                AttributionClass::Input,
                "no light",
            ))
        });
        let call = peer.call(FOREVER).expect("live");
        let error = call.blocking_wait().expect_err("failed");
        assert_eq!((error.code(), error.message()), ("BROKEN_LENS", "no light"));
        let output = call.blocking_output().expect("it was opened before");
        assert!(output.blocking_recv().expect("what came before is delivered").is_some());
        assert_eq!(output.blocking_recv().expect_err("and then the error"), error);
    });
}

/// HZ-C06: one thread waits to receive, one to send, on the two directions of one request.
#[test]
fn hz_c06_each_direction_of_a_request_has_its_own_wait() {
    const ROUNDS: u64 = 3000;
    within(LIMIT, "two directions", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(1, 64)), ECHO);
        let call = peer.call(ECHO).expect("live");
        let id = raw.expect(FrameType::Req).id;
        raw.start(id, "out");
        let input = call.input("media:blob").expect("open");
        let output = call.blocking_output().expect("a result");
        input.blocking_emit(Value::Null).expect("the window holds one");
        raw.until(FrameType::Chunk);
        let sender = thread::spawn(move || {
            (0..ROUNDS).try_for_each(|n| input.blocking_emit(Value::Uint(n))).map(|()| input)
        });
        let receiver = thread::spawn(move || {
            (0..ROUNDS).try_for_each(|n| {
                let item = output.blocking_recv()?.expect("no end");
                assert_eq!(item.value, Value::Uint(n));
                Ok::<_, Error>(())
            })
        });
        for n in 0..ROUNDS {
            raw.grant(id, None, 1);
            raw.until(FrameType::Chunk); // the sender woke
            raw.chunk(id, "out", n, &Value::Uint(n));
            raw.until(FrameType::Credit); // the receiver woke
        }
        sender.join().expect("no panic").expect("sent");
        receiver.join().expect("no panic").expect("received");
    });
}

/// HZ-C07: grants are applied by the connection, whether or not anybody receives.
#[test]
fn hz_c07_a_thread_that_only_sends_gets_its_grants() {
    within(LIMIT, "only sends", || {
        let engine = engine(limits(8, 64));
        let peer = attach(&engine, Cap::new(ECHO), ECHO, |request| {
            request.blocking_input()?.iter().try_for_each(|item| item.map(drop))
        });
        let call = peer.call(ECHO).expect("live");
        let input = call.input("media:blob").expect("open");
        for n in 0..80 {
            input.blocking_emit(Value::Uint(n)).expect("sent");
        }
        call.blocking_finish_input().expect("sent");
    });
}

/// HZ-C09, L17: a cancel never overtakes the request that it cancels.
#[test]
fn l17_a_cancel_never_overtakes_its_request() {
    within(LIMIT, "overtaking", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(4, 64)), ECHO);
        for n in 0..2000 {
            let call = peer.call(ECHO).expect("live");
            if n % 2 == 0 {
                let input = call.input("media:blob").expect("open");
                let _ = input.blocking_emit(Value::Null);
            }
            drop(call);
        }
        let last = peer.call("cap:last").expect("live");
        let mut live = std::collections::HashSet::new();
        loop {
            let frame = raw.next().expect("the link lives");
            match frame.frame_type {
                FrameType::Req if frame.cap.as_deref() == Some("cap:last") => break,
                FrameType::Req => assert!(live.insert(frame.id)),
                FrameType::Cancel => {
                    assert!(live.remove(&frame.id), "cancelled before it was opened")
                }
                FrameType::StreamStart | FrameType::Chunk => {}
                other => panic!("{other}"),
            }
        }
        // A cancel may be behind the last request, which it does not belong to.
        while !live.is_empty() {
            assert!(live.remove(&raw.until(FrameType::Cancel).id));
        }
        drop(last);
    });
}

/// HZ-C10: a chunk of nothing costs credit like any chunk; an end of stream needs none.
#[test]
fn hz_c10_a_chunk_of_nothing_costs_credit() {
    for sequence in [false, true] {
        within(LIMIT, "empty chunks", move || {
            let (hold, held) = mpsc::channel::<()>();
            let held = std::sync::Mutex::new(held);
            let (mut raw, _running) =
                Raw::host(Cap::new(ECHO), ECHO, limits(8, 64), move |request| {
                    let input = request.blocking_input()?;
                    let _ = held.lock().expect("one request").recv(); // until the test is through
                    let error = input.blocking_recv().expect_err("the violation");
                    assert_eq!(error.kind(), ErrorKind::CreditViolation);
                    assert_eq!(input.stats().chunks, 8);
                    Err(error)
                });
            raw.req(1, ECHO);
            raw.send(
                &Frame::stream_start(1_u64.into(), None, "in", "media:blob")
                    .with_sequence(sequence),
            );
            let empty = |n| Frame::chunk(1_u64.into(), None, "in", n, bytes::Bytes::new());
            for n in 0..8 {
                raw.send(&empty(n));
            }
            assert_eq!(granted(&raw.settle()), 0, "nothing was consumed");
            for n in 8..10_000 {
                raw.send(&empty(n));
            }
            raw.stream_end(1, "in", 10_000);
            raw.end(1);
            raw.settle();
            drop(hold);
            let err = raw.until(FrameType::Err);
            assert_eq!(err.error_code(), Some("CREDIT_VIOLATION"));
        });
    }
}

/// HZ-C10: eight of them within the window are passed over and given back.
#[test]
fn hz_c10_chunks_of_nothing_are_given_back() {
    within(LIMIT, "empty chunks", || {
        let (mut raw, _running) = Raw::host(Cap::new(ECHO), ECHO, limits(2, 64), echo);
        raw.req(1, ECHO);
        raw.start(1, "in");
        let mut given = 0;
        for index in 0..1000 {
            while given + 2 <= index {
                given += raw.expect(FrameType::Credit).credit.expect("a grant");
            }
            raw.send(&Frame::chunk(1_u64.into(), None, "in", index, bytes::Bytes::new()));
        }
        raw.stream_end(1, "in", 1000);
        raw.end(1);
        assert_eq!(raw.until(FrameType::StreamEnd).chunk_count, Some(0));
    });
}

/// HZ-C11: the ends of stream and request need no credit.
#[test]
fn hz_c11_an_end_needs_no_credit() {
    within(LIMIT, "ends", || {
        let (mut raw, peer) = Raw::cartridge(&engine(limits(2, 64)), ECHO);
        let call = peer.call(ECHO).expect("live");
        let input = call.input("media:blob").expect("open");
        for n in 0..2 {
            input.blocking_emit(Value::Uint(n)).expect("the window holds two");
        }
        assert_eq!(input.stats().window, 0);
        call.blocking_finish_input().expect("sent at once");
        assert_eq!(raw.until(FrameType::StreamEnd).chunk_count, Some(2));
        raw.expect(FrameType::End);

        let (mut raw, _running) = Raw::host(Cap::new(ECHO), ECHO, limits(2, 64), |request| {
            (0..2).try_for_each(|n| request.output().blocking_emit(Value::Uint(n)))
        });
        raw.request(1, ECHO, &[]);
        assert_eq!(raw.until(FrameType::StreamEnd).chunk_count, Some(2));
        assert_eq!(raw.expect(FrameType::End).exit_code(), Some(0));
    });
}

/// Lets through so many bytes a second, and counts them.
struct Throttled<W> {
    inner: W,
    rate: f64,
    begun: Instant,
    written: Arc<AtomicU64>,
}

impl<W: Write> Write for Throttled<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let due = self.written.load(Ordering::Relaxed) as f64 / self.rate;
        let ahead = due - self.begun.elapsed().as_secs_f64();
        if ahead > 0.0 {
            thread::sleep(Duration::from_secs_f64(ahead)); // what is throttled sleeps
        }
        let some = &bytes[..bytes.len().min(16 * 1024)];
        let n = self.inner.write(some)?;
        self.written.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// HZ-C18: the transport holds a producer back although it has all the credit of the world, with
/// large chunks and with the smallest.
#[test]
fn hz_c18_the_transport_holds_the_producer_back_as_well() {
    const BOUND: u64 = 4 * 1024 * 1024;
    for size in [1, 200_000] {
        within(LIMIT, "throttled", move || {
            let (host, plugin) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
            let written = Arc::new(AtomicU64::new(0));
            let slow = Throttled {
                inner: raw::Closing(host.try_clone().expect("a second handle")),
                rate: 1024.0 * 1024.0,
                begun: Instant::now(),
                written: Arc::clone(&written),
            };
            let credit = Limits { initial_credit: 1 << 40, ..Limits::default() };
            let attaching = thread::spawn(move || engine(credit).attach(host, slow));
            let mut raw = Raw::over(plugin);
            raw.introduce(ECHO, credit);
            raw.prove_identity();
            let peer = attaching.join().expect("no panic").expect("the handshake passes");
            let Raw { mut reader, .. } = raw;
            thread::spawn(move || while let Ok(Some(_)) = reader.read() {});
            let call = peer.call(ECHO).expect("live");
            let input = call.input("media:blob").expect("open");
            let end = Instant::now() + Duration::from_secs(2);
            let mut largest = 0;
            while Instant::now() < end {
                input.blocking_emit(Value::Bytes(vec![7; size].into())).expect("the link lives");
                input.blocking_flush().expect("the link lives");
                // What it costs to hold a frame of one byte is not that byte.
                let held = input.stats().bytes.saturating_sub(written.load(Ordering::Relaxed));
                largest = largest.max(held);
            }
            assert!(largest < BOUND, "{largest} bytes wait for the wire");
            assert_eq!(peer.dead(), None);
        });
    }
}

/// HZ-C19: a consumer that does not ask holds no more than its window.
#[test]
fn hz_c19_what_nobody_asked_for_is_not_buffered() {
    const CHUNK: u64 = 64 * 1024;
    within(LIMIT, "idle consumer", || {
        let engine = engine(limits(4, CHUNK));
        let held = Arc::new(AtomicBool::new(false));
        let holds = Arc::clone(&held);
        let peer = attach(&engine, Cap::new(FOREVER), FOREVER, move |request| {
            let output = request.output();
            let piece = Bytes::from(vec![7; CHUNK as usize]);
            // 1 GiB
            (0..16 * 1024).try_for_each(|_| {
                let written = output.write(piece.clone());
                let written = tells_waits(written, || holds.store(true, Ordering::SeqCst));
                holds.store(false, Ordering::SeqCst);
                written
            })
        });
        let call = peer.call(FOREVER).expect("live");
        let output = call.blocking_output().expect("a result");
        output.blocking_recv().expect("live").expect("one");
        assert!(matches!(output.try_recv(), Ok(TryRecv::Item(_) | TryRecv::Wait)));
        until_full(&output);
        until("the producer waits", || held.load(Ordering::SeqCst));
        let stats = output.stats();
        assert!(stats.chunks <= 2 + 4, "{stats:?}");
        assert!(stats.bytes <= 6 * (CHUNK + 9), "{stats:?}");
    });
}
