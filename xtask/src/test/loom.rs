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
    for (name, check) in &mutants {
        process::run(cargo(repo, "build", &[]).env("SLUICEGATE_MUTANT", name))?;
        let mut run = cargo(repo, "run", &["--", check]);
        let watched = process::watch(run.env("SLUICEGATE_MUTANT", name), |_| false)?;
        if watched.ended.is_ok() || !watched.text.contains("panicked at") {
            bail!("{}\n{check} did not catch the mutant {name}", watched.text);
        }
        println!("mutant {name}: caught by {check}");
    }
    println!("{} of {} mutants caught", mutants.len(), mutants.len());
    Ok(())
}

fn cargo(repo: &Repo, verb: &str, arguments: &[&str]) -> Command {
    let mut cargo = repo.command("cargo");
    // A folder of its own: the same packages are built with other settings there.
    cargo.current_dir(repo.path("tests/loom")).env("CARGO_TARGET_DIR", repo.target("loom"));
    cargo.args([verb, "--quiet", "--locked"]).args(arguments);
    cargo
}

/// The names, and the check that must catch each.
fn mutants_of(text: &str) -> Result<Vec<(String, String)>> {
    let mut mutants = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("mutant ") {
            mutants.push((name.to_owned(), String::new()));
        } else if let Some(check) = line.strip_prefix("caught by ") {
            mutants.last_mut().context("`caught by` before any mutant")?.1 = check.to_owned();
        }
    }
    match mutants.iter().find(|(_, check)| check.is_empty()) {
        Some((name, _)) => bail!("mutant {name} says no check"),
        None if mutants.is_empty() => bail!("mutants.txt lists none"),
        None => Ok(mutants),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_names_its_check() {
        let good = "# x\nmutant a\nfile f\nwas x\nbecomes y\ncaught by check_a\n";
        assert_eq!(mutants_of(good).expect("good"), [("a".to_owned(), "check_a".to_owned())]);
        assert!(mutants_of("mutant a\n").is_err());
        assert!(mutants_of("").is_err());
    }
}
