//! The run-time monitor: holds a live process to the model.
//!
//! Off unless the environment says `SLUICEGATE_CHECK=1` when the process first asks. While it is off a gate
//! or a stream has no ledger, and the hot paths look at a field that is `None`. While it is on, each gate,
//! receiving window and link keeps a second count of its own, made from what callers were *told* and
//! not from the state, and the two are compared under the lock that guards the state:
//!
//! | what | law |
//! |---|---|
//! | opened + granted + given back = taken + available | L9 |
//! | remaining + pending + held by chunks = window | L10 |
//! | what a window granted = what its stream handed to the link = what the CREDIT frames on the wire say | L10 |
//! | a stream sends no chunk beyond what it was opened with and granted | L9, L12 |
//! | the head of a line could not have been served; who was served comes for it in time | L13 |
//! | who waits for a queue, a call, a completion, a feed, an edge or a hub is woken by what it waits for | L13 |
//! | one terminal, nothing of the flow after it, numbers without gap | L4 |
//! | no request outlives its connection | L7 |
//!
//! A breach is this library's own fault: a line on standard error that names law, place and numbers, and
//! then the process aborts. What a *peer* does wrong, or wrongly claims, is reported in such a line
//! too and handled as ever: the process goes on.
//!
//! The arithmetic here is deliberately not the model's: it is what the model is held against.

mod flow;
mod gate;
mod grants;
mod monitor;
mod wait;
mod window;

use std::fmt;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

pub(crate) use flow::FlowLedger;
pub(crate) use gate::GateLedger;
pub(crate) use grants::GrantLedger;
pub(crate) use wait::{Lost, Suspects, due, lost, pace};
pub(crate) use window::{Counters, Move, WindowLedger};

const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// Not a checker's atomic: it is a setting of the process, and decides nothing between threads.
static SETTING: AtomicU8 = AtomicU8::new(UNKNOWN);

/// True if this process is to be held to the model. One relaxed load, after the first time. A checker of
/// schedules looks by itself.
#[inline]
pub(crate) fn on() -> bool {
    if cfg!(any(loom, shuttle)) {
        return false;
    }
    match SETTING.load(Ordering::Relaxed) {
        UNKNOWN => ask(),
        setting => setting == ON,
    }
}

#[cold]
fn ask() -> bool {
    let on = std::env::var_os("SLUICEGATE_CHECK").is_some_and(|value| value == "1");
    SETTING.store(if on { ON } else { OFF }, Ordering::Relaxed);
    on
}

/// How long a waiter whose turn has come may leave it unfetched: `SLUICEGATE_CHECK_MS`, 5000 unless set.
fn patience() -> Duration {
    static PATIENCE: OnceLock<Duration> = OnceLock::new();
    *PATIENCE.get_or_init(|| {
        let said = std::env::var("SLUICEGATE_CHECK_MS").ok().and_then(|text| text.parse().ok());
        Duration::from_millis(said.unwrap_or(5000))
    })
}

/// A law that this library broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    law: &'static str,
    what: String,
}

impl Breach {
    fn new(law: &'static str, what: String) -> Self {
        Breach { law, what }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sluicegate check: breach of {}: {}", self.law, self.what)
    }
}

/// Says what was broken and ends the process, so that no test goes on as if nothing had happened.
pub(crate) fn hold(kept: Result<(), Breach>) {
    if let Err(breach) = kept {
        say(&breach);
        std::process::abort();
    }
}

/// A stream sends nothing beyond what it was opened with and granted (L9): `given`, `None` while nothing
/// is checked.
pub(crate) fn may_send(stream: &dyn fmt::Display, sent: u64, given: Option<u128>) {
    if let Some(given) = given.filter(|&given| u128::from(sent) > given) {
        let what = format!("{stream}: chunk {sent} goes out, opened with and granted {given}");
        hold(Err(Breach::new("L9 (an overrun of our own)", what)));
    }
}

/// No request outlives its connection (L7).
pub(crate) fn left_behind(request: &dyn fmt::Display) {
    let what = format!("request {request} is live although its connection is gone");
    hold(Err(Breach::new("L7", what)));
}

/// Says what a peer did wrong, or wrongly claims. The process goes on.
pub(crate) fn report(law: &'static str, what: fmt::Arguments<'_>) {
    say(&format_args!("sluicegate check: peer, {law}: {what}"));
}

/// One write, so that lines of several processes on one standard error stay whole.
fn say(line: &dyn fmt::Display) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    /// This test program again, for the one test that breaks something on purpose.
    fn broken(test: &str, what: &str) -> (Option<i32>, String) {
        let own = std::env::current_exe().expect("a test has a program");
        let ended = Command::new(own)
            .args(["--exact", test, "--nocapture"])
            .env("SLUICEGATE_CHECK", "1")
            .env("SLUICEGATE_CHECK_MS", "50")
            .env("BREAK", what)
            .output()
            .expect("it starts");
        (ended.status.signal(), String::from_utf8_lossy(&ended.stderr).into_owned())
    }

    #[test]
    fn a_breach_is_said_and_ends_the_process() {
        if std::env::var_os("BREAK").is_some() {
            left_behind(&7);
        }
        let (signal, said) = broken("check::tests::a_breach_is_said_and_ends_the_process", "yes");
        assert_eq!(signal, Some(6), "{said}");
        assert!(said.contains("sluicegate check: breach of L7: request 7 is live"), "{said}");
    }

    #[test]
    fn an_overrun_of_our_own_ends_the_process() {
        may_send(&"a stream", 3, Some(3));
        may_send(&"a stream", 4, None);
        if std::env::var_os("BREAK").is_some() {
            may_send(&"a stream", 4, Some(3));
        }
        let (signal, said) = broken("check::tests::an_overrun_of_our_own_ends_the_process", "yes");
        assert_eq!(signal, Some(6), "{said}");
        assert!(said.contains("a stream: chunk 4 goes out"), "{said}");
    }

    #[test]
    fn a_served_waiter_who_never_comes_is_reported() {
        if std::env::var_os("BREAK").is_some() {
            let ledger = GateLedger::open(0).expect("the check is on");
            ledger.served(3);
            let (_never, ended) = std::sync::mpsc::channel::<()>();
            let _ = ended.recv_timeout(Duration::from_secs(60)); // the monitor ends it
        }
        let (signal, said) =
            broken("check::tests::a_served_waiter_who_never_comes_is_reported", "yes");
        assert_eq!(signal, Some(6), "{said}");
        assert!(said.contains("breach of L13") && said.contains("waiter 3"), "{said}");
    }

    #[test]
    fn what_a_peer_does_ends_nothing() {
        report("L12", format_args!("a line from a test"));
    }
}
