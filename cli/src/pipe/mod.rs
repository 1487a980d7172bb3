//! `sluicegate pipe`: bytes through a chain of cartridges.

mod chain;
mod hop;
mod sink;
mod summary;
mod view;

use std::path::PathBuf;

use clap::Args;
use sluicegate::{Command, Error, ErrorKind};

use crate::limits::LimitArguments;

#[derive(Args)]
pub struct Arguments {
    /// Where the bytes come from; stdin by default.
    #[arg(long = "in", value_name = "FILE")]
    input: Option<PathBuf>,
    /// Where they go; stdout by default. The file appears when it is whole: until then, and after a
    /// failure, what came so far is in FILE.partial.
    #[arg(long = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// A JSON summary at the end: on stdout if --out is given, else on stderr.
    #[arg(long)]
    json: bool,
    /// No live view, also on a terminal.
    #[arg(long)]
    quiet: bool,
    /// Makes the consumer of cartridge N (from 1) slow, to show that the others wait for it.
    #[arg(long, value_name = "N")]
    slow: Option<usize>,
    /// How slow: milliseconds for each chunk.
    #[arg(long, value_name = "MS", default_value_t = 5, requires = "slow")]
    slow_ms: u64,
    #[command(flatten)]
    limits: LimitArguments,
    /// The chain: command lines with `--` between them. A word `@CAP` behind a command names the cap
    /// to use, where the cartridge has more than one from bytes to bytes.
    #[arg(last = true, required = true, value_name = "CARTRIDGE [@CAP] [-- CARTRIDGE [@CAP]]…")]
    chain: Vec<String>,
}

/// One link of the chain as it was asked for.
struct Stage {
    command: Command,
    cap: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let stages = stages(&arguments.chain)?;
    if let Some(slow) = arguments.slow.filter(|&n| n == 0 || n > stages.len()) {
        let count = stages.len();
        let message = format!("--slow {slow}: the chain has cartridges 1 to {count}");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    chain::run(arguments, &stages)
}

/// Splits the chain at `--`.
fn stages(words: &[String]) -> Result<Vec<Stage>, Error> {
    words
        .split(|word| word == "--")
        .map(|words| {
            let (command, cap) = match words {
                [command @ .., last] if last.starts_with('@') => {
                    (command, last.strip_prefix('@').map(str::to_owned))
                }
                command => (command, None),
            };
            match command {
                [program, args @ ..] => {
                    Ok(Stage { command: Command::new(program).args(args), cap })
                }
                [] => Err(Error::new(
                    ErrorKind::InvalidArgument,
                    "a link of the chain is empty: expected a command between two `--`",
                )),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(words: &[&str]) -> Result<Vec<(String, Option<String>)>, Error> {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        Ok(stages(&words)?.into_iter().map(|s| (s.command.label(), s.cap)).collect())
    }

    #[test]
    fn a_chain_is_split_at_its_dashes() {
        let chain = split(&["python3", "a.py", "@cap:x", "--", "./b"]).expect("a chain");
        assert_eq!(chain, [("python3 a.py".into(), Some("cap:x".into())), ("./b".into(), None)]);
    }

    #[test]
    fn an_empty_link_is_refused() {
        assert!(split(&["a", "--", "--", "b"]).is_err());
        assert!(split(&["@cap:x"]).is_err());
    }
}
