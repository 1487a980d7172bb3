//! Which running process is meant.

use std::str::FromStr;

use sluicegate::control::{Question, address_of, ask};
use sluicegate::{Address, Error, ErrorKind};

/// A process that has its control socket open, by its number or by the socket.
#[derive(Clone, Debug)]
pub struct Target(Address);

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        address_of(text).map(Target)
    }
}

impl Target {
    /// Asks it.
    pub fn ask(&self, question: Question) -> Result<serde_json::Value, Error> {
        ask(&self.0, question).map_err(|error| {
            let hint = "is it a process of yours that opens a control socket, as `sluicegate pipe`, `switch` and `host` do?";
            Error::new(ErrorKind::Io, format!("{}; {hint}", error.message()))
        })
    }
}
