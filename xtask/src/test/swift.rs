//! The Swift package: XCTest, built where Swift lives and run on the host, so that Swift tests may
//! start cartridges of every language.

use anyhow::{Context, Result};

use super::counted;
use crate::process;
use crate::repo::Repo;
use crate::setup::Tools;
use crate::swift::{BUILD_FOLDER, Swift, left_out};
use crate::tally::{Runner, Tally};

pub fn test(repo: &Repo, tools: &Tools, tally: &mut Tally) -> Result<()> {
    let Some(swift) = &tools.swift else {
        println!("{}", left_out());
        return Ok(());
    };
    let mut tests = repo.command(tests(repo, swift)?);
    counted(&mut tests, Runner::XcTest, tally, |line| !line.starts_with("Test Case"))
}

/// Builds the tests; answers the program that runs them.
pub fn tests(repo: &Repo, swift: &Swift) -> Result<std::path::PathBuf> {
    let scratch = format!("{BUILD_FOLDER}/package");
    let build = [
        "build",
        "--quiet",
        "--build-tests",
        "--package-path",
        "swift",
        "--scratch-path",
        &scratch,
        "-Xswiftc",
        "-warnings-as-errors",
    ];
    process::run(&mut swift.command(repo, &build))?;
    let folder = repo.path(&scratch).join("debug");
    let entries =
        std::fs::read_dir(&folder).with_context(|| format!("no {}", repo.relative(&folder)))?;
    let mut programs = entries.flatten().map(|entry| entry.path());
    let program = programs
        .find(|path| path.extension().is_some_and(|extension| extension == "xctest"))
        .context("swift built no tests")?;
    let launcher = repo.target("swift/tests");
    swift.launcher(repo, &program, &launcher)?;
    Ok(launcher)
}
