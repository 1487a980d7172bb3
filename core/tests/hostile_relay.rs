//! Peers that keep to no rule around a relay: callers and a switch, hosts and cartridges, each driven
//! by hand. Whatever they do, what the relay holds is bounded, everybody else is served, and whoever
//! is affected is told why.

#[path = "support/raw.rs"]
mod raw;
#[path = "support/relay.rs"]
mod relay;
mod support;

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use raw::{Closing, Flooding, Raw, granted};
use relay::{host_of, join, quiet, raw_caller, raw_cartridge, raw_host, served, switch};
use sluicegate::frame::{Frame, FrameType};
use sluicegate::link::FrameWriter;
use sluicegate::wait::Op;
use sluicegate::{Error, ErrorKind, Host, Limits, NetworkPolicy, Request, Value};
use support::{ECHO, echo, engine, limits, within};

const LIMIT: Duration = Duration::from_secs(180);
const TASK: &str = "cap:task;in=media:blob;out=media:blob";

/// What a held handler tells: that it runs, and why it was stopped.
type Told = mpsc::Receiver<Option<Error>>;

/// A handler that waits until its request is stopped.
fn held() -> (impl Fn(&Request) -> Result<(), Error> + Send + Sync, Told) {
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let handler = move |request: &Request| {
        tell.lock().expect("not poisoned").send(None).expect("the test listens");
        let stopped = request.cancelled();
        let why = sluicegate::wait::block_on(stopped, sluicegate::Deadline::NEVER)?;
        tell.lock().expect("not poisoned").send(Some(why.clone())).expect("the test listens");
        Err(why)
    };
    (handler, told)
}

/// Waits until a held handler runs.
fn runs(told: &Told) {
    assert_eq!(told.recv().expect("it lives"), None);
}

/// Waits until a held handler is stopped, and answers why.
fn stopped(told: &Told) -> Error {
    told.recv().expect("it lives").expect("stopped")
}

/// Sends what `frame` makes, a million times, and reads nothing: it is cut off before, as `over` says.
fn flood(raw: Raw, frame: fn(u64) -> Frame, over: impl FnMut() -> bool) -> UnixStream {
    let Raw { socket, .. } = raw;
    let mut writer = FrameWriter::new(Flooding::new(&socket, over));
    let sent = (1..1_000_000_u64).take_while(|n| writer.write(&frame(*n)).is_ok()).count();
    assert!(sent < 999_999, "cut off before");
    socket
}

/// The ERR of request `id`, whatever comes before it.
fn refusal(raw: &mut Raw, id: u64) -> Frame {
    loop {
        let err = raw.until(FrameType::Err);
        if err.id == id.into() {
            return err;
        }
    }
}

/// HZ-C18, HZ-R02: a consumer that grants without end and reads nothing does not fill the relay.
#[test]
fn hz_c18_a_grant_without_end_fills_no_relay() {
    within(LIMIT, "an unread stream", || {
        let (tell, told) = mpsc::channel();
        let tell = Mutex::new(tell);
        let switch = switch(limits(4, 1024));
        let _host = host_of(&switch, limits(4, 1024), TASK, move |request: &Request| {
            let output = request.output();
            let block = Value::Bytes(vec![7; 1000].into());
            let emitted = AtomicU64::new(0);
            let why = loop {
                match output.blocking_emit(block.clone()) {
                    Ok(()) => emitted.fetch_add(1, Ordering::Relaxed),
                    Err(why) => break why,
                };
            };
            let told = (emitted.into_inner(), why.clone());
            tell.lock().expect("not poisoned").send(told).expect("the test listens");
            Err(why)
        });
        let _echo = host_of(&switch, limits(4, 1024), ECHO, echo);
        let mut raw = raw_caller(&switch, limits(4, 1024));
        raw.req(1, TASK);
        raw.end(1);
        raw.until(FrameType::Chunk);
        raw.grant(1, Some("resp-0"), u64::MAX); // and nothing is read
        let (emitted, why) = told.recv().expect("the producer is stopped");
        assert_eq!(why.code(), "LIMIT_REACHED", "{why}");
        assert!(why.message().contains("resp-0"), "names the stream: {why}");
        assert!(emitted < 10_000, "what the system's buffers hold, and a window: {emitted}");
        served(&switch, limits(4, 1024), 20);
        let err = refusal(&mut raw, 1);
        assert_eq!(err.error_code(), Some("LIMIT_REACHED"), "{err:?}");
        quiet(&switch);
        // The one that did it may go on as everybody else.
        raw.request(2, ECHO, &[Value::Uint(1)]);
        raw.until(FrameType::StreamEnd);
    });
}

