//! The fence at the border: no panic of core crosses it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sluicegate::{Error, ErrorKind};

use crate::error::Failure;

/// `call`, with a panic turned into an error. Core marks an object whose lock a panic broke, so
/// that later calls fail too instead of working on half a state.
pub(crate) fn guard<T, E: Into<Failure>>(
    call: impl FnOnce() -> Result<T, E>,
) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(answer) => answer.map_err(Into::into),
        Err(panic) => Err(explain(panic.as_ref()).into()),
    }
}

/// `call`, for a function that has no error to give: a panic answers `fallback`, and the object
/// says that it is broken at its next call that can.
pub(crate) fn quiet<T>(fallback: T, call: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(fallback)
}

fn explain(panic: &(dyn std::any::Any + Send)) -> Error {
    if panic.is::<sluicegate::Broken>() {
        return ErrorKind::Broken.into();
    }
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| ErrorKind::Panic.text().trim().to_owned());
    Error::new(ErrorKind::Panic, text)
}
