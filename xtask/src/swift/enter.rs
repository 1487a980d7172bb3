//! Running a program inside the rootfs.
//!
//! As root in a mount namespace of the program's own, which takes its mounts along when it ends.
//! Where mounting is not allowed (many containers), `proot` does the same without mounts.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::environment::on_path;
use crate::repo::Repo;
use crate::setup::debian::{self, Package};

const SCRIPT: &str = include_str!("enter.sh");

/// Makes sure that there is a way in.
pub fn check(root: &Path) -> Result<()> {
    if may_mount(root) || on_path("proot").is_some() {
        return Ok(());
    }
    if debian::can_install() {
        return debian::ensure(&[Package::program("proot", "proot")]);
    }
    bail!("mounting is not allowed here and proot is missing: run as root, or install proot")
}

/// A command inside; what is to run there, and its arguments, are added by the caller.
pub fn command(repo: &Repo, root: &Path, variables: &[String]) -> Command {
    let mut command;
    if may_mount(root) {
        command = repo.command("unshare");
        command
            .args(["--mount", "--propagation", "private", "sh", "-c", SCRIPT, "enter.sh"])
            .arg(root)
            .arg(repo.path(""));
    } else {
        command = repo.command("proot");
        command.arg("-r").arg(root).args(["-b", "/proc", "-b", "/dev", "-b"]).arg(repo.path(""));
        command.arg("-w").arg(repo.path("")).args(["/usr/bin/env", "-i"]);
    }
    command.args(variables);
    command
}

/// Tries what the script does first; the mount is gone when the try is.
fn may_mount(root: &Path) -> bool {
    let mut attempt = Command::new("unshare");
    attempt
        .args(["--mount", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs"])
        .arg(root.join("tmp"));
    attempt.output().is_ok_and(|ended| ended.status.success())
}
