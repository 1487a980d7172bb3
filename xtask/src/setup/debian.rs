//! System packages. On Debian and its children, as root, what is missing is installed; anywhere else
//! it is named, with the way to get it.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process;
use crate::repo::on_path;

/// A package, and the program whose presence shows that it, or something as good, is there.
pub struct Package {
    pub name: &'static str,
    pub program: &'static str,
}

/// What C, Go's cgo and the linkers take, beside the languages themselves.
pub const COMPILERS: &[Package] = &[
    Package { name: "gcc", program: "cc" },
    Package { name: "g++", program: "c++" },
    Package { name: "pkg-config", program: "pkg-config" },
    Package { name: "git", program: "git" },
];

/// Installs those of `packages` whose program is not there, or says in one line what is missing.
pub fn ensure(packages: &[Package]) -> Result<()> {
    let missing: Vec<_> =
        packages.iter().filter(|package| on_path(package.program).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|package| package.name).collect();
    if !can_install() {
        let programs: Vec<_> = missing.iter().map(|package| package.program).collect();
        bail!(
            "missing: {}. On Debian or Ubuntu, as root: apt-get install {}; elsewhere, your system's packages of the same programs",
            programs.join(", "),
            names.join(" ")
        );
    }
    install(&names)
}

/// Installs packages by name; only where `can_install`.
pub fn install(names: &[&str]) -> Result<()> {
    println!("setup: installing {}", names.join(", "));
    process::run(Command::new("apt-get").args(["update", "-qq"]))?;
    let mut install = Command::new("apt-get");
    install
        .args(["install", "-y", "-qq", "--no-install-recommends"])
        .args(names)
        .env("DEBIAN_FRONTEND", "noninteractive");
    // A compiler without the C library's headers finds out too late.
    if names.contains(&"gcc") {
        install.arg("libc6-dev");
    }
    process::run(&mut install)
}

/// True where this program may install packages: on a Debian-like system, as root.
pub fn can_install() -> bool {
    on_path("apt-get").is_some()
        && Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}
