//! The model builds with nothing around it: no standard library, no allocation.

use std::fs;

use anyhow::Result;

use crate::process;
use crate::repo::Repo;

/// Compiles `core/src/model` alone, as a crate of its own.
pub fn check(repo: &Repo) -> Result<()> {
    let folder = repo.target("no-std");
    fs::create_dir_all(&folder)?;
    let root = folder.join("model.rs");
    let model = repo.path("core/src/model/mod.rs");
    fs::write(
        &root,
        format!(
            "//! The model alone.\n#![no_std]\n#![forbid(unsafe_code)]\n#![deny(warnings, missing_docs)]\n\n\
             /// The model.\n#[path = {model:?}]\npub mod model;\n"
        ),
    )?;
    let mut rustc = repo.command("rustc");
    rustc.args(["--edition", "2024", "--crate-type", "rlib", "--emit", "metadata", "--out-dir"]);
    process::run(rustc.arg(&folder).arg(&root))
}
