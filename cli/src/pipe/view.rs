//! The live view: a line a hop on a terminal, none when piped.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use sluicegate::InputStream;

use super::hop::Hop;
use super::summary::bytes;

pub struct View {
    lines: Option<Lines>,
    labels: Vec<String>,
}

struct Lines {
    all: MultiProgress,
    total: ProgressBar,
    hops: Vec<ProgressBar>,
    last: Vec<(Instant, u64)>,
}

impl View {
    pub fn new(quiet: bool, total: Option<u64>, hops: &[Hop]) -> Self {
        let labels: Vec<String> = hops.iter().map(|hop| short(hop.peer.name())).collect();
        let visible = !quiet && std::io::stderr().is_terminal();
        let lines = visible.then(|| {
            let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            let bar = all.add(total.map_or_else(ProgressBar::no_length, ProgressBar::new));
            let form = match total {
                Some(_) => "{bar:32} {binary_bytes} of {binary_total_bytes}  {eta} left",
                None => "{spinner} {binary_bytes}  {elapsed}",
            };
            bar.set_style(style(form));
            let hops = labels
                .iter()
                .map(|_| {
                    let line = all.add(ProgressBar::no_length());
                    line.set_style(style("  {wide_msg}"));
                    line
                })
                .collect();
            let last = vec![(Instant::now(), 0); labels.len()];
            Lines { all, total: bar, hops, last }
        });
        View { lines, labels }
    }

    /// Draws what the streams say now.
    pub fn draw(&mut self, hops: &[Hop], outputs: &[Option<InputStream>]) {
        let Some(lines) = &mut self.lines else { return };
        lines.total.set_position(hops[0].input.stats().bytes);
        for (n, hop) in hops.iter().enumerate() {
            let (input, label) = (hop.input.stats(), &self.labels[n]);
            let out = outputs[n].as_ref().map(InputStream::stats).unwrap_or_default();
            let rate = rate(&mut lines.last[n], input.bytes);
            lines.hops[n].set_message(format!(
                "{label:<20} {:>11} in  {:>11} out  {:>11}/s  window {:>3}/{:<3}  stalled {:>6.1} s",
                bytes(input.bytes),
                bytes(out.bytes),
                bytes(rate),
                input.window,
                input.initial_credit,
                input.stalled.as_secs_f64(),
            ));
        }
    }

    /// A line that a cartridge logged.
    pub fn line(&self, n: usize, text: &str) {
        let text = format!("[{}] {text}", self.labels[n]);
        match &self.lines {
            // The terminal is the only place to complain about the terminal.
            Some(lines) => drop(lines.all.println(text)),
            None => eprintln!("{text}"),
        }
    }

    pub fn finish(&self) {
        if let Some(lines) = &self.lines {
            lines.total.finish();
            for line in &lines.hops {
                line.finish();
            }
        }
    }
}

fn style(form: &str) -> ProgressStyle {
    ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Bytes a second since the last look.
fn rate(last: &mut (Instant, u64), now_at: u64) -> u64 {
    let elapsed = last.0.elapsed().max(Duration::from_millis(1));
    let moved = now_at.saturating_sub(last.1);
    *last = (Instant::now(), now_at);
    let per_second = u128::from(moved) * 1000 / elapsed.as_millis().max(1);
    u64::try_from(per_second).unwrap_or(u64::MAX)
}

/// The last word of a command that looks like a program.
fn short(label: &str) -> String {
    let word = label.split_whitespace().rev().find(|word| !word.starts_with('-')).unwrap_or(label);
    let name = word.rsplit('/').next().unwrap_or(word);
    name.chars().take(20).collect()
}
