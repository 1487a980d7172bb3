//! What a call through a switch costs while many others are live:
//! `cargo run --release -p sluicegate --example relay_cost`; `docs/performance.md` has the figures.
//!
//! A caller and a host are driven by hand, so that the figures are the switch's: calls without streams,
//! as many at once as the sockets take, each answered at once; the others are never answered.

use std::thread;
use std::time::Instant;

use sluicegate::frame::{Frame, FrameType};
use sluicegate::link::{FrameReader, FrameWriter, SocketReader, SocketWriter, socket_pair};
use sluicegate::{Error, Limits, MessageId, Switch, SwitchOptions};

const CALLS: u64 = 20_000;
const RUNS: usize = 3;
const ECHO: &str = "cap:echo";
const HOLD: &str = "cap:hold";

type Ends = (FrameReader<SocketReader>, FrameWriter<SocketWriter>);

fn taken_in(switch: &Switch, name: &'static str) -> Result<Ends, Error> {
    let [(reader, writer), (far_reader, far_writer)] = socket_pair()?;
    let switch = switch.clone();
    thread::spawn(move || switch.attach(name, far_reader, far_writer));
    Ok((FrameReader::new(reader), FrameWriter::new(writer)))
}

fn next(reader: &mut FrameReader<SocketReader>) -> Result<Frame, Error> {
    Ok(reader.read()?.expect("the switch lives"))
}

/// Answers every call of ECHO at once, and none of HOLD.
fn host(switch: &Switch) -> Result<(), Error> {
    let (mut reader, mut writer) = taken_in(switch, "host")?;
    let manifest = serde_json::json!({
        "installed_cartridges": [{"cap_groups": [{"caps": [{"urn": ECHO}, {"urn": HOLD}]}]}],
    });
    writer.write(&Frame::relay_notify(manifest.to_string().into(), &Limits::default()))?;
    let identity = loop {
        let frame = next(&mut reader)?;
        if frame.frame_type == FrameType::Req {
            break frame.id;
        }
    };
    writer.write(&Frame::stream_start(identity, None, "out", "media:"))?;
    loop {
        let frame = next(&mut reader)?;
        match frame.frame_type {
            FrameType::Chunk => {
                let nonce = frame.payload.unwrap_or_default();
                writer.write(&Frame::chunk(identity, None, "out", 0, nonce))?;
            }
            FrameType::End => break,
            _ => {}
        }
    }
    writer.write(&Frame::stream_end(identity, None, "out", Some(1)))?;
    writer.write(&Frame::end_with(identity, None, 0, Some(1.0), None))?;
    thread::spawn(move || {
        while let Ok(Some(frame)) = reader.read() {
            if frame.frame_type == FrameType::Req && frame.cap.as_deref() == Some(ECHO) {
                let end = Frame::end_with(frame.id, frame.routing_id, 0, None, None);
                writer.write(&end).expect("the switch lives");
            }
        }
    });
    while switch.caps().is_empty() {
        thread::yield_now();
    }
    Ok(())
}

/// Nanoseconds a call takes beside `live` others.
fn cost(live: u64) -> Result<u128, Error> {
    let switch = Switch::new(SwitchOptions::default());
    host(&switch)?;
    let (mut reader, mut writer) = taken_in(&switch, "caller")?;
    writer.write(&Frame::hello(&Limits::default(), 6))?;
    next(&mut reader)?;
    let req = |id: u64, cap| Frame::req(MessageId::Uint(id), None, cap, "application/cbor");
    for id in 0..live {
        writer.write(&req(id, HOLD))?;
    }
    let mut best = u128::MAX;
    for run in 1..=RUNS as u64 {
        let start = Instant::now();
        let begun = thread::spawn(move || {
            for id in 0..CALLS {
                writer.write(&req(run * 1_000_000 + id, ECHO)).expect("the switch lives");
            }
            writer
        });
        let mut answered = 0;
        while answered < CALLS {
            answered += u64::from(next(&mut reader)?.is_terminal());
        }
        best = best.min(start.elapsed().as_nanos() / u128::from(CALLS));
        writer = begun.join().expect("no panic");
    }
    Ok(best)
}

fn main() -> Result<(), Error> {
    for live in [0, 10_000, 40_000] {
        println!("{live:>6} others live: {:>7.1} µs a call", cost(live)? as f64 / 1000.0);
    }
    Ok(())
}
