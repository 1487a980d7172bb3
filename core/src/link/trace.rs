//! What goes over the links of this process, frame by frame, for people and for programs.
//!
//! `SLUICEGATE_TRACE` names a file, which is appended to, or is `stderr`; `SLUICEGATE_TRACE_FORMAT` is
//! `text` (the default) or `json`, one object a line. Every process that has the variables traces, the
//! cartridges that inherit them too, each line in one write. A payload is never shown, only its length,
//! and of metadata only the keys.
//!
//! A link never waits for its trace: 4096 lines wait for a thread that writes them. What finds no room
//! is left out, and a line says how many frames were. The last lines before a process ends may be
//! missing.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::str::FromStr;
use std::sync::OnceLock;

use crossbeam_channel::{Receiver, Sender, bounded};
use serde_json::{Map, Value as Json, json};

use super::spawn_quiet;
use crate::error::{Error, ErrorKind};
use crate::frame::{Frame, Value};
use crate::sync::{Arc, AtomicU64, Ordering};
use crate::time::unix_micros;

/// Bytes of a name that a line shows.
const SHOWN: usize = 256;
/// Keys of metadata that it shows.
const KEYS: usize = 32;
/// Lines that wait to be written.
const WAITING: usize = 4096;

/// How a frame is written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceFormat {
    /// A line for people.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

impl FromStr for TraceFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "text" => Ok(TraceFormat::Text),
            "json" => Ok(TraceFormat::Json),
            other => Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("{other:?} is no format of a trace: write text or json"),
            )),
        }
    }
}

#[derive(Clone, Copy)]
enum Way {
    Sent,
    Received,
}

/// Writes down frames on a thread of its own, which ends with the last sender.
struct Tracer {
    lines: Sender<String>,
    left_out: Arc<AtomicU64>,
    format: TraceFormat,
}

static TRACER: OnceLock<Option<Tracer>> = OnceLock::new();

/// Traces the frames of this process from now on, as `SLUICEGATE_TRACE` does: to a file, which is appended
/// to, or to `stderr`.
///
/// # Errors
/// `InvalidArgument` if a frame has gone over a link already, or it is traced already; `Io`, naming
/// the file.
pub fn trace(place: &str, format: TraceFormat) -> Result<(), Error> {
    TRACER.set(Some(Tracer::open(place, format)?)).map_err(|_| {
        Error::new(ErrorKind::InvalidArgument, "a trace is begun before the first frame, and once")
    })
}

/// A frame was read.
pub(super) fn received(frame: &Frame) {
    if let Some(tracer) = tracer() {
        tracer.note(Way::Received, frame);
    }
}

/// A frame is about to be written.
pub(super) fn sent(frame: &Frame) {
    if let Some(tracer) = tracer() {
        tracer.note(Way::Sent, frame);
    }
}

fn tracer() -> Option<&'static Tracer> {
    TRACER.get_or_init(from_environment).as_ref()
}

fn from_environment() -> Option<Tracer> {
    let place = std::env::var("SLUICEGATE_TRACE").ok().filter(|place| !place.is_empty())?;
    let format = std::env::var("SLUICEGATE_TRACE_FORMAT").unwrap_or_default();
    let format = if format.is_empty() { Ok(TraceFormat::Text) } else { format.parse() };
    match format.and_then(|format| Tracer::open(&place, format)) {
        Ok(tracer) => Some(tracer),
        Err(error) => {
            eprintln!("sluicegate: no trace: {error}"); // and the program goes on
            None
        }
    }
}

impl Tracer {
    fn open(place: &str, format: TraceFormat) -> Result<Self, Error> {
        if place == "stderr" {
            return Self::start(io::stderr(), format, WAITING);
        }
        let file = OpenOptions::new().append(true).create(true).open(place).map_err(|e| {
            Error::new(ErrorKind::Io, format!("the trace cannot be written to {place}: {e}"))
        })?;
        Self::start(file, format, WAITING)
    }

    fn start(
        to: impl Write + Send + 'static,
        format: TraceFormat,
        waiting: usize,
    ) -> Result<Self, Error> {
        let (lines, waiting) = bounded(waiting);
        let left_out = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&left_out);
        spawn_quiet("trace", move || write_all(&waiting, to, format, &told))
            .map_err(|e| Error::new(ErrorKind::Io, format!("no thread for the trace: {e}")))?;
        Ok(Tracer { lines, left_out, format })
    }

    fn note(&self, way: Way, frame: &Frame) {
        if self.lines.is_full() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return; // nothing is written down in vain
        }
        let line = match self.format {
            TraceFormat::Text => text(way, frame),
            TraceFormat::Json => json(way, frame).to_string() + "\n",
        };
        if self.lines.try_send(line).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes lines until there are no more. One that cannot be written is lost; the next is tried.
fn write_all(
    lines: &Receiver<String>,
    mut to: impl Write,
    format: TraceFormat,
    left_out: &AtomicU64,
) {
    let mut put = |line: &str| {
        let _lost = to.write_all(line.as_bytes()).and_then(|()| to.flush());
    };
    loop {
        let line = lines.recv();
        let missing = left_out.swap(0, Ordering::Relaxed);
        if missing > 0 {
            put(&match format {
                TraceFormat::Text => format!("... {missing} frames are left out here\n"),
                TraceFormat::Json => json!({"left_out": missing}).to_string() + "\n",
            });
        }
        match line {
            Ok(line) => put(&line),
            Err(_) => return,
        }
    }
}

