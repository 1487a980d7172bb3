//! The workspace: format, lints, tests.

use anyhow::Result;

use super::counted;
use crate::process;
use crate::repo::Repo;
use crate::setup::debian;
use crate::tally::{Runner, Tally};

pub fn fmt(repo: &Repo) -> Result<()> {
    process::run(repo.command("cargo").args(["fmt", "--all", "--", "--check"]))
}

pub fn clippy(repo: &Repo) -> Result<()> {
    let mut clippy = repo.command("cargo");
    clippy.args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    process::run(&mut clippy)
}

pub fn test(repo: &Repo, tally: &mut Tally) -> Result<()> {
    debian::ensure(debian::TESTS)?;
    let mut test = repo.command("cargo");
    test.args(["test", "--quiet", "--workspace", "--no-fail-fast"]);
    counted(&mut test, Runner::Cargo, tally, |line| !line.is_empty())
}
