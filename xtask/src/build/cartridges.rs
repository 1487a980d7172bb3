//! The reference cartridges of `tests/cartridges`: one program in every language, each built to
//! `target/cartridges/LANGUAGE`.

use std::path::PathBuf;

use anyhow::Result;

use super::make;
use crate::launcher;
use crate::process;
use crate::repo::Repo;
use crate::swift::{BUILD_FOLDER, Swift};

/// The program of one language.
pub fn program(repo: &Repo, language: &str) -> PathBuf {
    repo.target("cartridges").join(language)
}

pub fn c(repo: &Repo) -> Result<()> {
    process::run(&mut make(repo, "tests/cartridges/c", "all"))?;
    launcher::write(
        &program(repo, "c"),
        &launcher::word(&repo.path("tests/cartridges/c/build/cartridge")),
    )
}

pub fn go(repo: &Repo) -> Result<()> {
    let mut go = repo.command("go");
    go.current_dir(repo.path("tests/cartridges/go"))
        .args(["build", "-o"])
        .arg(program(repo, "go"))
        .arg(".");
    process::run(&mut go)
}

pub fn python(repo: &Repo) -> Result<()> {
    let (interpreter, main) =
        (repo.target("venv/bin/python"), repo.path("tests/cartridges/python/cartridge.py"));
    launcher::write(
        &program(repo, "python"),
        &format!("{} {}", launcher::word(&interpreter), launcher::word(&main)),
    )
}

pub fn rust(repo: &Repo) -> Result<()> {
    launcher::write(&program(repo, "rust"), &launcher::word(&repo.target("release/cartridge-rust")))
}

pub fn swift(repo: &Repo, toolchain: &Swift) -> Result<()> {
    let scratch = format!("{BUILD_FOLDER}/cartridge");
    let build = [
        "build",
        "--quiet",
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
