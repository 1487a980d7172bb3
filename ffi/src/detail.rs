//! [`ErrorObject`]: the detail of a failure, behind a handle.

use sluicegate::Error;

use crate::border::{self, Text};
use crate::fail::Fail;
use crate::handle::object;

/// Why something failed or was closed: kind, code, class and message. Immutable.
pub struct ErrorObject {
    pub(crate) error: Error,
    pub(crate) code: Text,
    pub(crate) message: Text,
    pub(crate) text: Text,
}
object!(ErrorObject = 1);

impl ErrorObject {
    pub(crate) fn new(error: Error) -> Self {
        ErrorObject {
            code: Text::new(error.code()),
            message: Text::new(error.message()),
            text: Text::new(&error.to_string()),
            error,
        }
    }

    pub(crate) fn error(&self) -> Error {
        self.error.clone()
    }
}

/// Writes `error` to an out-parameter that may be NULL.
pub(crate) fn put(out: *mut *mut ErrorObject, error: Error) -> Result<(), Fail> {
    if out.is_null() { Ok(()) } else { border::put_new(out, ErrorObject::new(error)) }
}

/// Writes `error`, or NULL for none, to an out-parameter that must be there.
pub(crate) fn put_reason(out: *mut *mut ErrorObject, error: Option<Error>) -> Result<(), Fail> {
    match error {
        Some(error) => border::put_new(out, ErrorObject::new(error)),
        None => border::put(out, std::ptr::null_mut()),
    }
}
