//! `sluice_input`: values in, credit back as they are consumed.

use libc::c_char;
use sluicegate::{InputStream, Mode, TryRecv, Value};

use crate::border::{self, Text};
use crate::error::ErrorObject;
use crate::guard::{block, guard, guard_with, limit};
use crate::handle::{self, object};
use crate::item::{Item, Items};
use crate::op::{self, Op, Outcome};
use crate::status::Status;
use crate::stream::StreamStats;

/// A stream of values to read. Consuming is what grants credit (L10).
pub struct Input {
    stream: InputStream,
    id: Option<Text>,
    media: Text,
    output: Option<Text>,
    meta: Option<Vec<u8>>,
}
object!(Input = 8);

impl Input {
    pub(crate) fn new(stream: InputStream) -> Self {
        let info = stream.info();
        Input {
            id: info.id.as_deref().map(Text::new),
            media: Text::new(&info.media),
            output: info.output.as_deref().map(Text::new),
            meta: info.meta.as_ref().map(Value::encode),
            stream,
        }
    }

    pub(crate) fn stream(&self) -> InputStream {
        self.stream.clone()
    }
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_retain(input: *const Input) -> Status {
    guard(|| handle::retain(input))
}

/// Takes a reference away. The last one gives an unfinished stream up: at a caller that cancels the
/// call, at a handler the rest is left to the end of the request.
///
/// input    may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_release(input: *mut Input) -> Status {
    guard(|| handle::release(input))
}

/// The stream's name within its request; the empty text is a name.
///
/// out, out_len  borrowed from the input, NUL-terminated; out_len may be NULL; NULL and 0: it has none
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_id(
    input: *const Input,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(handle::get(input)?.id.as_ref(), out, out_len))
}

/// The media that the stream carries, for example "media:blob".
///
/// out, out_len  borrowed from the input, NUL-terminated; out_len may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_media(
    input: *const Input,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(Some(&handle::get(input)?.media), out, out_len))
}

/// Which output of the call it is.
///
/// out, out_len  borrowed from the input, NUL-terminated; out_len may be NULL; NULL and 0: the main one, or an argument
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_output(
    input: *const Input,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(handle::get(input)?.output.as_ref(), out, out_len))
}

/// Whether it is a sequence of items; otherwise it is scalar.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_is_sequence(input: *const Input, out: *mut bool) -> Status {
    guard(|| border::put(out, handle::get(input)?.stream.info().mode == Mode::Sequence))
}

/// Whether there is no promise that it ends by itself (L16).
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_is_unbounded(input: *const Input, out: *mut bool) -> Status {
    guard(|| border::put(out, handle::get(input)?.stream.info().unbounded))
}

/// The stream's metadata as CBOR: a map.
///
/// out, out_len  borrowed from the input; NULL and 0: there is none; neither may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_meta(
    input: *const Input,
    out: *mut *const u8,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_bytes(handle::get(input)?.meta.as_deref(), out, out_len))
}

/// Takes the next value if it is there. Grants that are pending stay pending: wait with
/// sluice_input_recv or its operation, which send them first (L10).
///
/// out      the item, yours to release
/// err      may be NULL; what the stream failed with
/// returns  SLUICE_OK | SLUICE_WAIT: nothing has come yet | SLUICE_END_OF_STREAM: the clean end |
///          what the stream failed with | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once, each value reaches one of them; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_try_recv(
    input: *const Input,
    out: *mut *mut Item,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        match handle::get(input)?.stream.try_recv()? {
            TryRecv::Item(item) => border::put_new(out, Item::new(item)),
            TryRecv::Wait => Err(Status::SLUICE_WAIT.into()),
            TryRecv::End => Err(Status::SLUICE_END_OF_STREAM.into()),
        }
    })
}

/// Takes the next value, waiting for it.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         the item, yours to release
/// err         may be NULL; what the stream failed with
/// returns     SLUICE_OK | SLUICE_TIMED_OUT: no value is lost by that | SLUICE_END_OF_STREAM: the
///             clean end | what the stream failed with | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once, each value reaches one of them; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_recv(
    input: *const Input,
    timeout_ms: i64,
    out: *mut *mut Item,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let recv = handle::get(input)?.stream.recv();
        let item = block(recv, timeout_ms)?.ok_or(Status::SLUICE_END_OF_STREAM)?;
        border::put_new(out, Item::new(item))
    })
}

