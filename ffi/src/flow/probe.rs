//! `sluice_subscriber`: a sink that a test plays.

use sluicegate::flow::{Subscriber as Core, SubscriberEvent};

use super::element::{Elements, Held};
use super::scope::limit;
use crate::border;
use crate::error::{self, ErrorObject};
use crate::guard::{Fail, guard, guard_with};
use crate::handle::{self, object};
use crate::op::{self, Op, Outcome};
use crate::status::Status;

/// A sink that a test plays: nothing is asked for but by sluice_subscriber_request.
pub struct Subscriber(pub(super) Core<Held>);
object!(Subscriber = 35);

/// What a subscriber's probe received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Signal {
    /// An element.
    Next = 0,
    /// The end, as it should be.
    Complete = 1,
    /// The end, with its reason.
    Error = 2,
}

/// What a probe was told.
type Told = SubscriberEvent<Held>;

/// Writes what was told, whose element or error may not be wanted.
fn put(
    told: Told,
    out: *mut Signal,
    out_element: *mut *mut Elements,
    err: *mut *mut ErrorObject,
) -> Result<(), Fail> {
    let signal = match told {
        SubscriberEvent::Next(held) => {
            if !out_element.is_null() {
                border::put_new(out_element, Elements::new(vec![held]))?;
            }
            Signal::Next
        }
        SubscriberEvent::Complete => Signal::Complete,
        SubscriberEvent::Error(error) => {
            error::put(err, error)?;
            Signal::Error
        }
    };
    border::put(out, signal)
}

/// Takes a reference away.
///
/// subscriber  may be NULL
/// returns     SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads     any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_subscriber_release(subscriber: *mut Subscriber) -> Status {
    guard(|| handle::release(subscriber))
}

/// Asks for elements.
///
/// n        elements; 0 is ignored; they add up, to 2^64 - 1
/// returns  SLUICE_OK | SLUICE_CLOSED: a terminal was taken before | SLUICE_INVALID_ARGUMENT |
///          SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_subscriber_request(
    subscriber: *const Subscriber,
    n: u64,
) -> Status {
    guard(|| match handle::get(subscriber)?.0.try_request(n) {
        true => Ok(()),
        false => Err(Status::SLUICE_CLOSED.into()),
    })
}

/// Wants no more: everything above is cancelled.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait; may run release functions
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_subscriber_cancel(subscriber: *const Subscriber) -> Status {
    guard(|| {
        handle::get(subscriber)?.0.cancel();
        Ok(())
    })
}

/// Waits for the next signal and takes it.
///
/// timeout_ms   milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out          what came
/// out_element  may be NULL; of SLUICE_SIGNAL_NEXT: a list of the element, yours to release
/// err          may be NULL; of SLUICE_SIGNAL_ERROR: the reason, yours to release
/// returns      SLUICE_OK | SLUICE_TIMED_OUT: nothing came | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads      any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_subscriber_signal(
    subscriber: *const Subscriber,
    timeout_ms: i64,
    out: *mut Signal,
    out_element: *mut *mut Elements,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let subscriber = handle::get(subscriber)?;
        let told = subscriber.0.event_within(limit(timeout_ms));
        put(told.ok_or(Status::SLUICE_TIMED_OUT)?, out, out_element, err)
    })
}

/// The same as an operation; sluice_op_take_signal has the result.
///
/// out      the operation, yours to release; it answers SLUICE_OK
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_subscriber_signal_start(
    subscriber: *const Subscriber,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let event = handle::get(subscriber)?.0.event();
        op::start(out, async move { Ok(Outcome::Told(event.await)) })
    })
}

/// Takes the result of an operation that answered SLUICE_OK: of a subscriber's probe.
///
/// out          what came
/// out_element  may be NULL; of SLUICE_SIGNAL_NEXT: a list of the element, yours to release
/// err          may be NULL; of SLUICE_SIGNAL_ERROR: the reason, yours to release
/// returns      SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///              taken already | SLUICE_FORKED
/// threads      one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_signal(
    op: *const Op,
    out: *mut Signal,
    out_element: *mut *mut Elements,
    err: *mut *mut ErrorObject,
) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Told(told) => Ok(told),
            other => Err(other),
        })?;
        put(taken, out, out_element, err)
    })
}
