//! Every test of every language, and the lints before them.

mod c;
mod conformance;
mod examples;
mod full_size;
mod go;
mod installed;
mod interop;
mod loom;
mod python;
mod readme;
mod rust;
mod swift;

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::build;
use crate::demo;
use crate::process;
use crate::repo::Repo;
use crate::setup::Tools;
use crate::step::Step;
use crate::tally::{Runner, Tally};

pub use conformance::run as conformance;

/// The steps that build everything, then lint and test it.
pub fn steps<'a>(repo: &'a Repo, tools: &'a Tools) -> Vec<Step<'a>> {
    let mut steps = build::steps(repo, tools);
    steps.extend([
        Step::new("rust-fmt", move |_| rust::fmt(repo)),
        Step::new("rust-clippy", move |_| rust::clippy(repo)),
        Step::new("rust-test", move |tally| rust::test(repo, tally)),
        Step::new("loom", |tally| loom::test(repo, tally)),
        Step::new("c-header", move |_| c::header(repo)),
        Step::new("c-test", move |tally| c::test(repo, tally)),
        Step::new("c-checkers", move |tally| c::checkers(repo, tally)),
        Step::new("c-installed", move |_| installed::test(repo)),
        Step::new("python-lint", move |_| python::lint(repo)),
        Step::new("python-types", move |_| python::types(repo)),
        Step::new("python-test", move |tally| python::test(repo, tally)),
        Step::new("go-lint", move |_| go::lint(repo)),
        Step::new("go-test", move |tally| go::test(repo, tally)),
        Step::new("go-race", move |tally| go::race(repo, tally)),
        Step::new("swift-test", move |tally| swift::test(repo, tools, tally)),
        Step::new("interop", move |tally| interop::test(repo, tally)),
        Step::new("conformance", move |_| conformance::compare(repo, tools, 1)),
        Step::new("readme", move |_| readme::test(repo, tools)),
        Step::new("examples", move |_| examples::test(repo, tools)),
        Step::new("full-size", move |_| full_size::test(repo)),
        Step::new("demo", move |_| {
            let (run, hold) =
                (demo::Options::default(), demo::Hold { before: checked, after: held });
            demo::stream(repo, tools, &run, Some(hold))
        }),
    ]);
    steps
}

/// Holds what `command` starts to the model while it runs (docs/waiting.md). On a machine that is busy
/// with several tests, a thread that was woken may come late.
fn checked(command: &mut Command) -> &mut Command {
    command.env("SLUICEGATE_CHECK", "1").env("SLUICEGATE_CHECK_MS", "30000")
}

/// Fails if a process said that it broke the model, also one whose end nobody looked at: a cartridge that
/// was started again, a child of a child.
fn held(said: &str) -> Result<()> {
    match said.lines().find(|line| line.contains("sluicegate check: breach")) {
        Some(line) => bail!("{line}"),
        None => Ok(()),
    }
}

/// Runs a test runner, held to the model, and counts what it says, also when it fails.
fn counted(
    command: &mut Command,
    runner: Runner,
    tally: &mut Tally,
    shown: impl Fn(&str) -> bool,
) -> Result<()> {
    let watched = process::watch(checked(command), shown)?;
    let before = tally.total();
    tally.read(runner, &watched.text);
    // Where a test hung, this names it, also if such lines are not shown.
    let last = watched.text.lines().rfind(|line| !line.is_empty()).unwrap_or("nothing");
    watched.ended.with_context(|| format!("it printed last: {last}"))?;
    if tally.total() == before {
        bail!("no test was run by: {}", process::line(command));
    }
    Ok(())
}
