//! What is done with a credit outside the model and decides nothing about it, one by one. An entry that
//! fits nothing any more is a finding too.

/// A file, the expression (spaces do not count), and why it may stand there.
type Allowed = (&'static str, &'static str, &'static str);

pub const ALLOWED: &[Allowed] = &[
    ("core/src/account/load.rs", "a.saturating_add(b)", BYTES),
    ("core/src/account/load.rs", "a.saturating_mul(b)", BYTES),
    ("core/src/account/load.rs", "within > unread", BYTES),
    ("core/src/credit/gate.rs", "word == SLOW", MARK),
    ("core/src/credit/gate.rs", "self.0.word.load(Ordering::Acquire) != SLOW", MARK),
    (
        "core/src/credit/gate.rs",
        "next == word",
        "whether the model changed anything: nothing to write",
    ),
    ("core/src/flow/explain.rs", "0", "a text: one, several"),
    ("core/src/flow/explain.rs", "1 ..", "a text: one, several"),
    (
        "core/src/flow/meter.rs",
        "held.saturating_add(self.parked.load(Relaxed))",
        "a figure for people: what waits, and what waits for room in front of it",
    ),
];

const BYTES: &str =
    "the bytes that a window may hold, for people and tests: nothing is granted by it";
const MARK: &str = "a mark in place of a number: the truth is behind the lock";

/// The place of the entry that allows this.
pub fn entry(file: &str, what: &str) -> Option<usize> {
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let what = plain(what);
    ALLOWED.iter().position(|(of, expression, _)| *of == file && plain(expression) == what)
}
