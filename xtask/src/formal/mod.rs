//! The model and its proofs: compiled, checked again by a program of its own, written as Rust and as
//! scripts, and attacked by mutants.

mod assumptions;
mod coq;
mod kernel;
mod mutants;
mod regenerate;
mod rust;
mod scripts;

use anyhow::Result;

use crate::environment::in_ci;
use crate::repo::Repo;
use crate::setup::debian::{self, Package};
use crate::step::{self, Select, Step};
use crate::tally::Tally;
use coq::Theories;

pub use assumptions::without_comments;
pub use regenerate::regenerate_if_possible;

/// What the proofs take.
const PACKAGES: &[Package] =
    &[Package::program("coq", "coqc"), Package::program("ocaml", "ocamlopt")];

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    select: Select,
    /// Write nothing; fail if a generated file is stale. Always so in CI
    #[arg(long)]
    check: bool,
}

impl Options {
    /// All steps, and nothing is written.
    pub fn checking() -> Self {
        Options { select: Select::default(), check: true }
    }
}

/// Checks the proofs, writes what follows from the model, and makes sure that the proofs would notice.
pub fn run(repo: &Repo, options: &Options, tally: &mut Tally) -> Result<()> {
    let check = options.check || in_ci();
    let steps = vec![
        Step::needed("coq", |_| debian::ensure(PACKAGES)),
        Step::new("proofs", |_| {
            let theories = Theories::open(repo)?;
            let files = theories.proofs();
            theories.compile(files.clone())?;
            println!("{} files compiled", files.len());
            Ok(())
        }),
        Step::new("coqchk", |_| kernel::check(&Theories::open(repo)?)),
        Step::new("assumptions", |_| assumptions::check(&Theories::open(repo)?)),
        Step::new("rust", |_| regenerate::regenerate(repo, check)),
        Step::new("scripts", |_| scripts::run(repo, check)),
        Step::new("mutants", |_| mutants::run(repo, &Theories::open(repo)?)),
    ];
    step::run("formal", &options.select, steps, tally)
}
