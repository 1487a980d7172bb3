//! Hazards of what stands between two ends, and of streams that share a link.

#[path = "support/raw.rs"]
mod raw;
#[path = "support/relay.rs"]
mod relay;
mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use sluicegate::engine::Health;
use sluicegate::frame::{Frame, FrameType};
use sluicegate::{
    EngineOptions, Error, ErrorKind, Host, HostOptions, Limits, Peer, Request, Switch,
    SwitchOptions, Value,
};
use support::{ECHO, within};

const SOON: Duration = Duration::from_secs(180);
const TASK: &str = "cap:task;in=media:blob;out=media:blob";

/// A cartridge behind a host and a switch, and a caller, all with windows of `window`.
struct Stack {
    switch: Switch,
    caller: Peer,
    _host: Host,
}

fn stack(
    window: u64,
    handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
) -> Stack {
    let limits = support::limits(window, 1024);
    let switch = relay::switch(limits);
    let host = relay::host_of(&switch, limits, TASK, handler);
    let caller = switch.caller(&support::engine(limits)).expect("a caller");
    Stack { switch, caller, _host: host }
}

/// HZ-L09: a cartridge that freezes behind a host, whose connection to the switch stays up, is taken for
/// dead when it answers no heartbeat, and the consumer hears it.
#[test]
fn hz_l09_a_cartridge_that_freezes_behind_a_relay_is_told_as_dead() {
    within(SOON, "a frozen cartridge", || {
        let limits = support::limits(4, 1024);
        let switch = relay::switch(limits);
        let (short, long) = (Duration::from_millis(20), Duration::from_secs(10));
        let health = Health { heartbeat: Some(short), patience: long, ..Health::default() };
        let engine = EngineOptions { limits, health, ..EngineOptions::default() };
        let host = Host::new(HostOptions { engine, idle: None }).expect("a host");
        let mut frozen = relay::add_raw(&host, limits, TASK);
        relay::add(&host, limits, ECHO, support::echo);
        relay::join(&switch, &host, "host");
        let caller = switch.caller(&support::engine(limits)).expect("a caller");
        let call = caller.call(TASK).expect("a call");
        frozen.until(FrameType::Req); // and answers nothing more
        let error = call.blocking_wait().expect_err("its handler is frozen");
        assert!(error.message().contains("did not answer within"), "{error}");
        relay::one(&caller, ECHO, 1); // the others live on
        assert!(frozen.drain().len() < 1000, "its connection is over");
    });
}

/// A switch that asks its hosts often.
fn asking(patience: Duration) -> (Switch, Limits) {
    let limits = support::limits(4, 1024);
    let heartbeat = Some(Duration::from_millis(20));
    (Switch::new(SwitchOptions { limits, heartbeat, patience, ..SwitchOptions::default() }), limits)
}

/// HZ-L09: a host that freezes, whose connection stays up, is taken for dead when it answers no heartbeat any
/// more; its callers hear it, and nobody is sent there.
#[test]
fn hz_l09_a_host_that_freezes_is_told_as_dead() {
    within(SOON, "a frozen host", || {
        let (switch, limits) = asking(Duration::from_secs(10));
        let mut frozen = relay::raw_host(&switch, "frozen", limits, TASK);
        let _lives = relay::host_of(&switch, limits, ECHO, support::echo);
        let caller = switch.caller(&support::engine(limits)).expect("a caller");
        let call = caller.call(TASK).expect("a call");
        let (mut asked, mut answered) = (false, 0);
        while !asked || answered < 3 {
            let frame = frozen.next().expect("the switch speaks");
            asked |= frame.frame_type == FrameType::Req;
            if frame.frame_type == FrameType::Heartbeat {
                frozen.send(&Frame::heartbeat_reply(frame.id, 0, 0, 0, "{}".into()));
                answered += u32::from(asked);
            }
        } // and it answers nothing more
        let error = call.blocking_wait().expect_err("its host is frozen");
        assert_eq!(error.kind(), ErrorKind::PeerDied, "{error}");
        assert!(error.message().contains("did not answer within"), "{error}");
        relay::one(&caller, ECHO, 1); // the others live on
        assert_eq!(switch.caps(), [ECHO], "nobody is sent there any more");
        frozen.drain(); // its connection is over
    });
}

/// Hosts of other makers may not know heartbeats.
#[test]
fn a_host_that_never_answered_a_heartbeat_is_left_alone() {
    within(SOON, "a host without heartbeats", || {
        let (switch, limits) = asking(Duration::from_millis(1));
        let mut mute = relay::raw_host(&switch, "mute", limits, TASK);
        for _ in 0..20 {
            mute.until(FrameType::Heartbeat);
        }
        let caller = switch.caller(&support::engine(limits)).expect("a caller");
        let call = caller.call(TASK).expect("a call");
        let asked = mute.until(FrameType::Req);
        mute.send(&Frame::end_with(asked.id, asked.routing_id, 0, None, None));
        call.blocking_wait().expect("it is served");
    });
}

