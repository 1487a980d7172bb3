//! `sluice_manual`: the control of a source that is fed by hand.

use sluicegate::Deadline;
use sluicegate::flow::{Manual as Core, Offer as Answer};
use sluicegate::wait::block_on;

use super::element::{Element, Held};
use crate::border;
use crate::error::{self, ErrorObject};
use crate::guard::{Fail, guard, guard_with};
use crate::handle::{self, object};
use crate::op::{self, Op, Outcome};
use crate::status::Status;

/// Feeds a source. When the last reference goes without sluice_manual_complete or _fail, the source
/// fails with SLUICE_CANCELLED: a producer that is lost is not a producer that is done.
pub struct Manual(pub(super) Core<Held>);
object!(Manual = 31);

/// What became of an element that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Offer {
    /// It is in the queue.
    Enqueued = 0,
    /// It was discarded by the overflow strategy, and counted.
    Dropped = 1,
    /// The queue is completed, or what is below went away: it was not taken, and let go of.
    QueueClosed = 2,
    /// The queue has failed, with the same error for everybody: it was not taken, and let go of.
    Failure = 3,
}

/// Writes the answer to an offer, and the error of a failed queue.
fn put(out: *mut Offer, err: *mut *mut ErrorObject, answer: Answer) -> Result<(), Fail> {
    let offer = match answer {
        Answer::Enqueued => Offer::Enqueued,
        Answer::Dropped => Offer::Dropped,
        Answer::QueueClosed => Offer::QueueClosed,
        Answer::Failure(error) => {
            error::put(err, error)?;
            Offer::Failure
        }
    };
    border::put(out, offer)
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_retain(manual: *const Manual) -> Status {
    guard(|| handle::retain(manual))
}

/// Takes a reference away. The last one fails a source that has not ended.
///
/// manual   may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_release(manual: *mut Manual) -> Status {
    guard(|| handle::release(manual))
}

/// Offers an element. Under backpressure it waits for room; no other strategy waits.
///
/// element     taken over on SLUICE_OK, whatever became of it; stays yours otherwise
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         what became of it
/// err         may be NULL; of a failed queue
/// returns     SLUICE_OK | SLUICE_TIMED_OUT: there was no room | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_offer(
    manual: *const Manual,
    element: *const Element,
    timeout_ms: i64,
    out: *mut Offer,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let manual = handle::get(manual)?.0.clone();
        let held = Held::take(element)?;
        let offer = manual.offer(held.clone());
        match block_on(offer, Deadline::after_millis(timeout_ms)) {
            Ok(answer) => {
                drop(held);
                put(out, err, answer)
            }
            Err(_) => {
                held.give_back();
                Err(Status::SLUICE_TIMED_OUT.into())
            }
        }
    })
}

/// The same as an operation; sluice_op_take_offer has the result. Releasing it before it has answered
/// lets go of the element.
///
/// element  taken over on SLUICE_OK; stays yours otherwise
/// out      the operation, yours to release; it answers SLUICE_OK
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_offer_start(
    manual: *const Manual,
    element: *const Element,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        border::need(out)?;
        let manual = handle::get(manual)?;
        let offer = manual.0.offer(Held::take(element)?);
        op::start(out, async move { Ok(Outcome::Offer(offer.await)) })
    })
}

/// Waits until `n` elements at once could be offered, without offering any.
///
/// n           elements; more than the queue can hold waits for the end alone
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_CLOSED: the source is over |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_ready(
    manual: *const Manual,
    n: u64,
    timeout_ms: i64,
) -> Status {
    guard(|| {
        let ready = handle::get(manual)?.0.ready(n);
        match block_on(ready, Deadline::after_millis(timeout_ms)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Status::SLUICE_CLOSED.into()),
            Err(_) => Err(Status::SLUICE_TIMED_OUT.into()),
        }
    })
}

/// The same as an operation.
///
/// out      the operation, yours to release; it answers SLUICE_OK | SLUICE_CLOSED
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_ready_start(
    manual: *const Manual,
    n: u64,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let ready = handle::get(manual)?.0.ready(n);
        op::start(out, async move {
            if ready.await { Ok(Outcome::Done) } else { Err(Status::SLUICE_CLOSED.into()) }
        })
    })
}

/// The source is done. What was accepted is delivered first.
///
/// out_first  may be NULL; false if it had ended already
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_complete(
    manual: *const Manual,
    out_first: *mut bool,
) -> Status {
    guard(|| {
        border::put_opt(out_first, handle::get(manual)?.0.complete());
        Ok(())
    })
}

/// The source fails. What was accepted is delivered first.
///
/// error      stays yours
/// out_first  may be NULL; false if it had ended already
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_fail(
    manual: *const Manual,
    error: *const ErrorObject,
    out_first: *mut bool,
) -> Status {
    guard(|| {
        let (manual, error) = (handle::get(manual)?, handle::get(error)?.error());
        border::put_opt(out_first, manual.0.fail(error));
        Ok(())
    })
}

/// How many elements could be offered now without waiting: in a probe, the demand from below.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_demand(manual: *const Manual, out: *mut u64) -> Status {
    guard(|| border::put(out, handle::get(manual)?.0.demand()))
}

/// Elements that were accepted and have not gone on yet.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_held(manual: *const Manual, out: *mut u64) -> Status {
    guard(|| border::put(out, handle::get(manual)?.0.held()))
}

/// Elements that the overflow strategy discarded.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_lost(manual: *const Manual, out: *mut u64) -> Status {
    guard(|| border::put(out, handle::get(manual)?.0.lost()))
}

/// Whether the source was completed, failed or cancelled from below.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_manual_is_over(manual: *const Manual, out: *mut bool) -> Status {
    guard(|| border::put(out, handle::get(manual)?.0.is_over()))
}

/// Takes the result of an operation that answered SLUICE_OK: of an offer.
///
/// err      may be NULL; of a failed queue
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///          taken already | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_offer(
    op: *const Op,
    out: *mut Offer,
    err: *mut *mut ErrorObject,
) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Offer(answer) => Ok(answer),
            other => Err(other),
        })?;
        put(out, err, taken)
    })
}
