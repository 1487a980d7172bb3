//! `sluice_gate`: the sender's store of credit for one stream, in chunks.

use libc::c_char;
use sluicegate::{CreditGate, Deadline, Reason, TryAcquire};

use crate::border;
use crate::error::{self, ErrorObject};
use crate::guard::{Fail, guard};
use crate::handle::{self, object};
use crate::op::{self, Op, Outcome};
use crate::status::Status;
use crate::waker::{Ringer, Waker};

/// A sender's credit for one stream, in chunks. First come, first served.
pub struct Gate(pub(crate) CreditGate);
object!(Gate = 3);

/// Makes an open gate.
///
/// window   chunks of credit to begin with; 0 is a legal gate
/// out      the gate, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_new(window: u64, out: *mut *mut Gate) -> Status {
    guard(|| border::put_new(out, Gate(CreditGate::new(window))))
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_retain(gate: *const Gate) -> Status {
    guard(|| handle::retain(gate))
}

/// Takes a reference away. The last one does not close the gate: routers and operations may still
/// hold it.
///
/// gate     may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_release(gate: *mut Gate) -> Status {
    guard(|| handle::release(gate))
}

/// Takes chunks of credit if that needs no waiting (L9).
///
/// n        chunks; 0 takes nothing and never waits on an open gate
/// returns  SLUICE_OK | SLUICE_WAIT: too little, or somebody stands in line; nothing was taken |
///          SLUICE_CLOSED (sluice_gate_reason says why) | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN |
///          SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_try_acquire(gate: *const Gate, n: u64) -> Status {
    guard(|| match handle::get(gate)?.0.try_acquire(n) {
        TryAcquire::Taken => Ok(()),
        TryAcquire::Wait => Err(Status::SLUICE_WAIT.into()),
        TryAcquire::Closed(_) => Err(Status::SLUICE_CLOSED.into()),
    })
}

/// Takes chunks of credit, waiting for its turn while there are too few (L9).
///
/// n           chunks; more than the window can hold waits until grants have added up to it
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// returns     SLUICE_OK | SLUICE_TIMED_OUT: nothing was taken | SLUICE_CLOSED (sluice_gate_reason
///             says why) | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_acquire(gate: *const Gate, n: u64, timeout_ms: i64) -> Status {
    guard(|| {
        let gate = handle::get(gate)?.0.clone();
        let deadline = Deadline::after_millis(timeout_ms);
        match gate.blocking_acquire_timeout(n, deadline) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Status::SLUICE_CLOSED.into()),
            Err(_) => Err(Status::SLUICE_TIMED_OUT.into()),
        }
    })
}

/// The same as an operation. Its place in line is taken at the first poll; releasing it gives the
/// place up, and what was taken for it.
///
/// out      the operation, yours to release; it answers SLUICE_OK | SLUICE_CLOSED
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_acquire_start(
    gate: *const Gate,
    n: u64,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let acquire = handle::get(gate)?.0.acquire(n);
        op::start(out, async move { answer(acquire.await) })
    })
}

fn answer(acquired: Result<(), sluicegate::Closed>) -> Result<Outcome, Fail> {
    acquired.map(|()| Outcome::Done).map_err(|_| Status::SLUICE_CLOSED.into())
}

/// Stands in line at once, and has a waker called when the turn has come or the gate is closed: in
/// this very call if that is so already. Poll the operation then for the answer.
///
/// waker    not NULL; its release function runs exactly once, whatever this call answers
/// out      the operation, yours to release; it answers SLUICE_OK | SLUICE_CLOSED
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_on_ready(
    gate: *const Gate,
    n: u64,
    waker: *const Waker,
    out: *mut *mut Op,
) -> Status {
    let ringer = Ringer::take(waker);
    guard(|| {
        let ringer = ringer.ok_or(Status::SLUICE_INVALID_ARGUMENT)?;
        ringer.check()?;
        border::need(out)?;
        let acquire = handle::get(gate)?.0.acquire(n);
        op::start_ready(out, async move { answer(acquire.await) }, ringer)
    })
}

/// Adds chunks of credit, up to 2^64 - 1, and serves those who wait. Does nothing on a closed gate.
///
/// n        chunks; 0 has no effect
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_grant(gate: *const Gate, n: u64) -> Status {
    guard(|| {
        handle::get(gate)?.0.grant(n);
        Ok(())
    })
}

/// Closes a gate: every waiter, and every later acquire, is answered SLUICE_CLOSED. The first reason
/// stays (L13).
///
/// reason      why; may be empty or NULL
/// out_closed  may be NULL; true if this call closed it
/// returns     SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads     any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_close(
    gate: *const Gate,
    reason: *const c_char,
    reason_len: usize,
    out_closed: *mut bool,
) -> Status {
    guard(|| {
        let closed = handle::get(gate)?.0.close(border::text(reason, reason_len)?);
        border::put_opt(out_closed, closed);
        Ok(())
    })
}

/// Closes a gate with a reason that has more to tell than a text.
///
/// reason      borrowed, not NULL
/// out_closed  may be NULL; true if this call closed it
/// returns     SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads     any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_close_with(
    gate: *const Gate,
    reason: *const ErrorObject,
    out_closed: *mut bool,
) -> Status {
    guard(|| {
        let reason: Reason = handle::get(reason)?.error();
        border::put_opt(out_closed, handle::get(gate)?.0.close(reason));
        Ok(())
    })
}

/// Why a gate was closed; a text that it was closed with is the error's code.
///
/// out      the reason, yours to release; NULL while the gate is open
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_reason(
    gate: *const Gate,
    out: *mut *mut ErrorObject,
) -> Status {
    guard(|| error::put_reason(out, handle::get(gate)?.0.reason()))
}

/// Chunks that could be taken now. A hint while others use the gate; readable after close.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_available(gate: *const Gate, out: *mut u64) -> Status {
    guard(|| border::put(out, handle::get(gate)?.0.available()))
}

/// Whether a gate is closed.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_is_closed(gate: *const Gate, out: *mut bool) -> Status {
    guard(|| border::put(out, handle::get(gate)?.0.is_closed()))
}

/// How many stand in line.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_BROKEN | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_gate_waiting(gate: *const Gate, out: *mut u64) -> Status {
    guard(|| border::put(out, handle::get(gate)?.0.waiting() as u64))
}
