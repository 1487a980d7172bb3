//! The blocking verb: drives a future on the calling thread with a mutex and a condition variable.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};

use crate::check;
use crate::error::TimedOut;
use crate::sync::{Arc, Condvar, Mutex};
use crate::time::Deadline;

struct Parker {
    woken: Mutex<bool>,
    condvar: Condvar,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *self.woken.lock() = true;
        self.condvar.notify_all();
    }
}

/// Waits on the calling thread until `future` is ready or `deadline` has passed.
///
/// The future is asked at least once, so a deadline that has passed already makes this a `try`, and
/// it is asked a last time when the deadline passes. It is dropped before the answer is returned: a
/// wait that gave up has left its place in every line and taken nothing.
///
/// # Errors
/// [`TimedOut`] if the deadline passed first.
pub fn block_on<F: Future>(future: F, deadline: Deadline) -> Result<F::Output, TimedOut> {
    let mut future = pin!(future);
    let parker = Arc::new(Parker { woken: Mutex::new(false), condvar: Condvar::default() });
    let waker = Waker::from(Arc::clone(&parker));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Ok(output);
        }
        let mut woken = parker.woken.lock();
        let pace = check::pace(deadline);
        while !*woken {
            match pace.instant() {
                None => parker.condvar.wait(&mut woken),
                Some(_) if deadline.passed() => {
                    drop(woken);
                    return match future.as_mut().poll(&mut context) {
                        Poll::Ready(output) => Ok(output),
                        Poll::Pending => Err(TimedOut),
                    };
                }
                Some(_) if pace.passed() => break, // looks again
                Some(at) => parker.condvar.wait_until(&mut woken, at),
            }
        }
        *woken = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_ready_is_answered_even_after_the_deadline() {
        assert_eq!(block_on(async { 7 }, Deadline::after(Duration::ZERO)), Ok(7));
    }

    #[test]
    fn what_never_comes_times_out() {
        let never = std::future::pending::<()>();
        assert_eq!(block_on(never, Deadline::after(Duration::from_millis(5))), Err(TimedOut));
    }
}