/// HZ-G06: such a grant is harmless while the consumer reads; so are grants to nobody.
#[test]
fn hz_g06_strange_grants_pass_a_relay() {
    within(LIMIT, "grants", || {
        let switch = switch(limits(1, 64));
        let _host = host_of(&switch, limits(1, 64), TASK, |request: &Request| {
            let output = request.output();
            (0..500).try_for_each(|n| output.blocking_emit(Value::Uint(n)))
        });
        let mut raw = raw_caller(&switch, limits(1, 64));
        raw.req(1, TASK);
        raw.end(1);
        raw.until(FrameType::Chunk);
        raw.grant(1, Some("resp-0"), 0);
        raw.grant(1, Some("nobody"), u64::MAX);
        raw.grant(99, None, u64::MAX);
        for _ in 1..500 {
            raw.grant(1, Some("resp-0"), 1);
            raw.until(FrameType::Chunk);
        }
        raw.grant(1, Some("resp-0"), u64::MAX);
        raw.grant(1, None, u64::MAX);
        let end = raw.until(FrameType::End);
        assert_eq!(end.exit_code(), Some(0));
        let stats = quiet(&switch);
        assert_eq!(stats["drops"]["by_reason_frame_type"]["no_route"]["credit"], 1, "{stats}");
    });
}

/// Streams without end toward a cartridge that reads nothing end their request in the relay.
#[test]
fn a_flood_of_streams_ends_its_request_at_the_relay() {
    within(LIMIT, "streams", || {
        let switch = switch(limits(4, 64));
        let (host, mut frozen) = raw_cartridge(limits(4, 64), TASK);
        join(&switch, &host, "host");
        let _echo = host_of(&switch, limits(4, 64), ECHO, echo);
        let mut raw = raw_caller(&switch, limits(4, 64));
        raw.req(1, TASK);
        frozen.until(FrameType::Req); // and reads nothing more
        for n in 0..3000_u64 {
            let name = format!("s{n}");
            raw.start(1, &name);
            raw.chunk(1, &name, 0, &Value::Null);
        }
        let err = refusal(&mut raw, 1);
        assert_eq!(err.error_code(), Some("LIMIT_REACHED"), "{err:?}");
        assert!(err.message().is_some_and(|m| m.contains("1024 streams")), "{err:?}");
        served(&switch, limits(4, 64), 20);
        quiet(&switch);
    });
}

/// What a peer calls things is kept, so it may not be long: the request fails alone, and says why.
#[test]
fn a_name_that_is_too_long_fails_its_request_alone() {
    within(LIMIT, "names", || {
        let long = "x".repeat(4097);
        let (limits, named) = (limits(4, 64), |err: &Frame| {
            assert_eq!(err.error_code(), Some("LIMIT_REACHED"), "{err:?}");
            assert!(err.message().is_some_and(|m| m.contains("4096")), "{err:?}");
        });
        let switch = switch(limits);
        let _host = host_of(&switch, limits, ECHO, echo);
        let mut raw = raw_caller(&switch, limits);
        raw.req(1, &long);
        named(&refusal(&mut raw, 1));
        raw.req(2, ECHO);
        raw.start(2, &long);
        named(&refusal(&mut raw, 2));
        raw.request(3, ECHO, &[Value::Null]);
        raw.until(FrameType::End);
        quiet(&switch);

        let (mut raw, _running) = Raw::host(sluicegate::Cap::new(ECHO), ECHO, limits, echo);
        raw.req(1, &long);
        named(&refusal(&mut raw, 1));
        let renamed: [fn(&mut Frame, String); 3] = [
            |frame, name| frame.stream_id = Some(name),
            |frame, name| frame.media_urn = Some(name),
            |frame, name| frame.output = Some(name),
        ];
        for (id, rename) in (2_u64..).zip(renamed) {
            raw.req(id, ECHO);
            let mut start = Frame::stream_start(id.into(), None, "in", "media:blob");
            rename(&mut start, long.clone());
            raw.send(&start);
            let err = refusal(&mut raw, id);
            assert!(
                matches!(err.error_code(), Some("LIMIT_REACHED" | "PROTOCOL_ERROR")),
                "{err:?}"
            );
        }
        raw.request(9, ECHO, &[Value::Null]);
        raw.until(FrameType::End);
    });
}

