//! The `sluicegate` command: streams bytes through a chain of cartridges, or calls one cap.

mod call;
mod caps;
mod cartridge;
mod explain;
mod host;
mod limits;
mod pipe;
mod switch;
mod target;
mod told;
mod top;
mod values;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sluicegate::Error;

#[derive(Parser)]
#[command(
    name = "sluicegate",
    version,
    about = "Flow control you can link: run chains of cartridges",
    after_help = "SLUICEGATE_TRACE=FILE (or stderr) writes down each frame that goes over a link, SLUICEGATE_TRACE_FORMAT=json as JSON lines."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Stream bytes through a chain of cartridges, with credit held end to end.
    Pipe(pipe::Arguments),
    /// Call one cap of one cartridge.
    Call(call::Arguments),
    /// List the caps of a cartridge.
    Caps(caps::Arguments),
    /// Let hosts and callers connect, and route calls to whatever host offers the cap.
    Switch(switch::Arguments),
    /// Offer cartridges to a switch.
    Host(host::Arguments),
    /// Say who waits for whom in a running process and its cartridges.
    Explain(explain::Arguments),
    /// Show the live windows and rates of a running process.
    Top(top::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Pipe(arguments) => pipe::run(&arguments),
        Command::Call(arguments) => call::run(&arguments),
        Command::Caps(arguments) => caps::run(&arguments),
        Command::Switch(arguments) => switch::run(&arguments),
        Command::Host(arguments) => host::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sluicegate: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An error of the operating system, with what was tried.
fn io_error(what: &str, error: &std::io::Error) -> Error {
    Error::new(sluicegate::ErrorKind::Io, format!("{what}: {error}"))
}
