//! Replays `tests/conformance` through the public classes: pure scripts once, waiting scripts three
//! ways: blocking threads, futures on a hand-written executor, operations with a bell.
//!
//! `SLUICEGATE_REPEAT=N` replays the waiting scripts N times; N is at least 1.

mod broken;
mod futures;
mod hub;
mod inner;
mod junction;
mod operations;
mod pipeline;
mod probes;
mod pure;
mod script;
mod stages;
mod threads;
mod waiting;

use std::io::Write as _;
use std::num::NonZeroUsize;

use script::{Failure, Group, Script};
use waiting::Way;

/// So many failures tell enough; more would each wait for the watchdog.
const ENOUGH: usize = 10;

/// What was replayed, and what failed.
#[derive(Default)]
struct Report {
    scripts: usize,
    steps: usize,
    failures: Vec<String>,
}

impl Report {
    fn check(&mut self, file: &str, script: &Script, ended: Result<(), Failure>) {
        self.scripts += 1;
        self.steps += script.steps.len();
        if let Err(failure) = ended {
            self.failures.push(format!("{file}: {:?}: {failure}", script.name));
        }
    }

    fn has_enough(&self) -> bool {
        self.failures.len() >= ENOUGH
    }
}

fn replay_pure(groups: &[Group]) -> Report {
    let mut report = Report::default();
    for group in groups {
        for script in &group.scripts {
            if !report.has_enough() {
                report.check(&group.file, script, pure::replay(&group.machine, script));
            }
        }
    }
    report
}

/// The waiting scripts in one way, once.
fn replay_once<W: Way>(groups: &[Group]) -> Report {
    let mut report = Report::default();
    for group in groups {
        for script in &group.scripts {
            if !report.has_enough() {
                report.check(&group.file, script, waiting::replay::<W>(&group.machine, script));
            }
        }
    }
    report
}

/// The waiting scripts in one way, `times` times, on a few threads at once so that they disturb each
/// other. A script counts once.
fn replay_waiting<W: Way>(groups: &[Group], times: usize) -> Report {
    let workers = times.clamp(1, 4);
    let round = |worker| {
        let mut report = Report::default();
        for _ in (worker..times).step_by(workers) {
            let failures = std::mem::take(&mut report.failures);
            report = replay_once::<W>(groups);
            report.failures.splice(0..0, failures);
            if report.has_enough() {
                break;
            }
        }
        report
    };
    std::thread::scope(|scope| {
        let round = &round;
        let workers: Vec<_> =
            (0..workers).map(|worker| scope.spawn(move || round(worker))).collect();
        let mut all = Report::default();
        for worker in workers {
            let one = worker.join().expect("a worker does not panic");
            (all.scripts, all.steps) = (one.scripts, one.steps);
            all.failures.extend(one.failures);
        }
        all
    })
}

/// How often the waiting scripts are replayed, of what `SLUICEGATE_REPEAT` says.
fn repeats(said: Option<&str>) -> Result<usize, Failure> {
    let Some(text) = said else { return Ok(1) };
    text.parse::<NonZeroUsize>().map(NonZeroUsize::get).map_err(|_| {
        Failure::new(format!("SLUICEGATE_REPEAT is {text:?}, not a whole number from 1"))
    })
}

fn load(kind: &str) -> Vec<Group> {
    let read = || script::files(kind)?.iter().map(|path| script::read(path)).collect();
    let groups: Result<Vec<Group>, Failure> = read();
    groups.unwrap_or_else(|failure| panic!("{kind}: {failure}"))
}

#[test]
fn a_count_that_would_replay_nothing_is_refused() {
    assert_eq!(repeats(None).ok(), Some(1));
    assert_eq!(repeats(Some("1000")).ok(), Some(1000));
    for text in ["0", "-1", "many", ""] {
        let refused = repeats(Some(text)).expect_err(text).to_string();
        assert_eq!(refused, format!("SLUICEGATE_REPEAT is {text:?}, not a whole number from 1"));
    }
}

#[test]
fn replays_every_script() {
    let said = std::env::var_os("SLUICEGATE_REPEAT");
    let times = repeats(said.as_deref().map(|text| text.to_string_lossy()).as_deref())
        .unwrap_or_else(|failure| panic!("{failure}"));
    let scripts = load("pure");
    let groups = load("waiting");
    // What waits takes the processor only now and then: all at once.
    let (pure, ways) = std::thread::scope(|scope| {
        let pure = scope.spawn(|| replay_pure(&scripts));
        let ways = [
            ("blocking call", scope.spawn(|| replay_waiting::<threads::Threads>(&groups, times))),
            ("futures", scope.spawn(|| replay_waiting::<futures::Futures>(&groups, times))),
            (
                "operations with a bell",
                scope.spawn(|| replay_waiting::<operations::Operations>(&groups, times)),
            ),
        ];
        let pure = pure.join().expect("a replay does not panic");
        (pure, ways.map(|(name, way)| (name, way.join().expect("a replay does not panic"))))
    });
    let mut failures = pure.failures;
    for (primitive, waiting) in ways {
        writeln!(
            std::io::stdout(), // past the capture: the line is for the caller of the tests
            "\nconformance rust | {primitive}: pure {} scripts {} steps, \
             waiting {} scripts {} steps, {} failures",
            pure.scripts,
            pure.steps,
            waiting.scripts,
            waiting.steps,
            failures.len() + waiting.failures.len(),
        )
        .expect("stdout takes a line");
        failures.extend(waiting.failures);
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}
