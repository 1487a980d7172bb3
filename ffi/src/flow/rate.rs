//! `sluice_flow`: stages that wait for time, by the clock of their scope.

use sluicegate::flow::Flow as Core;

use super::blueprint::{Flow, put_flow};
use super::shape::micros;
use crate::error::ErrorObject;
use crate::guard::{guard, guard_with};
use crate::status::Status;

/// At most so many elements in each time on average, and at most `burst` at once after a pause. What is
/// too fast waits above.
///
/// elements, burst  at least 1
/// per_micros       microseconds, at least 1
/// out              the blueprint, yours to release
/// err              may be NULL
/// returns          SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a 0
/// threads          any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_throttle(
    elements: u64,
    per_micros: u64,
    burst: u64,
    out: *mut *mut Flow,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || put_flow(out, &Core::throttle(elements, micros(per_micros)?, burst)?))
}

/// Each element later than it came, in order.
///
/// by_micros  microseconds, at least 1
/// room       elements that it holds at most; more wait above; at least 1
/// out        the blueprint, yours to release
/// err        may be NULL
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a 0
/// threads    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_delay(
    by_micros: u64,
    room: u64,
    out: *mut *mut Flow,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || put_flow(out, &Core::delay(micros(by_micros)?, room)?))
}

/// The latest element, once none has come for a time, or at the end; those that it displaced are
/// dropped. Never holds back what is above.
///
/// quiet_micros  microseconds, at least 1
/// out           the blueprint, yours to release
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_debounce(quiet_micros: u64, out: *mut *mut Flow) -> Status {
    guard(|| put_flow(out, &Core::debounce(micros(quiet_micros)?)))
}

/// Fails with SLUICE_TIMED_OUT if an element was asked for and none has come for a time. Time in which
/// nothing is wanted does not count.
///
/// limit_micros  microseconds, at least 1
/// out           the blueprint, yours to release
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_idle_timeout(
    limit_micros: u64,
    out: *mut *mut Flow,
) -> Status {
    guard(|| put_flow(out, &Core::idle_timeout(micros(limit_micros)?)))
}

/// Fails with SLUICE_TIMED_OUT if no first element has come within a time of the start.
///
/// limit_micros  microseconds, at least 1
/// out           the blueprint, yours to release
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_initial_timeout(
    limit_micros: u64,
    out: *mut *mut Flow,
) -> Status {
    guard(|| put_flow(out, &Core::initial_timeout(micros(limit_micros)?)))
}

/// Fails with SLUICE_TIMED_OUT if what is above has not ended within a time of the start.
///
/// limit_micros  microseconds, at least 1
/// out           the blueprint, yours to release
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_completion_timeout(
    limit_micros: u64,
    out: *mut *mut Flow,
) -> Status {
    guard(|| put_flow(out, &Core::completion_timeout(micros(limit_micros)?)))
}

/// What comes within a time of the start; then what is above is cancelled.
///
/// time_micros  microseconds, at least 1
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_take_within(time_micros: u64, out: *mut *mut Flow) -> Status {
    guard(|| put_flow(out, &Core::take_within(micros(time_micros)?)))
}

/// What comes later than a time after the start. For each element that is dropped another is asked for.
///
/// time_micros  microseconds, at least 1
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_flow_drop_within(time_micros: u64, out: *mut *mut Flow) -> Status {
    guard(|| put_flow(out, &Core::drop_within(micros(time_micros)?)))
}
