//! The main job: a file through five cartridges in five languages, each a process of its own, with
//! credit held end to end. The digest must be right and no process may grow, whoever is slow.

mod chain;
mod input;
mod memory;

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::repo::Repo;
use crate::setup::Tools;
use crate::step::{self, Select};
use crate::tally::Tally;
use crate::{build, process};

const MIB: u64 = 1 << 20;

#[derive(clap::Args)]
pub struct Options {
    /// The file to stream; made where none is named
    #[arg(long = "in", value_name = "FILE")]
    input: Option<PathBuf>,
    /// The size of the file that is made, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024, conflicts_with = "input")]
    size: u64,
    /// Make hop N (from 1) slow, to see the others wait for it
    #[arg(long, value_name = "N")]
    slow: Option<usize>,
}

impl Default for Options {
    /// As without arguments: a GiB.
    fn default() -> Self {
        Options { input: None, size: 1024, slow: None }
    }
}

/// The chore: builds, then streams.
pub fn run(repo: &Repo, tools: &Tools, options: &Options) -> Result<()> {
    step::run("build", &Select::default(), build::steps(repo, tools), &mut Tally::default())?;
    stream(repo, tools, options, None)
}

/// How the run-time monitor is had on: what is done to a command before it starts, and with what it and
/// its children have said in the end.
pub struct Hold {
    pub before: fn(&mut Command) -> &mut Command,
    pub after: fn(&str) -> Result<()>,
}

/// Streams, with everything built; under the monitor if it is to `hold`.
pub fn stream(repo: &Repo, tools: &Tools, options: &Options, hold: Option<Hold>) -> Result<()> {
    let made = options.input.is_none();
    let input = match &options.input {
        Some(file) => std::path::absolute(file)?,
        None => input::make(repo, options.size * MIB)?,
    };
    let hops = chain::hops(repo, tools);
    println!("{} through {} hops:", input.display(), hops.len());
    for (number, hop) in hops.iter().enumerate() {
        println!("  {} {:6} {}", number + 1, hop.language, hop.does);
    }
    let output = repo.target("demo/output");
    let mut pipe = repo.command(repo.target("release/sluicegate"));
    pipe.arg("pipe").arg("--in").arg(&input).arg("--out").arg(&output).arg("--json");
    if let Some(slow) = options.slow {
        pipe.args(["--slow", &slow.to_string()]);
    }
    for hop in &hops {
        pipe.arg("--").arg(build::cartridge(repo, hop.language)).arg(format!("@{}", hop.cap));
    }
    let start = Instant::now();
    let summary = match &hold {
        None => process::capture(&mut pipe)?,
        Some(hold) => {
            let (summary, errors) = process::capture_both((hold.before)(&mut pipe))?;
            (hold.after)(&errors)?;
            summary
        }
    };
    let seconds = start.elapsed().as_secs_f64();

    let (wanted, bytes) = input::digest(&input, |block| chain::expected(&hops, block))?;
    let (came, _) = input::digest(&output, |_| {})?;
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = bytes as f64 / MIB as f64 / seconds;
    println!(
        "\n{bytes} bytes in {seconds:.1} s, {rate:.0} MiB/s\nsha256 wanted {wanted}\nsha256 came   {came}"
    );
    let kept = memory::report(&summary);
    std::fs::remove_file(&output)?;
    if made {
        std::fs::remove_file(&input)?;
    }
    if came != wanted {
        bail!("the digests differ: bytes were lost or changed on the way");
    }
    kept
}
