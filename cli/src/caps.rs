//! `sluicegate caps`: what a cartridge serves.

use std::io::Write;

use clap::Args;
use serde_json::Value as Json;
use sluicegate::{Deadline, Error, Peer, wait::block_on};

use crate::call::command;
use crate::io_error;
use crate::limits::LimitArguments;

#[derive(Args)]
pub struct Arguments {
    /// The cartridge's command line, one shell word list: "python3 cartridge.py".
    cartridge: String,
    #[command(flatten)]
    limits: LimitArguments,
}

/// The media of the arguments that `peer` declares for a cap; `None` if it does not declare the cap.
pub fn declared_arguments(peer: &Peer, cap: &str) -> Option<Vec<String>> {
    let manifest: Json = serde_json::from_str(&peer.manifest_json()).ok()?;
    let groups = manifest["cap_groups"].as_array()?;
    let mut caps = groups.iter().filter_map(|group| group["caps"].as_array()).flatten();
    let found = caps.find(|declared| declared["urn"] == cap)?;
    let arguments = found["args"].as_array()?.iter();
    Some(
        arguments.filter_map(|argument| Some(argument["media_urn"].as_str()?.to_owned())).collect(),
    )
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
