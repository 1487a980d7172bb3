//! A cartridge as the command line names it, and what it declares.

use serde_json::Value as Json;
use sluicegate::{Command, Error, ErrorKind, Peer};

/// A command line as one argument.
pub fn command(line: &str) -> Result<Command, Error> {
    let words = shlex::split(line).filter(|words| !words.is_empty()).ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, format!("{line:?} is not a command line"))
    })?;
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    Ok(Command::new(program).args(words))
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
