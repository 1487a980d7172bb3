//! Blueprints that run once, since what they read or write is open already.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sluicegate::{Error, ErrorKind};

use super::blueprint::{SinkCore, SourceCore};
use super::mats::Mats;

thread_local! {
    /// Why the run that this thread begins is refused. What makes a materialised value has no other
    /// way to say it.
    static REFUSED: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// Passes a materialised value on, once; then refuses the run with `message`.
fn once(message: String) -> impl Fn(Mats) -> Mats + Send + Sync + 'static {
    let used = AtomicBool::new(false);
    move |mats| {
        if used.swap(true, Ordering::AcqRel) {
            let error = Error::new(ErrorKind::AlreadySubscribed, message.clone());
            REFUSED.set(Some(error));
            resume_unwind(Box::new("a blueprint that runs once was run again"));
        }
        mats
    }
}

/// Begins a run, and says why it was refused where that was said here.
pub(super) fn running<T>(run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let outer = REFUSED.take();
    let answer = run();
    let refused = REFUSED.replace(outer);
    answer.map_err(|error| refused.unwrap_or(error))
}

#[uniffi::export]
impl SourceCore {
    /// The same source, which runs once; another run fails with `AlreadySubscribed` and this message.
    pub fn once(&self, message: String) -> Arc<SourceCore> {
        Arc::new(SourceCore(self.0.map_mat(once(message))))
    }
}

#[uniffi::export]
impl SinkCore {
    /// The same sink, which runs once; another run fails with `AlreadySubscribed` and this message.
    pub fn once(&self, message: String) -> Arc<SinkCore> {
        Arc::new(SinkCore(self.0.map_mat(once(message))))
    }
}
