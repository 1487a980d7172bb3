//! The Swift package: XCTest, built where Swift lives and run on the host, so that Swift tests may
//! start cartridges of every language.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::counted;
use crate::process;
use crate::repo::Repo;
use crate::setup::Tools;
use crate::swift::{BUILD_FOLDER, Swift, left_out};
use crate::tally::{Runner, Tally};

/// A package with tests, and the name of its build folder.
struct Package {
    path: &'static str,
    scratch: &'static str,
}

const LIBRARY: Package = Package { path: "swift", scratch: "package" };
const CARTRIDGE: Package = Package { path: "tests/cartridges/swift", scratch: "cartridge" };

pub fn test(repo: &Repo, tools: &Tools, tally: &mut Tally) -> Result<()> {
    let Some(swift) = &tools.swift else {
        println!("{}", left_out());
        return Ok(());
    };
    for package in [LIBRARY, CARTRIDGE] {
        let mut tests = repo.command(build(repo, swift, &package)?);
        counted(&mut tests, Runner::XcTest, tally, |line| !line.starts_with("Test Case"))?;
    }
    Ok(())
}

/// The program that runs the library's tests, or those that its arguments name.
pub fn library_tests(repo: &Repo, swift: &Swift) -> Result<PathBuf> {
    build(repo, swift, &LIBRARY)
}

/// Builds the tests of a package; answers the program that runs them.
fn build(repo: &Repo, swift: &Swift, package: &Package) -> Result<PathBuf> {
    let scratch = format!("{BUILD_FOLDER}/{}", package.scratch);
    let mut build = vec!["build", "--quiet", "--build-tests"];
    build.extend(["--package-path", package.path, "--scratch-path", &scratch]);
    build.extend(["-Xswiftc", "-warnings-as-errors"]);
    process::run(&mut swift.command(repo, &build))?;
    let folder = repo.path(&scratch).join("debug");
    let entries =
        fs::read_dir(&folder).with_context(|| format!("no {}", repo.relative(&folder)))?;
    let program = entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "xctest"))
        .context("swift built no tests")?;
    let launcher = repo.path(BUILD_FOLDER).join(format!("{}-tests", package.scratch));
    swift.launcher(repo, &program, &launcher)?;
    Ok(launcher)
}
