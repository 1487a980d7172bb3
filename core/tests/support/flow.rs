//! A producer without end, and waiting for what has no wake of its own.
#![allow(dead_code)] // each test file uses a part of it

use std::thread;
use std::time::{Duration, Instant};

use sluicegate::{Cap, Engine, Error, Mode, Peer, Request, StartOptions, Value};

use crate::support::attach;

pub const FOREVER: &str = "cap:forever;in=media:blob;out=media:blob";

/// A handler that sends until it is stopped.
pub fn forever(request: &Request) -> Result<(), Error> {
    let output = request.output();
    output.start(StartOptions { unbounded: true, ..StartOptions::mode(Mode::Scalar) })?;
    (0..).try_for_each(|n| output.blocking_emit(Value::Uint(n)))
}

pub fn attach_forever(engine: &Engine) -> Peer {
    attach(engine, Cap::new(FOREVER), FOREVER, forever)
}

/// Spins until `so`; for what has no wake of its own.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(5);
    while !so() {
        assert!(Instant::now() < end, "{what}: not so within 5 s");
        thread::yield_now();
    }
}
