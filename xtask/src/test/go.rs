//! The Go modules: gofmt, vet, tests.

use anyhow::{Result, bail};

use super::counted;
use crate::process;
use crate::repo::Repo;
use crate::tally::{Runner, Tally};

/// The folders with a go.mod.
const MODULES: &[&str] = &["go", "tests/cartridges/go", "tests/hosts/go", "tests/relays/go"];
/// A module too, but its programs stand alone.
const EXAMPLES: &str = "examples";
/// Those of them with tests of their own.
const TESTED: &[&str] = &["go", "tests/cartridges/go"];

pub fn lint(repo: &Repo) -> Result<()> {
    let unformatted =
        process::capture(repo.command("gofmt").arg("-l").args(MODULES).arg(EXAMPLES))?;
    if !unformatted.is_empty() {
        bail!("gofmt -w these:\n{unformatted}");
    }
    for module in MODULES {
        process::run(repo.command("go").current_dir(repo.path(module)).args(["vet", "./..."]))?;
    }
    // By its file: programs in other languages lie beside it.
    for name in super::examples::all() {
        let mut vet = repo.command("go");
        process::run(
            vet.current_dir(repo.path(EXAMPLES)).args(["vet", &format!("{name}/main.go")]),
        )?;
    }
    Ok(())
}

pub fn test(repo: &Repo, tally: &mut Tally) -> Result<()> {
    for module in TESTED {
        let mut test = repo.command("go");
        // Go does not see that the C library has changed, so its cache must not answer.
        test.current_dir(repo.path(module)).args(["test", "-count=1", "-v", "./..."]);
        counted(&mut test, Runner::Go, tally, is_news)?;
    }
    Ok(())
}

/// The library's own module once more, under the race detector.
pub fn race(repo: &Repo, tally: &mut Tally) -> Result<()> {
    let mut test = repo.command("go");
    test.current_dir(repo.path("go")).args(["test", "-race", "-count=1", "-v", "./..."]);
    counted(&mut test, Runner::Go, tally, is_news)
}

/// `-v` names every test that begins and passes, which is for counting and not for reading.
fn is_news(line: &str) -> bool {
    let start = line.trim_start();
    !["=== ", "--- PASS", "PASS", "?   "].iter().any(|noise| start.starts_with(noise))
        && !start.is_empty()
}
