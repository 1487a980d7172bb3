//! `sluice_call`: one request, at the caller's end; its events and its end; and chains.

use libc::c_char;
use sluicegate::{Error, ErrorKind};

use crate::border::{self, Text};
use crate::error::{Class, ErrorObject};
use crate::guard::{block, guard, guard_with, limit};
use crate::handle::{self, object};
use crate::input::Input;
use crate::op::{self, Op, Outcome};
use crate::output::Output;
use crate::status::Status;

/// A call of a cap. Sending arguments and reading results go on at the same time (L15).
pub struct Call {
    call: sluicegate::Call,
    id: Text,
}
object!(Call = 16);

impl Call {
    pub(crate) fn new(call: sluicegate::Call) -> Self {
        Call { id: Text::new(&call.id().to_string()), call }
    }
}

/// The end of a call that succeeded.
pub struct Terminal(sluicegate::Terminal, Option<Text>);
object!(Terminal = 17);

impl Terminal {
    pub(crate) fn new(terminal: sluicegate::Terminal) -> Self {
        let message = terminal.message.as_deref().map(Text::new);
        Terminal(terminal, message)
    }
}

/// What an event is.
///
/// cbindgen:prefix-with-name=false
/// cbindgen:rename-all=None
#[allow(non_camel_case_types, reason = "spelled as in the header")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum EventKind {
    /// A message for people.
    SLUICE_EVENT_LOG = 1,
    /// How far the handler is.
    SLUICE_EVENT_PROGRESS = 2,
}

/// A log line or progress of a call.
pub struct Event {
    kind: EventKind,
    value: f64,
    level: Option<Text>,
    class: Class,
    message: Text,
}
object!(Event = 18);

impl Event {
    pub(crate) fn new(event: sluicegate::Event) -> Self {
        match event {
            sluicegate::Event::Log { level, class, message } => Event {
                kind: EventKind::SLUICE_EVENT_LOG,
                value: f64::NAN,
                level: Some(Text::new(&level)),
                class: class.map_or(Class::Default, Class::from),
                message: Text::new(&message),
            },
            sluicegate::Event::Progress { value, message } => Event {
                kind: EventKind::SLUICE_EVENT_PROGRESS,
                value,
                level: None,
                class: Class::Default,
                message: Text::new(&message),
            },
        }
    }
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_retain(call: *const Call) -> Status {
    guard(|| handle::retain(call))
}

/// Takes a reference away. The last one, of the call and its streams, cancels an unfinished call.
///
/// call     may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_release(call: *mut Call) -> Status {
    guard(|| handle::release(call))
}

/// The request's id, as text.
///
/// out, out_len  borrowed from the call, NUL-terminated; out_len may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_id(
    call: *const Call,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(Some(&handle::get(call)?.id), out, out_len))
}

/// Opens an argument stream.
///
/// media    for example "media:blob"
/// out      the output to write the argument to, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also after sluice_call_finish_input | why the call is
///          over | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_input(
    call: *const Call,
    media: *const c_char,
    media_len: usize,
    out: *mut *mut Output,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let media = border::text(media, media_len)?;
        border::put_new(out, Output::new(handle::get(call)?.call.input(media)?))
    })
}

/// Ends the arguments: closes every argument stream, then the body. May be called again.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | why the call is over |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_finish_input(
    call: *const Call,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let waiting = handle::get(call)?.call.finish_input();
        block(waiting, timeout_ms)
    })
}

/// The same as an operation.
///
/// out      the operation, yours to release; it answers as sluice_call_finish_input
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_finish_input_start(
    call: *const Call,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let waiting = handle::get(call)?.call.finish_input();
        op::start_unit(out, waiting)
    })
}

/// Takes the next result stream, as they open.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         the input to read the result from, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_END_OF_STREAM: the call has succeeded | why it
///             failed |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_next_output(
    call: *const Call,
    timeout_ms: i64,
    out: *mut *mut Input,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let waiting = handle::get(call)?.call.next_output();
        let answer = block(waiting, timeout_ms)?.ok_or(Status::SLUICE_END_OF_STREAM)?;
        border::put_new(out, Input::new(answer))
    })
}

