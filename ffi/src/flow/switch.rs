//! `sluice_kill_switch`: ends a run from outside.

use sluicegate::flow::Switch as Core;

use crate::border;
use crate::error::ErrorObject;
use crate::guard::guard;
use crate::handle::{self, object};
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
