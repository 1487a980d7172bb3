//! Checks that keep the house as it was built: rooms, circles, sizes, laws, one place of credit arithmetic, a model
//! that builds anywhere.

mod arithmetic;
mod circles;
mod laws;
mod no_std;
mod rooms;
mod sizes;
mod theorems;

use anyhow::{Result, bail};

use crate::repo::Repo;
use crate::step::{self, Select, Step};
use crate::tally::Tally;

/// A rule that a place in the repository does not keep.
pub struct Finding {
    /// `core/src/link/reader.rs:12`
    pub place: String,
    pub broken: String,
}

/// Runs the checks.
pub fn run(repo: &Repo, select: &Select, tally: &mut Tally) -> Result<()> {
    let steps = vec![
        Step::new("rooms", |_| report(rooms::check(repo)?)),
        Step::new("circles", |_| report(circles::check(repo)?)),
        Step::new("sizes", |_| report(sizes::check(repo)?)),
        Step::new("laws", |_| report(laws::check(repo)?)),
        Step::new("arithmetic", |_| report(arithmetic::check(repo)?)),
        Step::new("theorems", |_| report(theorems::check(repo)?)),
        Step::new("no-std", |_| no_std::check(repo)),
    ];
    step::run("check", select, steps, tally)
}

fn report(findings: Vec<Finding>) -> Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    for Finding { place, broken } in &findings {
        println!("{place}: {broken}");
    }
    bail!(
        "{} broken",
        if findings.len() == 1 {
            "one rule".to_owned()
        } else {
            format!("{} rules", findings.len())
        }
    )
}