/// The same as an operation; sluice_op_take_input has the result.
///
/// out      the operation, yours to release; it answers as sluice_call_next_output
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_next_output_start(
    call: *const Call,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let waiting = handle::get(call)?.call.next_output();
        op::start_opt(out, waiting, Outcome::Input)
    })
}

/// Takes the next result stream, for a caller that needs one.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         the input to read the result from, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_PROTOCOL: the call ended without one | why it failed |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_output(
    call: *const Call,
    timeout_ms: i64,
    out: *mut *mut Input,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let waiting = handle::get(call)?.call.output();
        let answer = block(waiting, timeout_ms)?;
        border::put_new(out, Input::new(answer))
    })
}

/// The same as an operation; sluice_op_take_input has the result.
///
/// out      the operation, yours to release; it answers as sluice_call_output
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_output_start(call: *const Call, out: *mut *mut Op) -> Status {
    guard(|| {
        let waiting = handle::get(call)?.call.output();
        op::start_with(out, waiting, Outcome::Input)
    })
}

/// Takes the next log line or progress. The last 1024 are kept for a late reader.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         the event, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_END_OF_STREAM: the call has ended |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_next_event(
    call: *const Call,
    timeout_ms: i64,
    out: *mut *mut Event,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let next = infallible(handle::get(call)?.call.next_event());
        let event = block(next, timeout_ms)?.ok_or(Status::SLUICE_END_OF_STREAM)?;
        border::put_new(out, Event::new(event))
    })
}

/// The same as an operation; sluice_op_take_event has the result.
///
/// out      the operation, yours to release; it answers as sluice_call_next_event
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_next_event_start(
    call: *const Call,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let next = infallible(handle::get(call)?.call.next_event());
        op::start_opt(out, next, Outcome::Event)
    })
}

async fn infallible<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    Ok(future.await)
}

/// Waits for the end of the call.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         how it ended, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | why it failed |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_wait(
    call: *const Call,
    timeout_ms: i64,
    out: *mut *mut Terminal,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let waiting = handle::get(call)?.call.wait();
        let answer = block(waiting, timeout_ms)?;
        border::put_new(out, Terminal::new(answer))
    })
}

/// The same as an operation; sluice_op_take_terminal has the result.
///
/// out      the operation, yours to release; it answers as sluice_call_wait
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_wait_start(call: *const Call, out: *mut *mut Op) -> Status {
    guard(|| {
        let waiting = handle::get(call)?.call.wait();
        op::start_with(out, waiting, Outcome::Terminal)
    })
}

/// Asks the handler to stop capturing: the live source behind a result stream, or every one of the call.
/// What it holds still comes, so read on; then the call ends by itself. Not a cancel. Nothing happens
/// if the call has ended or nothing of it is live.
///
/// stream   the stream's name (sluice_input_id); NULL: all
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_close_stream(
    call: *const Call,
    stream: *const c_char,
    stream_len: usize,
) -> Status {
    guard(|| {
        let stream = border::text_opt(stream, stream_len)?;
        handle::get(call)?.call.close_stream(stream);
        Ok(())
    })
}

/// Allows the call `limit_ms` from now. When it passes, whatever waits for the call anywhere (credit,
/// room on the link, a value, an event, the end) gets SLUICE_TIMED_OUT with what stood still in the
/// message, what came and was not read is forgotten, and the handler is told by a CANCEL with code
/// DEADLINE_EXCEEDED (L13). Nothing happens once the call has ended. The last limit that was set
/// counts.
///
/// limit_ms  milliseconds from now; 0 = at once, SLUICE_FOREVER = no limit
/// err       may be NULL
/// returns   SLUICE_OK, also after the end | SLUICE_IO if the system gives no thread to look after it |
///           SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads   any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_limit(
    call: *const Call,
    limit_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || Ok(handle::get(call)?.call.limit(limit(limit_ms))?))
}

