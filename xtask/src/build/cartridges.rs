//! The reference cartridges of `tests/cartridges`: one program in every language, each built to
//! `target/cartridges/LANGUAGE`.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use super::make;
use crate::launcher;
use crate::process;
use crate::repo::Repo;
use crate::setup::Tools;
use crate::swift::{BUILD_FOLDER, Swift};

/// The program of one language.
pub fn program(repo: &Repo, language: &str) -> PathBuf {
    repo.target("cartridges").join(language)
}

/// Builds all of them.
pub fn build(repo: &Repo, tools: &Tools) -> Result<()> {
    fs::create_dir_all(repo.target("cartridges"))?;
    c(repo)?;
    go(repo)?;
    python(repo)?;
    rust(repo)?;
    tools.swift.as_ref().map_or(Ok(()), |toolchain| swift(repo, toolchain))
}

fn c(repo: &Repo) -> Result<()> {
    process::run(&mut make(repo, "tests/cartridges/c", "all"))?;
    launcher::write(
        &program(repo, "c"),
        &launcher::word(&repo.path("tests/cartridges/c/build/cartridge")),
    )
}

fn go(repo: &Repo) -> Result<()> {
    let mut go = repo.command("go");
    go.current_dir(repo.path("tests/cartridges/go"))
        .args(["build", "-o"])
        .arg(program(repo, "go"))
        .arg(".");
    process::run(&mut go)
}

fn python(repo: &Repo) -> Result<()> {
    let (interpreter, main) =
        (repo.target("venv/bin/python"), repo.path("tests/cartridges/python/cartridge.py"));
    launcher::write(
        &program(repo, "python"),
        &format!("{} {}", launcher::word(&interpreter), launcher::word(&main)),
    )
}

fn rust(repo: &Repo) -> Result<()> {
    launcher::write(&program(repo, "rust"), &launcher::word(&repo.target("release/cartridge-rust")))
}

fn swift(repo: &Repo, toolchain: &Swift) -> Result<()> {
    let scratch = format!("{BUILD_FOLDER}/cartridge");
    let build = [
        "build",
        "--package-path",
        "tests/cartridges/swift",
        "--scratch-path",
        &scratch,
        "-c",
        "release",
    ];
    process::run(&mut toolchain.command(repo, &build))?;
    toolchain.launcher(
        repo,
        &repo.path(&scratch).join("release/cartridge-swift"),
        &program(repo, "swift"),
    )
}
