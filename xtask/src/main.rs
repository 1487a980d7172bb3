//! Every chore of this repository. `cargo xtask --help` lists them.

mod build;
mod check;
mod ci;
mod demo;
mod environment;
mod formal;
mod generated;
mod install;
mod launcher;
mod laws;
mod process;
mod repo;
mod setup;
mod source;
mod step;
mod swift;
mod tally;
mod test;
mod tracked;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use repo::Repo;
use step::Select;
use tally::Tally;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "Every chore of this repository",
    disable_help_subcommand = true
)]
struct Xtask {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Bring what this machine lacks: system packages, Python tools, Swift
    Setup,
    /// Stream a file through five cartridges in five languages, and show who holds how much
    Demo(demo::Options),
    /// Set up and build everything, then run every lint and every test of every language
    Test(Select),
    /// Replay the conformance scripts in every language and compare what was replayed
    Conformance {
        /// How many times to replay the scripts that wait, at least once
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        repeat: u32,
    },
    /// What a change must pass to land: fresh generated files, kept rules, passing tests
    Ci(Select),
    /// Build the native libraries, the packages and the reference cartridges
    Build(Select),
    /// Put the C library, its header and its pkg-config and CMake files under a prefix
    Install(install::Options),
    /// Write the generated files
    Gen {
        /// Write nothing; show what is stale, and fail if anything is
        #[arg(long)]
        check: bool,
        /// Only these
        #[arg(value_enum)]
        kinds: Vec<generated::Kind>,
    },
    /// Check the rooms of the house, the sizes of the files, the citations of the laws
    Check(Select),
    /// Check the proofs of the model, write the Rust and the scripts that follow from it, run the mutants
    Formal(formal::Options),
    /// Run swift where it lives: cargo xtask swift -- build --package-path swift
    Swift {
        /// The arguments of swift
        #[arg(last = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Xtask::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<()> {
    let repo = Repo::find();
    let mut tally = Tally::default();
    match chore {
        Chore::Setup => setup::run(&repo).map(drop),
        Chore::Build(select) => {
            let tools = setup::run(&repo)?;
            step::run("build", &select, build::steps(&repo, &tools), &mut tally)
        }
        Chore::Demo(options) => demo::run(&repo, &setup::run(&repo)?, &options),
        Chore::Test(select) => {
            let tools = setup::run(&repo)?;
            let ended = step::run("test", &select, test::steps(&repo, &tools), &mut tally);
            tally.print();
            ended
        }
        Chore::Conformance { repeat } => {
            test::conformance(&repo, &setup::run(&repo)?, repeat, &mut tally)
        }
        Chore::Ci(select) => ci::run(&repo, &select, &mut tally),
        Chore::Install(options) => install::run(&repo, &options),
        Chore::Gen { check, kinds } => generated::run(&repo, check, &kinds),
        Chore::Check(select) => check::run(&repo, &select, &mut tally),
        Chore::Formal(options) => formal::run(&repo, &options, &mut tally),
        Chore::Swift { arguments } => {
            let swift = swift::ensure(&repo)?.context("Swift is switched off")?;
            let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
            process::run(&mut swift.command(&repo, &arguments))
        }
    }
}