/// As much of a peer's text as a line shows.
fn shown(text: &str) -> &str {
    let end = text.len().min(SHOWN);
    let end = (0..=end).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

/// The first of the keys.
fn keys(frame: &Frame) -> Vec<&str> {
    let entries = frame.meta.as_ref().and_then(Value::as_map).unwrap_or_default();
    entries.iter().filter_map(|(key, _)| key.as_text().map(shown)).take(KEYS).collect()
}

fn json(way: Way, frame: &Frame) -> Json {
    let mut line = Map::new();
    let mut put = |name: &str, value: Json| line.insert(name.to_owned(), value);
    put("t_us", unix_micros().into());
    put("pid", std::process::id().into());
    put("way", if matches!(way, Way::Sent) { "sent" } else { "received" }.into());
    put("type", frame.frame_type.name().into());
    put("rid", frame.id.to_string().into());
    if let Some(id) = frame.routing_id {
        put("xid", id.to_string().into());
    }
    put("seq", frame.seq.into());
    for (name, text) in [("stream", &frame.stream_id), ("cap", &frame.cap)] {
        if let Some(text) = text {
            put(name, shown(text).into());
        }
    }
    let numbers = [
        ("index", frame.chunk_index),
        ("count", frame.chunk_count),
        ("credit", frame.credit),
        ("payload", frame.payload.as_ref().map(|payload| payload.len() as u64)),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            put(name, number.into());
        }
    }
    if frame.meta.is_some() {
        put("meta", keys(frame).into());
    }
    Json::Object(line)
}

fn text(way: Way, frame: &Frame) -> String {
    let way = if matches!(way, Way::Sent) { '>' } else { '<' };
    let micros = unix_micros();
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    let mut line = format!(
        "{seconds}.{rest:06} {} {way} {} {}",
        std::process::id(),
        frame.frame_type.name(),
        frame.id
    );
    // Writing to a text cannot fail.
    let mut put = |name: &str, value: &dyn std::fmt::Display| {
        let _ = write!(line, " {name}={value}");
    };
    if let Some(id) = frame.routing_id {
        put("xid", &id);
    }
    put("seq", &frame.seq);
    if let Some(stream) = &frame.stream_id {
        put("stream", &format_args!("{:?}", shown(stream)));
    }
    if let Some(cap) = &frame.cap {
        put("cap", &format_args!("{:?}", shown(cap)));
    }
    if let Some(index) = frame.chunk_index {
        put("index", &index);
    }
    if let Some(count) = frame.chunk_count {
        put("count", &count);
    }
    if let Some(credit) = frame.credit {
        put("credit", &credit);
    }
    if let Some(payload) = &frame.payload {
        put("payload", &payload.len());
    }
    if frame.meta.is_some() {
        put("meta", &format_args!("{:?}", keys(frame)));
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::MessageId;

    /// Hands on what is written, and lets each write wait for a word.
    struct Held {
        go: Receiver<()>,
        written: Sender<String>,
    }

    impl Write for Held {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            let _ended = self.go.recv(); // an end is a word too
            let text = String::from_utf8(data.to_vec()).expect("lines are text");
            self.written.send(text).expect("the test listens");
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn frame() -> Frame {
        let mut frame = Frame::req(MessageId::new_random(), None, "cap:x", "application/cbor");
        frame.payload = Some(bytes::Bytes::from_static(b"a secret"));
        frame.set_meta("key", "another secret");
        frame
    }

    fn traced(format: TraceFormat, frames: usize, room: usize) -> Vec<String> {
        let (go, going) = bounded(0);
        let (written, lines) = crossbeam_channel::unbounded();
        let tracer = Tracer::start(Held { go: going, written }, format, room).expect("a thread");
        for _ in 0..frames {
            tracer.note(Way::Sent, &frame());
        }
        drop((go, tracer));
        lines.iter().collect()
    }

    #[test]
    fn a_line_has_lengths_and_keys_and_no_content() {
        for format in [TraceFormat::Text, TraceFormat::Json] {
            let line = traced(format, 1, 8).concat();
            assert!(!line.contains("secret"), "{line}");
            assert!(
                line.contains("req") && line.contains("cap:x") && line.contains("key"),
                "{line}"
            );
            assert_eq!(line.matches('\n').count(), 1);
        }
        let json: Json = serde_json::from_str(&traced(TraceFormat::Json, 1, 8)[0]).expect("JSON");
        assert_eq!((&json["payload"], &json["way"]), (&json!(8), &json!("sent")));
        assert_eq!(json["meta"], json!(["key"]));
    }

    #[test]
    fn a_line_is_short_whatever_a_peer_calls_things() {
        let long = "ä".repeat(1_000_000);
        let mut frame = Frame::req(MessageId::Uint(1), None, &long, "application/cbor");
        frame.stream_id = Some(long.clone());
        let keys = (0..10_000).map(|n| (Value::Text(format!("{n}{long:.999}")), Value::Null));
        frame.meta = Some(Value::Map(keys.collect()));
        for line in [text(Way::Sent, &frame), json(Way::Sent, &frame).to_string()] {
            assert!(line.len() < 16 * 1024, "{} bytes", line.len());
            assert!(line.contains("ää"));
        }
    }

    #[test]
    fn a_slow_place_holds_nobody_up_and_what_is_left_out_is_counted() {
        let lines = traced(TraceFormat::Json, 100, 4);
        let json = |line: &String| serde_json::from_str::<Json>(line).expect("JSON");
        let left_out: u64 = lines.iter().filter_map(|line| json(line)["left_out"].as_u64()).sum();
        let frames = lines.iter().filter(|line| json(line)["type"] == "req").count();
        assert!(frames <= 5, "{frames} lines found room");
        assert_eq!(frames as u64 + left_out, 100);
    }
}
