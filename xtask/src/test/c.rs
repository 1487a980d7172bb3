//! The C ABI: the header alone in every dialect it promises, then each program of `tests/c`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::counted;
use crate::process;
use crate::repo::Repo;
use crate::tally::{Runner, Tally};

const FOLDER: &str = "tests/c";
const WARNINGS: &[&str] = &["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
/// (compiler, dialect): the oldest and the newest of each that Debian 12 has.
const DIALECTS: &[(&str, &str)] =
    &[("cc", "c99"), ("cc", "c17"), ("c++", "c++11"), ("c++", "c++20")];

pub fn test(repo: &Repo, tally: &mut Tally) -> Result<()> {
    header(repo)?;
    let files = repo.files()?;
    let programs: Vec<_> = files.iter().filter(|file| is_program(file)).collect();
    if programs.is_empty() {
        bail!("no program in {FOLDER}");
    }
    let mut failed = Vec::new();
    for program in programs {
        let built = build(repo, program)?;
        println!("{program}");
        if let Err(error) = counted(&mut repo.command(built), Runner::Plain, tally, |_| true) {
            println!("{error:#}");
            failed.push(program.as_str());
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}

/// Programs are the files `test_*.c` and `test_*.cpp`; the others are linked to each.
fn is_program(file: &str) -> bool {
    let name = file.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| {
        name.starts_with("test_") && (name.ends_with(".c") || name.ends_with(".cpp"))
    })
}

/// The header, twice, and nothing else, under each dialect.
fn header(repo: &Repo) -> Result<()> {
    fs::create_dir_all(repo.target("c"))?;
    for (compiler, dialect) in DIALECTS {
        let suffix = if *compiler == "cc" { "c" } else { "cpp" };
        let alone = repo.target("c").join(format!("header.{suffix}"));
        fs::write(&alone, "#include \"sluicegate.h\"\n#include \"sluicegate.h\"\n")?;
        let mut cc = repo.command(compiler);
        process::run(
            cc.arg(format!("-std={dialect}"))
                .args(WARNINGS)
                .args(["-Iinclude", "-fsyntax-only"])
                .arg(alone),
        )?;
    }
    Ok(())
}

/// Compiles one program and links it with the shared library of the release build.
pub fn build(repo: &Repo, program: &str) -> Result<std::path::PathBuf> {
    let cpp = program.ends_with(".cpp");
    let stem = Path::new(program).file_stem().context("a program has a name")?;
    let built = repo.target("c").join(stem);
    let mut cc: Command = repo.command(if cpp { "c++" } else { "cc" });
    cc.arg(if cpp { "-std=c++11" } else { "-std=c99" })
        .args(["-g", "-O1", "-D_GNU_SOURCE", "-Iinclude"])
        .args(WARNINGS);
    cc.arg("-o").arg(&built).arg(program);
    let files = repo.files()?;
    cc.args(
        files
            .iter()
            .filter(|file| file.starts_with(FOLDER) && file.ends_with(".c") && !is_program(file)),
    );
    crate::build::link_c(repo, &mut cc);
    fs::create_dir_all(repo.target("c"))?;
    process::run(&mut cc)?;
    Ok(built)
}
