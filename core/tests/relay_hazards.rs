//! Hazards of what stands between two ends, and of streams that share a link.

mod support;

use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use sluicegate::link::socket_pair;
use sluicegate::{
    Cap, Cartridge, Engine, EngineOptions, Error, Host, HostOptions, Manifest, Peer, Request,
    Switch, SwitchOptions, Value,
};
use support::within;

const SOON: Duration = Duration::from_secs(60);
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
    let switch = Switch::new(SwitchOptions { limits, ..SwitchOptions::default() });
    let engine = EngineOptions { limits, ..EngineOptions::default() };
    let host = Host::new(HostOptions { engine: engine.clone(), idle: None }).expect("a host");
    let [(reader, writer), (far_reader, far_writer)] = socket_pair().expect("sockets");
    let cartridge =
        Cartridge::new(Manifest::new("task", "1").cap(Cap::new(TASK))).handler(TASK, handler);
    thread::spawn(move || cartridge.run(far_reader, far_writer));
    host.attach("task", reader, writer).expect("the cartridge is taken in");
    let [(reader, writer), (far_reader, far_writer)] = socket_pair().expect("sockets");
    let joining = switch.clone();
    let joins = thread::spawn(move || joining.attach("host", far_reader, far_writer));
    host.join(reader, writer).expect("the switch takes the host in");
    joins.join().expect("no panic").expect("joined");
    let caller = switch.caller(&Engine::new(engine)).expect("a caller");
    Stack { switch, caller, _host: host }
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
    within(SOON, "a long stream", || {
        const COUNT: u64 = 5_000;
        let (done, is_done) = mpsc::channel();
        let (go, waits) = mpsc::channel::<()>();
        let both = Mutex::new((done, waits));
        let stack = stack(4, move |request: &Request| {
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
            assert!(seen <= 4 && left <= 4, "credit was made on the way: {stats}");
            if seen == left && left >= 3 {
                break;
            }
            thread::yield_now();
        }
        go.send(()).expect("the handler waits");
        call.blocking_finish_input().expect("the end");
        call.blocking_wait().expect("done");
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
