//! What a test expects of the probes: each waits no longer than it is told, and says what was awaited and
//! what came.

use std::ffi::c_void;

use sluicegate::flow::{Offer, SubscriberEvent};
use sluicegate::wait::block_on;
use sluicegate::{Deadline, Error, ErrorKind};

use super::element::{Element, Elements, Held};
use super::manual::Manual;
use super::probe::Subscriber;
use super::scope::limit;
use crate::border;
use crate::error::{self, ErrorObject};
use crate::guard::{Fail, guard_with};
use crate::handle;
use crate::status::Status;

/// Whether an element is the one that a test awaits.
type Same = unsafe extern "C" fn(expected: *const c_void, came: *const c_void) -> bool;

fn late(awaited: &str, timeout_ms: i64, came: &str) -> Error {
    let text = format!("awaited: {awaited} within {:?}; came: {came}", limit(timeout_ms));
    Error::new(ErrorKind::TimedOut, text)
}

fn other(awaited: &str, came: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("awaited: {awaited}; came: {came}"))
}

fn shown(came: &SubscriberEvent<Held>) -> String {
    match came {
        SubscriberEvent::Next(held) => format!("the element {:p}", held.value()),
        SubscriberEvent::Complete => "complete".to_owned(),
        SubscriberEvent::Error(error) => error.to_string(),
    }
}

/// Takes the next signal, and what `pick` picks of it.
fn expect<T>(
    subscriber: *const Subscriber,
    timeout_ms: i64,
    awaited: &str,
    pick: impl FnOnce(SubscriberEvent<Held>) -> Result<T, SubscriberEvent<Held>>,
) -> Result<T, Fail> {
    let came = handle::get(subscriber)?.0.event_within(limit(timeout_ms));
    let came = came.ok_or_else(|| late(awaited, timeout_ms, "nothing"))?;
    Ok(pick(came).map_err(|came| other(awaited, &shown(&came)))?)
}

/// Takes an element, whatever it is.
///
/// timeout_ms   milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out_element  may be NULL; a list of the element, yours to release
/// err          may be NULL; what was awaited and what came
/// returns      SLUICE_OK | SLUICE_TIMED_OUT: nothing came | SLUICE_PROTOCOL: something else came, and was
///              taken | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads      any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_subscriber_expect_any(
    subscriber: *const Subscriber,
    timeout_ms: i64,
    out_element: *mut *mut Elements,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let held = expect(subscriber, timeout_ms, "an element", |came| match came {
            SubscriberEvent::Next(held) => Ok(held),
            other => Err(other),
        })?;
        match out_element.is_null() {
            true => Ok(()),
            false => border::put_new(out_element, Elements::new(vec![held])),
        }
    })
}

/// Takes this element.
///
/// expected    what the value has to be; the library never follows it
/// same        says whether a value that came is the expected one, on this thread; NULL: if the two are the
///             same pointer, or the same number
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL; what was awaited and what came
/// returns     SLUICE_OK | SLUICE_TIMED_OUT: nothing came | SLUICE_PROTOCOL: something else came, and was
///             taken | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_subscriber_expect_next(
    subscriber: *const Subscriber,
    expected: *const c_void,
    same: Option<unsafe extern "C" fn(expected: *const c_void, came: *const c_void) -> bool>,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let awaited = format!("the element {expected:p}");
        expect(subscriber, timeout_ms, &awaited, |came| match came {
            SubscriberEvent::Next(held) if is_same(same, expected, &held) => Ok(()),
            other => Err(other),
        })
    })
}

fn is_same(same: Option<Same>, expected: *const c_void, came: &Held) -> bool {
    let value = came.value().cast_const();
    match same {
        // SAFETY: the caller's duty: it may be called with what it was handed in with and a value of the
        // caller's, which is alive while `came` is.
        Some(same) => unsafe { same(expected, value) },
        None => std::ptr::addr_eq(expected, value),
    }
}

