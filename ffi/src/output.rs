//! `sluice_output`: values out, each chunk paid for with credit.

use libc::c_char;
use sluicegate::{OutputStream, Value};

use crate::border::{self, Text};
use crate::emitter;
use crate::error::ErrorObject;
use crate::guard::{block, guard, guard_with, limit};
use crate::handle::{self, object};
use crate::item::{self, Item};
use crate::op::{self, Op};
use crate::sender::Sender;
use crate::status::Status;
use crate::stream::{self, StartOptions, StreamStats};

/// A stream of values to write. The first emission starts it in the mode of that call.
pub struct Output(OutputStream, Texts);
object!(Output = 9);

struct Texts {
    id: Option<Text>,
    media: Text,
    output: Option<Text>,
}

impl Output {
    pub(crate) fn new(stream: OutputStream) -> Self {
        let info = stream.info();
        let texts = Texts {
            id: info.id.as_deref().map(Text::new),
            media: Text::new(&info.media),
            output: info.output.as_deref().map(Text::new),
        };
        Output(stream, texts)
    }

    pub(crate) fn stream(&self) -> OutputStream {
        self.0.clone()
    }
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_retain(output: *const Output) -> Status {
    guard(|| handle::retain(output))
}

/// Takes a reference away. Releasing does not close the stream.
///
/// output   may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_release(output: *mut Output) -> Status {
    guard(|| handle::release(output))
}

/// The stream's name within its request.
///
/// out, out_len  borrowed from the output, NUL-terminated; out_len may be NULL; NULL and 0: it has none
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_id(
    output: *const Output,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(handle::get(output)?.1.id.as_ref(), out, out_len))
}

/// The media that the stream carries, for example "media:blob".
///
/// out, out_len  borrowed from the output, NUL-terminated; out_len may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_media(
    output: *const Output,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(Some(&handle::get(output)?.1.media), out, out_len))
}

/// Which output of the call it is.
///
/// out, out_len  borrowed from the output, NUL-terminated; out_len may be NULL; NULL and 0: the main one, or an argument
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_output(
    output: *const Output,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(handle::get(output)?.1.output.as_ref(), out, out_len))
}

/// Starts the stream explicitly, to choose what the first emission cannot: unbounded, or with
/// metadata. Optional, once, before the first emission.
///
/// options  NULL: scalar and bounded; begin with SLUICE_START_OPTIONS_INIT
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it was started already | SLUICE_MALFORMED: metadata |
///          why the request or the link ended | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_start(
    output: *const Output,
    options: *const StartOptions,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || Ok(handle::get(output)?.0.start(stream::start(options)?)?))
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
pub unsafe extern "C" fn sluice_output_write(
    output: *const Output,
    data: *const u8,
    len: usize,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || emitter::write(&handle::get(output)?.0, data, len, timeout_ms))
}

/// The same as an operation. What it sends is copied now.
///
/// out      the operation, yours to release; it answers as sluice_output_write
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_write_start(
    output: *const Output,
    data: *const u8,
    len: usize,
    out: *mut *mut Op,
) -> Status {
    guard(|| emitter::write_start(&handle::get(output)?.0, data, len, out))
}

/// Emits the value of an item to a scalar stream, which starts it. Byte strings are written as by
/// sluice_output_write, long texts are split between characters, any other value is one chunk.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_FRAME_TOO_LARGE | SLUICE_WRONG_MODE | why the request or the
///             link ended | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_emit(
    output: *const Output,
    item: *const Item,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        emitter::emit(&handle::get(output)?.0, handle::get(item)?.item().value, timeout_ms)
    })
}

/// The same as an operation. What it sends is copied now.
///
/// out      the operation, yours to release; it answers as sluice_output_emit
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_emit_start(
    output: *const Output,
    item: *const Item,
    out: *mut *mut Op,
) -> Status {
    guard(|| emitter::emit_start(&handle::get(output)?.0, handle::get(item)?.item().value, out))
}

/// Emits one CBOR value to a scalar stream, as sluice_output_emit.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_MALFORMED | SLUICE_WRONG_MODE | why the request or the
///             link ended | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_emit_cbor(
    output: *const Output,
    cbor: *const u8,
    cbor_len: usize,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        emitter::emit(&handle::get(output)?.0, item::cbor(cbor, cbor_len)?, timeout_ms)
    })
}

/// The same as an operation. What it sends is copied now.
///
/// out      the operation, yours to release; it answers as sluice_output_emit_cbor
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_MALFORMED | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_emit_cbor_start(
    output: *const Output,
    cbor: *const u8,
    cbor_len: usize,
    out: *mut *mut Op,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        emitter::emit_start(&handle::get(output)?.0, item::cbor(cbor, cbor_len)?, out)
    })
}

