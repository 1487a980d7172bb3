//! Every test of every language, and the lints before them.

mod c;
mod conformance;
mod go;
mod installed;
mod python;
mod readme;
mod rust;
mod swift;

use std::process::Command;

use anyhow::{Context, Result};

use crate::build;
use crate::demo;
use crate::process;
use crate::repo::Repo;
use crate::setup::Tools;
use crate::step::{self, Select, Step};
use crate::tally::{Runner, Tally};

pub use conformance::run as conformance;

/// Builds everything, then lints and tests it.
pub fn run(repo: &Repo, tools: &Tools, select: &Select, tally: &mut Tally) -> Result<()> {
    let mut steps = build::steps(repo, tools);
    steps.extend([
        Step::new("rust-fmt", |_| rust::fmt(repo)),
        Step::new("rust-clippy", |_| rust::clippy(repo)),
        Step::new("rust-test", |tally| rust::test(repo, tally)),
        Step::new("c-header", |_| c::header(repo)),
        Step::new("c-test", |tally| c::test(repo, tally)),
        Step::new("c-checkers", |_| c::checkers(repo)),
        Step::new("c-installed", |_| installed::test(repo)),
        Step::new("python-lint", |_| python::lint(repo)),
        Step::new("python-types", |_| python::types(repo)),
        Step::new("python-test", |tally| python::test(repo, tally)),
        Step::new("go-lint", |_| go::lint(repo)),
        Step::new("go-test", |tally| go::test(repo, tally)),
        Step::new("swift-test", |tally| swift::test(repo, tools, tally)),
        Step::new("conformance", |_| conformance::compare(repo, tools, 1)),
        Step::new("readme", |_| readme::test(repo, tools)),
        Step::new("demo", |_| demo::small(repo, tools)),
    ]);
    step::run("test", select, steps, tally)
}

/// Runs a test runner and counts what it says, also when it fails.
fn counted(
    command: &mut Command,
    runner: Runner,
    tally: &mut Tally,
    shown: impl Fn(&str) -> bool,
) -> Result<()> {
    let watched = process::watch(command, shown)?;
    tally.read(runner, &watched.text);
    // Where a test hung, this names it, also if such lines are not shown.
    let last = watched.text.lines().rfind(|line| !line.is_empty()).unwrap_or("nothing");
    watched.ended.with_context(|| format!("it printed last: {last}"))
}
