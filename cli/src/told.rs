//! What a program that serves waits for: a signal to end, or something that is lost.

use std::future::Future;
use std::io::Write;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use sluicegate::{Deadline, Error, error::Reason, wait::block_on};

use crate::io_error;

/// Writes a line to stdout, for whoever started this process.
pub fn say(line: impl std::fmt::Display) -> Result<(), Error> {
    writeln!(std::io::stdout(), "{line}").map_err(|error| io_error("writing to stdout", &error))
}

/// Ctrl-C, a termination or a hang-up of this process.
pub struct Told {
    tell: Sender<Option<Reason>>,
    told: Receiver<Option<Reason>>,
}

impl Told {
    /// From now on a signal does not end the process by itself.
    pub fn listen() -> Result<Self, Error> {
        let (tell, told) = bounded(1);
        let signalled = tell.clone();
        ctrlc::set_handler(move || drop(signalled.try_send(None))).map_err(|error| {
            io_error("waiting for signals", &std::io::Error::other(error.to_string()))
        })?;
        Ok(Told { tell, told })
    }

    /// Waits until the process is told to end.
    pub fn wait(self) {
        drop(self.told.recv());
    }

    /// Waits until the process is told to end, for so long at most. True if it was.
    pub fn wait_for(&self, limit: Duration) -> bool {
        !matches!(self.told.recv_timeout(limit), Err(RecvTimeoutError::Timeout))
    }

    /// Waits until the process is told to end, or until `lost` happens, and answers that.
    pub fn wait_or(self, lost: impl Future<Output = Reason> + Send + 'static) -> Option<Reason> {
        let tell = self.tell.clone();
        thread::spawn(move || {
            if let Ok(reason) = block_on(lost, Deadline::NEVER) {
                drop(tell.try_send(Some(reason)));
            }
        });
        self.told.recv().ok().flatten()
    }
}
