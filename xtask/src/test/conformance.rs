//! The conformance scripts in every language: all pass in every way of waiting, and all replayed the same
//! number, which is not a small one.

mod pipelines;

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use super::{checked, swift};
use crate::build;
use crate::process;
use crate::repo::Repo;
use crate::setup::Tools;
use crate::step;
use crate::tally::Tally;

/// Every language, and what its actors wait with: each pair prints one line of its own.
const WAYS: [(&str, &str); 9] = [
    ("rust", "blocking call"),
    ("rust", "futures"),
    ("rust", "operations with a bell"),
    ("c", "pthread condition"),
    ("c", "blocking call"),
    ("go", "select on a channel"),
    ("python", "threads"),
    ("python", "asyncio"),
    (SWIFT, "continuations"),
];

/// The one language that a machine may lack.
const SWIFT: &str = "swift";

/// Fewer steps of pure scripts than this, and a file of them has been lost.
const PURE_STEPS: u64 = 100_000;

/// Fewer waiting scripts than this, and a file of them has been lost.
const WAITING_SCRIPTS: u64 = 2_000;

/// What replaying all scripts is meant to take in one language at most, in seconds.
const MINUTE: u64 = 60;

/// The chore: builds what the runners need, then compares.
pub fn run(repo: &Repo, tools: &Tools, repeat: u32, tally: &mut Tally) -> Result<()> {
    let mut steps = build::steps(repo, tools);
    steps.push(step::Step::new("conformance", |_| compare(repo, tools, repeat)));
    step::run("conformance", &step::Select::default(), steps, tally)
}

/// Runs each language's runner, the waiting scripts `repeat` times, and compares what they counted.
pub fn compare(repo: &Repo, tools: &Tools, repeat: u32) -> Result<()> {
    let mut replays = Vec::new();
    let mut lines = Vec::new(); // of stages
    let mut failed = Vec::new();
    let mut inner = Vec::new(); // of the machines that only Rust replays
    for mut runner in runners(repo, tools)? {
        runner.env("SLUICEGATE_REPEAT", repeat.to_string());
        let start = Instant::now();
        let watched = process::watch(checked(&mut runner), |_| false)?;
        let seconds = start.elapsed().as_secs();
        let said = watched.text.lines().filter_map(Replay::read);
        let said: Vec<_> = said.map(|one| Replay { seconds, ..one }).collect();
        if watched.ended.is_err() {
            println!("{}", watched.text);
        }
        if let Err(error) = watched.ended {
            failed.push(format!("{error:#}"));
        } else if said.is_empty() {
            println!("{}", watched.text); // shows why; that its lines are missing is said below
        }
        replays.extend(said);
        lines.extend(watched.text.lines().filter_map(pipelines::Pipelines::read));
        inner.extend(
            watched.text.lines().filter(|line| line.starts_with("inner ")).map(str::to_owned),
        );
    }
    print!("{}{}", table(&replays), pipelines::table(&lines));
    inner.iter().for_each(|line| println!("{line}"));
    failed.extend(faults(&replays, tools.swift.is_some()));
    failed.extend(pipelines::faults(&lines, tools.swift.is_some()));
    if failed.is_empty() {
        return Ok(());
    }
    bail!("{}", failed.join("\n"))
}

/// What one runner says of one way of waiting.
#[derive(Debug, PartialEq, Eq)]
struct Replay {
    language: String,
    primitive: String,
    /// Scripts and steps.
    pure: (u64, u64),
    waiting: (u64, u64),
    failures: u64,
    /// How long the runner of this language took, in all its ways of waiting together.
    seconds: u64,
}

impl Replay {
    /// Reads `conformance go | select: pure 3 scripts 9 steps, waiting 1 scripts 2 steps, 0 failures`.
    fn read(line: &str) -> Option<Self> {
        // A test runner may have begun the line with its own mark.
        let said = &line[line.find("conformance ")?..];
        let (who, counts) = said.strip_prefix("conformance ")?.split_once(": ")?;
        let (language, primitive) = who.split_once(" | ")?;
        let mut counts = counts.trim().split(", ");
        let pure = scripts_and_steps(counts.next()?.strip_prefix("pure ")?)?;
        let waiting = scripts_and_steps(counts.next()?.strip_prefix("waiting ")?)?;
        let failures = counts.next()?.strip_suffix(" failures")?.parse().ok()?;
        let (language, primitive) = (language.to_owned(), primitive.to_owned());
        Some(Replay { language, primitive, pure, waiting, failures, seconds: 0 })
    }

    fn who(&self) -> String {
        format!("{} ({})", self.language, self.primitive)
    }

    /// What is wrong with this line, whatever the others say.
    fn faults(&self) -> Vec<String> {
        let who = self.who();
        let mut faults = Vec::new();
        if self.failures != 0 {
            faults.push(format!("{who} counted {} failures", self.failures));
        }
        let (_, steps) = self.pure;
        if steps < PURE_STEPS {
            faults.push(format!("{who} replayed {steps} pure steps, fewer than {PURE_STEPS}"));
        }
        let (scripts, _) = self.waiting;
        if scripts < WAITING_SCRIPTS {
            faults.push(format!(
                "{who} replayed {scripts} waiting scripts, fewer than {WAITING_SCRIPTS}"
            ));
        }
        faults
    }

