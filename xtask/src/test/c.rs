//! The C ABI: the header alone in every dialect it promises, then the programs of `tests/c`, plain and
//! under the compiler's checkers.

use std::fs;

use anyhow::Result;

use super::{checked, counted};
use crate::build;
use crate::process;
use crate::repo::Repo;
use crate::tally::{Runner, Tally};

/// (compiler, dialect): the oldest and the newest of each that Debian 12 has.
const DIALECTS: &[(&str, &str)] =
    &[("cc", "c99"), ("cc", "c2x"), ("c++", "c++11"), ("c++", "c++20")];

/// The header, twice, and nothing else, in each dialect.
pub fn header(repo: &Repo) -> Result<()> {
    fs::create_dir_all(repo.target("c"))?;
    for (compiler, dialect) in DIALECTS {
        let suffix = if *compiler == "cc" { "c" } else { "cpp" };
        let alone = repo.target("c").join(format!("header.{suffix}"));
        fs::write(&alone, "#include \"sluicegate.h\"\n#include \"sluicegate.h\"\n")?;
        let mut cc = repo.command(compiler);
        cc.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude", "-fsyntax-only"]);
        process::run(cc.arg(format!("-std={dialect}")).arg(alone))?;
    }
    Ok(())
}

/// All programs of `tests/c`.
pub fn test(repo: &Repo, tally: &mut Tally) -> Result<()> {
    counted(&mut build::make(repo, "tests/c", "check"), Runner::Plain, tally, |_| true)
}

/// The same under the compiler's checkers of memory, undefined behaviour and threads. What they run is
/// what `test` has counted, so it is not counted twice.
pub fn checkers(repo: &Repo, tally: &mut Tally) -> Result<()> {
    for goal in ["check-asan", "check-tsan"] {
        let mut program = build::make(repo, "tests/c", goal);
        let watched = process::watch(checked(&mut program), |_| true)?;
        tally.name_failures(Runner::Plain, &watched.text);
        watched.ended?;
    }
    Ok(())
}
