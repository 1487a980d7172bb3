//! What C and C++ users get: headers, libraries, and the files by which pkg-config and CMake find them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::build;
use crate::process;
use crate::repo::Repo;

/// The name that programs ask for at run time; its number changes when the ABI breaks.
const SONAME: &str = "libsluicegate.so.1";

#[derive(clap::Args)]
pub struct Options {
    /// The folder that gets include/ and lib/
    #[arg(long, default_value = "/usr/local")]
    prefix: PathBuf,
}

impl Options {
    /// Below this folder.
    pub fn new(prefix: &Path) -> Self {
        Options { prefix: prefix.to_owned() }
    }
}

/// Builds the C library as it is shipped, and copies what belongs to it below the prefix.
pub fn run(repo: &Repo, options: &Options) -> Result<()> {
    let prefix = std::path::absolute(&options.prefix)?;
    // A folder of its own: the library of the build folder has no SONAME, so that programs linked
    // against it find it there.
    let built = repo.target("install");
    let mut cargo = repo.command("cargo");
    cargo.args(["build", "--release", "--package", "sluicegate-ffi", "--target-dir"]).arg(&built);
    process::run(cargo.env("SLUICEGATE_SONAME", SONAME))?;

    build::seal(repo, &built.join("release/libsluicegate.a"))?;

    let lib = prefix.join("lib");
    copy(&built.join("release/libsluicegate.so"), &lib.join(SONAME))?;
    copy(&built.join("release/libsluicegate.a"), &lib.join("libsluicegate.a"))?;
    for header in ["sluicegate.h", "sluicegate.hpp"] {
        copy(&repo.path("include").join(header), &prefix.join("include").join(header))?;
    }
    let link = lib.join("libsluicegate.so");
    let _ = fs::remove_file(&link); // it is not there, or it is what an earlier run has left
    symlink(SONAME, &link).with_context(|| format!("cannot make {}", link.display()))?;
    let version = version(repo)?;
    for (template, place) in [
        ("sluicegate.pc.in", "pkgconfig/sluicegate.pc"),
        ("SluicegateConfig.cmake.in", "cmake/Sluicegate/SluicegateConfig.cmake"),
        ("SluicegateConfigVersion.cmake.in", "cmake/Sluicegate/SluicegateConfigVersion.cmake"),
    ] {
        let text = fs::read_to_string(repo.path("ffi/pkg").join(template))
            .with_context(|| format!("cannot read ffi/pkg/{template}"))?;
        write(&lib.join(place), &text.replace("@VERSION@", &version).replace("@SONAME@", SONAME))?;
    }
    println!("sluicegate {version} is in {}", prefix.display());
    Ok(())
}

/// The one version of everything, from the workspace.
fn version(repo: &Repo) -> Result<String> {
    let manifest = fs::read_to_string(repo.path("Cargo.toml"))?;
    let mut package = manifest.lines().skip_while(|line| line.trim() != "[workspace.package]");
    let line = package
        .find_map(|line| line.strip_prefix("version = "))
        .context("Cargo.toml names no version")?;
    Ok(line.trim().trim_matches('"').to_owned())
}

/// Copies beside the place first: a program that has the old library open keeps it whole.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let fresh = beside(to)?;
    fs::copy(from, &fresh)
        .with_context(|| format!("cannot copy {} to {}", from.display(), fresh.display()))?;
    fs::rename(&fresh, to).with_context(|| format!("cannot make {}", to.display()))
}

fn write(to: &Path, text: &str) -> Result<()> {
    beside(to)?;
    fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))
}

/// A name for a file on its way; makes the folder of both.
fn beside(path: &Path) -> Result<PathBuf> {
    let folder = path.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.join(format!(".sluicegate.{}", std::process::id())))
}
