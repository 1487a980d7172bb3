//! Swift where the machine has it, and where it has none.
//!
//! A `swift` on PATH is used as it is. Without one, a small Debian system with Swift in it comes into
//! `target/toolchain/swift` ([`rootfs`]); its compiler runs inside it ([`enter`]), and what it builds
//! runs outside, on that system's C library ([`loader`]).

mod enter;
mod loader;
mod rootfs;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::environment::{in_ci, on_path};
use crate::launcher;
use crate::repo::Repo;

/// A Swift toolchain that is ready to use.
pub enum Swift {
    /// The one on PATH.
    OnPath(PathBuf),
    /// The one in a system of its own, at this root.
    Rootfs(PathBuf),
}

/// Variables that reach a program inside the rootfs: the names that begin like this.
const PASSED: &[&str] = &["SLUICEGATE_", "RUST_BACKTRACE", "SWIFT_", "TERM"];

/// Where SwiftPM builds, so that all build products lie in one target folder.
pub const BUILD_FOLDER: &str = "target/swift";

/// Finds a Swift or brings one. None only where a person has said so.
pub fn ensure(repo: &Repo) -> Result<Option<Swift>> {
    if env::var("SLUICEGATE_SWIFT").is_ok_and(|value| value == "off") {
        if in_ci() {
            bail!("SLUICEGATE_SWIFT=off and CI is set: CI never leaves Swift out");
        }
        println!("{}", left_out());
        return Ok(None);
    }
    if let Some(swift) = on_path("swift") {
        return Ok(Some(Swift::OnPath(swift)));
    }
    let root = rootfs::ensure(repo)?;
    enter::check(&root)?;
    Ok(Some(Swift::Rootfs(root)))
}

/// What to say, and to say again at the end, where Swift is left out.
pub fn left_out() -> &'static str {
    "!! SWIFT IS LEFT OUT (SLUICEGATE_SWIFT=off): nothing of it is built or tested"
}

impl Swift {
    /// `swift ARGUMENTS` in the root of the repository, inside the rootfs where Swift lives in one.
    pub fn command(&self, repo: &Repo, arguments: &[&str]) -> Command {
        match self {
            Swift::OnPath(swift) => {
                let mut command = repo.command(swift);
                command.args(arguments);
                command
            }
            Swift::Rootfs(root) => {
                let mut command = enter::command(repo, root, &variables(repo));
                command.arg("swift").args(arguments);
                command
            }
        }
    }

    /// Writes a script at `launcher`, for the host, that becomes `binary`, a program this toolchain has built.
    pub fn launcher(&self, repo: &Repo, binary: &Path, launcher: &Path) -> Result<()> {
        if !binary.is_file() {
            bail!("Swift did not build {}", repo.relative(binary));
        }
        let start = match self {
            Swift::OnPath(_) => launcher::word(binary),
            Swift::Rootfs(root) => loader::start(repo, root, binary)?,
        };
        launcher::write(launcher, &start)
    }
}

fn variables(repo: &Repo) -> Vec<String> {
    let passed =
        env::vars().filter(|(name, _)| PASSED.iter().any(|prefix| name.starts_with(prefix)));
    let mut variables: Vec<_> = passed
        .filter(|(name, _)| name != "SLUICEGATE_LIB_DIR")
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    variables.push(format!("SLUICEGATE_LIB_DIR={}", repo.target("release").display()));
    variables.push(format!("HOME={}", repo.path(BUILD_FOLDER).join("home").display()));
    variables.push("PATH=/usr/bin:/bin".to_owned());
    variables.push("LANG=C.UTF-8".to_owned());
    variables
}