/// Takes the end, as it should be.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL; what was awaited and what came
/// returns     SLUICE_OK | SLUICE_TIMED_OUT: nothing came | SLUICE_PROTOCOL: something else came, and was
///             taken | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_subscriber_expect_complete(
    subscriber: *const Subscriber,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        expect(subscriber, timeout_ms, "complete", |came| match came {
            SubscriberEvent::Complete => Ok(()),
            other => Err(other),
        })
    })
}

/// Takes the failure.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out_reason  may be NULL; what the stream failed with, yours to release
/// err         may be NULL; what was awaited and what came
/// returns     SLUICE_OK | SLUICE_TIMED_OUT: nothing came | SLUICE_PROTOCOL: something else came, and was
///             taken | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_subscriber_expect_error(
    subscriber: *const Subscriber,
    timeout_ms: i64,
    out_reason: *mut *mut ErrorObject,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let reason = expect(subscriber, timeout_ms, "a failure", |came| match came {
            SubscriberEvent::Error(error) => Ok(error),
            other => Err(other),
        })?;
        error::put(out_reason, reason)
    })
}

/// Sees that nothing comes within a time.
///
/// within_ms  milliseconds from now; 0: that nothing is there
/// err        may be NULL; what came
/// returns    SLUICE_OK: nothing came | SLUICE_PROTOCOL: something came, and was taken |
///            SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads    any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_subscriber_expect_no_message(
    subscriber: *const Subscriber,
    within_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || match handle::get(subscriber)?.0.event_within(limit(within_ms)) {
        None => Ok(()),
        Some(came) => Err(other("nothing", &shown(&came)).into()),
    })
}

/// Sends an element that has to be taken, into a source's probe or a manual source. If it is not taken in
/// time, the source is failed, so that nothing hangs.
///
/// element     taken over on SLUICE_OK; stays yours otherwise
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL; what was awaited and what came
/// returns     SLUICE_OK: it was enqueued | SLUICE_TIMED_OUT: no room or no demand came | SLUICE_PROTOCOL: it
///             was dropped, or the source is over | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_send_next(
    manual: *const Manual,
    element: *const Element,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let manual = handle::get(manual)?.0.clone();
        let held = Held::take(element)?;
        let offer = manual.offer(held.clone());
        let error = match block_on(offer, Deadline::after_millis(timeout_ms)) {
            Ok(Offer::Enqueued) => return Ok(()),
            Ok(answer) => other("an element is taken", &format!("{answer:?}")),
            Err(_) => {
                let error = late("an element is taken", timeout_ms, "nothing");
                manual.fail(error.clone());
                error
            }
        };
        held.give_back();
        Err(error.into())
    })
}

/// Waits until `n` elements at once can be sent: in a source's probe, the demand from below.
///
/// n           elements
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL; what was awaited and what came
/// returns     SLUICE_OK | SLUICE_TIMED_OUT: less is asked for | SLUICE_PROTOCOL: the source is over |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_expect_demand(
    manual: *const Manual,
    n: u64,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let manual = handle::get(manual)?.0.clone();
        let awaited = format!("demand for {n}");
        match block_on(manual.ready(n), Deadline::after_millis(timeout_ms)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(other(&awaited, "cancel").into()),
            Err(_) => {
                let came = format!("demand for {}", manual.demand());
                Err(late(&awaited, timeout_ms, &came).into())
            }
        }
    })
}

/// Waits until the source was cancelled from below.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL; what was awaited and what came
/// returns     SLUICE_OK, also if the source has ended another way | SLUICE_TIMED_OUT: it runs |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_expect_cancel(
    manual: *const Manual,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        // More than any gate holds: this waits for the end alone.
        let over = handle::get(manual)?.0.ready(u64::MAX);
        match block_on(over, Deadline::after_millis(timeout_ms)) {
            Ok(false) => Ok(()),
            Ok(true) | Err(_) => Err(late("cancel", timeout_ms, "nothing").into()),
        }
    })
}
