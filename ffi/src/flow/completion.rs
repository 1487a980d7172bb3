//! `sluice_completion`, `sluice_promise`: a result that comes once.

use std::future::Future;
use std::pin::Pin;

use sluicegate::Error;
use sluicegate::flow::{self, Status as State};

use super::element::{Element, Elements, Held};
use crate::border;
use crate::error::ErrorObject;
use crate::guard::{block, guard, guard_with};
use crate::handle::{self, object};
use crate::op::{self, Op, Outcome};
use crate::status::Status;

/// The result of a sink, or of a sluice_promise. Every waiter gets the same answer. Letting it go does
/// not cancel anything.
pub struct Completion(pub(super) Done);
object!(Completion = 32);

/// The side that settles a completion of yours. One transition wins; with the last reference a promise
/// that is pending is cancelled.
pub struct Promise(flow::Promise<Vec<Held>>);
object!(Promise = 33);

/// Where a completion stands. Everything but pending is final.
///
/// cbindgen:prefix-with-name=false
/// cbindgen:rename-all=None
#[allow(non_camel_case_types, reason = "spelled as in the header")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum CompletionState {
    /// Not settled yet.
    SLUICE_COMPLETION_PENDING = 0,
    /// It has its elements.
    SLUICE_COMPLETION_SUCCESS = 1,
    /// It failed.
    SLUICE_COMPLETION_FAILURE = 2,
    /// It was cancelled, or its promise went away.
    SLUICE_COMPLETION_CANCELLED = 3,
}

impl From<State> for CompletionState {
    fn from(state: State) -> Self {
        match state {
            State::Pending => CompletionState::SLUICE_COMPLETION_PENDING,
            State::Success => CompletionState::SLUICE_COMPLETION_SUCCESS,
            State::Failure => CompletionState::SLUICE_COMPLETION_FAILURE,
            State::Cancelled => CompletionState::SLUICE_COMPLETION_CANCELLED,
        }
    }
}

/// The completions of the core's sinks, whose results are lists here.
#[derive(Clone)]
pub(crate) enum Done {
    List(flow::Completion<Vec<Held>>),
    One(flow::Completion<Held>),
    Maybe(flow::Completion<Option<Held>>),
    Unit(flow::Completion<()>),
    /// One element, whose value is the number.
    Count(flow::Completion<u64>),
}

type Wait = Pin<Box<dyn Future<Output = Result<Vec<Held>, Error>> + Send>>;

impl Done {
    fn state(&self) -> CompletionState {
        match self {
            Done::List(done) => done.status(),
            Done::One(done) => done.status(),
            Done::Maybe(done) => done.status(),
            Done::Unit(done) => done.status(),
            Done::Count(done) => done.status(),
        }
        .into()
    }

    fn wait(&self) -> Wait {
        match self {
            Done::List(done) => Box::pin(done.wait()),
            Done::One(done) => {
                let wait = done.wait();
                Box::pin(async { Ok(vec![wait.await?]) })
            }
            Done::Maybe(done) => {
                let wait = done.wait();
                Box::pin(async { Ok(wait.await?.into_iter().collect()) })
            }
            Done::Unit(done) => {
                let wait = done.wait();
                Box::pin(async { wait.await.map(|()| Vec::new()) })
            }
            Done::Count(done) => {
                let wait = done.wait();
                Box::pin(async {
                    Ok(vec![Held::number(usize::try_from(wait.await?).unwrap_or(usize::MAX))])
                })
            }
        }
    }
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_completion_retain(completion: *const Completion) -> Status {
    guard(|| handle::retain(completion))
}

/// Takes a reference away. What runs goes on.
///
/// completion  may be NULL
/// returns     SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads     any number at once; does not wait; may run release functions
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_completion_release(completion: *mut Completion) -> Status {
    guard(|| handle::release(completion))
}

/// Where a completion stands.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_completion_state(
    completion: *const Completion,
    out: *mut CompletionState,
) -> Status {
    guard(|| border::put(out, handle::get(completion)?.0.state()))
}

/// Waits until a completion is settled.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// out         may be NULL; its elements, yours to release
/// err         may be NULL
/// returns     SLUICE_OK | SLUICE_TIMED_OUT: it is pending | what it failed with, or why it was cancelled
///             | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads     any number at once; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_completion_wait(
    completion: *const Completion,
    timeout_ms: i64,
    out: *mut *mut Elements,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let wait = handle::get(completion)?.0.wait();
        let elements = block(wait, timeout_ms)?;
        if out.is_null() { Ok(()) } else { border::put_new(out, Elements::new(elements)) }
    })
}

/// The same as an operation; sluice_op_take_elements has the result.
///
/// out      the operation, yours to release; it answers as sluice_completion_wait
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_completion_wait_start(
    completion: *const Completion,
    out: *mut *mut Op,
) -> Status {
    guard(|| op::start_with(out, handle::get(completion)?.0.wait(), Outcome::Elements))
}

/// Takes the result of an operation that answered SLUICE_OK: of a completion or an outlet.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: it has not answered, holds something else, or was
///          taken already | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_take_elements(op: *const Op, out: *mut *mut Elements) -> Status {
    guard(|| {
        border::need(out)?;
        let taken = handle::get(op)?.take_outcome(|outcome| match outcome {
            Outcome::Elements(elements) => Ok(elements),
            other => Err(other),
        })?;
        border::put_new(out, Elements::new(taken))
    })
}

/// Makes a promise, pending.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_promise_new(out: *mut *mut Promise) -> Status {
    guard(|| border::put_new(out, Promise(flow::Promise::new())))
}

/// Takes a reference away; a promise that is pending is cancelled.
///
/// promise  may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_promise_release(promise: *mut Promise) -> Status {
    guard(|| handle::release(promise))
}

/// The side that waits.
///
/// out      yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_promise_completion(
    promise: *const Promise,
    out: *mut *mut Completion,
) -> Status {
    guard(|| {
        let completion = handle::get(promise)?.0.completion();
        border::put_new(out, Completion(Done::List(completion)))
    })
}

/// Keeps a promise with one element.
///
/// element    taken over on SLUICE_OK; stays yours otherwise
/// out_first  may be NULL; false if it was settled before: the element is let go of then
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads    any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_promise_success(
    promise: *const Promise,
    element: *const Element,
    out_first: *mut bool,
) -> Status {
    guard(|| {
        let promise = handle::get(promise)?;
        let held = Held::take(element)?;
        border::put_opt(out_first, promise.0.try_success(vec![held]));
        Ok(())
    })
}

/// Fails a promise.
///
/// error      stays yours
/// out_first  may be NULL; false if it was settled before
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads    any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_promise_failure(
    promise: *const Promise,
    error: *const ErrorObject,
    out_first: *mut bool,
) -> Status {
    guard(|| {
        let (promise, error) = (handle::get(promise)?, handle::get(error)?.error());
        border::put_opt(out_first, promise.0.try_failure(error));
        Ok(())
    })
}

/// Cancels a promise.
///
/// out_first  may be NULL; false if it was settled before
/// returns    SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads    any number at once; does not wait; may run wakers of others
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_promise_cancel(
    promise: *const Promise,
    out_first: *mut bool,
) -> Status {
    guard(|| {
        border::put_opt(out_first, handle::get(promise)?.0.try_cancel());
        Ok(())
    })
}
