//! `sluicegate caps`: what a cartridge serves.

use std::io::Write;

use clap::Args;
use sluicegate::{Deadline, Error, wait::block_on};

use crate::cartridge::command;
use crate::io_error;
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
    let mut list = String::new();
    for cap in peer.caps() {
        list.push_str(&format!("{}\t{}\n", cap.urn, cap.title));
    }
    let listed = std::io::stdout().write_all(list.as_bytes());
    listed.map_err(|e| io_error("writing the list", &e))?;
    let _ = block_on(engine.close(), Deadline::NEVER);
    Ok(())
}
