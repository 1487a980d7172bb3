//! [`CreditWindow`]: the receiver's side of one stream.

use crate::error::{Error, ErrorKind};
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
    state: Mutex<Window>,
}

impl std::fmt::Debug for Mutex<Window> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.lock().fmt(f)
    }
}

impl CreditWindow {
    /// A window of `window` chunks that makes a grant due for each half of it consumed.
    #[must_use]
    pub fn new(window: u64) -> Self {
        CreditWindow { size: window, state: Mutex::new(Window::opened(window)) }
    }

    /// A window whose grants are due after `batch` chunks. The batch is held between 1 and half the
    /// window, so that it can never stall the sender.
    #[must_use]
    pub fn with_batch(window: u64, batch: u64) -> Self {
        CreditWindow { size: window, state: Mutex::new(Window::with_batch(window, batch)) }
    }

    /// Takes one step of the model and keeps what it answers as the state.
    fn step<R>(&self, decide: impl FnOnce(Window) -> (Window, R)) -> R {
        let mut state = self.state.lock();
        let (next, answer) = decide(*state);
        *state = next;
        answer
    }

    /// A chunk arrives.
    ///
    /// # Errors
    /// [`Violation`] if no credit is left for it.
    pub fn arrive(&self) -> Result<(), Violation> {
        match self.step(Window::arrive) {
            Arrival::Accepted => Ok(()),
            Arrival::Violation => Err(Violation),
        }
    }

    /// A chunk was consumed; answers the grant now due. Call it once for each accepted chunk that
    /// was not [`continued`](Self::continued).
    #[must_use = "a grant that is not sent starves the sender"]
    pub fn consumed(&self) -> u64 {
        self.step(Window::consumed)
    }

    /// Everything that is pending, to be sent before any wait.
    #[must_use = "a grant that is not sent starves the sender"]
    pub fn flush(&self) -> u64 {
        self.step(Window::flush)
    }

    /// A chunk that only continues an item is given back at once, alone: answers 1.
    #[must_use = "a grant that is not sent starves the sender"]
    pub fn continued(&self) -> u64 {
        self.step(Window::continued)
    }

    /// Chunks that may still arrive.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.state.lock().remaining
    }

    /// Chunks consumed and not granted back yet.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.state.lock().pending
    }

    /// How many consumed chunks make a grant due.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.state.lock().batch
    }

    /// The window that this was opened with.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }
}
