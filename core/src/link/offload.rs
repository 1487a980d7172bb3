//! A call that waits by itself, a handshake above all, as something to wait for like any other.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::spawn_quiet;
use crate::error::{Error, ErrorKind};
use crate::sync::Arc;
use crate::wait::watched::{Watched, until};

struct Shared<T> {
    answer: Watched<Option<Result<T, Error>>>,
}

/// Runs `work` on a thread of its own, which takes no signal, from the first poll on. Dropping the future
/// does not stop it: what it answers is dropped then, which closes what it made.
///
/// # Errors
/// What `work` answers; `LimitReached` if there is no thread to be had.
pub async fn offload<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let shared = Arc::new(Shared { answer: Watched::new(None) });
    let worker = Arc::downgrade(&shared);
    let spawned = spawn_quiet(name, move || {
        let answer = catch_unwind(AssertUnwindSafe(work));
        let answer = answer.unwrap_or_else(|_| Err(ErrorKind::Panic.into()));
        if let Some(shared) = worker.upgrade() {
            shared.answer.update(|told| *told = Some(answer));
        }
    });
    spawned
        .map_err(|e| Error::new(ErrorKind::LimitReached, format!("cannot start a thread: {e}")))?;
    until(shared, |shared| &shared.answer, Option::take).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Deadline;
    use crate::wait::block_on;
    use std::sync::mpsc;

    #[test]
    fn work_begins_at_the_first_poll_and_answers() {
        let (tell, told) = mpsc::channel();
        let works = offload("test", move || {
            tell.send(()).expect("heard");
            Ok(7)
        });
        assert!(told.try_recv().is_err(), "not before");
        let answer = block_on(works, Deadline::NEVER).expect("no limit");
        assert_eq!(answer.expect("it answers"), 7);
        told.recv().expect("it ran");
        let fails = offload("test", || -> Result<(), Error> { panic!("inside") });
        let error = block_on(fails, Deadline::NEVER).expect("no limit").expect_err("it panicked");
        assert_eq!(error.kind(), ErrorKind::Panic);
    }

    #[test]
    fn an_answer_that_nobody_waits_for_is_dropped() {
        struct Made(mpsc::Sender<()>);
        impl Drop for Made {
            fn drop(&mut self) {
                let _heard = self.0.send(());
            }
        }
        let (go, waits) = mpsc::channel::<()>();
        let (dropped, is_dropped) = mpsc::channel();
        let works = offload("test", move || {
            let _go = waits.recv();
            Ok(Made(dropped))
        });
        assert!(block_on(works, Deadline::after(std::time::Duration::ZERO)).is_err(), "it waits");
        go.send(()).expect("it runs");
        is_dropped.recv().expect("it is dropped");
    }
}
