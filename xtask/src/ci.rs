//! What a change must pass to land. `.ci/run` calls this and nothing else.

use anyhow::Result;

use crate::repo::Repo;
use crate::step::{Select, Step};
use crate::tally::Tally;
use crate::{check, formal, generated, setup, step, test};

/// Sets up, then checks what needs no build of ours, then does what `cargo xtask test` does, then sums
/// up. A broken rule or a stale file fails the run, but hides no test's answer.
pub fn run(repo: &Repo, select: &Select, tally: &mut Tally) -> Result<()> {
    let tools = setup::run(repo)?;
    let mut steps = vec![
        Step::new("check", |tally| check::run(repo, &Select::default(), tally)),
        Step::new("formal", |tally| formal::run(repo, &formal::Options::checking(), tally)),
        Step::new("gen", |_| generated::run(repo, true, &[])),
    ];
    steps.extend(test::steps(repo, &tools));
    let ended = step::run("ci", select, steps, tally);
    tally.print();
    ended
}
