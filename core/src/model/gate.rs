//! The sender's side of a window: how many chunks may still be sent.

/// A gate's state. Units are chunks. Closed gates keep what was available, for reading only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Chunks that may be sent now.
    pub available: u64,
    /// True once closed; a gate never opens again.
    pub closed: bool,
}

/// What an acquire is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "credit taken and not sent is lost"]
pub enum Acquire {
    /// The credit is the caller's.
    Taken,
    /// There is not enough; nothing was taken.
    Wait,
    /// The gate is closed, however much is left.
    Closed,
}

impl Gate {
    /// An open gate with `window` chunks. Zero is a legal gate.
    #[must_use]
    pub const fn opened(window: u64) -> Self {
        Gate { available: window, closed: false }
    }

    /// Takes `n` chunks of credit or says why not (L9). Zero takes nothing and never waits on an
    /// open gate.
    pub fn acquire(&mut self, n: u64) -> Acquire {
        if self.closed {
            return Acquire::Closed;
        }
        match self.available.checked_sub(n) {
            Some(left) => {
                self.available = left;
                Acquire::Taken
            }
            None => Acquire::Wait,
        }
    }

    /// Adds `n` chunks, up to 2^64 − 1. A closed gate stays as it is (L13).
    pub fn grant(&mut self, n: u64) {
        if !self.closed {
            self.available = self.available.saturating_add(n);
        }
    }

    /// Puts back `n` chunks that were taken for somebody who never used them, also if the gate was
    /// closed since: granted stays used plus available.
    pub fn give_back(&mut self, n: u64) {
        self.available = self.available.saturating_add(n);
    }

    /// Closes the gate. False if it was closed already: the first reason stays (L13).
    #[must_use = "a second close must not replace the first reason"]
    pub fn close(&mut self) -> bool {
        !std::mem::replace(&mut self.closed, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_nothing_from_an_empty_open_gate_succeeds() {
        let mut gate = Gate::opened(0);
        assert_eq!(gate.acquire(0), Acquire::Taken);
        assert_eq!(gate.acquire(1), Acquire::Wait);
    }

    #[test]
    fn a_closed_gate_answers_closed_to_everything_and_keeps_its_count() {
        let mut gate = Gate::opened(5);
        assert!(gate.close());
        assert!(!gate.close());
        gate.grant(7);
        assert_eq!(gate.acquire(0), Acquire::Closed);
        assert_eq!(gate.available, 5);
    }

    #[test]
    fn grants_saturate() {
        let mut gate = Gate::opened(1);
        gate.grant(u64::MAX);
        assert_eq!(gate.available, u64::MAX);
        assert_eq!(gate.acquire(u64::MAX), Acquire::Taken);
        assert_eq!(gate.available, 0);
    }
}