/// HZ-L05: the end of one direction ends nothing of the other.
#[test]
fn hz_l05_an_answer_that_begins_after_the_end_of_the_input_comes_whole() {
    within(SOON, "an answer", || {
        let (go, waits) = mpsc::channel::<()>();
        let waits = Mutex::new(waits);
        let stack = stack(4, move |request: &Request| {
            let input = request.blocking_input()?;
            while input.blocking_recv()?.is_some() {}
            let _told = waits.lock().expect("not poisoned").recv(); // the input has long ended
            (0..1000_u64).try_for_each(|n| request.output().blocking_emit(Value::from(n)))
        });
        let call = stack.caller.call(TASK).expect("a call");
        let input = call.input("media:blob").expect("an argument");
        input.blocking_emit(Value::from(1_u64)).expect("room");
        call.blocking_finish_input().expect("the end");
        go.send(()).expect("the handler waits");
        let output = call.blocking_output().expect("a result");
        let values: Vec<_> = output.iter().map(|item| item.expect("a value").value).collect();
        assert_eq!(values, (0..1000_u64).map(Value::from).collect::<Vec<_>>());
        call.blocking_wait().expect("done");
    });
}

/// HZ-R03: at a quiet point the relay has passed on exactly the credit that the consumer gave.
#[test]
fn hz_r03_credit_is_neither_made_nor_lost_on_the_way() {
    for window in [64, 4] {
        within(SOON * 2, "a long stream", move || a_long_stream(window));
    }
}

fn a_long_stream(window: u64) {
    const COUNT: u64 = 50_000;
    let (done, is_done) = mpsc::channel();
    let (go, waits) = mpsc::channel::<()>();
    let both = Mutex::new((done, waits));
    let stack = stack(window, move |request: &Request| {
        let input = request.blocking_input()?;
        for _ in 0..COUNT {
            input.blocking_recv()?.expect("it goes on");
        }
        let both = both.lock().expect("not poisoned");
        both.0.send(()).expect("heard");
        let _told = both.1.recv();
        assert!(input.blocking_recv()?.is_none());
        Ok(())
    });
    let call = stack.caller.call(TASK).expect("a call");
    let input = call.input("media:blob").expect("an argument");
    let writes = thread::spawn({
        let input = input.clone();
        move || (0..COUNT).try_for_each(|n| input.blocking_emit(Value::from(n)))
    });
    is_done.recv().expect("all was consumed");
    writes.join().expect("no panic").expect("all was written");
    // All was consumed: what has not come back yet is on its way, or one chunk short of a batch.
    loop {
        let stats = stack.switch.stats();
        let streams = stats["requests"]["active"][0]["streams"].as_array().expect("streams");
        let argument = streams.iter().find(|s| s["stream_id"] == "arg-0").expect("one");
        assert_eq!(argument["chunks_in"], COUNT, "{stats}");
        let seen = argument["credit_outstanding"].as_u64().expect("no overrun");
        let left = input.stats().window;
        assert!(seen <= window && left <= window, "credit was made on the way: {stats}");
        if seen == left && left > window / 2 {
            break;
        }
        thread::yield_now();
    }
    go.send(()).expect("the handler waits");
    call.blocking_finish_input().expect("the end");
    call.blocking_wait().expect("done");
}

/// HZ-R01: of four cartridges behind a relay one is frozen with its pipe full; the others go on.
#[test]
fn hz_r01_one_frozen_cartridge_of_four_stops_nobody_else() {
    const EACH: u64 = 3_334;
    const CAPS: [&str; 3] =
        ["cap:a;in=media:blob;out=media:blob", "cap:b;in=media:blob;out=media:blob", ECHO];
    within(SOON * 2, "10 000 requests", || {
        let limits = support::limits(32, 65_536);
        let switch = relay::switch(limits);
        let (host, mut frozen) = relay::raw_cartridge(limits, TASK);
        for cap in CAPS {
            relay::add(&host, limits, cap, support::echo);
        }
        relay::join(&switch, &host, "host");
        let caller = switch.caller(&support::engine(limits)).expect("a caller");
        let call = caller.call(TASK).expect("a call");
        frozen.until(FrameType::Req); // and reads nothing more
        let input = call.input("media:blob").expect("an argument");
        let feeds = thread::spawn({
            let input = input.clone();
            move || (0..).find_map(|_| input.blocking_write(&[1; 60_000]).err()) // until it fails
        });
        while input.stats().window > 0 {
            thread::yield_now();
        }
        let others = CAPS.map(|cap| {
            let caller = switch.caller(&support::engine(limits)).expect("a caller");
            thread::spawn(move || (0..EACH).for_each(|n| relay::one(&caller, cap, n)))
        });
        for other in others {
            other.join().expect("every request is answered");
        }
        assert!(!feeds.is_finished(), "its own traffic waits");
        call.cancel(&Error::new(ErrorKind::Cancelled, "enough"));
        feeds.join().expect("no panic").expect("it is released");
        frozen.hang_up();
        relay::quiet(&switch);
        relay::served(&switch, limits, 1);
    });
}

