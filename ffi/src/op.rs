//! `sluice_op`: anything that waits, as an operation to poll by hand.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread::{self, ThreadId};

use sluicegate::flow::{Offer, SubscriberEvent};
use sluicegate::wait::{Bell, Op as CoreOp, block_on};
use sluicegate::{Deadline, Error, InputStream, Value};

use crate::border;
use crate::error::ErrorObject;
use crate::flow::element::Held;
use crate::guard::{Fail, contain, guard, guard_with};
use crate::handle::{self, object};
use crate::served::Served;
use crate::status::Status;
use crate::sync::{self, Condvar, Mutex};
use crate::waker::{self, Ringer};

/// What an operation answered.
pub(crate) enum Outcome {
    /// Nothing but that it is done.
    Done,
    Item(sluicegate::Item),
    Items(Vec<sluicegate::Item>),
    Input(InputStream),
    Request(sluicegate::Request),
    Peer(sluicegate::Peer),
    Session(Served),
    Terminal(sluicegate::Terminal),
    Event(sluicegate::Event),
    Reason(Error),
    Count(u64),
    Elements(Vec<Held>),
    Offer(Offer),
    Told(SubscriberEvent<Held>),
}

impl Outcome {
    /// A value that came from no stream.
    pub(crate) fn item(value: Value) -> Self {
        Outcome::Item(sluicegate::Item { value, meta: None })
    }
}

type Inner = CoreOp<Result<Outcome, Fail>>;

/// A waiting operation in progress: acquire, receive, write, the next request.
pub struct Op {
    state: Mutex<State>,
    changed: Condvar,
}
object!(Op = 2);

enum State {
    Idle(Inner),
    /// Some call is asking. `gone`: it was released meanwhile. `sleeper`: wakes the call if it sleeps.
    Asking {
        by: ThreadId,
        gone: bool,
        sleeper: Option<Waker>,
    },
    Answered(Option<Outcome>),
    Over,
}

/// Writes an operation that is `future`. Nothing happens before its first poll.
pub(crate) fn start(
    out: *mut *mut Op,
    future: impl Future<Output = Result<Outcome, Fail>> + Send + 'static,
) -> Result<(), Fail> {
    put(out, CoreOp::new(future))
}

/// The same for a core operation, whose result becomes an outcome.
pub(crate) fn start_with<T: 'static>(
    out: *mut *mut Op,
    future: impl Future<Output = Result<T, Error>> + Send + 'static,
    outcome: fn(T) -> Outcome,
) -> Result<(), Fail> {
    start(out, async move { Ok(outcome(future.await?)) })
}

/// The same where there may be none: the operation answers `SLUICE_END_OF_STREAM` then.
pub(crate) fn start_opt<T: 'static>(
    out: *mut *mut Op,
    future: impl Future<Output = Result<Option<T>, Error>> + Send + 'static,
    outcome: fn(T) -> Outcome,
) -> Result<(), Fail> {
    start(out, async move {
        match future.await? {
            Some(some) => Ok(outcome(some)),
            None => Err(Status::SLUICE_END_OF_STREAM.into()),
        }
    })
}

/// The same where there is no result.
pub(crate) fn start_unit(
    out: *mut *mut Op,
    future: impl Future<Output = Result<(), Error>> + Send + 'static,
) -> Result<(), Fail> {
    start_with(out, future, |()| Outcome::Done)
}

/// The same, asked once already: the waker is fired when it is worth asking again, at once if there
/// is an answer.
pub(crate) fn start_ready(
    out: *mut *mut Op,
    future: impl Future<Output = Result<Outcome, Fail>> + Send + 'static,
    ringer: Ringer,
) -> Result<(), Fail> {
    let bell = Bell::new(move || ringer.ring());
    let ring = Arc::clone(&bell);
    let mut op = CoreOp::new(future);
    match op.poll(move || ring.ring()) {
        None => put(out, op),
        Some(answer) => {
            put(out, CoreOp::new(std::future::ready(answer)))?;
            bell.ring();
            Ok(())
        }
    }
}

fn put(out: *mut *mut Op, inner: Inner) -> Result<(), Fail> {
    border::put_new(out, Op { state: Mutex::new(State::Idle(inner)), changed: Condvar::new() })
}

/// The operation while one call has it. Puts it back, or lets it go if it was released meanwhile.
struct Asking<'a> {
    op: &'a Op,
    inner: Option<Inner>,
    answer: Option<Outcome>,
}

impl Op {
    fn take(&self) -> Result<Asking<'_>, Fail> {
        let mut state = self.state.lock();
        if !matches!(*state, State::Idle(_)) {
            return Err(Status::SLUICE_INVALID_ARGUMENT.into());
        }
        let asking = State::Asking { by: thread::current().id(), gone: false, sleeper: None };
        let State::Idle(inner) = std::mem::replace(&mut *state, asking) else {
            unreachable!("looked at under the same lock");
        };
        Ok(Asking { op: self, inner: Some(inner), answer: None })
    }

    /// Cancels and joins. Once this returns no waker of this operation runs, unless this is called
    /// by that waker.
    fn cancel(&self) {
        let mut state = self.state.lock();
        loop {
            match &mut *state {
                State::Asking { by, gone, sleeper } => {
                    *gone = true;
                    if let Some(sleeper) = sleeper {
                        sleeper.wake_by_ref();
                    }
                    if *by == thread::current().id() {
                        return; // called by the waker; the poll around it lets go
                    }
                    state = sync::wait(&self.changed, state);
                }
                State::Idle(_) | State::Answered(_) | State::Over => {
                    let old = std::mem::replace(&mut *state, State::Over);
                    drop(state);
                    drop(old); // joins the bell; may wake whoever stood behind in line
                    return;
                }
            }
        }
    }

    pub(crate) fn take_outcome<T>(
        &self,
        pick: impl FnOnce(Outcome) -> Result<T, Outcome>,
    ) -> Result<T, Fail> {
        let mut state = self.state.lock();
        let State::Answered(place) = &mut *state else {
            return Err(Status::SLUICE_INVALID_ARGUMENT.into());
        };
        let outcome = place.take().ok_or(Status::SLUICE_INVALID_ARGUMENT)?;
        pick(outcome).map_err(|other| {
            *place = Some(other);
            Status::SLUICE_INVALID_ARGUMENT.into()
        })
    }
}

