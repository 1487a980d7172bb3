//! Calls between the cartridges of one engine (L11, L13, L14, L17).

#[path = "support/child.rs"]
mod child;
mod support;

use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use sluicegate::wait::block_on;
use sluicegate::{
    Cap, Cartridge, Deadline, Engine, EngineOptions, Error, ErrorKind, Limits, Manifest, Peer,
    Request, Value,
};
use support::{ECHO, attach, attach_echo, echo, limits, within};

const LIMIT: Duration = Duration::from_secs(180);
const TWICE: &str = "cap:twice;in=media:blob;out=media:blob";
const HOLD: &str = "cap:hold;in=media:blob;out=media:blob";

/// Not a test by itself: a cartridge in a process of its own.
#[test]
fn cartridge() {
    let Some((stdin, frames)) = child::transport() else { return };
    let manifest = Manifest::new("caller", "1").cap(Cap::new(TWICE)).cap(Cap::new(ECHO));
    let cartridge = Cartridge::new(manifest).handler(TWICE, twice).handler(ECHO, echo);
    std::process::exit(i32::from(cartridge.run(stdin, frames).is_err()));
}

fn routing(limits: Limits) -> Engine {
    Engine::new(EngineOptions { limits, peer_calls: true, ..EngineOptions::default() })
}

/// Answers what two calls of ECHO answer to its argument.
fn twice(request: &Request) -> Result<(), Error> {
    let argument = request.blocking_input()?.blocking_collect_bytes()?;
    for _ in 0..2 {
        let call = request.peer(ECHO)?;
        let (input, feeding, bytes) = (call.input("media:blob")?, call.clone(), argument.clone());
        let feeds = thread::spawn(move || {
            input.blocking_write(&bytes).and_then(|()| feeding.blocking_finish_input())
        });
        let output = call.blocking_output()?;
        request.output().blocking_write(&output.blocking_collect_bytes()?)?;
        feeds.join().expect("no panic")?;
        call.blocking_wait()?;
    }
    Ok(())
}

fn ask(peer: &Peer, cap: &str, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let call = peer.call(cap)?;
    let (input, feeding, bytes) = (call.input("media:blob")?, call.clone(), bytes.to_vec());
    let feeds = thread::spawn(move || {
        // What goes wrong is told by the reading side.
        let _told = input.blocking_write(&bytes).and_then(|()| feeding.blocking_finish_input());
    });
    let answer = call.blocking_output().and_then(|output| output.blocking_collect_bytes());
    feeds.join().expect("no panic");
    let answer = answer?;
    call.blocking_wait().map(|_| answer.to_vec())
}

/// What the engine tells once no call goes through it.
fn quiet(engine: &Engine) -> serde_json::Value {
    loop {
        let stats = engine.stats()["peer_calls"].clone();
        if stats["requests"]["active"].as_array().is_some_and(Vec::is_empty) {
            return stats;
        }
        thread::yield_now();
    }
}

/// L14: a cartridge calls a cap of another, with streams of many windows in both directions.
#[test]
fn l14_a_cartridge_calls_another_of_its_engine() {
    within(LIMIT, "peer calls", || {
        let engine = routing(limits(2, 1024));
        let caller = attach(&engine, Cap::new(TWICE), TWICE, twice);
        let _echo = attach_echo(&engine);
        let bytes: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let twice = ask(&caller, TWICE, &bytes).expect("two echoes");
        assert_eq!(twice, [&bytes[..], &bytes[..]].concat());
        let stats = quiet(&engine);
        assert_eq!(stats["requests"]["terminated_by_kind"]["end"], 2, "{stats}");
        assert_eq!(stats["drops"]["total"], 0, "{stats}");
    });
}

/// L14: the same in processes, one of which also calls a cap of its own.
#[test]
fn l14_a_cartridge_in_a_process_calls_its_own_cap_and_anothers() {
    within(LIMIT, "processes", || {
        let engine = routing(limits(4, 1024));
        let (one, other) = (child::spawn(&engine), child::spawn(&engine));
        for round in 0..20_u8 {
            for peer in [&one, &other] {
                let bytes = vec![round; 10_000];
                let twice = ask(peer, TWICE, &bytes).expect("two echoes");
                assert_eq!(twice, [&bytes[..], &bytes[..]].concat());
            }
        }
        let stats = quiet(&engine);
        assert_eq!(stats["requests"]["terminated_by_kind"]["end"], 80, "{stats}");
        block_on(other.close(), Deadline::NEVER).expect("no limit");
        assert_eq!(ask(&one, TWICE, b"x").expect("its own"), b"xx");
        block_on(engine.close(), Deadline::NEVER).expect("no limit");
    });
}