/// HZ-R02: a consumer that stops and goes on a thousand times loses nothing; meanwhile no more than a
/// window is on its way.
#[test]
fn hz_r02_a_consumer_that_stops_and_goes_on_is_resumed_each_time() {
    const STOPS: u64 = 1_000;
    const WINDOW: u64 = 4;
    within(SOON, "a thousand stops", || {
        let emitted = Arc::new(AtomicU64::new(0));
        let emits = Arc::clone(&emitted);
        let stack = stack(WINDOW, move |request: &Request| {
            let output = request.output();
            for n in 0.. {
                output.blocking_emit(Value::Uint(n))?;
                emits.store(n + 1, Ordering::Release);
            }
            Ok(())
        });
        let call = stack.caller.call(TASK).expect("a call");
        call.blocking_finish_input().expect("the end");
        let output = call.blocking_output().expect("a result");
        let (mut received, mut turn) = (0_u64, 0x2545_f491_u64);
        for _ in 0..STOPS {
            turn = turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            for _ in 0..=turn >> 60 {
                let item = output.blocking_recv().expect("it goes on").expect("no end");
                assert_eq!(item.value, Value::Uint(received), "nothing is lost");
                received += 1;
            }
            // Every other time, it stands still until all that may come has come.
            let whole = turn & 1 == 0;
            loop {
                let ahead = emitted.load(Ordering::Acquire).saturating_sub(received);
                assert!(ahead <= WINDOW, "{ahead} are on their way");
                // What is granted in one batch may be outstanding at the consumer.
                if !whole || ahead > WINDOW / 2 {
                    break;
                }
                thread::yield_now();
            }
        }
        call.cancel(&Error::new(ErrorKind::Cancelled, "enough"));
        relay::quiet(&stack.switch);
    });
}

/// HZ-R04: a stream that nobody reads takes nothing from the one that is read first.
#[test]
fn hz_r04_a_stream_that_stands_full_does_not_hold_up_the_one_that_is_needed_first() {
    within(SOON, "two streams", || {
        let stack = stack(4, |request: &Request| {
            let (first, second) = (request.blocking_input()?, request.blocking_input()?);
            let (mut b, mut a) = (0_u64, 0_u64);
            while second.blocking_recv()?.is_some() {
                b += 1;
            }
            while first.blocking_recv()?.is_some() {
                a += 1;
            }
            request.output().blocking_emit(Value::from(a * 1000 + b))
        });
        let call = stack.caller.call(TASK).expect("a call");
        let (a, b) = (call.input("media:a").expect("A"), call.input("media:b").expect("B"));
        // A is full before B has begun.
        (0..4_u64).try_for_each(|n| a.blocking_emit(Value::from(n))).expect("a window of room");
        let fills = thread::spawn(move || {
            (4..50_u64).try_for_each(|n| a.blocking_emit(Value::from(n)))?;
            a.blocking_close()
        });
        (0..500_u64).try_for_each(|n| b.blocking_emit(Value::from(n))).expect("B goes through");
        b.blocking_close().expect("the end of B");
        fills.join().expect("no panic").expect("A goes through once B is read");
        call.blocking_finish_input().expect("the end");
        let output = call.blocking_output().expect("a result");
        let answer = output.blocking_recv().expect("a value").expect("one").value;
        assert_eq!(answer, Value::from(50_500_u64));
        call.blocking_wait().expect("done");
    });
}

/// A frame of a request that nobody knows is a hard error to a direct caller, once; a grant is moot, and so
/// is what a host says. All of it is counted, and the connections live on.
#[test]
fn a_direct_caller_is_told_of_a_request_that_nobody_knows() {
    within(SOON, "an unknown request", || {
        let limits = support::limits(4, 1024);
        let switch = relay::switch(limits);
        let _echo = relay::host_of(&switch, limits, ECHO, support::echo);
        let mut caller = relay::raw_caller(&switch, limits);
        caller.grant(77, Some("out"), 3);
        assert!(caller.settle().is_empty(), "a grant is moot");
        let value = Value::from(1_u64);
        caller.chunk(78, "in", 0, &value);
        caller.chunk(78, "in", 1, &value); // a straggler: its request is over by now
        let told = caller.settle();
        let [error] = told.as_slice() else { panic!("one error: {told:?}") };
        assert_eq!((error.frame_type, error.id), (FrameType::Err, 78.into()));
        assert_eq!(error.error_code(), Some("UNKNOWN_REQUEST"), "{error:?}");
        let mut host = relay::raw_host(&switch, "raw", limits, TASK);
        host.chunk(79, "in", 0, &value);
        let told = host.settle();
        let no_error = told.iter().all(|frame| frame.frame_type != FrameType::Err);
        assert!(no_error, "it is no error to a host: {told:?}");
        let drops = switch.stats();
        let lost = &drops["drops"]["by_reason_frame_type"]["no_route"];
        assert_eq!((&lost["credit"], &lost["chunk"]), (&1.into(), &2.into()), "{drops}");
        assert_eq!(drops["stragglers"]["by_frame_type"]["chunk"], 1, "{drops}");
        caller.request(80, ECHO, &[value]);
        caller.until(FrameType::End);
    });
}
