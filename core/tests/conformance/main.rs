//! Replays `tests/conformance` through the public classes: pure scripts once, waiting scripts three
//! ways: blocking threads, futures on a hand-written executor, operations with a bell.
//!
//! `SLUICEGATE_REPEAT=N` replays the waiting scripts N times.

mod futures;
mod operations;
mod pure;
mod script;
mod threads;
mod waiting;

use std::io::Write as _;

use script::{Failure, Group};

fn repeats() -> usize {
    match std::env::var("SLUICEGATE_REPEAT") {
        Ok(text) => text.parse().expect("SLUICEGATE_REPEAT is a number"),
        Err(_) => 1,
    }
}

/// So many failures tell enough; more would each wait for the watchdog.
const ENOUGH: usize = 10;

/// Runs `check` over every script of a group and collects what failed.
fn replay(
    group: &Group,
    failures: &mut Vec<String>,
    check: impl Fn(&script::Script) -> Result<(), Failure>,
) {
    for script in &group.scripts {
        if failures.len() >= ENOUGH {
            return;
        }
        if let Err(failure) = check(script) {
            failures.push(format!("{}: {:?}: {failure}", group.file, script.name));
        }
    }
}

/// The waiting scripts, all ways, `times` times, on a few threads at once so that they disturb each
/// other.
fn replay_waiting(groups: &[Group], times: usize) -> Vec<String> {
    let workers = times.clamp(1, 4);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || {
                    let mut failures = Vec::new();
                    for _ in (worker..times).step_by(workers) {
                        for group in groups {
                            replay(group, &mut failures, |s| {
                                waiting::replay::<threads::Threads>(s)
                            });
                            replay(group, &mut failures, |s| {
                                waiting::replay::<futures::Futures>(s)
                            });
                            replay(group, &mut failures, |s| {
                                waiting::replay::<operations::Operations>(s)
                            });
                        }
                        if !failures.is_empty() {
                            break;
                        }
                    }
                    failures
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("a worker does not panic"))
            .collect()
    })
}

#[test]
fn replays_every_script() {
    let pure = script::load("pure");
    let waiting = script::load("waiting");
    let mut failures = Vec::new();
    for group in &pure {
        replay(group, &mut failures, |s| pure::replay(&group.machine, s));
    }
    for group in &waiting {
        assert_eq!(group.machine, "waiting", "{}", group.file);
    }
    failures.extend(replay_waiting(&waiting, repeats()));
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));

    let scripts = |groups: &[Group]| groups.iter().map(|g| g.scripts.len()).sum::<usize>();
    let steps = |groups: &[Group]| {
        groups.iter().flat_map(|g| &g.scripts).map(|s| s.steps.len()).sum::<usize>()
    };
    writeln!(
        std::io::stdout(), // past the capture: the line is for the caller of the tests
        "\nconformance rust: pure {} scripts {} steps, waiting {} scripts {} steps",
        scripts(&pure),
        steps(&pure),
        scripts(&waiting),
        steps(&waiting),
    )
    .expect("stdout takes a line");
}
