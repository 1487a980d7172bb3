//! A producer without end.
#![allow(dead_code)] // each test file uses a part of it

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
