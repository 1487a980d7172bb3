//! `sluicegate caps`: what a cartridge serves.

use clap::Args;
use sluicegate::{Deadline, Error, wait::block_on};

use crate::call::command;
use crate::limits::LimitArguments;

#[derive(Args)]
pub struct Arguments {
    /// The cartridge's command line, one shell word list: "python3 cartridge.py".
    cartridge: String,
    #[command(flatten)]
    limits: LimitArguments,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let engine = arguments.limits.engine();
    let peer = engine.spawn(&command(&arguments.cartridge)?)?;
    for cap in peer.caps() {
        println!("{}\t{}", cap.urn, cap.title);
    }
    let _ = block_on(engine.close(), Deadline::NEVER);
    Ok(())
}
