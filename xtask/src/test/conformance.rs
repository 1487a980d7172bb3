//! The conformance scripts in every language: all pass, and all languages replayed the same number.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::swift;
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
    let mut lines = Vec::new();
    for mut runner in runners(repo, tools)? {
        runner.env("SLUICEGATE_REPEAT", repeat.to_string());
        let watched = process::watch(&mut runner, |_| false)?;
        if let Err(error) = watched.ended {
            bail!("{}\n{error:#}", watched.text);
        }
        let said: Vec<_> = watched.text.lines().filter_map(counts).collect();
        if said.is_empty() {
            bail!(
                "{}\nprinted no line `conformance LANGUAGE: …`: {}",
                watched.text,
                process::line(&runner)
            );
        }
        said.iter().for_each(|(language, counts)| println!("conformance {language}: {counts}"));
        lines.extend(said);
    }
    let (first, wanted) = lines.first().context("there are runners")?;
    match lines.iter().find(|(_, counts)| counts != wanted) {
        Some((other, counts)) => bail!("{first} replayed {wanted}, {other} replayed {counts}"),
        None => Ok(()),
    }
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

/// `conformance go: pure 3 scripts 9 steps, waiting …` → ("go", "pure 3 scripts …")
fn counts(line: &str) -> Option<(String, String)> {
    // A test runner may have begun the line with its own mark.
    let said = &line[line.find("conformance ")?..];
    let (language, counts) = said.strip_prefix("conformance ")?.split_once(": ")?;
    (counts.starts_with("pure ") && counts.contains("waiting "))
        .then(|| (language.to_owned(), counts.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_behind_a_runner_s_mark() {
        let said = counts(".conformance go: pure 3 scripts 9 steps, waiting 1 scripts 2 steps");
        assert_eq!(
            said,
            Some(("go".into(), "pure 3 scripts 9 steps, waiting 1 scripts 2 steps".into()))
        );
        assert_eq!(counts("conformance scripts are fine"), None);
    }
}
