//! [`CreditWindow`]: the receiver's side of one stream.

use crate::error::{Error, ErrorKind};
use crate::model::gate::Gate;
use crate::model::window::{Arrival, Window};
use crate::sync::Mutex;

/// A chunk came that no credit had been granted for (L12). It must not be delivered; the window is
/// as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a chunk came beyond the granted window")]
pub struct Violation;

impl From<Violation> for Error {
    fn from(violation: Violation) -> Self {
        Error::new(ErrorKind::CreditViolation, violation.to_string())
    }
}

/// What a receiver has promised room for, in chunks, and what it owes the sender (L10).
///
/// Any number of threads may use it at once; each step is atomic, so concurrent consumers never
/// grant twice. A returned grant of 0 means: send nothing. The step raises the window by exactly
/// what it answers, so what it answers must be sent.
#[derive(Debug)]
pub struct CreditWindow {
    size: u64,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    window: Window,
    /// All that was ever given, the first window with it: a gate that nothing is taken from.
    granted: Gate,
}

impl std::fmt::Debug for Mutex<State> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.lock().fmt(f)
    }
}

impl CreditWindow {
    /// A window of `window` chunks that makes a grant due for each half of it consumed.
    #[must_use]
    pub fn new(window: u64) -> Self {
        CreditWindow::opened(window, Window::opened(window))
    }

    /// A window whose grants are due after `batch` chunks. The batch is held between 1 and half the
    /// window, so that it can never stall the sender.
    #[must_use]
    pub fn with_batch(window: u64, batch: u64) -> Self {
        CreditWindow::opened(window, Window::with_batch(window, batch))
    }

    fn opened(size: u64, window: Window) -> Self {
        CreditWindow { size, state: Mutex::new(State { window, granted: Gate::opened(size) }) }
    }

    /// Takes one step of the model that answers a grant, and keeps its state.
    fn give(&self, decide: impl FnOnce(Window) -> (Window, u64)) -> u64 {
        let mut state = self.state.lock();
        let (window, n) = decide(state.window);
        *state = State { window, granted: state.granted.grant(n) };
        n
    }

    /// A chunk arrives.
    ///
    /// # Errors
    /// [`Violation`] if no credit is left for it.
    pub fn arrive(&self) -> Result<(), Violation> {
        let mut state = self.state.lock();
        let (window, arrival) = state.window.arrive();
        state.window = window;
        drop(state);
        match arrival {
            Arrival::Accepted => Ok(()),
            Arrival::Violation => Err(Violation),
        }
    }

    /// A chunk was consumed; answers the grant now due. Call it once for each accepted chunk that
    /// was not [`continued`](Self::continued).
    #[must_use = "a grant that is not sent starves the sender"]
    pub fn consumed(&self) -> u64 {
        self.give(Window::consumed)
    }

    /// Everything that is pending, to be sent before any wait.
    #[must_use = "a grant that is not sent starves the sender"]
    pub fn flush(&self) -> u64 {
        self.give(Window::flush)
    }

    /// A chunk that only continues an item is given back at once, alone: answers 1.
    #[must_use = "a grant that is not sent starves the sender"]
    pub fn continued(&self) -> u64 {
        self.give(Window::continued)
    }

    /// Chunks that may still arrive.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.state.lock().window.remaining
    }

    /// Chunks consumed and not granted back yet.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.state.lock().window.pending
    }

    /// How many consumed chunks make a grant due.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.state.lock().window.batch
    }

    /// All that was ever granted, the window that this was opened with included: what came and what
    /// may still come.
    #[must_use]
    pub fn granted(&self) -> u64 {
        self.state.lock().granted.available
    }

    /// The window that this was opened with.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }
}
