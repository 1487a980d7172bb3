//! An engine and a cartridge in one process, over a pair of sockets.
#![allow(dead_code)] // each test file uses a part of it

#[path = "../watchdog/mod.rs"]
mod watchdog;

use std::future::poll_fn;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::thread;

use sluicegate::engine::Health;
use sluicegate::wait::block_on;
use sluicegate::{
    Cap, Cartridge, Deadline, Engine, EngineOptions, Error, Limits, Manifest, Peer, Request,
};
#[allow(unused_imports)] // as above
pub use watchdog::{PROMPT, until, within};

/// Waits for `future` on this thread, and tells each time that it is not ready and its waker stands in line.
pub fn tells_waits<F: Future>(future: F, mut waits: impl FnMut()) -> F::Output {
    let mut future = pin!(future);
    let answer = poll_fn(|context| {
        let polled = future.as_mut().poll(context);
        if polled.is_pending() {
            waits();
        }
        polled
    });
    block_on(answer, Deadline::NEVER).expect("no deadline passes")
}

pub fn limits(initial_credit: u64, max_chunk: u64) -> Limits {
    Limits { initial_credit, max_chunk, ..Limits::default() }
}

/// Asks nobody whether he lives: a peer by hand, or one that a test has frozen, answers no heartbeat, and how
/// long the test takes is the machine's affair.
pub fn options(limits: Limits) -> EngineOptions {
    let health = Health { heartbeat: None, ..Health::default() };
    EngineOptions { limits, health, ..EngineOptions::default() }
}

pub fn engine(limits: Limits) -> Engine {
    Engine::new(options(limits))
}

/// A cartridge with one cap on a thread, attached to `engine`.
pub fn attach(
    engine: &Engine,
    cap: Cap,
    urn: &str,
    handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
) -> Peer {
    let (host, plugin) = UnixStream::pair().expect("a pair of sockets");
    let cartridge = Cartridge::new(Manifest::new("test", "1").cap(cap)).handler(urn, handler);
    let reader = plugin.try_clone().expect("a second handle");
    thread::spawn(move || cartridge.run(reader, plugin));
    engine.attach(host.try_clone().expect("a second handle"), host).expect("the handshake passes")
}

pub const ECHO: &str = "cap:echo;in=media:blob;out=media:blob";

pub fn echo(request: &Request) -> Result<(), Error> {
    let (input, output) = (request.blocking_input()?, request.output());
    for item in &input {
        output.blocking_emit(item?.value)?;
        output.blocking_flush()?;
    }
    Ok(())
}

pub fn attach_echo(engine: &Engine) -> Peer {
    attach(engine, Cap::new(ECHO), ECHO, echo)
}
