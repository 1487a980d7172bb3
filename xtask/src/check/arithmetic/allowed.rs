//! What is done with a credit outside the model and decides nothing about it, one by one. An entry that
//! fits nothing any more is a finding too.

/// A file, the expression (spaces do not count), and why it may stand there.
type Allowed = (&'static str, &'static str, &'static str);

pub const ALLOWED: &[Allowed] = &[
    ("core/src/credit/gate.rs", "word == SLOW", MARK),
    ("core/src/credit/gate.rs", "self.0.word.load(Ordering::Acquire) != SLOW", MARK),
    (
        "core/src/credit/gate.rs",
        "next == word",
        "whether the model changed anything: nothing to write",
    ),
    (
        "core/src/flow/edge.rs",
        "self.buffer.held != 0",
        "whether there is an element, before the model is asked for it",
    ),
    (
        "core/src/flow/edge.rs",
        "self.buffer.held < options.capacity",
        "which of two limits a text names",
    ),
    ("core/src/flow/explain.rs", "0", "a text: one, several"),
    ("core/src/flow/explain.rs", "1 ..", "a text: one, several"),
    ("core/src/flow/fetch.rs", "self.meter.view().demand().downstream.min(MOST)", PAGE),
    ("core/src/flow/fetch.rs", "came < n", PAGE),
    (
        "core/src/flow/hub_core.rs",
        "self.model.buffer.held.saturating_add(self.ready.len() as u64)",
        "a figure for people",
    ),
    (
        "core/src/flow/hub_core.rs",
        "self.hub.queued == 0",
        "whether there is an element that somebody holds up",
    ),
    ("core/src/flow/hub_core.rs", "0", "the end is told behind the last element"),
    ("core/src/flow/hub_core.rs", "n == 0", NOTHING),
    (
        "core/src/flow/meter.rs",
        "self.held.load(Relaxed).saturating_add(self.parked.load(Relaxed))",
        "a figure for people",
    ),
    (
        "core/src/flow/meter.rs",
        "self.stage.asked != 0",
        "whether an input is awaited, for an explanation",
    ),
    (
        "core/src/flow/meter.rs",
        "debug_assert_eq!(answer, Emission::Emitted(0), \"the inputs of a stage owe the same\")",
        "an assertion on the model's answer",
    ),
    ("core/src/flow/pump.rs", "more != 0", NOTHING),
    ("core/src/flow/pump.rs", "more.saturating_add(1)", TAKEN),
    ("core/src/flow/sink.rs", "ask != 0", NOTHING),
    ("core/src/flow/stage/fan.rs", "more != 0", NOTHING),
    ("core/src/flow/stage/fan.rs", "more.saturating_add(n)", TAKEN),
    ("core/src/flow/stage/fan.rs", "branch.room() != 0", ROOM),
    ("core/src/flow/stage/fan.rs", "self.branches[*at].room() != 0", ROOM),
    ("core/src/flow/stage/fan.rs", "b.room() == 0", ROOM),
    ("core/src/flow/stage/fan.rs", "ask != 0", NOTHING),
    ("core/src/flow/stage/inlet.rs", "n != 0", NOTHING),
    ("core/src/flow/stage/input.rs", "n != 0", NOTHING),
    ("core/src/flow/stage/line.rs", "n != 0", NOTHING),
    (
        "core/src/flow/wire.rs",
        "self.meter.view().demand().held != 0",
        "whether an element is under way",
    ),
    (
        "core/src/routing/router.rs",
        "chunks >= most",
        "how much lies unread before a whole link, against what one window explains; no stream's credit",
    ),
];

const MARK: &str = "a mark in place of a number: the truth is behind the lock";
const NOTHING: &str = "nothing to ask for: no call is made";
const PAGE: &str = "the size of a page that is read at once, and whether it came whole";
const TAKEN: &str = "two takes of the gate become one request: Stages.requests_add_up";
const ROOM: &str = "whether a branch takes an element; the gate is asked once it is handed on";

/// The place of the entry that allows this.
pub fn entry(file: &str, what: &str) -> Option<usize> {
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let what = plain(what);
    ALLOWED.iter().position(|(of, expression, _)| *of == file && plain(expression) == what)
}