    fn counts(&self) -> String {
        let ((ps, pn), (ws, wn)) = (self.pure, self.waiting);
        format!("pure {ps} scripts {pn} steps, waiting {ws} scripts {wn} steps")
    }
}

/// Reads `3 scripts 9 steps`.
fn scripts_and_steps(text: &str) -> Option<(u64, u64)> {
    let (scripts, steps) = text.strip_suffix(" steps")?.split_once(" scripts ")?;
    Some((scripts.parse().ok()?, steps.parse().ok()?))
}

fn table(replays: &[Replay]) -> String {
    let pair = |(scripts, steps): (u64, u64)| format!("{scripts} / {steps}");
    let heads = [
        "language",
        "waits with",
        "pure scripts / steps",
        "waiting scripts / steps",
        "failures",
        "seconds of the language",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(replays.iter().map(|one| {
        let (language, primitive) = (one.language.clone(), one.primitive.clone());
        let (failures, seconds) = (one.failures.to_string(), one.seconds.to_string());
        [language, primitive, pair(one.pure), pair(one.waiting), failures, seconds]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..heads.len()).map(|column| width(column).unwrap_or_default()).collect();
    let line = |row: &[String; 6]| {
        let cells: Vec<_> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    let rows: String = rows.iter().map(line).collect();
    format!("{rows}{}", slow(replays))
}

/// Who took longer than a minute. That is said and fails nothing: it is the machine's time, with that of
/// the runner's start, and of what it had to build.
fn slow(replays: &[Replay]) -> String {
    let slow = replays.iter().filter(|one| one.seconds > MINUTE);
    let said: BTreeSet<_> = slow
        .map(|one| format!("{} took {} s, more than {MINUTE}\n", one.language, one.seconds))
        .collect();
    said.into_iter().collect()
}

/// All that is wrong with what the runners said; without Swift on this machine, it owes no line.
fn faults(replays: &[Replay], with_swift: bool) -> Vec<String> {
    let ways: Vec<_> =
        WAYS.into_iter().filter(|&(language, _)| language != SWIFT || with_swift).collect();
    let mut faults = missing(&ways, replays);
    faults.extend(replays.iter().flat_map(Replay::faults));
    faults.extend(differences(replays));
    faults
}

/// Which of the `ways` did not print exactly one line, and which lines are of no such way.
fn missing(ways: &[(&str, &str)], replays: &[Replay]) -> Vec<String> {
    let of = |(language, primitive): (&str, &str)| {
        replays.iter().filter(|one| one.language == language && one.primitive == primitive).count()
    };
    let wrong = ways.iter().filter_map(|&way| {
        let (language, primitive) = way;
        match of(way) {
            0 => Some(format!("no line `conformance {language} | {primitive}: …` was printed")),
            1 => None,
            many => Some(format!("{language} ({primitive}) printed {many} lines")),
        }
    });
    let unknown = replays
        .iter()
        .filter(|one| !ways.contains(&(one.language.as_str(), one.primitive.as_str())))
        .map(|one| format!("{} is no way of waiting that this step knows", one.who()));
    wrong.chain(unknown).collect()
}

/// Which languages replayed another number than most.
fn differences(replays: &[Replay]) -> Vec<String> {
    let alike =
        |one: &Replay| replays.iter().filter(|other| other.counts() == one.counts()).count();
    let Some(most) = replays.iter().max_by_key(|one| alike(one)) else {
        return vec!["nothing was replayed".to_owned()];
    };
    replays
        .iter()
        .filter(|one| one.counts() != most.counts())
        .map(|one| {
            format!("{} replayed {}, {} {}", one.who(), one.counts(), most.who(), most.counts())
        })
        .collect()
}

fn runners(repo: &Repo, tools: &Tools) -> Result<Vec<Command>> {
    let mut rust = repo.command("cargo");
    rust.args([
        "test",
        "--quiet",
        "--package",
        "sluicegate",
        "--test",
        "conformance",
        "--",
        "--nocapture",
    ]);
    let c = build::make(repo, "tests/c", "conformance");
    let mut go = repo.command("go");
    let tests = "Conformance|PipelineScripts|JunctionScripts|HubScripts";
    go.current_dir(repo.path("go")).args(["test", "-count=1", "-v", "-run", tests, ".", "./flow"]);
    let mut python = repo.command(repo.target("venv/bin/python"));
    python.current_dir(repo.path("python")).args([
        "-m",
        "pytest",
        "-s",
        "tests/test_conformance.py",
        "tests/test_flow_scripts.py",
        "tests/test_flow_junctions.py",
        "tests/test_flow_hubs.py",
    ]);
    let mut all = vec![rust, c, go, python];
    if let Some(toolchain) = &tools.swift {
        let mut swift = repo.command(swift::library_tests(repo, toolchain)?);
        swift.arg("SluicegateTests.ConformanceTests");
        all.push(swift);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(language: &str, pure_steps: u64) -> Replay {
        let line = format!(
            "conformance {language} | its own: pure 3 scripts {pure_steps} steps, \
             waiting 1 scripts 2 steps, 0 failures"
        );
        Replay::read(&line).expect("a line of a runner")
    }

    #[test]
    fn the_line_is_found_behind_a_runner_s_mark() {
        let said = Replay::read(
            ".conformance go | select: pure 3 scripts 9 steps, waiting 1 scripts 2 steps, 4 failures",
        );
        let wanted = Replay {
            language: "go".into(),
            primitive: "select".into(),
            pure: (3, 9),
            waiting: (1, 2),
            failures: 4,
            seconds: 0,
        };
        assert_eq!(said, Some(wanted));
        assert_eq!(Replay::read("conformance scripts are fine"), None);
    }

    #[test]
    fn whoever_counts_otherwise_than_most_is_named() {
        let odd = [replay("c", 9), replay("go", 8), replay("rust", 9)];
        let said = differences(&odd);
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("go (its own) replayed pure 3 scripts 8 steps"), "{said:?}");
        assert!(differences(&odd[..1]).is_empty());
        assert_eq!(differences(&[]), ["nothing was replayed"]);
    }

    /// A line of numbers that are good: on both floors exactly.
    fn good(language: &str, primitive: &str) -> Replay {
        let (language, primitive) = (language.to_owned(), primitive.to_owned());
        let (pure, waiting) = ((7, 100_000), (2_000, 7));
        Replay { language, primitive, pure, waiting, failures: 0, seconds: 60 }
    }

    #[test]
    fn everything_that_is_wrong_is_said() {
        let mut all: Vec<_> =
            WAYS.iter().map(|(language, primitive)| good(language, primitive)).collect();
        assert!(faults(&all, true).is_empty());

        let swift = all.pop().expect("a way");
        assert_eq!(swift.language, SWIFT);
        assert_eq!(faults(&all, true), missing(&WAYS, &all));
        assert!(faults(&all, false).is_empty());

        all[0] = Replay { failures: 1, pure: (7, 100_001), ..good("rust", "blocking call") };
        let said = faults(&all, false);
        assert_eq!(said.len(), 2, "{said:?}");
        assert_eq!(said[0], "rust (blocking call) counted 1 failures");
        assert!(said[1].starts_with("rust (blocking call) replayed pure 7"), "{said:?}");
    }

    #[test]
    fn every_way_prints_one_line_or_is_named() {
        let mut all: Vec<_> =
            WAYS.iter().map(|(language, primitive)| good(language, primitive)).collect();
        assert!(missing(&WAYS, &all).is_empty());

        // The other way of its language does not stand for it.
        let asyncio = all.iter().position(|one| one.primitive == "asyncio").expect("a way");
        all.remove(asyncio);
        let said = missing(&WAYS, &all);
        assert_eq!(said, ["no line `conformance python | asyncio: …` was printed"]);

        all.insert(asyncio, good("python", "threads"));
        let said = missing(&WAYS, &all);
        assert_eq!(said.len(), 2, "{said:?}");
        assert_eq!(said[0], "python (threads) printed 2 lines");

        all[asyncio] = good("python", "trio");
        let said = missing(&WAYS, &all);
        assert_eq!(said.len(), 2, "{said:?}");
        assert_eq!(said[1], "python (trio) is no way of waiting that this step knows");
    }

    #[test]
    fn a_line_below_a_floor_is_a_fault_that_names_it() {
        let mut one = good("go", "select on a channel");
        assert!(one.faults().is_empty());
        one.pure = (200_000, 99_999); // scripts do not stand for steps
        one.waiting = (1_999, 200_000);
        assert_eq!(
            one.faults(),
            [
                "go (select on a channel) replayed 99999 pure steps, fewer than 100000",
                "go (select on a channel) replayed 1999 waiting scripts, fewer than 2000",
            ]
        );
    }

    #[test]
    fn a_line_that_counts_failures_is_a_fault() {
        let one = Replay { failures: 2, ..good("c", "blocking call") };
        assert_eq!(one.faults(), ["c (blocking call) counted 2 failures"]);
    }

    #[test]
    fn a_language_that_took_more_than_a_minute_is_named_once_and_is_no_fault() {
        let ways = [good("go", "select on a channel"), good("python", "threads")];
        assert_eq!(slow(&ways), "");
        let late = |primitive: &str| Replay { seconds: 61, ..good("python", primitive) };
        let ways = [late("threads"), late("asyncio")];
        assert_eq!(slow(&ways), "python took 61 s, more than 60\n");
        assert!(table(&ways).ends_with(&slow(&ways)));
        assert!(ways[0].faults().is_empty());
    }

    #[test]
    fn the_table_has_a_row_for_each_way_of_waiting() {
        let table = table(&[replay("c", 9), replay("python", 9)]);
        assert_eq!(table.lines().count(), 3);
        assert!(table.contains("python    its own     3 / 9"), "{table}");
    }
}