#[test]
fn without_the_option_a_call_is_refused() {
    within(LIMIT, "a refusal", || {
        let engine = Engine::default();
        let caller = attach(&engine, Cap::new(TWICE), TWICE, twice);
        let _echo = attach_echo(&engine);
        let error = ask(&caller, TWICE, b"x").expect_err("no calls are routed");
        assert_eq!(error.code(), "NO_HANDLER", "{error}");
        assert!(error.message().contains("peer_calls"), "says what to do: {error}");
    });
}

#[test]
fn what_cannot_be_called_says_why() {
    within(LIMIT, "refusals", || {
        let engine = routing(limits(4, 64));
        let caller = attach(&engine, Cap::new(TWICE), TWICE, twice);
        let error = ask(&caller, TWICE, b"x").expect_err("nobody serves it");
        assert_eq!(error.code(), "NO_HANDLER", "{error}");
        let small = limits(2, 64);
        let (host, plugin) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        let manifest = Manifest::new("small", "1").cap(Cap::new(ECHO));
        let cartridge = Cartridge::new(manifest).limits(small).handler(ECHO, echo);
        thread::spawn(move || cartridge.run(plugin.try_clone().expect("a handle"), plugin));
        let _small = engine.attach(host.try_clone().expect("a handle"), host).expect("it passes");
        let error = ask(&caller, TWICE, b"x").expect_err("4 and 2");
        assert_eq!(error.code(), "WINDOW_MISMATCH", "{error}");
        assert!(error.message().contains('4') && error.message().contains('2'), "{error}");
        let _fitting = attach_echo(&engine);
        assert_eq!(ask(&caller, TWICE, b"x").expect("the one that fits"), b"xx");
    });
}

/// L11, L13: the engine grants nothing, so a caller stands still while the other end does not consume;
/// it is released when that end dies.
#[test]
fn l11_l13_an_engine_makes_no_credit_and_a_dead_end_releases_the_caller() {
    within(LIMIT, "a stream that stands still", || {
        let engine = routing(limits(3, 64));
        let (tell, told) = mpsc::channel();
        let tell = Mutex::new(tell);
        let caller = attach(&engine, Cap::new(TWICE), TWICE, move |request| {
            let call = request.peer(HOLD)?;
            let input = call.input("media:blob")?;
            let why = (0..).find_map(|n| input.blocking_emit(Value::Uint(n)).err());
            tell.lock().expect("not poisoned").send(why).expect("heard");
            Ok(())
        });
        let held = attach(&engine, Cap::new(HOLD), HOLD, |request| {
            let _held = request.blocking_input()?;
            Err(block_on(request.cancelled(), Deadline::NEVER)?)
        });
        let call = caller.call(TWICE).expect("live");
        loop {
            let stats = engine.stats();
            let active = &stats["peer_calls"]["requests"]["active"][0];
            let streams = active["streams"].as_array().cloned().unwrap_or_default();
            if let Some(full) = streams.iter().find(|stream| stream["chunks_in"] == 3) {
                assert_eq!(full["credit_outstanding"], 0, "{stats}");
                break;
            }
            thread::yield_now();
        }
        assert!(told.try_recv().is_err(), "it waits for credit");
        held.kill();
        let why = told.recv().expect("released").expect("why");
        assert_ne!(why.kind(), ErrorKind::Closed, "{why}");
        call.blocking_wait().expect("the handler went on");
        let stats = quiet(&engine);
        assert_eq!(stats["requests"]["terminated_by_kind"]["master_died"], 1, "{stats}");
    });
}

/// L17: a cancel of the outer call ends the inner one at its handler.
#[test]
fn l17_a_cancel_goes_on_to_the_inner_call() {
    within(LIMIT, "a cancel", || {
        let engine = routing(limits(4, 64));
        let (tell, told) = mpsc::channel();
        let tell = Mutex::new(tell);
        let _held = attach(&engine, Cap::new(HOLD), HOLD, move |request| {
            let tell = tell.lock().expect("not poisoned");
            tell.send(None).expect("heard");
            let why = block_on(request.cancelled(), Deadline::NEVER)?;
            tell.send(Some(why.clone())).expect("heard");
            Err(why)
        });
        let caller = attach(&engine, Cap::new(TWICE), TWICE, |request| {
            request.peer(HOLD)?.blocking_output().map(drop)
        });
        let call = caller.call(TWICE).expect("live");
        assert_eq!(told.recv().expect("it runs"), None);
        call.cancel(&Error::new(ErrorKind::Cancelled, "enough"));
        let why = told.recv().expect("it is told").expect("why");
        assert_eq!((why.kind(), why.message()), (ErrorKind::Cancelled, "enough"));
        quiet(&engine);
    });
}
