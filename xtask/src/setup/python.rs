//! The Python environment under `target/venv`, with the tools that `python/requirements-dev.txt` pins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::debian;
use crate::environment::on_path;
use crate::process;
use crate::repo::Repo;

/// The least version: the buffer protocol entered the limited API in 3.11.
const LEAST: &str = "3.11";
const REQUIREMENTS: &str = "python/requirements-dev.txt";

/// What tests/interop talks to. It is built from source, which takes a while: only that suite brings it.
const PEER: &str = "tests/interop/requirements.txt";

/// Makes the environment, or renews it when the requirements have changed since.
pub fn ensure(repo: &Repo) -> Result<()> {
    let python = repo.target("venv/bin/python");
    if !python.exists() {
        let mut make = Command::new(interpreter()?);
        process::run(make.args(["-m", "venv", "--clear"]).arg(repo.target("venv")))?;
    }
    install(repo, REQUIREMENTS, "Python tools")
}

/// Brings the peer of tests/interop.
pub fn peer(repo: &Repo) -> Result<()> {
    install(repo, PEER, "the peer of the interop tests")
}

/// Installs a list of requirements into the environment, unless it is there as it stands.
fn install(repo: &Repo, requirements: &str, what: &str) -> Result<()> {
    let venv = repo.target("venv");
    let wanted = fs::read_to_string(repo.path(requirements))
        .with_context(|| format!("cannot read {requirements}"))?;
    let stamp = venv.join(format!("{}-installed", requirements.replace('/', "-")));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    println!("setup: {what} into {}", repo.relative(&venv));
    let mut pip = repo.command(venv.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    process::run(pip.arg(requirements))?;
    fs::write(stamp, wanted)?;
    Ok(())
}

/// A Python that is new enough and can make environments; installs Debian's where there is none.
fn interpreter() -> Result<PathBuf> {
    if let Some(python) = find_interpreter() {
        return Ok(python);
    }
    if debian::can_install() {
        debian::install(&["python3", "python3-venv"])?;
    }
    match find_interpreter() {
        Some(python) => Ok(python),
        None => bail!(
            "missing: Python {LEAST} or newer with venv. On Debian 12, as root: apt-get install python3 python3-venv"
        ),
    }
}

/// The first that will do on PATH, the plain name first.
fn find_interpreter() -> Option<PathBuf> {
    let names = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"];
    names.iter().filter_map(|name| on_path(name)).find(|python| new_enough(python))
}

fn new_enough(python: &Path) -> bool {
    let least = LEAST.replace('.', ", ");
    let ask = format!("import sys, venv, ensurepip; sys.exit(sys.version_info < ({least}))");
    Command::new(python).args(["-c", &ask]).output().is_ok_and(|answer| answer.status.success())
}