/// Cancels the call: every waiter of it is released with the reason (L13, L17), and the handler is
/// told. Nothing happens if it has ended.
///
/// reason   borrowed; NULL: a plain SLUICE_CANCELLED by the user
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_cancel(
    call: *const Call,
    reason: *const ErrorObject,
) -> Status {
    guard(|| {
        let reason = if reason.is_null() {
            Error::new(ErrorKind::Cancelled, "the caller cancelled the call")
        } else {
            handle::get(reason)?.error()
        };
        handle::get(call)?.call.cancel(&reason);
        Ok(())
    })
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_terminal_retain(terminal: *const Terminal) -> Status {
    guard(|| handle::retain(terminal))
}

/// Takes a reference away.
///
/// terminal may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_terminal_release(terminal: *mut Terminal) -> Status {
    guard(|| handle::release(terminal))
}

/// 0: a call that ends otherwise has failed.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_terminal_exit_code(
    terminal: *const Terminal,
    out: *mut i64,
) -> Status {
    guard(|| border::put(out, handle::get(terminal)?.0.exit_code))
}

/// Final progress, 0 to 1.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_terminal_progress(
    terminal: *const Terminal,
    out: *mut f64,
) -> Status {
    guard(|| border::put(out, handle::get(terminal)?.0.progress))
}

/// What the handler had to say at the end.
///
/// out, out_len  borrowed from the terminal, NUL-terminated; out_len may be NULL; NULL and 0: nothing
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_terminal_message(
    terminal: *const Terminal,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(handle::get(terminal)?.1.as_ref(), out, out_len))
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_event_retain(event: *const Event) -> Status {
    guard(|| handle::retain(event))
}

/// Takes a reference away.
///
/// event    may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_event_release(event: *mut Event) -> Status {
    guard(|| handle::release(event))
}

/// What the event is.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_event_kind(event: *const Event, out: *mut EventKind) -> Status {
    guard(|| border::put(out, handle::get(event)?.kind))
}

/// Progress, 0 to 1; NAN for a log line.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_event_value(event: *const Event, out: *mut f64) -> Status {
    guard(|| border::put(out, handle::get(event)?.value))
}

/// Whom a log line is about; SLUICE_CLASS_DEFAULT: it does not say.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_event_class(event: *const Event, out: *mut Class) -> Status {
    guard(|| border::put(out, handle::get(event)?.class))
}

/// The level of a log line: "info", "warn", "error" or what the handler says.
///
/// out, out_len  borrowed from the event, NUL-terminated; out_len may be NULL; NULL and 0: progress has none
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_event_level(
    event: *const Event,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(handle::get(event)?.level.as_ref(), out, out_len))
}

/// The text.
///
/// out, out_len  borrowed from the event, NUL-terminated; out_len may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_event_message(
    event: *const Event,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(Some(&handle::get(event)?.message), out, out_len))
}

/// Moves everything from an input to an output and closes the output at the clean end. Credit is end
/// to end (L11): a chunk is given back upstream once it was taken downstream.
///
/// timeout_ms  milliseconds from now; SLUICE_FOREVER = no limit. What was moved when it passes stays
///             moved
/// out_chunks  may be NULL; how many chunks or items went through
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | what either side failed with |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once, one for each pair; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_forward(
    input: *const Input,
    output: *const Output,
    timeout_ms: i64,
    out_chunks: *mut u64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let (from, to) = (handle::get(input)?.stream(), handle::get(output)?.stream());
        let moved = block(sluicegate::forward(from, to), timeout_ms)?;
        border::put_opt(out_chunks, moved);
        Ok(())
    })
}

/// The same as an operation; sluice_op_take_count has the result.
///
/// out      the operation, yours to release; it answers as sluice_forward
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once, one for each pair; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_forward_start(
    input: *const Input,
    output: *const Output,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let (from, to) = (handle::get(input)?.stream(), handle::get(output)?.stream());
        op::start_with(out, sluicegate::forward(from, to), Outcome::Count)
    })
}
