//! `sluice_..._next_stall`, `sluice_..._next_loss`: notices, as they are waited for.

use sluicegate::account::Explanation;
use sluicegate::engine::{Loss, Losses, Notice, Notices};
use sluicegate::{Error, Value};

use crate::border;
use crate::cartridge::Cartridge;
use crate::engine::Engine;
use crate::guard::{Fail, block, guard};
use crate::handle;
use crate::item::Item;
use crate::op::{self, Op, Outcome};
use crate::relay::{Host, Switch};
use crate::status::Status;

/// The next notice, as a text.
fn next<T: Notice>(
    notices: &Notices<T>,
    json: fn(&T) -> serde_json::Value,
) -> impl Future<Output = Result<sluicegate::Item, Error>> + Send + use<T> {
    let next = notices.next();
    async move {
        let value = Value::Text(json(&next.await).to_string());
        Ok(sluicegate::Item { value, meta: None })
    }
}

fn wait_loss(losses: &Losses, timeout_ms: i64, out: *mut *mut Item) -> Result<(), Fail> {
    border::need(out)?;
    border::put_new(out, Item::new(block(next(losses, Loss::to_json), timeout_ms)?))
}

fn start_loss(losses: &Losses, out: *mut *mut Op) -> Result<(), Fail> {
    border::need(out)?;
    op::start_with(out, next(losses, Loss::to_json), Outcome::Item)
}

/// Waits for the next stall notice, an explanation. 16 are kept, the oldest makes room.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_next_stall(
    engine: *const Engine,
    timeout_ms: i64,
    out: *mut *mut Item,
) -> Status {
    guard(|| {
        border::need(out)?;
        let stall = next(&handle::get(engine)?.notices().stalls, Explanation::to_json);
        border::put_new(out, Item::new(block(stall, timeout_ms)?))
    })
}

/// The same as an operation; sluice_op_take_item has the result.
///
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_next_stall_start(
    engine: *const Engine,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        border::need(out)?;
        let stall = next(&handle::get(engine)?.notices().stalls, Explanation::to_json);
        op::start_with(out, stall, Outcome::Item)
    })
}

/// Waits for the next notice of what was lost: frames of one type that were dropped for one reason, or
/// that came after the end of their request, since the last notice of them. JSON: severity ("warning" for
/// what was dropped, "debug" for what came late, which is benign), party, reason, frame_type, count, total.
/// There is one a second at most for each reason and type; 64 are kept, the oldest makes room.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_next_loss(
    engine: *const Engine,
    timeout_ms: i64,
    out: *mut *mut Item,
) -> Status {
    guard(|| wait_loss(&handle::get(engine)?.notices().losses, timeout_ms, out))
}

/// The same as an operation; sluice_op_take_item has the result.
///
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_engine_next_loss_start(
    engine: *const Engine,
    out: *mut *mut Op,
) -> Status {
    guard(|| start_loss(&handle::get(engine)?.notices().losses, out))
}

/// The same for a switch.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         as sluice_engine_next_loss has it: an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_next_loss(
    relay: *const Switch,
    timeout_ms: i64,
    out: *mut *mut Item,
) -> Status {
    guard(|| wait_loss(handle::get(relay)?.losses(), timeout_ms, out))
}

/// The same as an operation; sluice_op_take_item has the result.
///
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_switch_next_loss_start(
    relay: *const Switch,
    out: *mut *mut Op,
) -> Status {
    guard(|| start_loss(handle::get(relay)?.losses(), out))
}

/// The same for a host.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         as sluice_engine_next_loss has it: an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_next_loss(
    host: *const Host,
    timeout_ms: i64,
    out: *mut *mut Item,
) -> Status {
    guard(|| wait_loss(handle::get(host)?.losses(), timeout_ms, out))
}

/// The same as an operation; sluice_op_take_item has the result.
///
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_host_next_loss_start(
    host: *const Host,
    out: *mut *mut Op,
) -> Status {
    guard(|| start_loss(handle::get(host)?.losses(), out))
}

/// The same for a cartridge, over all that is served with it, before and after as well.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         as sluice_engine_next_loss has it: an item of kind SLUICE_ITEM_TEXT, yours to release
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_next_loss(
    cartridge: *const Cartridge,
    timeout_ms: i64,
    out: *mut *mut Item,
) -> Status {
    guard(|| wait_loss(handle::get(cartridge)?.losses(), timeout_ms, out))
}

/// The same as an operation; sluice_op_take_item has the result.
///
/// out      the operation, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_cartridge_next_loss_start(
    cartridge: *const Cartridge,
    out: *mut *mut Op,
) -> Status {
    guard(|| start_loss(handle::get(cartridge)?.losses(), out))
}