/// The same the other way round: an answer of streams without end, and one whose grants name streams
/// that there are not.
#[test]
fn an_answer_of_too_many_streams_fails_its_call_alone() {
    within(LIMIT, "streams", || {
        let switch = switch(limits(4, 64));
        let (host, mut raw) = raw_cartridge(limits(4, 64), TASK);
        join(&switch, &host, "host");
        let _echo = host_of(&switch, limits(4, 64), ECHO, echo);
        let caller = switch.caller(&engine(limits(4, 64))).expect("a caller");
        let call = caller.call(TASK).expect("a call");
        let req = raw.until(FrameType::Req);
        for n in 0..3000_u64 {
            let grant = Frame::credit(
                req.id,
                req.routing_id,
                Some(&format!("g{n}")),
                1,
                sluicegate::frame::CreditDirection::Request,
            );
            raw.send(&grant);
            raw.send(&Frame::stream_start(req.id, req.routing_id, format!("s{n}"), "media:blob"));
        }
        let error = call.blocking_wait().expect_err("too many");
        assert_eq!(error.code(), "LIMIT_REACHED", "{error}");
        served(&switch, limits(4, 64), 20);
        quiet(&switch);
    });
}

/// HZ-C08: a caller that lets replies pile up is cut off, and who works for it hears why.
#[test]
fn hz_c08_a_caller_that_floods_a_switch_is_cut_off() {
    type Flood = (&'static str, fn(u64) -> Frame);
    let floods: [Flood; 3] = [
        ("probes", |n| Frame::heartbeat(n.into())),
        ("calls", |n| Frame::req(n.into(), None, "cap:nobody", "application/cbor")),
        ("chunks of no request", |n| {
            let null = Value::Null.encode();
            Frame::chunk(n.into(), None, "in", 0, null.into())
        }),
    ];
    for (what, frame) in floods {
        within(LIMIT, what, move || {
            let switch = switch(limits(4, 64));
            let (handler, told) = held();
            let _host = host_of(&switch, limits(4, 64), TASK, handler);
            let _echo = host_of(&switch, limits(4, 64), ECHO, echo);
            let mut raw = raw_caller(&switch, limits(4, 64));
            raw.send(&Frame::req(u64::MAX.into(), None, TASK, "application/cbor"));
            runs(&told);
            let mut why = None;
            let socket = flood(raw, frame, || {
                why = told.try_recv().ok().flatten();
                why.is_some()
            });
            let why = why.unwrap_or_else(|| stopped(&told));
            assert!(why.message().contains("16384"), "names the limit: {why}");
            served(&switch, limits(4, 64), 20);
            quiet(&switch);
            drop(socket);
        });
    }
}

/// HZ-C08: so is a host, and its callers hear why.
#[test]
fn hz_c08_a_host_that_floods_a_switch_is_cut_off() {
    type Flood = (&'static str, fn(u64) -> Frame);
    let floods: [Flood; 2] = [
        ("probes", |n| Frame::heartbeat(n.into())),
        ("calls", |n| Frame::req(n.into(), None, "cap:nobody", "application/cbor")),
    ];
    for (what, frame) in floods {
        within(LIMIT, what, move || {
            let switch = switch(limits(4, 64));
            let _echo = host_of(&switch, limits(4, 64), ECHO, echo);
            let raw = raw_host(&switch, "flood", limits(4, 64), TASK);
            let caller = switch.caller(&engine(limits(4, 64))).expect("a caller");
            let call = caller.call(TASK).expect("a call");
            let socket = flood(raw, frame, || call.outcome().is_some());
            let why = call.blocking_wait().expect_err("its host is gone");
            assert!(why.message().contains("16384"), "names the limit: {why}");
            assert!(why.message().contains("flood"), "names the host: {why}");
            served(&switch, limits(4, 64), 20);
            drop(socket);
        });
    }
}

/// HZ-C09: opening and cancelling as fast as possible through a relay harms nobody else.
#[test]
fn hz_c09_rapid_open_and_cancel_through_a_relay_is_bounded() {
    const PAIRS: u64 = 10_000;
    within(LIMIT, "rapid cancels", || {
        let switch = switch(limits(4, 64));
        let _host = host_of(&switch, limits(4, 64), ECHO, echo);
        let raw = raw_caller(&switch, limits(4, 64));
        let Raw { mut reader, mut writer, socket, .. } = raw;
        let abuser = thread::spawn(move || {
            (0..PAIRS).try_for_each(|id| {
                writer.write(&Frame::req(id.into(), None, ECHO, "application/cbor"))?;
                writer.write(&Frame::cancel(id.into(), None, false))
            })
        });
        let mut terminals = 0;
        while terminals < PAIRS {
            let frame = reader.read().expect("a whole frame").expect("the link lives");
            if frame.is_terminal() {
                terminals += 1;
                if terminals % 1000 == 0 {
                    served(&switch, limits(4, 64), 2);
                }
            }
        }
        abuser.join().expect("no panic").expect("written");
        quiet(&switch);
        drop(socket);
    });
}

/// HZ-C12: a length prefix is not believed, before a newcomer has said who it is and after.
#[test]
fn hz_c12_no_relay_believes_a_length() {
    within(LIMIT, "prefixes", || {
        let switch = switch(limits(4, 64));
        let (handler, told) = held();
        let _host = host_of(&switch, limits(4, 64), TASK, handler);
        let _echo = host_of(&switch, limits(4, 64), ECHO, echo);
        let above = u32::try_from(Limits::DEFAULT.max_frame + 1).expect("fits").to_be_bytes();
        for prefix in [[0xff; 4], above] {
            let (near, far) = UnixStream::pair().expect("a pair of sockets");
            Raw::over(near.try_clone().expect("a second handle")).send_bytes(&prefix);
            let reader = far.try_clone().expect("a second handle");
            let error = switch.attach("large", reader, Closing(far)).expect_err("at once");
            assert_eq!(error.kind(), ErrorKind::FrameTooLarge, "{error}");
            let mut raw = raw_caller(&switch, limits(4, 64));
            raw.req(1, TASK);
            runs(&told);
            raw.send_bytes(&prefix); // and silence, with the socket open
            let why = stopped(&told);
            assert!(why.message().contains("limit"), "names the limit: {why}");
            let (host, mut raw) = raw_cartridge(limits(4, 64), "cap:other");
            join(&switch, &host, "other");
            let caller = switch.caller(&engine(limits(4, 64))).expect("a caller");
            let call = caller.call("cap:other").expect("a call");
            raw.until(FrameType::Req);
            raw.send_bytes(&prefix);
            let error = call.blocking_wait().expect_err("its cartridge is gone");
            assert_eq!(error.kind(), ErrorKind::FrameTooLarge, "{error}");
            served(&switch, limits(4, 64), 5);
        }
    });
}

/// HZ-C10, HZ-W06: a chunk of nothing costs credit at a relay like any chunk; the ninth ends its
/// request there (L12), and no other.
#[test]
fn hz_c10_a_chunk_of_nothing_costs_credit_at_a_relay() {
    within(LIMIT, "empty chunks", || {
        let switch = switch(limits(8, 64));
        let (handler, told) = held();
        let _host = host_of(&switch, limits(8, 64), TASK, handler);
        let _echo = host_of(&switch, limits(8, 64), ECHO, echo);
        let mut raw = raw_caller(&switch, limits(8, 64));
        raw.req(1, TASK);
        runs(&told);
        raw.start(1, "in");
        let empty = |n| Frame::chunk(1_u64.into(), None, "in", n, bytes::Bytes::new());
        (0..8).for_each(|n| raw.send(&empty(n)));
        assert_eq!(granted(&raw.settle()), 0, "nothing was consumed");
        (8..10_000).for_each(|n| raw.send(&empty(n)));
        let err = refusal(&mut raw, 1);
        assert_eq!(err.error_code(), Some("CREDIT_VIOLATION"), "{err:?}");
        let why = stopped(&told);
        assert_eq!(why.code(), "CREDIT_VIOLATION", "{why}");
        raw.settle();
        let stats = quiet(&switch);
        assert_eq!(
            stats["drops"]["by_reason_frame_type"]["credit_violation"]["chunk"], 1,
            "{stats}"
        );
        assert_eq!(stats["stragglers"]["by_frame_type"]["chunk"], 10_000 - 9, "{stats}");
        served(&switch, limits(8, 64), 5);
    });
}

/// HZ-L08: an id that is used twice, for a request or a stream, and what comes after an END.
#[test]
fn hz_l08_what_comes_twice_or_too_late_fails_its_request_alone() {
    within(LIMIT, "twice", || {
        let switch = switch(limits(4, 64));
        let (handler, told) = held();
        let _host = host_of(&switch, limits(4, 64), TASK, handler);
        let _echo = host_of(&switch, limits(4, 64), ECHO, echo);
        let mut raw = raw_caller(&switch, limits(4, 64));
        raw.req(1, TASK);
        runs(&told);
        raw.req(1, TASK);
        let err = refusal(&mut raw, 1);
        assert!(err.message().is_some_and(|m| m.contains("twice")), "{err:?}");
        stopped(&told);
        raw.req(2, TASK);
        runs(&told);
        raw.start(2, "in");
        raw.start(2, "in");
        let err = refusal(&mut raw, 2);
        assert_eq!(err.error_code(), Some("PROTOCOL_ERROR"), "{err:?}");
        stopped(&told);
        // Nothing follows a terminal, whichever way it goes (L4): what is within the window is
        // forgotten, what is beyond it is an overrun still.
        raw.request(3, ECHO, &[Value::Uint(1)]);
        raw.chunk(3, "in", 1, &Value::Uint(2));
        raw.end(3);
        raw.grant(3, None, 1);
        assert_eq!(raw.until(FrameType::End).id, 3_u64.into());
        raw.chunk(3, "in", 2, &Value::Null);
        raw.req(4, TASK);
        runs(&told);
        raw.end(4);
        (0..5).for_each(|n| raw.chunk(4, "in", n, &Value::Uint(n)));
        let err = refusal(&mut raw, 4);
        assert_eq!(err.error_code(), Some("CREDIT_VIOLATION"), "{err:?}");
        stopped(&told);
        raw.settle();
        served(&switch, limits(4, 64), 5);
        quiet(&switch);
    });
}

/// HZ-R01: a host that has read what it was asked and reads no more holds up its own callers only,
/// and they are told when it goes.
#[test]
fn hz_r01_a_frozen_host_holds_up_its_own_callers_only() {
    within(LIMIT, "a frozen host", || {
        let switch = switch(limits(32, 65_536));
        let _echo = host_of(&switch, limits(32, 65_536), ECHO, echo);
        let mut frozen = raw_host(&switch, "frozen", limits(32, 65_536), TASK);
        let caller = switch.caller(&engine(limits(32, 65_536))).expect("a caller");
        let call = caller.call(TASK).expect("a call");
        frozen.until(FrameType::Req);
        let input = call.input("media:blob").expect("an argument");
        let feeds = thread::spawn({
            let input = input.clone();
            move || (0..).find_map(|_| input.blocking_write(&[1; 200_000]).err()) // until it fails
        });
        while input.stats().window > 0 {
            thread::yield_now();
        }
        served(&switch, limits(32, 65_536), 1000);
        assert!(!feeds.is_finished(), "it waits for credit");
        frozen.hang_up();
        let error = call.blocking_wait().expect_err("its host is gone");
        assert!(error.message().contains("frozen"), "names the host: {error}");
        feeds.join().expect("no panic").expect("it is released (L13)");
        quiet(&switch);
    });
}

/// Two hosts, and two callers, with the same name: each is itself, and one takes over for the other.
#[test]
fn two_peers_with_the_same_name_are_two() {
    within(LIMIT, "names", || {
        let switch = switch(limits(4, 64));
        let mut first = raw_host(&switch, "twin", limits(4, 64), TASK);
        let mut second = raw_host(&switch, "twin", limits(4, 64), TASK);
        let (mut one, mut two) =
            (raw_caller(&switch, limits(4, 64)), raw_caller(&switch, limits(4, 64)));
        one.req(1, TASK);
        let at_first = first.until(FrameType::Req);
        two.req(1, TASK); // the same id, on another connection
        let at_second = second.until(FrameType::Req); // the other host has fewer
        let end = |req: &Frame, code| Frame::end_with(req.id, req.routing_id, code, None, None);
        // What one host says of the request of the other belongs to nobody.
        first.send(&end(&at_second, 9));
        first.send(&end(&at_first, 1));
        assert_eq!(one.until(FrameType::End).exit_code(), Some(1));
        second.send(&end(&at_second, 2));
        assert_eq!(two.until(FrameType::End).exit_code(), Some(2));
        let stats = quiet(&switch);
        assert_eq!(stats["drops"]["by_reason_frame_type"]["no_route"]["end"], 1, "{stats}");
        let hosts = stats["hosts"].as_object().expect("one entry a host");
        assert_eq!(hosts.keys().collect::<Vec<_>>(), ["twin", "twin~2"], "{stats}");
        first.hang_up();
        while format!("{switch:?}") != "Switch(3 connections)" {
            thread::yield_now();
        }
        for id in 2..5 {
            one.req(id, TASK);
            let req = match second.next() {
                Some(frame) if frame.frame_type == FrameType::Req => frame,
                other => panic!("the one that is left serves: {other:?}"),
            };
            second.send(&end(&req, 3));
            let answer = loop {
                let frame = one.next().expect("the link lives");
                if frame.is_terminal() {
                    break frame;
                }
            };
            assert_eq!(answer.exit_code(), Some(3), "{answer:?}");
        }
    });
}

/// A switch that keeps to no rule ends its own connection; the host's cartridges live on.
#[test]
fn a_host_outlives_a_switch_that_breaks_the_protocol() {
    within(LIMIT, "switches", || {
        let ran = Arc::new(AtomicU64::new(0));
        let runs = Arc::clone(&ran);
        let host = relay::alone(limits(4, 64), ECHO, move |request: &Request| {
            runs.fetch_add(1, Ordering::Relaxed);
            echo(request)
        });
        type Breach = fn(Raw, &Host);
        let breaches: [Breach; 3] = [
            |mut raw, _| raw.send_bytes(&[0xff; 4]),
            |mut raw, _| raw.send(&Frame::relay_notify("{}".into(), &Limits::default())),
            |raw, host| {
                let over = || Op::new(host.left()).try_now().is_some();
                drop(flood(raw, |n| Frame::heartbeat(n.into()), over));
            },
        ];
        for breach in breaches {
            let (near, far) = UnixStream::pair().expect("a pair of sockets");
            let mut raw = Raw::over(near);
            let joining = host.clone();
            let joins = thread::spawn(move || {
                joining.join(far.try_clone().expect("a second handle"), Closing(far))
            });
            raw.expect(FrameType::RelayNotify);
            raw.send(&Frame::policy(NetworkPolicy::Full));
            joins.join().expect("no panic").expect("joined");
            let socket = raw.socket.try_clone().expect("a second handle");
            breach(raw, &host);
            let left = sluicegate::wait::block_on(host.left(), sluicegate::Deadline::NEVER);
            assert!(!left.expect("no limit").message().is_empty());
            let _gone = socket.shutdown(Shutdown::Both); // the host went first
        }
        let switch = switch(limits(4, 64));
        join(&switch, &host, "host");
        served(&switch, limits(4, 64), 5);
        assert_eq!(ran.load(Ordering::Relaxed), 5);
    });
}
