//! The Python package: ruff, mypy, pytest, all against the package as it was installed.

use anyhow::Result;

use super::counted;
use crate::process;
use crate::repo::Repo;
use crate::tally::{Runner, Tally};

/// Python beside the package, under the package's own rules.
const CARTRIDGE: &str = "../tests/cartridges/python";
const HOST: &str = "../tests/hosts/python";
const EXAMPLES: &str = "../examples";
/// The suite against the live peer; what it imports of the peer has no types.
const INTEROP: &str = "../tests/interop";

pub fn lint(repo: &Repo) -> Result<()> {
    let ruff = |arguments: &[&str]| {
        let mut ruff = repo.command(repo.target("venv/bin/ruff"));
        ruff.current_dir(repo.path("python")).args(arguments).args([
            "--quiet",
            "--config",
            "pyproject.toml",
        ]);
        process::run(&mut ruff)
    };
    ruff(&["format", "--check", ".", CARTRIDGE, HOST, EXAMPLES, INTEROP])?;
    ruff(&["check", "."])?;
    // Only what people import must be documented to the last function.
    ruff(&["check", "--extend-ignore=D", CARTRIDGE, HOST, EXAMPLES, INTEROP])
}

pub fn types(repo: &Repo) -> Result<()> {
    let mypy = |files: &[String]| {
        let mut mypy = repo.command(repo.target("venv/bin/mypy"));
        process::run(mypy.current_dir(repo.path("python")).arg("--strict").args(files))
    };
    mypy(&[])?;
    // Programs of one name each stand alone.
    let examples = super::examples::all().map(|name| format!("{EXAMPLES}/{name}/main.py"));
    [CARTRIDGE.to_owned(), HOST.to_owned()]
        .into_iter()
        .chain(examples)
        .try_for_each(|one| mypy(&[one]))
}

pub fn test(repo: &Repo, tally: &mut Tally) -> Result<()> {
    let mut pytest = repo.command(repo.target("venv/bin/python"));
    pytest.current_dir(repo.path("python")).args(["-m", "pytest"]);
    counted(&mut pytest, Runner::Pytest, tally, |_| true)
}
