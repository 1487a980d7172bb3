//! `sluicegate switch`: what hosts and callers connect to.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use sluicegate::control::Control;
use sluicegate::link::Address;
use sluicegate::{Error, Switch, SwitchOptions};

use crate::limits::LimitArguments;
use crate::told::{Told, say};

#[derive(Args)]
pub struct Arguments {
    /// Where to listen: `unix:PATH`, `tcp:HOST:PORT` or a path with a `/`; several are possible.
    #[arg(long, value_name = "ADDRESS", required = true)]
    listen: Vec<Address>,
    /// Print what went through as JSON when it ends.
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    limits: LimitArguments,
}

/// Runs until it is interrupted or terminated.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let told = Told::listen()?;
    let switch = Switch::new(SwitchOptions {
        limits: arguments.limits.limits(),
        join_timeout: Duration::from_secs(arguments.limits.handshake_seconds),
        ..SwitchOptions::default()
    });
    // For `sluicegate top` and `explain`; without a place for it the switch works all the same.
    let _control = Control::serve_here(Arc::new(switch.clone())).ok();
    for address in &arguments.listen {
        say(format_args!("listening at {}", switch.listen(address)?))?;
    }
    told.wait();
    if arguments.stats {
        say(switch.stats())?;
    }
    switch.close();
    Ok(())
}
