//! [`Switch`]: ends a run from outside.

use std::future::Future;
use std::task::Poll;

use super::blueprint::Flow;
use super::context::{Context, Gone, Signal, Up, Upstream};
use super::plan::Tempo;
use crate::error::{Error, ErrorKind};
use crate::sync::Arc;
use crate::wait::watched::{Watched, until};

/// The control of [`Flow::switch`]. Cheap to clone; safe from any thread. Dropping it does nothing.
#[derive(Clone)]
pub struct Switch(Arc<Thrown>);

struct Thrown(Watched<State>);

#[derive(Default)]
struct State {
    why: Option<Error>,
    /// The run does not go through the switch any more.
    gone: bool,
}

impl Switch {
    /// Cancels what is above, and ends what is below with an error of kind `Cancelled`: the result of
    /// the run is cancelled, which is no failure. False if that was done before; what has ended stays
    /// as it is.
    pub fn cancel(&self) -> bool {
        self.cancel_with(Error::new(ErrorKind::Cancelled, "the run was cancelled"))
    }

    /// The same, saying why: the error has the message, code and cause of `reason`. Its kind is
    /// `Cancelled` whatever the reason is.
    pub fn cancel_with(&self, reason: Error) -> bool {
        let reason = cancel(reason);
        let mut reason = Some(reason); // what is not used goes with the lock released
        self.0.0.update(|state| {
            if state.why.is_none() {
                state.why = reason.take();
            }
        });
        reason.is_none()
    }

    /// Waits until the switch has nothing to end any more: what it stands in has ended, in whatever way.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let thrown = Arc::clone(&self.0);
        until(thrown, |thrown| &thrown.0, |state: &mut State| state.gone.then_some(()))
    }
}

/// The reason as a cancel.
fn cancel(reason: Error) -> Error {
    if reason.kind() == ErrorKind::Cancelled {
        return reason;
    }
    let (code, class, text) =
        (reason.code().to_owned(), reason.class(), reason.message().to_owned());
    let why = Error::with_code(ErrorKind::Cancelled, code, class, text);
    match reason.cause() {
        Some(cause) => why.with_cause(cause.clone()),
        None => why,
    }
}

impl std::fmt::Debug for Switch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Switch").field(&self.0.0.with(|state| state.why.clone())).finish()
    }
}

/// Passes everything on: demand is the neighbours' affair, and is counted there.
struct Cut<T> {
    up: Up<T>,
    thrown: Arc<Thrown>,
    key: Option<u64>,
}

impl<T> Upstream<T> for Cut<T> {
    fn request(&mut self, n: u64) {
        self.up.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        match self.thrown.0.ask(&mut self.key, context.waker(), |state| state.why.clone()) {
            Some(why) => {
                self.up = Box::new(Gone); // cancelled before it is told
                Poll::Ready(Signal::Fail(why))
            }
            None => self.up.poll(context),
        }
    }
}

impl<T> Drop for Cut<T> {
    fn drop(&mut self) {
        self.thrown.0.forget(&mut self.key);
        self.thrown.0.update(|state| state.gone = true);
    }
}

impl<T: Send + 'static> Flow<T, T, Switch> {
    /// Passes everything on, until its control ends the run from outside.
    #[must_use]
    pub fn switch() -> Self {
        Flow::from_make(|_, up| {
            let thrown = Arc::new(Thrown(Watched::new(State::default())));
            let cut = Cut { up, thrown: Arc::clone(&thrown), key: None };
            Ok((Box::new(cut) as Up<T>, Switch(thrown)))
        })
        .at(Tempo::EACH)
    }
}
