//! Everything that is built before it is tested or shown: native libraries and packages in release,
//! once, in the one target folder.

mod archive;
mod cartridges;
mod hosts;
mod relays;

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::repo::Repo;
use crate::setup::Tools;
use crate::step::Step;
use crate::swift;

pub use archive::seal;
pub use cartridges::program as cartridge;

/// The crates whose release builds other languages, tests and people use.
const RELEASED: &[&str] = &["sluicegate-ffi", "sluicegate-cli", "cartridge-rust"];
const SWIFT_GLUE: &str = "sluicegate-swift";

/// The steps that build all of it.
pub fn steps<'a>(repo: &'a Repo, tools: &'a Tools) -> Vec<Step<'a>> {
    let mut steps = vec![
        Step::needed("build-native", move |_| native(repo, tools)),
        Step::prepares("build-python", move |_| python(repo)),
        Step::prepares("cartridge-c", move |_| cartridges::c(repo)),
        Step::prepares("cartridge-go", move |_| cartridges::go(repo)),
        Step::prepares("cartridge-python", move |_| cartridges::python(repo)),
        Step::prepares("cartridge-rust", move |_| cartridges::rust(repo)),
        Step::prepares("host-c", move |_| hosts::c(repo)),
        Step::prepares("host-go", move |_| hosts::go(repo)),
        Step::prepares("host-python", move |_| hosts::python(repo)),
        Step::prepares("host-rust", move |_| hosts::rust(repo)),
        Step::prepares("relay-go", move |_| relays::go(repo)),
    ];
    match &tools.swift {
        Some(toolchain) => steps.extend([
            Step::prepares("cartridge-swift", move |_| cartridges::swift(repo, toolchain)),
            Step::prepares("host-swift", move |_| hosts::swift(repo, toolchain)),
        ]),
        None => steps.push(Step::prepares("cartridge-swift", |tally| {
            tally.note(swift::left_out());
            println!("{}", swift::left_out());
            Ok(())
        })),
    }
    steps
}

/// The C library, the command, the cartridge and the host in Rust, and the library under Swift.
fn native(repo: &Repo, tools: &Tools) -> Result<()> {
    let mut cargo = repo.command("cargo");
    cargo.args(["build", "--release"]);
    let glue = tools.swift.as_ref().map(|_| &SWIFT_GLUE);
    for package in RELEASED.iter().chain(glue) {
        cargo.args(["--package", package]);
    }
    process::run(&mut cargo)?;
    seal(repo, &repo.target("release/libsluicegate.a"))
}

/// The library under Swift alone; answers its path.
pub fn swift_glue(repo: &Repo) -> Result<PathBuf> {
    process::run(repo.command("cargo").args(["build", "--release", "--package", SWIFT_GLUE]))?;
    Ok(repo.target("release/libsluicegate_swift.so"))
}

/// The wheel, into the environment under `target/venv`, just as a person would install it.
fn python(repo: &Repo) -> Result<()> {
    let mut pip = repo.command(repo.target("venv/bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    // maturin is there already, pinned; a build in isolation would bring another one.
    pip.args(["--no-build-isolation", "--no-deps", "./python"]);
    process::run(&mut pip)
}

/// What a C program adds to its command line.
pub fn link_c(repo: &Repo, cc: &mut Command) {
    let release = repo.target("release");
    cc.arg(format!("-L{}", release.display())).arg(format!("-Wl,-rpath,{}", release.display()));
    cc.args(["-lsluicegate", "-lpthread"]);
}

/// `make GOAL` in a folder of C, with the library of the release build.
pub fn make(repo: &Repo, folder: &str, goal: &str) -> Command {
    let mut make = repo.command("make");
    make.args(["--silent", "--no-print-directory", "-C", folder, goal]);
    make.arg(format!("SLUICEGATE_LIB_DIR={}", repo.target("release").display()));
    make
}
