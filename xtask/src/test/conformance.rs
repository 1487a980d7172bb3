//! The conformance scripts in every language: all pass, and all languages replayed the same number.

use std::process::Command;

use anyhow::{Result, bail};

use super::{checked, swift};
use crate::build;
use crate::process;
use crate::repo::Repo;
use crate::setup::Tools;
use crate::step;
use crate::tally::Tally;

/// The chore: builds what the runners need, then compares.
pub fn run(repo: &Repo, tools: &Tools, repeat: u32, tally: &mut Tally) -> Result<()> {
    let mut steps = build::steps(repo, tools);
    steps.push(step::Step::new("conformance", |_| compare(repo, tools, repeat)));
    step::run("conformance", &step::Select::default(), steps, tally)
}

/// Runs each language's runner, the waiting scripts `repeat` times, and compares what they counted.
pub fn compare(repo: &Repo, tools: &Tools, repeat: u32) -> Result<()> {
    let mut replays = Vec::new();
    let mut failed = Vec::new();
    let mut inner = Vec::new(); // of the machines that only Rust replays
    for mut runner in runners(repo, tools)? {
        runner.env("SLUICEGATE_REPEAT", repeat.to_string());
        let watched = process::watch(checked(&mut runner), |_| false)?;
        let said: Vec<_> = watched.text.lines().filter_map(Replay::read).collect();
        if watched.ended.is_err() {
            println!("{}", watched.text);
        }
        if let Err(error) = watched.ended {
            failed.push(format!("{error:#}"));
        } else if said.is_empty() {
            println!("{}", watched.text);
            let line = process::line(&runner);
            failed.push(format!("no line `conformance LANGUAGE | PRIMITIVE: …` came from: {line}"));
        }
        replays.extend(said);
        inner.extend(
            watched.text.lines().filter(|line| line.starts_with("inner ")).map(str::to_owned),
        );
    }
    print!("{}", table(&replays));
    inner.iter().for_each(|line| println!("{line}"));
    failed.extend(differences(&replays));
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
        Some(Replay { language, primitive, pure, waiting, failures })
    }

    fn who(&self) -> String {
        format!("{} ({})", self.language, self.primitive)
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
    let mut rows = vec![
        ["language", "waits with", "pure scripts / steps", "waiting scripts / steps", "failures"]
            .map(str::to_owned),
    ];
    rows.extend(replays.iter().map(|one| {
        let (language, primitive) = (one.language.clone(), one.primitive.clone());
        [language, primitive, pair(one.pure), pair(one.waiting), one.failures.to_string()]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..5).map(|column| width(column).unwrap_or_default()).collect();
    let line = |row: &[String; 5]| {
        let cells: Vec<_> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
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
    go.current_dir(repo.path("go")).args(["test", "-count=1", "-v", "-run", "Conformance", "."]);
    let mut python = repo.command(repo.target("venv/bin/python"));
    python.current_dir(repo.path("python")).args([
        "-m",
        "pytest",
        "-s",
        "tests/test_conformance.py",
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

    #[test]
    fn the_table_has_a_row_for_each_way_of_waiting() {
        let table = table(&[replay("c", 9), replay("python", 9)]);
        assert_eq!(table.lines().count(), 3);
        assert!(table.contains("python    its own     3 / 9"), "{table}");
    }
}
