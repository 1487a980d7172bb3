//! `sluice_request`: one call, at the handler's end.

use libc::c_char;
use sluicegate::{AttributionClass, Reason};

use crate::border::{self, Text};
use crate::call::Call;
use crate::error::{self, ErrorObject};
use crate::guard::{Fail, block, guard, guard_with, limit};
use crate::handle::{self, object};
use crate::input::Input;
use crate::op::{self, Op, Outcome};
use crate::output::Output;
use crate::sender::Sender;
use crate::status::Status;

/// One call that a handler serves. It ends once: finished, failed, or, when the last handle of it and
/// of its streams is gone, as failed.
pub struct Request {
    request: sluicegate::Request,
    id: Text,
    cap: Text,
}
object!(Request = 15);

impl Request {
    pub(crate) fn new(request: sluicegate::Request) -> Self {
        Request { id: Text::new(&request.id().to_string()), cap: Text::new(request.cap()), request }
    }

    fn main_output(&self) -> Result<sluicegate::OutputStream, Fail> {
        self.request.try_output().ok_or_else(|| border::invalid("the cap declares no output"))
    }
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_retain(request: *const Request) -> Status {
    guard(|| handle::retain(request))
}

/// Takes a reference away. The last one, of the request and its streams, fails an unfinished request.
///
/// request  may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_release(request: *mut Request) -> Status {
    guard(|| handle::release(request))
}

/// The request's id, as text.
///
/// out, out_len  borrowed from the request, NUL-terminated; out_len may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_id(
    request: *const Request,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(Some(&handle::get(request)?.id), out, out_len))
}

/// The cap that was called.
///
/// out, out_len  borrowed from the request, NUL-terminated; out_len may be NULL
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_cap(
    request: *const Request,
    out: *mut *const c_char,
    out_len: *mut usize,
) -> Status {
    guard(|| border::lend_text(Some(&handle::get(request)?.cap), out, out_len))
}

/// Takes the next argument stream, as they open.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         the input, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_END_OF_STREAM: the caller has ended its body | why
///             the request has to stop |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_next_input(
    request: *const Request,
    timeout_ms: i64,
    out: *mut *mut Input,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let waiting = handle::get(request)?.request.next_input();
        let answer = block(waiting, timeout_ms)?.ok_or(Status::SLUICE_END_OF_STREAM)?;
        border::put_new(out, Input::new(answer))
    })
}

/// The same as an operation; sluice_op_take_input has the result.
///
/// out      the operation, yours to release; it answers as sluice_request_next_input
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_next_input_start(
    request: *const Request,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let waiting = handle::get(request)?.request.next_input();
        op::start_opt(out, waiting, Outcome::Input)
    })
}

/// Takes the next argument stream, for a handler that needs one.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         the input, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_PROTOCOL: the caller ended its body without one |
///             why the request has to stop |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_input(
    request: *const Request,
    timeout_ms: i64,
    out: *mut *mut Input,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let waiting = handle::get(request)?.request.input();
        let answer = block(waiting, timeout_ms)?;
        border::put_new(out, Input::new(answer))
    })
}

/// The same as an operation; sluice_op_take_input has the result.
///
/// out      the operation, yours to release; it answers as sluice_request_input
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_input_start(
    request: *const Request,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let waiting = handle::get(request)?.request.input();
        op::start_with(out, waiting, Outcome::Input)
    })
}

/// The main output: the same stream each time.
///
/// out      the output, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also if the cap declares no output | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_output(
    request: *const Request,
    out: *mut *mut Output,
) -> Status {
    guard(|| {
        border::need(out)?;
        border::put_new(out, Output::new(handle::get(request)?.main_output()?))
    })
}

/// Another declared output, by its media: the same stream each time.
///
/// out      the output, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also if the cap declares none such | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_output_for(
    request: *const Request,
    media: *const c_char,
    media_len: usize,
    out: *mut *mut Output,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let media = border::text(media, media_len)?;
        let stream = handle::get(request)?.request.output_for(media)?;
        border::put_new(out, Output::new(stream))
    })
}

/// A detached emitter on the main output, for another thread.
///
/// out      the sender, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also if the cap declares no output | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_sender(
    request: *const Request,
    out: *mut *mut Sender,
) -> Status {
    guard(|| {
        border::need(out)?;
        border::put_new(out, Sender(handle::get(request)?.main_output()?.sender()))
    })
}

/// Says how far the handler is, 0 to 1. Costs no credit (L14).
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_progress(
    request: *const Request,
    value: f64,
    message: *const c_char,
    message_len: usize,
) -> Status {
    guard(|| {
        let message = border::text(message, message_len)?;
        handle::get(request)?.request.progress(value, message);
        Ok(())
    })
}

