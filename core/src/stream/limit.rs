//! A limit of time on a stream or a request.

use std::time::{Duration, Instant};

use crate::error::Error;
use crate::link::Alarm;
use crate::sync::Mutex;
use crate::time::Deadline;

/// How long something may take, from when that was said. The last word counts.
#[derive(Default)]
pub(crate) struct TimeLimit(Mutex<Option<Due>>);

/// A limit, and when it has passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    pub(crate) at: Instant,
    pub(crate) limit: Duration,
}

impl TimeLimit {
    /// `limit` from now; one that no clock can represent is none.
    pub(crate) fn set(&self, limit: Duration, alarm: &Alarm) -> Result<(), Error> {
        let due = Deadline::after(limit).instant().map(|at| Due { at, limit });
        *self.0.lock() = due; // the look finds it there
        due.map_or(Ok(()), |due| alarm.set(due.at))
    }

    pub(crate) fn due(&self) -> Option<Due> {
        *self.0.lock()
    }
}
