//! A small Debian system with Swift in it, under `target/toolchain/swift`.
//!
//! It is made beside its place, marked complete, then renamed, under a lock: an interrupted or a
//! second run never leaves or sees half a system.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::repo::Repo;
use crate::setup::debian::{self, Package};

const SUITE: &str = "trixie";
const PACKAGES: &str = "swiftlang,libc6-dev,libstdc++-14-dev,ca-certificates";
/// The system takes 2.6 GB, and the packages on their way some more.
const DISK_GB: u64 = 4;

/// The root of the complete system; makes it where it is not there, or was made from other packages.
pub fn ensure(repo: &Repo) -> Result<PathBuf> {
    let root = repo.target("toolchain/swift");
    if is_complete(&root) {
        return Ok(root);
    }
    if !debian::can_install() {
        bail!(
            "missing: swift. Swift 6: https://www.swift.org/install (on Debian 13: apt-get install swiftlang); \
             as root on Debian this step brings one by itself; SLUICEGATE_SWIFT=off goes on without Swift"
        );
    }
    let folder = repo.target("toolchain");
    fs::create_dir_all(&folder)?;
    let lock = File::create(folder.join("swift.lock"))?;
    lock.lock().context("cannot lock the Swift toolchain")?;
    if !is_complete(&root) {
        make(&folder, &root)?;
    }
    Ok(root)
}

fn make(folder: &Path, root: &Path) -> Result<()> {
    debian::ensure(&[Package::program("mmdebstrap", "mmdebstrap")])?;
    let free = free_gb(folder)?;
    if free < DISK_GB {
        bail!(
            "Swift takes {DISK_GB} GB of disk under {}, and {free} GB are free",
            folder.display()
        );
    }
    println!("setup: Swift into {} (2.6 GB, about two minutes, once)", root.display());
    let part = folder.join("swift.part");
    remove(&part)?;
    let mut bootstrap = Command::new("mmdebstrap");
    bootstrap
        .args(["--quiet", "--variant=minbase", "--dpkgopt=path-exclude=/usr/share/doc/*"])
        .arg("--aptopt=DPkg::Lock::Timeout \"600\"")
        .args([
            "--dpkgopt=path-exclude=/usr/share/locale/*",
            "--dpkgopt=path-exclude=/usr/share/man/*",
        ])
        .arg(format!("--include={PACKAGES}"))
        .arg(SUITE)
        .arg(&part);
    process::run(&mut bootstrap)?;
    fs::write(part.join(".complete"), recipe())?;
    remove(root)?;
    fs::rename(&part, root).context("cannot move the Swift system to its place")
}

fn is_complete(root: &Path) -> bool {
    fs::read_to_string(root.join(".complete")).is_ok_and(|made_from| made_from == recipe())
}

fn recipe() -> String {
    format!("{SUITE} {PACKAGES}\n")
}

/// Removes a system, unless something is mounted in it: then removing would reach outside.
fn remove(root: &Path) -> Result<()> {
    if !root.exists() {
        return Ok(());
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let inside = |mount: &&str| Path::new(mount).starts_with(root);
    if let Some(mount) = mounts.lines().filter_map(|line| line.split(' ').nth(1)).find(inside) {
        bail!("{mount} is mounted inside an old Swift system: umount it first");
    }
    fs::remove_dir_all(root).with_context(|| format!("cannot remove {}", root.display()))
}

fn free_gb(folder: &Path) -> Result<u64> {
    let mut df = Command::new("df");
    let answer = process::capture(df.args(["--output=avail", "--block-size=1G"]).arg(folder))?;
    answer
        .lines()
        .last()
        .and_then(|line| line.trim().parse().ok())
        .context("df did not say what is free")
}