/// The same as an operation; sluice_op_take_item has the result.
///
/// out      the operation, yours to release; it answers as sluice_input_recv
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_recv_start(input: *const Input, out: *mut *mut Op) -> Status {
    guard(|| op::start_opt(out, handle::get(input)?.stream.recv(), Outcome::Item))
}

/// Everything as one byte string: an item of kind SLUICE_ITEM_BYTES.
///
/// timeout_ms  milliseconds from now; SLUICE_FOREVER = no limit. What was read when it passes is
///             lost
/// out         the item, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_UNBOUNDED: there is no end to collect up to (L16)
///             | SLUICE_WRONG_MODE: a value of another kind | what the stream failed with |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_collect_bytes(
    input: *const Input,
    timeout_ms: i64,
    out: *mut *mut Item,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let collect = handle::get(input)?.stream.collect_bytes();
        let all = block(collect, timeout_ms)?;
        border::put_new(out, Item::of(Value::Bytes(all.into())))
    })
}

/// The same as an operation; sluice_op_take_item has the result.
///
/// out      the operation, yours to release; it answers as sluice_input_collect_bytes
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_collect_bytes_start(
    input: *const Input,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let collect = handle::get(input)?.stream.collect_bytes();
        op::start_with(out, collect, |all| Outcome::item(Value::Bytes(all.into())))
    })
}

/// Everything as one text: an item of kind SLUICE_ITEM_TEXT.
///
/// timeout_ms  milliseconds from now; SLUICE_FOREVER = no limit. What was read when it passes is
///             lost
/// out         the item, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_UNBOUNDED: there is no end to collect up to (L16)
///             | SLUICE_WRONG_MODE: a value of another kind | what the stream failed with |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_collect_text(
    input: *const Input,
    timeout_ms: i64,
    out: *mut *mut Item,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let collect = handle::get(input)?.stream.collect_text();
        let all = block(collect, timeout_ms)?;
        border::put_new(out, Item::of(Value::Text(all)))
    })
}

/// The same as an operation; sluice_op_take_item has the result.
///
/// out      the operation, yours to release; it answers as sluice_input_collect_text
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_collect_text_start(
    input: *const Input,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let collect = handle::get(input)?.stream.collect_text();
        op::start_with(out, collect, |all| Outcome::item(Value::Text(all)))
    })
}

/// Everything as a list.
///
/// timeout_ms  milliseconds from now; SLUICE_FOREVER = no limit. What was read when it passes is
///             lost
/// out         the items, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_UNBOUNDED: there is no end to collect up to (L16)
///             | what the stream failed with | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_collect_items(
    input: *const Input,
    timeout_ms: i64,
    out: *mut *mut Items,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let collect = handle::get(input)?.stream.collect_items();
        border::put_new(out, Items(block(collect, timeout_ms)?))
    })
}

/// The same as an operation; sluice_op_take_items has the result.
///
/// out      the operation, yours to release; it answers as sluice_input_collect_items
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_collect_items_start(
    input: *const Input,
    out: *mut *mut Op,
) -> Status {
    guard(|| op::start_with(out, handle::get(input)?.stream.collect_items(), Outcome::Items))
}

/// Stops reading: what was not read is dropped. At a caller this cancels the call; at a handler the
/// rest of the input is left to the end of the request.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_cancel(input: *const Input) -> Status {
    guard(|| {
        handle::get(input)?.stream.cancel();
        Ok(())
    })
}

/// Allows the stream `limit_ms` from now. When it passes before the end of the stream has come, the
/// request of the stream ends as by sluice_call_limit or sluice_request_limit, whether somebody waits
/// for a value or values lie unread. The last limit that was set counts.
///
/// limit_ms  milliseconds from now; 0 = at once, SLUICE_FOREVER = no limit
/// err       may be NULL
/// returns   SLUICE_OK, also after the end | SLUICE_IO if the system gives no thread to look after it |
///           SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads   any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_limit(
    input: *const Input,
    limit_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || Ok(handle::get(input)?.stream.limit(limit(limit_ms))?))
}

/// The stream's figures now.
///
/// out      begin with SLUICE_STREAM_STATS_INIT
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_input_stats(input: *const Input, out: *mut StreamStats) -> Status {
    guard(|| border::put_sized(out, handle::get(input)?.stream.stats().into()))
}
