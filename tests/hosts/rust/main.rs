//! The reference host in Rust: `tests/hosts/README.md` says what it does.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::json;
use sluicegate::wait::block_on;
use sluicegate::{
    AttributionClass, Call, Command, Deadline, Engine, Error, ErrorKind, Peer, Value,
};

struct Order {
    cartridge: String,
    cap: String,
    chunks: u64,
    size: u64,
    calls: u64,
    cancel_after: Option<Duration>,
}

fn order() -> Option<Order> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let cancel = match arguments.len() {
        5 => None,
        6 => Some(Duration::from_millis(number(5)?)),
        _ => return None,
    };
    Some(Order {
        cartridge: arguments[0].clone(),
        cap: arguments[1].clone(),
        chunks: number(2)?,
        size: number(3)?,
        calls: number(4)?,
        cancel_after: cancel,
    })
}

/// A program, or a command line of plain words.
fn command(line: &str) -> Command {
    let mut words = line.split_whitespace();
    match words.next() {
        Some(program) if !Path::new(line).exists() => Command::new(program).args(words),
        _ => Command::new(line),
    }
}

/// The media of the cap's argument, from its URN.
fn argument(cap: &str) -> &str {
    cap.split(';').find_map(|part| part.strip_prefix("in=")).unwrap_or("media:blob")
}

/// Byte `i` of everything that is sent.
fn pattern(i: u64) -> u8 {
    u8::try_from(i.wrapping_mul(31).wrapping_add(7) % 251).unwrap_or_default()
}

fn send(call: &Call, order: &Order) -> Result<(), Error> {
    let stream = call.input(argument(&order.cap))?;
    for chunk in 0..order.chunks {
        let from = chunk * order.size;
        let bytes: Vec<u8> = (from..from + order.size).map(pattern).collect();
        stream.blocking_write(&bytes)?;
    }
    call.blocking_finish_input()
}

/// How many bytes of content a value is: of a string its own, of anything else none.
fn length(value: &Value) -> u64 {
    match value {
        Value::Bytes(bytes) => bytes.len() as u64,
        Value::Text(text) => text.len() as u64,
        _ => 0,
    }
}

fn receive(call: &Call, peer: &Peer) -> Result<u64, Error> {
    let mut bytes = 0;
    let mut told = Told::asked();
    for item in &call.blocking_output()? {
        let value = item?.value;
        bytes += length(&value);
        told.iter_mut().for_each(|told| told.note(peer, &value));
    }
    told.map_or(Ok(()), |told| told.write())?;
    Ok(bytes)
}

/// What both ends of the connection say of it: the host once a value has come, the cartridge in what comes
/// after that.
struct Told {
    path: std::ffi::OsString,
    lines: Vec<u8>,
}

impl Told {
    fn asked() -> Option<Told> {
        std::env::var_os("HOST_STATS").map(|path| Told { path, lines: Vec::new() })
    }

    fn note(&mut self, peer: &Peer, value: &Value) {
        if self.lines.is_empty() {
            self.lines = format!("{}\n", peer.stats()).into_bytes();
        } else if let Value::Bytes(content) = value {
            self.lines.extend_from_slice(content);
        }
    }

    fn write(&self) -> Result<(), Error> {
        let written = std::fs::write(&self.path, &self.lines);
        written.map_err(|error| Error::new(ErrorKind::Io, error.to_string()))
    }
}

fn once(peer: &Peer, order: &Order) -> Result<u64, Error> {
    let call = peer.call(&order.cap)?;
    thread::scope(|scope| {
        let sender = scope.spawn(|| send(&call, order));
        let (done, is_done) = mpsc::channel::<()>();
        if let Some(after) = order.cancel_after {
            let call = call.clone();
            scope.spawn(move || {
                if is_done.recv_timeout(after) == Err(mpsc::RecvTimeoutError::Timeout) {
                    let class = AttributionClass::User;
                    let why = "the host was told to cancel";
                    call.cancel(&Error::with_code(ErrorKind::Cancelled, "CANCELLED", class, why));
                }
            });
        }
        let received = receive(&call, peer);
        let ended = call.blocking_wait();
        drop(done);
        // What was sent, or read, may only show how the call ended; a cartridge need not read all.
        let _sent = sender.join();
        ended.and(received)
    })
}

fn line(outcome: &Result<u64, Error>) -> String {
    match outcome {
        Ok(bytes) => format!(r#"{{"ok":true,"bytes":{bytes}}}"#),
        Err(error) => {
            let (code, message) = (json!(error.code()), json!(error.message()));
            format!(r#"{{"ok":false,"code":{code},"message":{message}}}"#)
        }
    }
}

fn main() -> std::process::ExitCode {
    let Some(order) = order() else {
        eprintln!("usage: HOST CARTRIDGE CAP CHUNKS SIZE CALLS [CANCEL_MS]");
        return std::process::ExitCode::from(2);
    };
    let engine = Engine::default();
    let outcome = engine.spawn(&command(&order.cartridge));
    let code = match &outcome {
        Err(error) => {
            println!("{}", line(&Err(error.clone())));
            1
        }
        Ok(peer) => {
            (0..order.calls).for_each(|_| println!("{}", line(&once(peer, &order))));
            0
        }
    };
    let _closed = block_on(engine.close(), Deadline::NEVER);
    std::process::ExitCode::from(code)
}
