//! System packages. On Debian and its children, as root, what is missing is installed; anywhere else
//! it is named, with the way to get it.

use std::process::Command;

use anyhow::{Result, bail};

use crate::environment::on_path;
use crate::process;

/// A package, and what shows that it, or something as good, is there.
pub struct Package {
    pub name: &'static str,
    pub brings: Brings,
}

/// What a package is wanted for.
#[derive(Clone, Copy)]
pub enum Brings {
    Program(&'static str),
    /// A header that the C compiler finds.
    Header(&'static str),
}

impl Package {
    pub const fn program(name: &'static str, program: &'static str) -> Self {
        Package { name, brings: Brings::Program(program) }
    }

    const fn header(name: &'static str, header: &'static str) -> Self {
        Package { name, brings: Brings::Header(header) }
    }

    fn is_there(&self) -> bool {
        match self.brings {
            Brings::Program(program) => on_path(program).is_some(),
            Brings::Header(header) => {
                let mut cc = Command::new("cc");
                cc.args(["-fsyntax-only", "-include", header, "-x", "c", "/dev/null"]);
                cc.output().is_ok_and(|ended| ended.status.success())
            }
        }
    }

    fn wanted_for(&self) -> &'static str {
        match self.brings {
            Brings::Program(what) | Brings::Header(what) => what,
        }
    }
}

/// What C, Go's cgo, the linkers and our tests in C take, beside the languages themselves.
pub const COMPILERS: &[Package] = &[
    Package::program("gcc", "cc"),
    Package::program("g++", "c++"),
    Package::program("make", "make"),
    Package::program("pkg-config", "pkg-config"),
    Package::program("git", "git"),
    Package::header("libc6-dev", "stdio.h"),
    Package::header("libcjson-dev", "cjson/cJSON.h"), // tests/c reads the scripts with it
    Package::header("zlib1g-dev", "zlib.h"),          // and unpacks them with it
    Package::header("libssl-dev", "openssl/evp.h"), // the reference cartridge in C makes digests with it
];

/// What only tests take.
pub const TESTS: &[Package] = &[
    Package::program("curl", "curl"), // asks the servers of examples
    Package::program("musl-tools", "musl-gcc"), // another C library, for tests/c
    Package::program("ffmpeg", "ffmpeg"), // core's tests of live feeds capture its test picture
];

/// Installs those of `packages` that are not there, or says in one line what is missing.
pub fn ensure(packages: &[Package]) -> Result<()> {
    let missing: Vec<_> = packages.iter().filter(|package| !package.is_there()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|package| package.name).collect();
    if !can_install() {
        let wanted: Vec<_> = missing.iter().map(|package| package.wanted_for()).collect();
        bail!(
            "missing: {}. On Debian or Ubuntu, as root: apt-get install {}; elsewhere, your system's packages of the same",
            wanted.join(", "),
            names.join(" ")
        );
    }
    install(&names)
}

/// Installs packages by name; only where `can_install`.
pub fn install(names: &[&str]) -> Result<()> {
    println!("setup: installing {}", names.join(", "));
    process::run(apt_get().args(["update", "-qq"]))?;
    let mut install = apt_get();
    install
        .args(["install", "-y", "-qq", "--no-install-recommends"])
        .args(names)
        .env("DEBIAN_FRONTEND", "noninteractive");
    process::run(&mut install)
}

/// `apt-get`, which waits up to ten minutes while somebody else installs.
fn apt_get() -> Command {
    let mut apt_get = Command::new("apt-get");
    apt_get.args(["-o", "DPkg::Lock::Timeout=600"]);
    apt_get
}

/// True where this program may install packages: on a Debian-like system, as root.
pub fn can_install() -> bool {
    on_path("apt-get").is_some()
        && Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}
