//! `sluice_kill_switch`: ends a run from outside.

use sluicegate::Deadline;
use sluicegate::flow::Switch as Core;
use sluicegate::wait::block_on;

use crate::border;
use crate::error::ErrorObject;
use crate::guard::guard;
use crate::handle::{self, object};
use crate::op::{self, Op, Outcome};
use crate::status::Status;

/// Ends a run from outside. Letting it go does nothing.
pub struct KillSwitch(pub(super) Core);
object!(KillSwitch = 36);

/// Takes a reference away.
///
/// handle   may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_kill_switch_release(handle: *mut KillSwitch) -> Status {
    guard(|| handle::release(handle))
}

/// Cancels what is above the switch and ends what is below with SLUICE_CANCELLED: the completion of the
/// run is cancelled, which is no failure.
///
/// error      the reason, whose message and cause are told; stays yours; may be NULL
/// out_first  may be NULL; false if that was done before
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads    any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_kill_switch_cancel(
    handle: *const KillSwitch,
    error: *const ErrorObject,
    out_first: *mut bool,
) -> Status {
    guard(|| {
        let switch = handle::get(handle)?;
        let first = if error.is_null() {
            switch.0.cancel()
        } else {
            switch.0.cancel_with(handle::get(error)?.error())
        };
        border::put_opt(out_first, first);
        Ok(())
    })
}

/// Waits until the switch has nothing to end any more: what it stands in has ended, in whatever way.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_kill_switch_ended(
    handle: *const KillSwitch,
    timeout_ms: i64,
) -> Status {
    guard(|| {
        let ended = handle::get(handle)?.0.ended();
        let within = block_on(ended, Deadline::after_millis(timeout_ms));
        within.map_err(|_| Status::SLUICE_TIMED_OUT.into())
    })
}

/// The same as an operation.
///
/// out      the operation, yours to release; it answers SLUICE_OK
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_kill_switch_ended_start(
    handle: *const KillSwitch,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let ended = handle::get(handle)?.0.ended();
        op::start(out, async move {
            ended.await;
            Ok(Outcome::Done)
        })
    })
}
