//! The fence round a user's function: what it throws is the stream's failure, and stays in it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, ErrorKind};

/// Calls a user's function for the stage `name`.
///
/// # Errors
/// Its own error with the stage's name put before it, or `StageFailed` with the panic's text.
pub(super) fn guarded<R>(name: &str, call: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(error.context(format!("stage {name:?}"))),
        Err(panic) => Err(failed(name, panic)),
    }
}

/// Calls what may run foreign code that nobody asked for, such as the `Drop` of an element. What it
/// throws stays here, and so does what that throws when it goes.
pub(super) fn contained(call: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(call))
        && let Err(again) = catch_unwind(AssertUnwindSafe(move || drop(panic)))
    {
        std::mem::forget(again);
    }
}

/// The failure of a stage whose function panicked. What was thrown goes here.
pub(super) fn failed(name: &str, panic: Box<dyn Any + Send>) -> Error {
    let message = format!("stage {name:?} panicked: {}", text(panic.as_ref()));
    contained(move || drop(panic));
    Error::new(ErrorKind::StageFailed, message)
}

fn text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is no text")
}
