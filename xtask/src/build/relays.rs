//! The reference relays of `tests/relays`, built to `target/relays/LANGUAGE`.

use anyhow::Result;

use crate::process;
use crate::repo::Repo;

pub fn go(repo: &Repo) -> Result<()> {
    let mut go = repo.command("go");
    go.current_dir(repo.path("tests/relays/go"))
        .args(["build", "-o"])
        .arg(repo.target("relays/go"))
        .arg(".");
    process::run(&mut go)
}