/// Emits a text to a scalar stream, as sluice_output_emit.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     as sluice_output_emit
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_emit_text(
    output: *const Output,
    text: *const c_char,
    len: usize,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        emitter::emit(
            &handle::get(output)?.0,
            Value::Text(border::text(text, len)?.to_owned()),
            timeout_ms,
        )
    })
}

/// Emits an unsigned integer to a scalar stream, as sluice_output_emit.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     as sluice_output_emit
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_emit_u64(
    output: *const Output,
    value: u64,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || emitter::emit(&handle::get(output)?.0, Value::Uint(value), timeout_ms))
}

/// Emits an integer to a scalar stream, as sluice_output_emit.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     as sluice_output_emit
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_emit_i64(
    output: *const Output,
    value: i64,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || emitter::emit(&handle::get(output)?.0, item::int(value), timeout_ms))
}

/// Emits a float to a scalar stream, as sluice_output_emit.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     as sluice_output_emit
/// threads     any number at once; waits for credit (L9); not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_emit_f64(
    output: *const Output,
    value: f64,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || emitter::emit(&handle::get(output)?.0, Value::Float(value), timeout_ms))
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
pub unsafe extern "C" fn sluice_output_emit_list_item(
    output: *const Output,
    item: *const Item,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        emitter::emit_list_item(&handle::get(output)?.0, handle::get(item)?.item(), timeout_ms)
    })
}

/// The same as an operation. What it sends is copied now.
///
/// out      the operation, yours to release; it answers as sluice_output_emit_list_item
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_emit_list_item_start(
    output: *const Output,
    item: *const Item,
    out: *mut *mut Op,
) -> Status {
    guard(|| emitter::emit_list_item_start(&handle::get(output)?.0, handle::get(item)?.item(), out))
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
pub unsafe extern "C" fn sluice_output_emit_list_item_cbor(
    output: *const Output,
    cbor: *const u8,
    cbor_len: usize,
    meta: *const u8,
    meta_len: usize,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let stream = &handle::get(output)?.0;
        let item = item::from_cbor((cbor, cbor_len), (meta, meta_len))?;
        emitter::emit_list_item(stream, item, timeout_ms)
    })
}

/// The same as an operation. What it sends is copied now.
///
/// out      the operation, yours to release; it answers as sluice_output_emit_list_item_cbor
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_MALFORMED | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_emit_list_item_cbor_start(
    output: *const Output,
    cbor: *const u8,
    cbor_len: usize,
    meta: *const u8,
    meta_len: usize,
    out: *mut *mut Op,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let stream = &handle::get(output)?.0;
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
pub unsafe extern "C" fn sluice_output_flush(
    output: *const Output,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || emitter::flush(&handle::get(output)?.0, timeout_ms))
}

/// The same as an operation.
///
/// out      the operation, yours to release; it answers as sluice_output_flush
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_flush_start(
    output: *const Output,
    out: *mut *mut Op,
) -> Status {
    guard(|| emitter::flush_start(&handle::get(output)?.0, out))
}

/// Sends what is held and ends the stream; a stream that never started is an empty one. May be called
/// again.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | why the request or the link ended |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits for credit if something is held; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_close(
    output: *const Output,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let close = handle::get(output)?.0.close();
        block(close, timeout_ms)
    })
}

/// The same as an operation.
///
/// out      the operation, yours to release; it answers as sluice_output_close
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_close_start(
    output: *const Output,
    out: *mut *mut Op,
) -> Status {
    guard(|| op::start_unit(out, handle::get(output)?.0.close()))
}

/// A detached emitter on the same stream, for another thread.
///
/// out      the sender, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_sender(
    output: *const Output,
    out: *mut *mut Sender,
) -> Status {
    guard(|| border::put_new(out, Sender(handle::get(output)?.0.sender())))
}

/// Allows the stream `limit_ms` from now. When it passes before the stream is closed, the request of
/// the stream ends as by sluice_call_limit or sluice_request_limit, whatever is waited for: credit,
/// room on the link, or nothing just now. The last limit that was set counts.
///
/// limit_ms  milliseconds from now; 0 = at once, SLUICE_FOREVER = no limit
/// err       may be NULL
/// returns   SLUICE_OK, also after the end | SLUICE_IO if the system gives no thread to look after it |
///           SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads   any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_limit(
    output: *const Output,
    limit_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || Ok(handle::get(output)?.0.limit(limit(limit_ms))?))
}

/// The stream's figures now.
///
/// out      begin with SLUICE_STREAM_STATS_INIT
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_output_stats(
    output: *const Output,
    out: *mut StreamStats,
) -> Status {
    guard(|| border::put_sized(out, handle::get(output)?.0.stats().into()))
}
