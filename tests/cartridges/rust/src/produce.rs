//! Caps that make values.

use std::thread;

use sluicegate::{
    AttributionClass, Error, ErrorKind, Mode, OutputStream, Request, StartOptions, StreamSender,
    Value,
};

pub const PRODUCE: &str = "cap:fc-produce;in=media:json;out=media:blob";
pub const FOREVER: &str = "cap:fc-forever;in=media:blob;out=media:blob";
pub const TWO: &str = "cap:fc-two;in=media:json;out=media:blob";

struct Plan {
    chunks: u64,
    size: Option<u64>,
}

/// Reads the plan from the first value of the input.
fn plan(request: &Request) -> Result<Plan, Error> {
    let wrong = |what: &str| {
        Error::with_code(ErrorKind::InvalidArgument, "BAD_PLAN", AttributionClass::Input, what)
    };
    let first = request.blocking_input()?.blocking_recv()?;
    let first = first.ok_or_else(|| wrong("the input is empty"))?;
    let text = first.value.as_bytes().ok_or_else(|| wrong("the plan is not a byte string"))?;
    let plan: serde_json::Value =
        serde_json::from_slice(text).map_err(|e| wrong(&format!("the plan is not JSON: {e}")))?;
    let chunks =
        plan["chunks"].as_u64().ok_or_else(|| wrong("the plan has no number of chunks"))?;
    Ok(Plan { chunks, size: plan["size"].as_u64() })
}

pub fn produce(request: &Request) -> Result<(), Error> {
    let plan = plan(request)?;
    let output = request.output();
    let Some(size) = plan.size else {
        return integers(&output, plan.chunks);
    };
    let mut offset = 0_u64;
    for _ in 0..plan.chunks {
        let bytes: Vec<u8> = (offset..offset + size).map(pattern).collect();
        output.blocking_write(&bytes)?;
        offset += size;
    }
    Ok(())
}

/// Byte `i` of what is produced.
fn pattern(i: u64) -> u8 {
    u8::try_from((i * 31 + 7) % 251).unwrap_or_default()
}

fn integers(output: &OutputStream, count: u64) -> Result<(), Error> {
    (0..count).try_for_each(|n| output.blocking_emit(Value::Uint(n)))
}

pub fn forever(request: &Request) -> Result<(), Error> {
    let output = request.output();
    output.start(StartOptions { unbounded: true, ..StartOptions::mode(Mode::Scalar) })?;
    let sender: StreamSender = request.stream_sender();
    let detached =
        thread::spawn(move || (0..).find_map(|n| sender.blocking_emit(Value::Uint(n)).err()));
    let ended = detached.join().ok().flatten();
    Err(ended.unwrap_or_else(|| ErrorKind::Cancelled.into()))
}

pub fn two(request: &Request) -> Result<(), Error> {
    let plan = plan(request)?;
    let (main, second) = (request.output(), request.output_for("media:second")?);
    let beside = thread::spawn(move || integers(&second, plan.chunks));
    integers(&main, plan.chunks)?;
    beside.join().unwrap_or_else(|_| Err(ErrorKind::Panic.into()))
}
