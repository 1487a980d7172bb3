//! `sluicegate host`: cartridges of this machine, offered to a switch.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use sluicegate::control::Control;
use sluicegate::link::Address;
use sluicegate::{Error, ErrorKind, Host, HostOptions};

use crate::cartridge::command;
use crate::limits::LimitArguments;
use crate::told::{Told, say};

#[derive(Args)]
pub struct Arguments {
    /// The switch to join: `unix:PATH`, `tcp:HOST:PORT` or a path with a `/`.
    #[arg(long, value_name = "ADDRESS")]
    join: Address,
    /// Stop a cartridge that had no request for so many seconds; the next request starts it again.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    idle: Option<u64>,
    /// Print what went through as JSON when it ends.
    #[arg(long)]
    stats: bool,
    /// The cartridges, each a command line in one argument: "python3 cartridge.py".
    #[arg(required = true, value_name = "CARTRIDGE")]
    cartridges: Vec<String>,
    #[command(flatten)]
    limits: LimitArguments,
}

/// Runs until it is interrupted or terminated, or until the switch is gone.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let told = Told::listen()?;
    let host = Host::new(HostOptions {
        engine: arguments.limits.options(),
        idle: arguments.idle.map(Duration::from_secs),
    })?;
    // For `sluicegate top` and `explain`; without a place for it the host works all the same.
    let _control = Control::serve_here(Arc::new(host.clone())).ok();
    for cartridge in &arguments.cartridges {
        host.add(&command(cartridge)?)?;
    }
    host.join_at(&arguments.join)?;
    say(format_args!("joined {}", arguments.join))?;
    let lost = told.wait_or(host.left());
    if arguments.stats {
        say(host.stats())?;
    }
    host.close();
    match lost {
        Some(reason) if reason.kind() != ErrorKind::Closed => Err(reason),
        _ => Ok(()),
    }
}
