//! The fence that every export runs in: no panic crosses, and every answer is a status.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use sluicegate::{Broken, Deadline, Error};

use crate::detail::{self, ErrorObject};
pub(crate) use crate::fail::Fail;
use crate::status::Status;

/// Runs an export whose answer is the status alone.
pub(crate) fn guard(call: impl FnOnce() -> Result<(), Fail>) -> Status {
    match contain(call) {
        Ok(()) => Status::SLUICE_OK,
        Err(fail) => fail.status(),
    }
}

/// Runs an export that tells the detail of its failure through `out_error`, which may be NULL.
pub(crate) fn guard_with(
    out_error: *mut *mut ErrorObject,
    call: impl FnOnce() -> Result<(), Fail>,
) -> Status {
    let fail = match contain(call) {
        Ok(()) => return Status::SLUICE_OK,
        Err(fail) => fail,
    };
    let status = fail.status();
    if let Fail::Error(detail) = fail {
        guard(|| detail::put(out_error, detail));
    }
    status
}

/// What `call` answers, with a panic made a failure.
pub(crate) fn contain<T>(call: impl FnOnce() -> Result<T, Fail>) -> Result<T, Fail> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| Err(panicked(payload.as_ref())))
}

fn panicked(payload: &(dyn Any + Send)) -> Fail {
    if payload.is::<Broken>() { Status::SLUICE_BROKEN.into() } else { Status::SLUICE_PANIC.into() }
}

/// Waits on this thread for `future`, at most `timeout_ms` milliseconds.
pub(crate) fn block<T>(
    future: impl Future<Output = Result<T, Error>>,
    timeout_ms: i64,
) -> Result<T, Fail> {
    let deadline = Deadline::after_millis(timeout_ms);
    match sluicegate::wait::block_on(future, deadline) {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Status::SLUICE_TIMED_OUT.into()),
    }
}

/// A limit for the whole of something; one that is no limit is the longest there is.
pub(crate) fn limit(limit_ms: i64) -> Duration {
    u64::try_from(limit_ms).map_or(Duration::MAX, Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(guard(|| panic!("on purpose")), Status::SLUICE_PANIC);
        assert_eq!(guard(|| std::panic::panic_any(Broken)), Status::SLUICE_BROKEN);
        assert_eq!(guard(|| Ok(())), Status::SLUICE_OK);
    }
}
