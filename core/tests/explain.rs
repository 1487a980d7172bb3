//! Why something stands still: the answer names who holds the others up, through chains and relays.

mod support;

#[path = "support/raw.rs"]
mod raw;
#[path = "support/relay.rs"]
mod relay;

use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use raw::Raw;
use sluicegate::account::Explanation;
use sluicegate::engine::Health;
use sluicegate::frame::FrameType;
use sluicegate::{Engine, EngineOptions, Peer, Request, Value, blocking_forward};
use support::{ECHO, attach, attach_echo, within};

const SOON: Duration = Duration::from_secs(180);
const SLEEP: &str = "cap:sleep;in=media:blob;out=media:blob";

/// A cartridge that takes a request and does not read it until it is told to.
fn sleeper(engine: &Engine) -> (Peer, mpsc::Sender<()>) {
    let (wake, woken) = mpsc::channel::<()>();
    let woken = Mutex::new(woken);
    let peer = attach(engine, sluicegate::Cap::new(SLEEP), SLEEP, move |request: &Request| {
        let input = request.blocking_input()?;
        input.blocking_recv()?; // the first, so that it is known to have begun
        let _woken = woken.lock().expect("not poisoned").recv();
        while input.blocking_recv()?.is_some() {}
        Ok(())
    });
    (peer, wake)
}

fn engine(health: Health) -> Engine {
    let limits = support::limits(4, 1024);
    Engine::new(EngineOptions { limits, health, ..EngineOptions::default() })
}

/// Asks until the sleeper has stood in the way for a while, and nobody else does: before all windows are
/// full, whoever is slow to come to its turn may be named too.
fn culprit(ask: impl Fn() -> Explanation) -> (serde_json::Value, Explanation) {
    loop {
        let told = ask();
        if let [named] = told.culprits()[..]
            && named["cap"] == SLEEP
            && named["since_ms"].as_u64() >= Some(100)
        {
            return (named.clone(), told);
        }
        thread::yield_now();
    }
}

#[test]
fn a_chain_that_stands_still_names_the_sleeping_consumer() {
    within(SOON, "an explanation", || {
        let engine = engine(Health::default());
        let (echo, (sleeper, wake)) = (attach_echo(&engine), sleeper(&engine));
        let (first, second) =
            (echo.call(ECHO).expect("a call"), sleeper.call(SLEEP).expect("a call"));
        let into = first.input("media:blob").expect("an argument");
        let writes = thread::spawn({
            let first = first.clone();
            move || {
                for n in 0..100_u64 {
                    into.blocking_emit(Value::from(n))?;
                }
                first.blocking_finish_input()
            }
        });
        let to = second.input("media:blob").expect("an argument");
        let forwards = thread::spawn(move || blocking_forward(first.blocking_output()?, to));
        let (named, told) = culprit(|| engine.explain());
        assert_eq!(named["waits_for"], "unread", "{told}");
        assert!(told.to_string().starts_with("HOLDS THE OTHERS UP: test has not read"), "{told}");
        assert!(!told.is_quiet());
        wake.send(()).expect("it sleeps");
        writes.join().expect("no panic").expect("all was written");
        forwards.join().expect("no panic").expect("all went through");
        second.blocking_finish_input().expect("the end");
        second.blocking_wait().expect("done");
        assert!(engine.explain().is_quiet());
    });
}

#[test]
fn a_switch_names_the_sleeping_consumer_and_asks_the_caller_too() {
    within(SOON, "an explanation", || {
        let limits = support::limits(4, 1024);
        let switch = relay::switch(limits);
        let (wake, woken) = mpsc::channel::<()>();
        let woken = Mutex::new(woken);
        let host = relay::host_of(&switch, limits, SLEEP, move |request: &Request| {
            let input = request.blocking_input()?;
            input.blocking_recv()?;
            let _woken = woken.lock().expect("not poisoned").recv();
            while input.blocking_recv()?.is_some() {}
            Ok(())
        });
        let engine = engine(Health::default());
        let caller = switch.caller(&engine).expect("a caller");
        let call = caller.call(SLEEP).expect("a call");
        let input = call.input("media:blob").expect("an argument");
        let writes = thread::spawn(move || {
            for n in 0..100_u64 {
                input.blocking_emit(Value::from(n))?;
            }
            input.blocking_close()
        });
        let told = loop {
            let (named, told) = culprit(|| switch.explain());
            assert_eq!(named["party"], "test", "{told}");
            let json = told.to_json();
            let standing = json["standing"].as_array().expect("an array").clone();
            let waits = standing.into_iter().find(|s| s["waits_for"] == "credit");
            // On a busy machine an answer may come too late.
            if let Some(waits) = waits.filter(|_| json["silent"] == serde_json::json!([])) {
                break waits;
            }
        };
        assert_eq!((&told["party"], &told["side"]), (&"caller".into(), &"caller".into()));
        wake.send(()).expect("it sleeps");
        writes.join().expect("no panic").expect("all was written");
        call.blocking_finish_input().expect("the end");
        call.blocking_wait().expect("done");
        drop(host);
    });
}

#[test]
fn a_stall_is_reported_once_until_it_moves_and_an_idle_stream_never() {
    within(SOON, "notices", || {
        let (told, hears) = mpsc::channel();
        let health = Health {
            heartbeat: None, // the cartridge by hand answers none
            stall: Some(Duration::from_millis(50)),
            on_stall: std::sync::Arc::new(move |explanation: &Explanation| {
                let _full = told.send(explanation.clone());
            }),
            ..Health::default()
        };
        let engine = engine(health);
        let idle = attach_echo(&engine);
        // It grants nothing unless it is told to: what is sent to it stands still after one window.
        let (mut frozen, peer) = Raw::cartridge(&engine, SLEEP);
        // Idle: a reader without data.
        let quiet = idle.call(ECHO).expect("a call");
        let _argument = quiet.input("media:blob").expect("an argument");
        let reads = thread::spawn({
            let quiet = quiet.clone();
            move || quiet.blocking_output()?.blocking_recv()
        });
        let writes = || {
            let call = peer.call(SLEEP).expect("a call");
            let input = call.input("media:blob").expect("an argument");
            thread::spawn(move || (0_u64..).find_map(|n| input.blocking_emit(n.into()).err()))
        };
        // How many stand still, as the next notice says.
        let notice = || {
            let notice = hears.recv().expect("a notice");
            assert!(notice.to_string().contains("has waited for credit"), "{notice}");
            let json = notice.to_json();
            let (still, idle): (Vec<_>, Vec<_>) = json["standing"]
                .as_array()
                .expect("some")
                .iter()
                .partition(|standing| standing["cap"] == SLEEP);
            assert!(idle.iter().all(|standing| standing["waits_for"] == "data"), "{notice}");
            still.len()
        };
        let first = writes();
        assert_eq!(notice(), 1);
        // What is heard next is of another, and not of the first again.
        let second = writes();
        assert_eq!(notice(), 2);
        let id = frozen.until(FrameType::Req).id;
        frozen.grant(id, Some("arg-0"), 1);
        assert_eq!(notice(), 2);
        assert!(hears.try_recv().is_err(), "once for a stream that has not moved");
        frozen.hang_up();
        for writes in [first, second] {
            writes.join().expect("no panic").expect("the cartridge is gone");
        }
        quiet.cancel(&"ENOUGH".into());
        reads.join().expect("no panic").expect_err("cancelled");
    });
}
