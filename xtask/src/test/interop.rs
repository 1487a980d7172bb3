//! The live peer: tests/interop, our side and theirs in every role, over pipes and sockets.

use anyhow::Result;

use super::counted;
use crate::repo::Repo;
use crate::setup;
use crate::tally::{Runner, Tally};

const SUITE: &str = "tests/interop";

pub fn test(repo: &Repo, tally: &mut Tally) -> Result<()> {
    setup::peer(repo)?;
    let mut pytest = repo.command(repo.target("venv/bin/python"));
    pytest.current_dir(repo.path(SUITE)).args(["-m", "pytest"]);
    counted(&mut pytest, Runner::Pytest, tally, |_| true)
}