/// Says something to people. Costs no credit (L14).
///
/// level  for example "info"; cls  whom it is about, SLUICE_CLASS_DEFAULT: the program itself
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_log(
    request: *const Request,
    level: *const c_char,
    level_len: usize,
    cls: i32,
    message: *const c_char,
    message_len: usize,
) -> Status {
    guard(|| {
        let (level, message) =
            (border::text(level, level_len)?, border::text(message, message_len)?);
        let class = error::class(cls)?.unwrap_or(AttributionClass::Internal);
        handle::get(request)?.request.log(level, class, message);
        Ok(())
    })
}

/// Calls a cap through the host.
///
/// out      the call, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_LIMIT_REACHED | why the link is over | SLUICE_INVALID_ARGUMENT |
///          SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_peer(
    request: *const Request,
    cap: *const c_char,
    cap_len: usize,
    out: *mut *mut Call,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        border::need(out)?;
        let cap = border::text(cap, cap_len)?;
        border::put_new(out, Call::new(handle::get(request)?.request.peer(cap)?))
    })
}

/// Allows the request `limit_ms` from now. When it passes, the caller is told by an ERR with code
/// DEADLINE_EXCEEDED, whatever waits for the request gets SLUICE_TIMED_OUT with what stood still in
/// the message (L13), and what the handler still does for it has no effect. Nothing happens once the
/// request has ended. The last limit that was set counts.
///
/// limit_ms  milliseconds from now; 0 = at once, SLUICE_FOREVER = no limit
/// err       may be NULL
/// returns   SLUICE_OK, also after the end | SLUICE_IO if the system gives no thread to look after it |
///           SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads   any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_limit(
    request: *const Request,
    limit_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || Ok(handle::get(request)?.request.limit(limit(limit_ms))?))
}

/// Why the handler has to stop: cancelled, failed by the protocol, or the host is gone.
///
/// out      the reason, yours to release; NULL: it need not stop
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_cancel_reason(
    request: *const Request,
    out: *mut *mut ErrorObject,
) -> Status {
    guard(|| error::put_reason(out, handle::get(request)?.request.is_cancelled()))
}

/// Waits until the handler has to stop.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         the reason, yours to release; of kind SLUICE_CLOSED if the request was finished before
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_cancelled(
    request: *const Request,
    timeout_ms: i64,
    out: *mut *mut ErrorObject,
) -> Status {
    guard(|| {
        border::need(out)?;
        let stopping = reason(handle::get(request)?.request.cancelled());
        error::put_reason(out, Some(block(stopping, timeout_ms)?))
    })
}

/// The same as an operation; sluice_op_take_reason has the result.
///
/// out      the operation, yours to release; it answers as sluice_request_cancelled
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_cancelled_start(
    request: *const Request,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let stopping = reason(handle::get(request)?.request.cancelled());
        op::start_with(out, stopping, Outcome::Reason)
    })
}

async fn reason(stopping: impl Future<Output = Reason>) -> Result<Reason, sluicegate::Error> {
    Ok(stopping.await)
}

/// Ends the request as done. Every output is flushed and closed first; a declared output that was
/// never written to is sent as an empty stream.
///
/// progress    final progress, 0 to 1; NAN: none, which reads as 1
/// message     may be NULL: none
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT | why the request had to stop; the caller is told that
///             then |
///             SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_finish(
    request: *const Request,
    progress: f64,
    message: *const c_char,
    message_len: usize,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let waiting = finish(&*handle::get(request)?, progress, message, message_len)?;
        block(waiting, timeout_ms)
    })
}

/// The same as an operation.
///
/// out      the operation, yours to release; it answers as sluice_request_finish
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_finish_start(
    request: *const Request,
    progress: f64,
    message: *const c_char,
    message_len: usize,
    out: *mut *mut Op,
) -> Status {
    guard(|| {
        let waiting = finish(&*handle::get(request)?, progress, message, message_len)?;
        op::start_unit(out, waiting)
    })
}

fn finish(
    request: &Request,
    progress: f64,
    message: *const c_char,
    message_len: usize,
) -> Result<impl Future<Output = Result<(), sluicegate::Error>> + Send + use<>, Fail> {
    let message = border::text_opt(message, message_len)?.map(str::to_owned);
    Ok(request.request.finish((!progress.is_nan()).then_some(progress), message))
}

/// Ends the request as failed. The first end stays.
///
/// error    borrowed; what the caller is told
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_request_fail(
    request: *const Request,
    error: *const ErrorObject,
) -> Status {
    guard(|| {
        let error = handle::get(error)?.error();
        handle::get(request)?.request.fail(&error);
        Ok(())
    })
}
