//! `sluicegate top`: the live windows and rates of a running process.

use std::collections::HashMap;
use std::io::{IsTerminal, stdout};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value as Json;
use sluicegate::Error;
use sluicegate::control::Question;

use crate::target::Target;
use crate::told::Told;

#[derive(Args)]
pub struct Arguments {
    /// The process: its number, or the path of its control socket.
    #[arg(value_name = "PID|SOCKET")]
    target: Target,
    /// Seconds between two looks.
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    every: f64,
    /// Print one look and end.
    #[arg(long)]
    once: bool,
    /// Print each look as a line of JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let told = Told::listen()?;
    let pause = Duration::try_from_secs_f64(arguments.every.max(0.1)).unwrap_or(Duration::MAX);
    let mut seen = Seen::default();
    loop {
        let stats = arguments.target.ask(Question::Stats)?;
        if arguments.json {
            println!("{stats}");
        } else {
            if stdout().is_terminal() && !arguments.once {
                print!("\x1b[2J\x1b[H");
            }
            print!("{}", seen.table(&stats, Instant::now()));
        }
        if arguments.once || told.wait_for(pause) {
            return Ok(());
        }
    }
}

/// What the look before saw: bytes by stream, and when.
#[derive(Default)]
struct Seen {
    bytes: HashMap<String, u64>,
    at: Option<Instant>,
}

impl Seen {
    fn table(&mut self, stats: &Json, at: Instant) -> String {
        let since = self.at.map(|before| at.saturating_duration_since(before).as_secs_f64());
        let mut bytes = HashMap::new();
        let mut text = format!(
            "{:<24} {:<10} {:<10} {:>4} {:>11} {:>12} {:>10}\n",
            "who", "request", "stream", "way", "window left", "bytes", "bytes/s"
        );
        for (who, request) in requests(stats) {
            let id = request["rid"].as_str().unwrap_or_default();
            for stream in request["streams"].as_array().into_iter().flatten() {
                let name = stream["stream_id"].as_str().unwrap_or("-");
                let moved =
                    count(stream, "bytes") + count(stream, "bytes_in") + count(stream, "bytes_out");
                let key = format!("{who} {id} {name}");
                let before = self.bytes.get(&key).copied().unwrap_or(moved);
                let rate = since.map_or_else(String::new, |seconds| {
                    format!("{:.0}", moved.saturating_sub(before) as f64 / seconds)
                });
                let left = stream["credit_outstanding"].as_i64().unwrap_or_default();
                let way = stream["direction"].as_str().unwrap_or("-");
                text += &format!(
                    "{:<24} {:<10} {:<10} {way:>4} {left:>11} {moved:>12} {rate:>10}\n",
                    cut(&who, 24),
                    cut(id, 8),
                    cut(name, 10),
                );
                bytes.insert(key, moved);
            }
        }
        *self = Seen { bytes, at: Some(at) };
        text
    }
}

/// The live requests of an engine, or of a switch, and whose they are.
fn requests(stats: &Json) -> Vec<(String, &Json)> {
    let mut all = Vec::new();
    for cartridge in stats["cartridges"].as_array().into_iter().flatten() {
        let name = cartridge["name"].as_str().unwrap_or_default();
        let live = cartridge["requests"].as_array().into_iter().flatten();
        all.extend(live.map(|request| (name.to_owned(), request)));
    }
    for request in stats["requests"]["active"].as_array().into_iter().flatten() {
        let name = request["destination_master"].as_str().unwrap_or_default();
        all.push((name.to_owned(), request));
    }
    all
}

fn count(stream: &Json, name: &str) -> u64 {
    stream[name].as_u64().unwrap_or_default()
}

fn cut(text: &str, most: usize) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c }; // a peer may call itself anything
    text.chars().take(most).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_second_look_tells_rates() {
        let stats = |bytes: u64| {
            json!({"cartridges": [{"name": "echo", "requests": [{"rid": "12345678-9", "streams": [
                {"stream_id": "arg-0", "direction": "out", "credit_outstanding": 3, "bytes": bytes}
            ]}]}]})
        };
        let (mut seen, start) = (Seen::default(), Instant::now());
        let first = seen.table(&stats(100), start);
        assert!(first.contains("echo") && first.contains("12345678 "), "{first}");
        let second = seen.table(&stats(300), start + Duration::from_secs(2));
        assert!(second.trim_end().ends_with(" 100"), "{second}");
    }

    #[test]
    fn a_switch_tells_its_requests_too() {
        let stats = json!({"requests": {"active": [{"rid": "r", "destination_master": "host-1",
            "streams": [{"stream_id": null, "frames_in": 1}]}]}});
        assert!(Seen::default().table(&stats, Instant::now()).contains("host-1"));
    }
}
