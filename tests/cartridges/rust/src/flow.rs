//! Caps that pass values on or swallow them.

use std::io::Write;
use std::time::Duration;

use sluicegate::wait::block_on;
use sluicegate::{AttributionClass, Deadline, Error, Request, Value};

pub const ECHO: &str = "cap:fc-echo;in=media:blob;out=media:blob";
pub const ITEMS: &str = "cap:fc-items;in=media:items;out=media:items";
pub const FEED: &str = "cap:fc-feed;in=media:feed-frames;out=media:items";
pub const PEER: &str = "cap:fc-peer;in=media:blob;out=media:blob";
pub const SINK: &str = "cap:fc-sink;in=media:blob;out=media:json";
pub const SLOW: &str = "cap:fc-slow;in=media:blob;out=media:json";
pub const MULTI: &str = "cap:fc-multi;in=media:blob;out=media:text";
pub const CRASH: &str = "cap:fc-crash;in=media:blob;out=media:blob";
pub const STDERR: &str = "cap:fc-stderr;in=media:blob;out=media:text";

pub fn echo(request: &Request) -> Result<(), Error> {
    let (input, output) = (request.blocking_input()?, request.output());
    for item in &input {
        output.blocking_emit(item?.value)?;
        output.blocking_flush()?;
    }
    Ok(())
}

pub fn items(request: &Request) -> Result<(), Error> {
    let (input, output) = (request.blocking_input()?, request.output());
    for item in &input {
        let item = item?;
        output.blocking_emit_list_item(item.value, item.meta)?;
    }
    Ok(())
}

/// Calls another cap with what came, and answers what that answers.
pub fn peer(request: &Request) -> Result<(), Error> {
    let mut bytes = Vec::new();
    for item in &request.blocking_input()? {
        bytes.extend_from_slice(&crate::checksum::content(&item?.value));
    }
    let cap = std::env::var("FC_PEER_CAP").unwrap_or_else(|_| ECHO.to_owned());
    let call = request.peer(&cap)?;
    let (asking, argument) = (call.clone(), call.input("media:blob")?);
    let asked = std::thread::spawn(move || {
        argument.blocking_write(&bytes).and_then(|()| asking.blocking_finish_input())
    });
    let output = request.output();
    for item in &call.blocking_output()? {
        output.blocking_emit(item?.value)?;
    }
    call.blocking_wait()?;
    asked.join().unwrap_or_else(|_| Err(sluicegate::ErrorKind::Panic.into()))
}

pub fn sink(request: &Request) -> Result<(), Error> {
    count(request, Duration::ZERO)
}

pub fn slow(request: &Request) -> Result<(), Error> {
    let millis = std::env::var("SLOW_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(20);
    count(request, Duration::from_millis(millis))
}

fn count(request: &Request, work: Duration) -> Result<(), Error> {
    let mut values = 0_u64;
    for item in &request.blocking_input()? {
        item?;
        values += 1;
        if !work.is_zero() {
            std::thread::sleep(work); // the work of this cap
        }
    }
    request.output().blocking_write(values.to_string().as_bytes())
}

pub fn multi(request: &Request) -> Result<(), Error> {
    request.log("info", AttributionClass::Internal, "working");
    request.progress(0.5, "half");
    request.output().blocking_emit(Value::Text("main".into()))?;
    request.output_for("media:second")?.blocking_emit(Value::Text("second".into()))?;
    block_on(request.finish(Some(0.9), Some("done".into())), Deadline::NEVER)?
}

pub fn stderr(request: &Request) -> Result<(), Error> {
    let line = [b"x".repeat(1023), b"\n".to_vec()].concat();
    let mut stderr = std::io::stderr().lock();
    for _ in 0..10 * 1024 {
        // A host that closed stderr does not want it.
        let _ = stderr.write_all(&line);
    }
    request.output().blocking_emit(Value::Text("done".into()))
}

/// Ends the process without an answer.
pub fn crash(request: &Request) -> Result<(), Error> {
    for item in &request.blocking_input()? {
        item?;
    }
    eprintln!("one\ntwo\nthe last words");
    std::process::exit(3)
}
