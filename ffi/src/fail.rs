//! [`Fail`]: why a call did not answer `SLUICE_OK`.

use sluicegate::Error;

use crate::status::Status;

/// Why a call did not answer `SLUICE_OK`.
#[derive(Debug)]
pub(crate) enum Fail {
    /// An ordinary answer without detail.
    Status(Status),
    /// A failure that has more to tell.
    Error(Error),
}

impl Fail {
    pub(crate) fn status(&self) -> Status {
        match self {
            Fail::Status(status) => *status,
            Fail::Error(error) => error.kind().into(),
        }
    }
}

impl From<Status> for Fail {
    fn from(status: Status) -> Self {
        Fail::Status(status)
    }
}

impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        Fail::Error(error)
    }
}
