//! The cartridges that README.md shows, one in each language: built and run as they stand there.
//!
//! The first fenced block of each language is a whole program. Each must turn text to upper case.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::{checked, held};
use crate::repo::Repo;
use crate::setup::Tools;
use crate::swift::Swift;
use crate::{build, launcher, process};

const GIVEN: &str = "one window, five languages\n";
pub const WANTED: &str = "ONE WINDOW, FIVE LANGUAGES\n";

pub fn test(repo: &Repo, tools: &Tools) -> Result<()> {
    let mut programs = vec![
        ("rust", rust(repo, &snippet(repo, "rust")?)?),
        ("c", c(repo, &snippet(repo, "c")?)?),
        ("go", go(repo, &snippet(repo, "go")?)?),
        ("python", python(repo, &snippet(repo, "python")?)?),
    ];
    let in_swift = snippet(repo, "swift")?;
    if let Some(toolchain) = &tools.swift {
        programs.push(("swift", swift(repo, toolchain, &in_swift)?));
    }
    for (language, program) in programs {
        let said = piped(repo, &program).with_context(|| format!("the cartridge in {language}"))?;
        if said != WANTED {
            bail!("the cartridge in {language} made {said:?} of {GIVEN:?}");
        }
        println!("README.md, {language}: as it says");
    }
    Ok(())
}

/// The program in this language that README.md shows.
pub fn snippet(repo: &Repo, language: &str) -> Result<String> {
    let readme = fs::read_to_string(repo.path("README.md")).context("cannot read README.md")?;
    block(&readme, language).with_context(|| format!("README.md shows no block of {language}"))
}

/// What stands between the first line "```language" and the next line "```".
fn block(page: &str, language: &str) -> Option<String> {
    let opening = format!("```{language}");
    let mut lines = page.lines().skip_while(|line| line.trim_end() != opening);
    lines.next()?;
    Some(
        lines.take_while(|line| line.trim_end() != "```").map(|line| format!("{line}\n")).collect(),
    )
}

/// What the program, as a cartridge, makes of the given text.
pub fn piped(repo: &Repo, program: &Path) -> Result<String> {
    let mut pipe = repo.command(repo.target("release/sluicegate"));
    pipe.args(["pipe", "--quiet", "--"]).arg(program).stdin(Stdio::piped()).stdout(Stdio::piped());
    pipe.stderr(Stdio::piped());
    let mut running = checked(&mut pipe)
        .spawn()
        .with_context(|| format!("cannot start {}", process::line(&pipe)))?;
    running.stdin.take().expect("it was piped").write_all(GIVEN.as_bytes())?;
    let ended = running.wait_with_output()?;
    let errors = String::from_utf8_lossy(&ended.stderr);
    eprint!("{errors}");
    held(&errors)?;
    if !ended.status.success() {
        bail!("{}: {}", ended.status, process::line(&pipe));
    }
    Ok(String::from_utf8(ended.stdout)?)
}

/// A folder under target with these files in it.
fn project(repo: &Repo, language: &str, files: &[(&str, &str)]) -> Result<PathBuf> {
    let folder = repo.target("readme").join(language);
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a file lies in a folder"))?;
        fs::write(path, text)?;
    }
    Ok(folder)
}

fn rust(repo: &Repo, main: &str) -> Result<PathBuf> {
    let workspace = fs::read_to_string(repo.path("Cargo.toml"))?;
    // The same profiles and the same lock, so that what is built already is not built again.
    let profiles = workspace.find("[profile.").map_or("", |at| &workspace[at..]);
    let manifest = format!(
        "[package]\nname = \"readme-cartridge\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\nsluicegate = {{ path = \"../../../core\" }}\n\n{profiles}"
    );
    let folder = project(repo, "rust", &[("Cargo.toml", &manifest), ("src/main.rs", main)])?;
    fs::copy(repo.path("Cargo.lock"), folder.join("Cargo.lock"))?;
    process::run(repo.command("cargo").current_dir(&folder).args(["build", "--quiet"]))?;
    Ok(repo.target("debug/readme-cartridge"))
}

fn c(repo: &Repo, main: &str) -> Result<PathBuf> {
    let folder = project(repo, "c", &[("main.c", main)])?;
    let program = folder.join("cartridge");
    let mut cc = repo.command("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude", "-o"])
        .arg(&program)
        .arg(folder.join("main.c"));
    build::link_c(repo, &mut cc);
    process::run(&mut cc)?;
    Ok(program)
}

fn go(repo: &Repo, main: &str) -> Result<PathBuf> {
    // What the library requires is what a program over it requires.
    let library = fs::read_to_string(repo.path("go/go.mod"))?;
    let module = library
        .lines()
        .find_map(|line| line.strip_prefix("module "))
        .context("go.mod names no module")?;
    let rest = library.replacen(&format!("module {module}"), "module readme", 1);
    let manifest = format!("{rest}\nrequire {module} v0.0.0\n\nreplace {module} => ../../../go\n");
    let sums = fs::read_to_string(repo.path("go/go.sum"))?;
    let folder =
        project(repo, "go", &[("go.mod", &manifest), ("go.sum", &sums), ("main.go", main)])?;
    let program = folder.join("cartridge");
    let mut go = repo.command("go");
    process::run(go.current_dir(&folder).args(["build", "-mod=mod", "-o"]).arg(&program).arg("."))?;
    Ok(program)
}

fn python(repo: &Repo, main: &str) -> Result<PathBuf> {
    let folder = project(repo, "python", &[("main.py", main)])?;
    let program = folder.join("cartridge");
    let interpreter = launcher::word(&repo.target("venv/bin/python"));
    launcher::write(
        &program,
        &format!("{interpreter} {}", launcher::word(&folder.join("main.py"))),
    )?;
    Ok(program)
}

fn swift(repo: &Repo, toolchain: &Swift, main: &str) -> Result<PathBuf> {
    const MANIFEST: &str = r#"// swift-tools-version: 6.0
import PackageDescription

let package = Package(
  name: "readme",
  platforms: [.macOS(.v13)],
  dependencies: [.package(name: "sluicegate", path: "../../../swift")],
  targets: [
    .executableTarget(
      name: "cartridge", dependencies: [.product(name: "Sluicegate", package: "sluicegate")], path: "Sources")
  ],
  swiftLanguageModes: [.v6])
"#;
    let folder = project(
        repo,
        "swift-cartridge",
        &[("Package.swift", MANIFEST), ("Sources/main.swift", main)],
    )?;
    let mut build: Command = toolchain
        .command(repo, &["build", "--quiet", "--package-path", "target/readme/swift-cartridge"]);
    process::run(&mut build)?;
    let program = folder.join("cartridge");
    toolchain.launcher(repo, &folder.join(".build/debug/cartridge"), &program)?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_of_a_language_is_the_one() {
        let page = "# x\n\n```python\nprint(1)\n```\n\n```go\na\n\nb\n```\n```go\nc\n```\n";
        assert_eq!(block(page, "go").as_deref(), Some("a\n\nb\n"));
        assert_eq!(block(page, "python").as_deref(), Some("print(1)\n"));
        assert_eq!(block(page, "py"), None);
    }
}
