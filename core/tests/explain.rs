//! Why something stands still: the answer names who holds the others up, through chains and relays.

mod support;

#[path = "support/raw.rs"]
mod raw;
#[path = "support/relay.rs"]
mod relay;

use std::collections::BTreeSet;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use raw::Raw;
use sluicegate::account::Explanation;
use sluicegate::engine::Health;
use sluicegate::frame::{Frame, FrameType};
use sluicegate::wait::block_on;
use sluicegate::{
    AttributionClass, Deadline, Engine, EngineOptions, Peer, Request, Value, blocking_forward,
};
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

/// Asks until `found` finds what it looks for among what stands still.
fn finds(
    ask: impl Fn() -> Explanation,
    found: impl Fn(&serde_json::Value) -> bool,
) -> (serde_json::Value, Explanation) {
    loop {
        let told = ask();
        let json = told.to_json();
        let standing = json["standing"].as_array().expect("an array");
        if let Some(standing) = standing.iter().find(|standing| found(standing)) {
            return (standing.clone(), told);
        }
        thread::yield_now();
    }
}

#[test]
fn requests_that_nobody_takes_are_named_with_their_place_in_the_queue() {
    within(SOON, "an explanation", || {
        let engine = engine(Health::default());
        let (near, far) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        let manifest = sluicegate::Manifest::new("lazy", "1").cap(sluicegate::Cap::new(ECHO));
        let serves = thread::spawn(move || {
            let reader = far.try_clone().expect("a second handle");
            sluicegate::Cartridge::new(manifest).serve(reader, far).expect("a handshake")
        });
        let peer =
            engine.attach(near.try_clone().expect("a second handle"), near).expect("attached");
        let session = serves.join().expect("no panic");
        let calls: Vec<_> = (0..3).map(|_| peer.call(ECHO).expect("a call")).collect();
        let queue = |told: &Explanation| -> Vec<_> {
            let json = told.to_json();
            let standing = json["standing"].as_array().expect("an array").clone();
            standing.into_iter().filter(|s| s["waits_for"] == "queue").collect()
        };
        let (queued, told) = loop {
            let told = engine.explain();
            let queued = queue(&told);
            if queued.len() == calls.len() {
                break (queued, told);
            }
        };
        for queued in &queued {
            assert_eq!(
                (&queued["party"], &queued["cap"]),
                (&"lazy".into(), &ECHO.into()),
                "{told}"
            );
            assert_eq!(
                (&queued["side"], &queued["stream"]),
                (&"handler".into(), &"".into()),
                "{told}"
            );
        }
        let ahead: BTreeSet<_> = queued.iter().map(|queued| queued["ahead"].as_u64()).collect();
        assert_eq!(ahead, BTreeSet::from([Some(0), Some(1), Some(2)]), "{told}");
        assert!(told.to_string().contains("lazy has not taken the request"), "{told}");
        assert_eq!(told.culprits().len(), 3, "{told}");
        // Once they are taken, they wait no more.
        let taken: Vec<_> = (0..3)
            .map(|_| block_on(session.next_request(), Deadline::NEVER).expect("no limit"))
            .collect();
        let told = session.explain();
        assert!(told.is_quiet(), "{told}");
        for request in taken {
            let request = request.expect("the host lives").expect("a request");
            block_on(request.finish(None, None), Deadline::NEVER).expect("no limit").expect("sent");
        }
        for call in calls {
            call.blocking_wait().expect("done");
        }
    });
}

