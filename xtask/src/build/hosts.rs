//! The reference hosts of `tests/hosts`: one program in every language, each built to
//! `target/hosts/LANGUAGE`.

use std::path::PathBuf;

use anyhow::Result;

use super::make;
use crate::launcher;
use crate::process;
use crate::repo::Repo;
use crate::swift::{BUILD_FOLDER, Swift};

/// The program of one language.
fn program(repo: &Repo, language: &str) -> PathBuf {
    repo.target("hosts").join(language)
}

pub fn c(repo: &Repo) -> Result<()> {
    process::run(&mut make(repo, "tests/hosts/c", "all"))?;
    launcher::write(&program(repo, "c"), &launcher::word(&repo.path("tests/hosts/c/build/host")))
}

pub fn go(repo: &Repo) -> Result<()> {
    let mut go = repo.command("go");
    go.current_dir(repo.path("tests/hosts/go"))
        .args(["build", "-o"])
        .arg(program(repo, "go"))
        .arg(".");
    process::run(&mut go)
}

pub fn python(repo: &Repo) -> Result<()> {
    let (interpreter, main) =
        (repo.target("venv/bin/python"), repo.path("tests/hosts/python/host.py"));
    launcher::write(
        &program(repo, "python"),
        &format!("{} {}", launcher::word(&interpreter), launcher::word(&main)),
    )
}

/// A program of the Rust cartridge's crate, which is built with it.
pub fn rust(repo: &Repo) -> Result<()> {
    launcher::write(&program(repo, "rust"), &launcher::word(&repo.target("release/host-rust")))
}

pub fn swift(repo: &Repo, toolchain: &Swift) -> Result<()> {
    let scratch = format!("{BUILD_FOLDER}/host");
    let build = [
        "build",
        "--quiet",
        "--package-path",
        "tests/hosts/swift",
        "--scratch-path",
        &scratch,
        "-c",
        "release",
    ];
    process::run(&mut toolchain.command(repo, &build))?;
    toolchain.launcher(
        repo,
        &repo.path(&scratch).join("release/host-swift"),
        &program(repo, "swift"),
    )
}
