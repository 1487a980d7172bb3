//! What a change must pass to land. `.ci/run` calls this and nothing else.

use anyhow::Result;

use crate::repo::Repo;
use crate::step::{Select, Step};
use crate::tally::Tally;
use crate::{check, generated, setup, step, test};

/// Sets up, then checks what needs no build of ours, then runs `cargo xtask test`, then sums up.
pub fn run(repo: &Repo, tally: &mut Tally) -> Result<()> {
    let tools = setup::run(repo)?;
    let all = Select::default();
    let before = vec![
        Step::new("check", |tally| check::run(repo, &all, tally)),
        Step::new("gen", |_| generated::run(repo, true)),
    ];
    // A broken rule or a stale file fails the run, but hides no test's answer.
    let kept = step::run("ci", &all, before, tally);
    let tested = test::run(repo, &tools, &all, tally);
    tally.print();
    kept.and(tested)
}
