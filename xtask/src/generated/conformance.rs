//! The conformance scripts, which a program of their own writes: it holds the model a second time, in
//! another language, and shares nothing with the library.

use anyhow::Result;

use crate::process;
use crate::repo::Repo;

pub fn run(repo: &Repo, check: bool) -> Result<()> {
    let mut generate = repo.command("python3");
    generate.arg("tests/conformance/generate.py");
    if check {
        generate.arg("--check");
    }
    process::run(&mut generate)
}
