//! `sluice_op_take_...`: the result of an operation that has answered.

use crate::border;
use crate::call::{Event, Terminal};
use crate::cartridge::Session;
use crate::error::{self, ErrorObject};
use crate::guard::guard;
use crate::handle;
use crate::input::Input;
use crate::item::{Item, Items};
use crate::op::{Op, Outcome};
use crate::peer::Peer;
use crate::request::Request;
use crate::status::Status;

/// Takes the result of an operation that answered SLUICE_OK: of a receive, of collected bytes or text.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///          taken already | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_item(op: *const Op, out: *mut *mut Item) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Item(item) => Ok(item),
            other => Err(other),
        })?;
        border::put_new(out, Item::new(taken))
    })
}

/// Takes the result of an operation that answered SLUICE_OK: of collected items.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///          taken already | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_items(op: *const Op, out: *mut *mut Items) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Items(items) => Ok(items),
            other => Err(other),
        })?;
        border::put_new(out, Items(taken))
    })
}

/// Takes the result of an operation that answered SLUICE_OK: a stream to read.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///          taken already | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_input(op: *const Op, out: *mut *mut Input) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Input(input) => Ok(input),
            other => Err(other),
        })?;
        border::put_new(out, Input::new(taken))
    })
}

/// Takes the result of an operation that answered SLUICE_OK: of a session.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///          taken already | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_request(op: *const Op, out: *mut *mut Request) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Request(request) => Ok(request),
            other => Err(other),
        })?;
        border::put_new(out, Request::new(taken))
    })
}

/// Takes the result of an operation that answered SLUICE_OK: a cartridge that was started or attached to.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///          taken already | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_peer(op: *const Op, out: *mut *mut Peer) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Peer(peer) => Ok(peer),
            other => Err(other),
        })?;
        border::put_new(out, Peer::new(taken))
    })
}

/// Takes the result of an operation that answered SLUICE_OK: a cartridge that is connected to its host.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///          taken already | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_session(op: *const Op, out: *mut *mut Session) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Session(session) => Ok(session),
            other => Err(other),
        })?;
        border::put_new(out, Session::new(taken.take()))
    })
}

/// Takes the result of an operation that answered SLUICE_OK: how a call ended.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///          taken already | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_terminal(op: *const Op, out: *mut *mut Terminal) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Terminal(terminal) => Ok(terminal),
            other => Err(other),
        })?;
        border::put_new(out, Terminal::new(taken))
    })
}

/// Takes the result of an operation that answered SLUICE_OK: a log line or progress.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///          taken already | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_event(op: *const Op, out: *mut *mut Event) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Event(event) => Ok(event),
            other => Err(other),
        })?;
        border::put_new(out, Event::new(taken))
    })
}

/// Takes the result of an operation that answered SLUICE_OK: why a request has to stop.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///          taken already | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_reason(
    op: *const Op,
    out: *mut *mut ErrorObject,
) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Reason(reason) => Ok(reason),
            other => Err(other),
        })?;
        error::put_reason(out, Some(taken))
    })
}

/// Takes the result of an operation that answered SLUICE_OK: how many chunks or items were forwarded.
///
/// out      chunks
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///          taken already | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_count(op: *const Op, out: *mut u64) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Count(count) => Ok(count),
            other => Err(other),
        })?;
        border::put(out, taken)
    })
}
