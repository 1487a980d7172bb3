//! Calls of the core that wait by themselves, a handshake above all, as futures: each runs on a
//! thread of its own, so that whoever waits for it does so in Python's way.

use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;

use sluicegate::{Error, ErrorKind};

use crate::signals;
use crate::sync::Mutex;

struct Shared<T> {
    answer: Option<Result<T, Error>>,
    waker: Option<Waker>,
}

/// Runs `work` on a thread of its own. Dropping the future does not stop it: its answer is dropped
/// then, which closes what it made.
pub(crate) fn offload<T: Send + 'static, W>(
    name: &'static str,
    work: W,
) -> impl Future<Output = Result<T, Error>> + Send + 'static
where
    W: FnOnce() -> Result<T, Error> + Send + 'static,
{
    let shared = Arc::new(Mutex::new(Shared { answer: None, waker: None }));
    let worker = Arc::downgrade(&shared);
    let spawned = thread::Builder::new().name(format!("sluicegate-{name}")).spawn(move || {
        signals::take_no_signals();
        let answer = work();
        let Some(shared) = worker.upgrade() else { return };
        let waker = {
            let mut shared = shared.lock();
            shared.answer = Some(answer);
            shared.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    });
    if let Err(error) = spawned {
        let message = format!("cannot start a thread: {error}");
        shared.lock().answer = Some(Err(Error::new(ErrorKind::LimitReached, message)));
    }
    std::future::poll_fn(move |context| {
        let mut shared = shared.lock();
        match shared.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                shared.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    })
}
