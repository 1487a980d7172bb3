//! `sluice_outlet`: the end of a pipeline that is taken from by hand.

use sluicegate::flow::Outlet as Core;

use super::element::{Elements, Held};
use crate::border;
use crate::error::ErrorObject;
use crate::guard::{block, guard, guard_with};
use crate::handle::{self, object};
use crate::op::{self, Op, Outcome};
use crate::status::Status;

/// What a pipeline gives. Taking is what makes demand: the pipeline runs ahead by the outlet's capacity
/// and no further. Each element reaches one taker. With the last reference the pipeline is cancelled.
pub struct Outlet(pub(super) Core<Held>);
object!(Outlet = 34);

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_outlet_retain(outlet: *const Outlet) -> Status {
    guard(|| handle::retain(outlet))
}

/// Takes a reference away. The last one cancels the pipeline.
///
/// outlet   may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run release functions
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_outlet_release(outlet: *mut Outlet) -> Status {
    guard(|| handle::release(outlet))
}

/// Takes the next element.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         a list of that one element, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT: nothing was taken | SLUICE_END_OF_STREAM | what the pipeline
///             failed with, the same each time | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_outlet_recv(
    outlet: *const Outlet,
    timeout_ms: i64,
    out: *mut *mut Elements,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let recv = handle::get(outlet)?.0.recv();
        let held = block(recv, timeout_ms)?.ok_or(Status::SLUICE_END_OF_STREAM)?;
        border::put_new(out, Elements::new(vec![held]))
    })
}

/// The same as an operation; sluice_op_take_elements has the result.
///
/// out      the operation, yours to release; it answers as sluice_outlet_recv
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_outlet_recv_start(
    outlet: *const Outlet,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let recv = handle::get(outlet)?.0.recv();
        op::start_opt(out, recv, |held| Outcome::Elements(vec![held]))
    })
}

/// Cancels the pipeline and lets go of what the outlet holds. Later calls answer the end.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait; may run release functions
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_outlet_cancel(outlet: *const Outlet) -> Status {
    guard(|| {
        handle::get(outlet)?.0.cancel();
        Ok(())
    })
}

/// Elements that wait to be taken.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_outlet_held(outlet: *const Outlet, out: *mut u64) -> Status {
    guard(|| border::put(out, handle::get(outlet)?.0.held()))
}
