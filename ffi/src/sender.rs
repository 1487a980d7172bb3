//! `sluice_sender`: a detached emitter on an output stream.

use libc::c_char;
use sluicegate::{StreamSender, Value};

use crate::border;
use crate::emitter;
use crate::error::ErrorObject;
use crate::guard::{guard, guard_with};
use crate::handle::{self, object};
use crate::item::{self, Item};
use crate::op::Op;
use crate::status::Status;

/// The same stream as its output, for a thread that outlives the handler's own. It cannot start or
/// close the stream by itself; its calls fail with the reason once the request has ended.
pub struct Sender(pub(crate) StreamSender);
object!(Sender = 10);

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_retain(sender: *const Sender) -> Status {
    guard(|| handle::retain(sender))
}

/// Takes a reference away.
///
/// sender   may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_release(sender: *mut Sender) -> Status {
    guard(|| handle::release(sender))
}

/// Writes bytes to a scalar stream, which starts it. Small writes are held and sent together: when
/// 4096 bytes are there, when the oldest is 20 ms old at the next write, at a flush and at the close.
/// Empty writes send nothing.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit. Part of a large
///             write may have been sent when it passes
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_WRONG_MODE | why the request or the
///             link ended | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_write(
    sender: *const Sender,
    data: *const u8,
    len: usize,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || emitter::write(&handle::get(sender)?.0, data, len, timeout_ms))
}

/// The same as an operation. What it sends is copied now.
///
/// out      the operation, yours to release; it answers as sluice_sender_write
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_write_start(
    sender: *const Sender,
    data: *const u8,
    len: usize,
    out: *mut *mut Op,
) -> Status {
    guard(|| emitter::write_start(&handle::get(sender)?.0, data, len, out))
}

/// Emits the value of an item to a scalar stream, which starts it. Byte strings are written as by
/// sluice_sender_write, long texts are split between characters, any other value is one chunk.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_FRAME_TOO_LARGE | SLUICE_WRONG_MODE | why the request or the
///             link ended | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_emit(
    sender: *const Sender,
    item: *const Item,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        emitter::emit(&handle::get(sender)?.0, handle::get(item)?.item().value, timeout_ms)
    })
}

/// The same as an operation. What it sends is copied now.
///
/// out      the operation, yours to release; it answers as sluice_sender_emit
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_emit_start(
    sender: *const Sender,
    item: *const Item,
    out: *mut *mut Op,
) -> Status {
    guard(|| emitter::emit_start(&handle::get(sender)?.0, handle::get(item)?.item().value, out))
}

/// Emits one CBOR value to a scalar stream, as sluice_sender_emit.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_MALFORMED | SLUICE_WRONG_MODE | why the request or the
///             link ended | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_emit_cbor(
    sender: *const Sender,
    cbor: *const u8,
    cbor_len: usize,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        emitter::emit(&handle::get(sender)?.0, item::cbor(cbor, cbor_len)?, timeout_ms)
    })
}

/// The same as an operation. What it sends is copied now.
///
/// out      the operation, yours to release; it answers as sluice_sender_emit_cbor
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_MALFORMED | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_emit_cbor_start(
    sender: *const Sender,
    cbor: *const u8,
    cbor_len: usize,
    out: *mut *mut Op,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        emitter::emit_start(&handle::get(sender)?.0, item::cbor(cbor, cbor_len)?, out)
    })
}

/// Emits a text to a scalar stream, as sluice_sender_emit.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     as sluice_sender_emit
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_emit_text(
    sender: *const Sender,
    text: *const c_char,
    len: usize,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        emitter::emit(
            &handle::get(sender)?.0,
            Value::Text(border::text(text, len)?.to_owned()),
            timeout_ms,
        )
    })
}

/// Emits an unsigned integer to a scalar stream, as sluice_sender_emit.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     as sluice_sender_emit
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_emit_u64(
    sender: *const Sender,
    value: u64,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || emitter::emit(&handle::get(sender)?.0, Value::Uint(value), timeout_ms))
}

/// Emits an integer to a scalar stream, as sluice_sender_emit.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     as sluice_sender_emit
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_emit_i64(
    sender: *const Sender,
    value: i64,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || emitter::emit(&handle::get(sender)?.0, item::int(value), timeout_ms))
}

/// Emits a float to a scalar stream, as sluice_sender_emit.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     as sluice_sender_emit
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_emit_f64(
    sender: *const Sender,
    value: f64,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || emitter::emit(&handle::get(sender)?.0, Value::Float(value), timeout_ms))
}

/// Emits one item of any size, with its metadata, to a sequence stream, which starts it.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit. An item that is given
///             up in its middle breaks the stream
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_WRONG_MODE | why the request or the
///             link ended | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_emit_list_item(
    sender: *const Sender,
    item: *const Item,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        emitter::emit_list_item(&handle::get(sender)?.0, handle::get(item)?.item(), timeout_ms)
    })
}

/// The same as an operation. What it sends is copied now.
///
/// out      the operation, yours to release; it answers as sluice_sender_emit_list_item
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_emit_list_item_start(
    sender: *const Sender,
    item: *const Item,
    out: *mut *mut Op,
) -> Status {
    guard(|| emitter::emit_list_item_start(&handle::get(sender)?.0, handle::get(item)?.item(), out))
}

/// Emits one CBOR value of any size as an item; meta is a CBOR map, NULL: none.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit. An item that is given
///             up in its middle breaks the stream
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_MALFORMED | SLUICE_WRONG_MODE | why the request or the
///             link ended | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_emit_list_item_cbor(
    sender: *const Sender,
    cbor: *const u8,
    cbor_len: usize,
    meta: *const u8,
    meta_len: usize,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let stream = &handle::get(sender)?.0;
        let item = item::from_cbor((cbor, cbor_len), (meta, meta_len))?;
        emitter::emit_list_item(stream, item, timeout_ms)
    })
}

/// The same as an operation. What it sends is copied now.
///
/// out      the operation, yours to release; it answers as sluice_sender_emit_list_item_cbor
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_MALFORMED | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_emit_list_item_cbor_start(
    sender: *const Sender,
    cbor: *const u8,
    cbor_len: usize,
    meta: *const u8,
    meta_len: usize,
    out: *mut *mut Op,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let stream = &handle::get(sender)?.0;
        let item = item::from_cbor((cbor, cbor_len), (meta, meta_len))?;
        emitter::emit_list_item_start(stream, item, out)
    })
}

/// Sends what is held.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_WRONG_MODE | why the request or the
///             link ended | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_flush(
    sender: *const Sender,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || emitter::flush(&handle::get(sender)?.0, timeout_ms))
}

/// The same as an operation.
///
/// out      the operation, yours to release; it answers as sluice_sender_flush
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sender_flush_start(
    sender: *const Sender,
    out: *mut *mut Op,
) -> Status {
    guard(|| emitter::flush_start(&handle::get(sender)?.0, out))
}
