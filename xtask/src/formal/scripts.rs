//! `tests/conformance`: the scripts that the model writes.
//!
//! Coq extracts the machines and the lists of scripts as OCaml; a driver by hand (`formal/scripts`)
//! prints them, after it has computed the hash that the kernel computed of a sample.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::coq::Theories;
use crate::process;
use crate::repo::Repo;

const CONFORMANCE: &str = "tests/conformance";

/// The folders that the model writes, whole.
const FOLDERS: &[&str] = &["pure", "waiting", "inner", "pipeline", "junction", "hub"];

/// Writes what is stale, or with `check` names it and fails.
pub fn run(repo: &Repo, check: bool) -> Result<()> {
    let folder = repo.target("formal/scripts");
    let _ = fs::remove_dir_all(&folder);
    let written = folder.join("written");
    fs::create_dir_all(&written)?;
    let program = build(repo, &folder)?;
    // A line for each file: its name, how many scripts, how many steps.
    print!("{}", process::capture(Command::new(program).arg(&written))?);
    let mut stale = Vec::new();
    for kind in FOLDERS {
        stale.extend(compare(repo, &written.join(kind), kind, check)?);
    }
    if check && !stale.is_empty() {
        bail!("stale: {}; cargo xtask formal scripts writes them", stale.join(", "));
    }
    let state = if stale.is_empty() { "fresh" } else { "written" };
    println!("the files of {CONFORMANCE}: {state}");
    Ok(())
}

/// The program that writes the files.
fn build(repo: &Repo, folder: &Path) -> Result<std::path::PathBuf> {
    let theories = Theories::open(repo)?;
    theories.compile(["Write/ScriptsExtract.v".to_owned()])?;
    for file in ["scripts.mli", "scripts.ml"] {
        fs::copy(theories.written.join(file), folder.join(file))
            .with_context(|| format!("formal/theories/Write/ScriptsExtract.v wrote no {file}"))?;
    }
    fs::copy(repo.path("formal/scripts/write.ml"), folder.join("write.ml"))?;
    let mut compile = Command::new("ocamlopt");
    // What Coq extracts is not written to OCaml's taste.
    compile.args(["-w", "-a", "scripts.mli", "scripts.ml", "write.ml", "-o", "write"]);
    process::run(compile.current_dir(folder))?;
    Ok(folder.join("write"))
}

/// The stale files of one folder; written, unless `check`.
fn compare(repo: &Repo, fresh: &Path, kind: &str, check: bool) -> Result<Vec<String>> {
    let committed = repo.path(CONFORMANCE).join(kind);
    fs::create_dir_all(&committed)?;
    let mut wanted = BTreeSet::new();
    let mut stale = Vec::new();
    for entry in fs::read_dir(fresh).into_iter().flatten() {
        let fresh = entry?.path();
        let name = format!("{}.gz", fresh.file_name().unwrap_or_default().display());
        let place = committed.join(&name);
        if unpacked(&place) != Some(fs::read(&fresh)?) {
            stale.push(format!("{CONFORMANCE}/{kind}/{name}"));
            if !check {
                fs::write(&place, packed(&fresh)?)?;
            }
        }
        wanted.insert(name);
    }
    for entry in fs::read_dir(&committed)? {
        let name = entry?.file_name().display().to_string();
        if !wanted.contains(&name) {
            stale.push(format!("{CONFORMANCE}/{kind}/{name}, which nothing writes"));
            if !check {
                fs::remove_file(committed.join(name))?;
            }
        }
    }
    Ok(stale)
}

/// What a packed file holds. Compared unpacked: another gzip may pack the same text otherwise.
fn unpacked(file: &Path) -> Option<Vec<u8>> {
    let ended = Command::new("gzip").args(["--decompress", "--stdout"]).arg(file).output().ok()?;
    ended.status.success().then_some(ended.stdout)
}

/// Packed, with no name and no time in it.
fn packed(file: &Path) -> Result<Vec<u8>> {
    let mut gzip = Command::new("gzip");
    let ended = gzip.args(["--no-name", "--best", "--stdout"]).arg(file).output()?;
    if !ended.status.success() {
        bail!("gzip failed on {}", file.display());
    }
    Ok(ended.stdout)
}
