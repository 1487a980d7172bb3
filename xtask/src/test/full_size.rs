//! What is promised for large amounts, at full size and in release: each program ends with an error if
//! anything is lost, or if the process that it is grows.

use std::process::Command;
use std::thread;

use anyhow::{Context, Result, anyhow};

use super::{checked, held};
use crate::process;
use crate::repo::Repo;

pub fn test(repo: &Repo) -> Result<()> {
    let mut build = repo.command("cargo");
    build.args(["build", "--quiet", "--release", "-p", "sluicegate", "--examples"]);
    process::run(&mut build)?;
    let program = |name: &str, argument: &str| {
        let mut program = repo.command(repo.target(&format!("release/examples/{name}")));
        program.arg(argument);
        program
    };
    thread::scope(|scope| {
        // A minute by the clock, most of it asleep: the others go on beside it.
        let feed = scope.spawn(|| told("a live feed", program("feed_live", "60")));
        told("streams of 10^7 elements", program("flow_cost", "1"))?;
        told("a sequence of a GiB", program("sequence_gib", "1024"))?;
        let mut stages = repo.command("cargo");
        stages.args(["test", "--quiet", "--release", "-p", "sluicegate", "--test", "flow_stages"]);
        told("stages", stages)?;
        let mut races = repo.command("cargo");
        races.args(["test", "--quiet", "--release", "-p", "sluicegate", "--test", "flow_promise"]);
        races.arg("hz_s17");
        told("races of promises", races)?;
        feed.join().map_err(|_| anyhow!("the thread of the live feed panicked"))?
    })
}

/// Runs it, held to the model, and shows what it says once it has ended.
fn told(what: &str, mut program: Command) -> Result<()> {
    let watched = process::watch(checked(&mut program), |_| false)?;
    println!("{what}:\n{}", watched.text.trim_end());
    watched.ended.and_then(|()| held(&watched.text)).with_context(|| what.to_owned())
}