impl Asking<'_> {
    fn inner(&mut self) -> &mut Inner {
        self.inner.as_mut().expect("held until it is dropped")
    }

    /// Leaves word how to wake this call; false if the operation was released meanwhile.
    fn sleeps(&self, waker: &Waker) -> bool {
        match &mut *self.op.state.lock() {
            State::Asking { gone, sleeper, .. } if !*gone => {
                *sleeper = Some(waker.clone());
                true
            }
            _ => false,
        }
    }

    fn finish(&mut self, answer: Result<Outcome, Fail>) -> Result<(), Fail> {
        self.answer = Some(answer?);
        Ok(())
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let inner = self.inner.take().expect("dropped once");
        let mut state = self.op.state.lock();
        let gone = matches!(*state, State::Asking { gone: true, .. });
        let (next, spent) = match (self.answer.take(), gone) {
            (answer, true) => (State::Over, Some((Some(inner), answer))),
            (Some(answer), false) => (State::Answered(Some(answer)), Some((Some(inner), None))),
            (None, false) if inner.is_done() || thread::panicking() => {
                (State::Over, Some((Some(inner), None)))
            }
            (None, false) => (State::Idle(inner), None),
        };
        if gone {
            // Join first, then say so: whoever released the operation waits for exactly this.
            drop(state);
            drop(spent);
            state = self.op.state.lock();
            *state = next;
            self.op.changed.notify_all();
        } else {
            *state = next;
            self.op.changed.notify_all();
            drop(state);
            drop(spent);
        }
    }
}

/// Asks an operation for its answer.
///
/// waker    may be NULL: just ask. Withdraws and releases the waker of the poll before. Its release
///          function runs exactly once, whatever this call answers
/// err      may be NULL; written for an error that has detail
/// returns  SLUICE_OK: done, take the result | SLUICE_WAIT: the waker fires once when asking again
///          is worth while, and may have fired already | SLUICE_END_OF_STREAM: there is no more |
///          another error: failed | SLUICE_INVALID_ARGUMENT: it has answered before, or another call
///          is asking it right now | SLUICE_FORKED
/// threads  one at a time on one operation; does not wait; not from inside its own waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_poll(
    op: *const Op,
    waker: *const waker::Waker,
    err: *mut *mut ErrorObject,
) -> Status {
    let mut ringer = Ringer::take(waker);
    guard_with(err, || {
        if let Some(ringer) = &ringer {
            ringer.check()?;
        }
        let op = handle::get(op)?;
        let mut asking = op.take()?;
        let answer = match ringer.take() {
            Some(ringer) => asking.inner().poll(move || ringer.ring()),
            None => asking.inner().try_now(),
        };
        match answer {
            Some(answer) => asking.finish(answer),
            None => Err(Status::SLUICE_WAIT.into()),
        }
    })
}

/// Waits on this thread until an operation answers.
///
/// timeout_ms  milliseconds from now; 0 = do not wait, SLUICE_FOREVER = no limit
/// err         may be NULL; written for an error that has detail
/// returns     as sluice_op_poll, with SLUICE_TIMED_OUT for SLUICE_WAIT: the operation goes on, poll
///             or wait again | SLUICE_CANCELLED: it was released meanwhile
/// threads     one at a time on one operation; waits; not from inside a waker
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_wait(
    op: *const Op,
    timeout_ms: i64,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let deadline = Deadline::after_millis(timeout_ms);
        let op = handle::get(op)?;
        let mut asking = op.take()?;
        let answer = block_on(
            poll_fn(|context| {
                if !asking.sleeps(context.waker()) {
                    return Poll::Ready(Err(Status::SLUICE_CANCELLED.into()));
                }
                let bell = context.waker().clone();
                asking.inner().poll(move || bell.wake()).map_or(Poll::Pending, Poll::Ready)
            }),
            deadline,
        );
        match answer {
            Ok(answer) => asking.finish(answer),
            Err(_) => {
                asking.inner().withdraw();
                Err(Status::SLUICE_TIMED_OUT.into())
            }
        }
    })
}

/// Cancels an operation and lets it go: it leaves its line and takes nothing. When this returns, its
/// waker is not running, never will, and was released; unless it is that waker that calls.
/// Operations have one owner and no retain.
///
/// op       may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any; waits only for a waker that is running
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_op_release(op: *mut Op) -> Status {
    guard(|| {
        if op.is_null() {
            return Ok(());
        }
        let cancelled = handle::get(op.cast_const()).and_then(|op| {
            contain(|| {
                op.cancel();
                Ok(())
            })
        });
        handle::release(op)?;
        cancelled
    })
}