#[test]
fn a_request_for_a_cartridge_that_is_being_started_is_named_through_the_relay() {
    within(SOON, "an explanation", || {
        let limits = support::limits(4, 1024);
        let switch = relay::switch(limits);
        let engine_options =
            EngineOptions { limits, handshake_timeout: SOON, ..EngineOptions::default() };
        let host =
            sluicegate::Host::new(sluicegate::HostOptions { engine: engine_options, idle: None })
                .expect("a host");
        // It reads, and never says who it is.
        let command = sluicegate::Command::new("sh").args(["-c", "cat >/dev/null"]);
        let manifest = sluicegate::Manifest::new("slow", "1").cap(sluicegate::Cap::new(SLEEP));
        host.add_lazy(&command, &manifest);
        relay::join(&switch, &host, "host");
        let caller = switch.caller(&engine(Health::default())).expect("a caller");
        let call = caller.call(SLEEP).expect("a call");
        let id = call.id().to_string();
        let is = |s: &serde_json::Value| s["request"] == *id && s["waits_for"] == "queue";
        for ask in [&(|| switch.explain()) as &dyn Fn() -> Explanation, &|| host.explain()] {
            let (queued, told) = finds(ask, is);
            assert_eq!(queued["cap"], SLEEP, "{told}");
            assert_eq!(queued["ahead"], 0, "{told}");
            assert!(queued["unread"].as_u64() >= Some(1), "its REQ lies there: {told}");
            let party = queued["party"].as_str().expect("a text");
            assert!(party.contains("which is being started"), "{told}");
            assert!(!told.culprits().is_empty(), "{told}");
        }
        host.close();
        call.blocking_wait().expect_err("the host is gone");
    });
}

#[test]
fn a_request_that_waits_for_a_pool_is_named_from_queued_to_dequeued() {
    within(SOON, "an explanation", || {
        let engine = engine(Health::default());
        let (mut raw, peer) = Raw::cartridge(&engine, ECHO);
        let call = peer.call(ECHO).expect("a call");
        let (id, request) = (raw.until(FrameType::Req).id, call.id().to_string());
        let log = |level: &str| Frame::log(id, None, level, AttributionClass::Resource, "full");
        raw.send(&log("queued"));
        let waits = |s: &serde_json::Value| s["request"] == *request && s["waits_for"] == "pool";
        // The raw cartridge answers no probe: what is known here is told all the same.
        let (pooled, told) = finds(|| engine.explain(), waits);
        assert_eq!((&pooled["party"], &pooled["side"]), (&"this process".into(), &"caller".into()));
        assert!(told.to_string().contains("waited for a place in the handler's pool"), "{told}");
        assert!(!told.is_quiet());
        raw.send(&log("dequeued"));
        loop {
            let json = engine.explain().to_json();
            if !json["standing"].as_array().expect("an array").iter().any(waits) {
                break;
            }
        }
        raw.answer(id, &[]);
        call.blocking_wait().expect("done");
    });
}

#[test]
fn a_full_pool_is_named_by_whoever_asks_its_cartridge() {
    within(SOON, "an explanation", || {
        let engine = engine(Health::default());
        let (mut raw, peer) = Raw::cartridge(&engine, ECHO);
        let answers = thread::spawn(move || {
            let pools = serde_json::json!({
                ECHO: {"declared": 4, "configured": 4, "active": 4, "queued": 2},
                "all": {"declared": 0, "configured": 0, "active": 4, "queued": 0, "caps": [ECHO]},
            });
            while let Some(frame) = raw.next() {
                if frame.frame_type == FrameType::Heartbeat {
                    let pools = pools.to_string().into();
                    raw.send(&Frame::heartbeat_reply(frame.id, 0, 0, 0, pools));
                }
            }
        });
        let (pool, told) = finds(|| engine.explain(), |s| s["waits_for"] == "pool");
        assert_eq!((&pool["ahead"], &pool["side"]), (&2.into(), &"handler".into()), "{told}");
        assert_eq!((&pool["cap"], &pool["request"]), (&ECHO.into(), &"".into()), "{told}");
        assert!(told.to_string().contains("2 requests wait for a place in the pool of"), "{told}");
        block_on(peer.close(), Deadline::NEVER).expect("no limit");
        answers.join().expect("no panic");
    });
}
