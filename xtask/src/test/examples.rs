//! The examples, one program a language and example: built, run, and held to what each says that it
//! prints. The servers are asked by curl, and by a reader that stops and then leaves.

mod server;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::checked;
use crate::repo::Repo;
use crate::setup::Tools;
use crate::swift::{BUILD_FOLDER, Swift};
use crate::{build, launcher, process};

/// Those that print what lies beside them in `expected.txt`.
const PRINTING: [&str; 4] = ["basic", "showcase", "ledger", "transcode"];
const SERVING: &str = "http";

/// A language, and its programs by the name of the example.
struct Language {
    name: &'static str,
    program: Box<dyn Fn(&str) -> PathBuf>,
}

pub fn test(repo: &Repo, tools: &Tools) -> Result<()> {
    let mut languages = vec![rust(repo)?, c(repo)?, go(repo)?, python(repo)?];
    if let Some(toolchain) = &tools.swift {
        languages.push(swift(repo, toolchain)?);
    }
    for language in &languages {
        for example in PRINTING {
            prints(repo, language, example)?;
        }
        server::test(checked(&mut repo.command((language.program)(SERVING))))
            .with_context(|| format!("the example http in {}", language.name))?;
        println!("examples, {}: as they say", language.name);
    }
    Ok(())
}

fn prints(repo: &Repo, language: &Language, example: &str) -> Result<()> {
    let wanted = fs::read_to_string(repo.path(&format!("examples/{example}/expected.txt")))?;
    let mut program = repo.command((language.program)(example));
    if example == "transcode" {
        program.arg(build::cartridge(repo, language.name)); // the process that the feed goes through
    }
    let said = process::capture(checked(&mut program))
        .with_context(|| format!("the example {example} in {}", language.name))?;
    if said != wanted {
        bail!("the example {example} in {} printed {said:?}, not {wanted:?}", language.name);
    }
    Ok(())
}

/// Every example.
pub fn all() -> impl Iterator<Item = &'static str> {
    PRINTING.into_iter().chain([SERVING])
}

fn rust(repo: &Repo) -> Result<Language> {
    process::run(repo.command("cargo").args(["build", "--quiet", "-p", "sluicegate-examples"]))?;
    let folder = repo.target("debug");
    Ok(Language {
        name: "rust",
        program: Box::new(move |name| folder.join(format!("example-{name}"))),
    })
}

fn c(repo: &Repo) -> Result<Language> {
    let folder = repo.target("examples/c");
    fs::create_dir_all(&folder)?;
    for name in all() {
        let mut cc: Command = repo.command("cc");
        cc.args([
            "-std=c99",
            "-D_POSIX_C_SOURCE=200809L",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
        ])
        .args(["-Iinclude", "-Iexamples", "-o"])
        .arg(folder.join(name))
        .arg(repo.path(&format!("examples/{name}/main.c")));
        build::link_c(repo, &mut cc);
        process::run(&mut cc)?;
    }
    Ok(Language { name: "c", program: Box::new(move |name| folder.join(name)) })
}

fn go(repo: &Repo) -> Result<Language> {
    let folder = repo.target("examples/go");
    fs::create_dir_all(&folder)?;
    for name in all() {
        let mut build = repo.command("go");
        // By its file: programs in other languages lie beside it.
        build.current_dir(repo.path("examples")).args(["build", "-o"]).arg(folder.join(name));
        process::run(build.arg(format!("{name}/main.go")))?;
    }
    Ok(Language { name: "go", program: Box::new(move |name| folder.join(name)) })
}

fn python(repo: &Repo) -> Result<Language> {
    let folder = repo.target("examples/python");
    let interpreter = launcher::word(&repo.target("venv/bin/python"));
    for name in all() {
        let main = launcher::word(&repo.path(&format!("examples/{name}/main.py")));
        launcher::write(&folder.join(name), &format!("{interpreter} {main}"))?;
    }
    Ok(Language { name: "python", program: Box::new(move |name| folder.join(name)) })
}

fn swift(repo: &Repo, toolchain: &Swift) -> Result<Language> {
    let folder = repo.target("examples/swift");
    let scratch = format!("{BUILD_FOLDER}/examples");
    let build = ["build", "--quiet", "--package-path", "examples", "--scratch-path", &scratch];
    process::run(&mut toolchain.command(repo, &build))?;
    for name in all() {
        let built = repo.path(&scratch).join("debug").join(name);
        toolchain.launcher(repo, &built, &folder.join(name))?;
    }
    Ok(Language { name: "swift", program: Box::new(move |name| folder.join(name)) })
}
