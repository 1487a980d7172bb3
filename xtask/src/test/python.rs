//! The Python package: ruff, mypy, pytest, all against the package as it was installed.

use anyhow::Result;

use super::counted;
use crate::process;
use crate::repo::Repo;
use crate::tally::{Runner, Tally};

/// Where Python code lies beside the package itself.
const OTHERS: &[&str] = &["../tests"];

pub fn lint(repo: &Repo) -> Result<()> {
    for check in [&["check"][..], &["format", "--check"]] {
        let mut ruff = repo.command(repo.target("venv/bin/ruff"));
        ruff.current_dir(repo.path("python")).args(check).args(["--quiet", "."]).args(OTHERS);
        process::run(&mut ruff)?;
    }
    Ok(())
}

pub fn types(repo: &Repo) -> Result<()> {
    let mut mypy = repo.command(repo.target("venv/bin/mypy"));
    process::run(mypy.current_dir(repo.path("python")).args(["--strict"]))
}

pub fn test(repo: &Repo, tally: &mut Tally) -> Result<()> {
    let mut pytest = repo.command(repo.target("venv/bin/python"));
    pytest.current_dir(repo.path("python")).args(["-m", "pytest", "--quiet"]);
    counted(&mut pytest, Runner::Pytest, tally, |_| true)
}
