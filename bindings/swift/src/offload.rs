//! Calls of core that hold a thread: a handshake, the start of a process. They get one of their
//! own, so that no task's thread waits.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Poll, Waker};

use sluicegate::{Error, ErrorKind};

use crate::sync::Mutex;

enum State<T> {
    Running(Option<Waker>),
    Done(Option<Result<T, Error>>),
}

/// Runs `work` on a thread of its own, from now on. Whoever drops the future does not stop the
/// work; what it made is dropped when it ends.
pub(crate) fn offload<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> impl Future<Output = Result<T, Error>> + Send + 'static {
    let shared = Arc::new(Mutex::new(State::Running(None)));
    let theirs = Arc::clone(&shared);
    let spawned = std::thread::Builder::new().name(format!("sluicegate-{name}")).spawn(move || {
        let outcome =
            catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(ErrorKind::Panic.into()));
        let before = std::mem::replace(&mut *theirs.lock(), State::Done(Some(outcome)));
        if let State::Running(Some(waker)) = before {
            waker.wake(); // with the lock released
        }
    });
    let refused = spawned
        .err()
        .map(|error| Error::new(ErrorKind::LimitReached, format!("no thread for {error}")));
    std::future::poll_fn(move |context| {
        if let Some(error) = &refused {
            return Poll::Ready(Err(error.clone()));
        }
        let mut state = shared.lock();
        match &mut *state {
            State::Done(outcome) => {
                Poll::Ready(outcome.take().expect("a future is not polled after its answer"))
            }
            State::Running(waker) => {
                let replaced = waker.replace(context.waker().clone());
                drop(state);
                drop(replaced); // foreign code may run when it goes: never under the lock
                Poll::Pending
            }
        }
    })
}
