//! What there is to say once the chain has ended.

use std::io::Write;

use serde_json::{Value as Json, json};
use sluicegate::{Error, Memory, StreamStats};

pub struct Summary {
    pub seconds: f64,
    pub hops: Vec<HopFigures>,
    pub own: Option<Memory>,
    pub error: Option<Error>,
}

pub struct HopFigures {
    pub name: String,
    pub cap: String,
    pub pid: Option<u32>,
    /// What went into the cartridge.
    pub input: StreamStats,
    /// What came out of it.
    pub output: StreamStats,
    /// Resident bytes once it was started.
    pub idle: u64,
    /// The most it held.
    pub peak: u64,
}

impl Summary {
    pub fn print_json(&self, on_stdout: bool) {
        let text = self.json().to_string();
        // Whoever closed the stream the summary goes to does not want it.
        let _ = match on_stdout {
            true => writeln!(std::io::stdout(), "{text}"),
            false => writeln!(std::io::stderr(), "{text}"),
        };
    }

    fn json(&self) -> Json {
        let stream = |stats: &StreamStats| {
            json!({
                "chunks": stats.chunks, "bytes": stats.bytes,
                "stalled_ms": u64::try_from(stats.stalled.as_millis()).unwrap_or(u64::MAX),
                "window": stats.window, "initial_credit": stats.initial_credit,
            })
        };
        let hops: Vec<Json> = self
            .hops
            .iter()
            .map(|hop| {
                json!({
                    "name": hop.name, "cap": hop.cap, "pid": hop.pid,
                    "input": stream(&hop.input), "output": stream(&hop.output),
                    "memory": {"idle": hop.idle, "peak": hop.peak},
                })
            })
            .collect();
        let error = self.error.as_ref().map(|error| {
            json!({"kind": error.kind().name(), "code": error.code(),
                   "class": error.class().as_str(), "message": error.message()})
        });
        let own = self.own.map(|memory| json!({"resident": memory.resident, "peak": memory.peak}));
        json!({"ok": error.is_none(), "seconds": self.seconds, "hops": hops, "memory": own, "error": error})
    }

    pub fn print_text(&self) {
        for hop in &self.hops {
            let grown = hop.peak.saturating_sub(hop.idle);
            eprintln!(
                "{}: {} in, {} out, {:.1} s waiting for credit, {:.1} s without input, memory peak {} ({} over idle)",
                hop.name,
                bytes(hop.input.bytes),
                bytes(hop.output.bytes),
                hop.input.stalled.as_secs_f64(),
                hop.output.stalled.as_secs_f64(),
                bytes(hop.peak),
                bytes(grown),
            );
        }
        if let Some(own) = self.own {
            eprintln!(
                "sluicegate itself: memory peak {}; {:.1} s in all",
                bytes(own.peak),
                self.seconds
            );
        }
    }
}

/// A number of bytes for people.
pub fn bytes(n: u64) -> String {
    indicatif::HumanBytes(n).to_string()
}
