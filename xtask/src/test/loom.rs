//! The waiting parts of the core under checkers of schedules (`tests/loom`): every check passes, and
//! each check whose line of the core is broken on purpose fails.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::counted;
use crate::process;
use crate::repo::Repo;
use crate::tally::{Runner, Tally};

const SHUTTLE: &[&str] = &["--no-default-features", "--features", "shuttle"];

pub fn test(repo: &Repo, tally: &mut Tally) -> Result<()> {
    let is_news = |line: &str| line.contains(" schedules, ") || line.contains("panicked at");
    counted(&mut cargo(repo, "run", &[]), Runner::Plain, tally, is_news)?;
    counted(&mut cargo(repo, "run", SHUTTLE), Runner::Plain, tally, is_news)?;
    let mutants = repo.path("tests/loom/mutants.txt");
    let mutants = mutants_of(&fs::read_to_string(mutants).context("cannot read mutants.txt")?)?;
    let listed = process::capture(&mut cargo(repo, "run", &["--", "--list"]))?;
    uncaught(listed.lines(), &mutants)?;
    for Mutant { name, caught_by } in &mutants {
        process::run(cargo(repo, "build", &[]).env("SLUICEGATE_MUTANT", name))?;
        for check in caught_by {
            let mut run = cargo(repo, "run", &["--", check]);
            let watched = process::watch(run.env("SLUICEGATE_MUTANT", name), |_| false)?;
            if watched.ended.is_ok() || !watched.text.contains("panicked at") {
                bail!("{}\n{check} did not catch the mutant {name}", watched.text);
            }
        }
        println!("mutant {name}: caught by {}", caught_by.join(", "));
    }
    println!("{} of {} mutants caught, every check catches one", mutants.len(), mutants.len());
    Ok(())
}

/// A line of the core, broken.
struct Mutant {
    name: String,
    /// The checks that must fail, each.
    caught_by: Vec<String>,
}

/// Fails for a check that no mutant names, and for a name that is no check's.
fn uncaught<'a>(checks: impl Iterator<Item = &'a str>, mutants: &[Mutant]) -> Result<()> {
    let checks: Vec<&str> = checks.collect();
    let named = || mutants.iter().flat_map(|mutant| &mutant.caught_by);
    if let Some(check) = checks.iter().find(|check| !named().any(|name| name == *check)) {
        bail!("{check} catches no mutant of mutants.txt: what would make it fail?");
    }
    if let Some(name) = named().find(|name| !checks.contains(&name.as_str())) {
        bail!("mutants.txt names {name}, and there is no such check");
    }
    Ok(())
}

fn cargo(repo: &Repo, verb: &str, arguments: &[&str]) -> Command {
    let mut cargo = repo.command("cargo");
    // A folder of its own: the same packages are built with other settings there.
    cargo.current_dir(repo.path("tests/loom")).env("CARGO_TARGET_DIR", repo.target("loom"));
    cargo.args([verb, "--quiet", "--locked"]).args(arguments);
    cargo
}

/// The mutants that `mutants.txt` lists.
fn mutants_of(text: &str) -> Result<Vec<Mutant>> {
    let mut mutants: Vec<Mutant> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("mutant ") {
            mutants.push(Mutant { name: name.to_owned(), caught_by: Vec::new() });
        } else if let Some(checks) = line.strip_prefix("caught by ") {
            let mutant = mutants.last_mut().context("`caught by` before any mutant")?;
            mutant.caught_by = checks.split(", ").map(str::to_owned).collect();
        }
    }
    match mutants.iter().find(|mutant| mutant.caught_by.is_empty()) {
        Some(Mutant { name, .. }) => bail!("mutant {name} says no check"),
        None if mutants.is_empty() => bail!("mutants.txt lists none"),
        None => Ok(mutants),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# x\nmutant a\nfile f\nwas x\nbecomes y\ncaught by one, two\n";

    #[test]
    fn every_mutant_names_its_checks() {
        let mutants = mutants_of(GOOD).expect("good");
        assert_eq!((mutants.len(), mutants[0].name.as_str()), (1, "a"));
        assert_eq!(mutants[0].caught_by, ["one", "two"]);
        assert!(mutants_of("mutant a\n").is_err());
        assert!(mutants_of("").is_err());
    }

    #[test]
    fn every_check_catches_a_mutant() {
        let mutants = mutants_of(GOOD).expect("good");
        assert!(uncaught(["one", "two"].into_iter(), &mutants).is_ok());
        for (checks, who) in [(&["one", "two", "three"][..], "three"), (&["one"], "two")] {
            let told = uncaught(checks.iter().copied(), &mutants).expect_err("does not fit");
            assert!(told.to_string().contains(who), "{told}");
        }
    }
}
