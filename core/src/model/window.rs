//! The receiver's side of a window: how many chunks may still arrive, and what is owed for those
//! that were consumed.

/// A window's state. Units are chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Chunks that may still arrive without a violation.
    pub remaining: u64,
    /// Chunks consumed and not granted back yet.
    pub pending: u64,
    /// How many consumed chunks make a grant due.
    pub batch: u64,
}

/// What a chunk that arrives is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a chunk beyond the window must not be delivered"]
pub enum Arrival {
    /// It was paid for.
    Accepted,
    /// No credit was left for it (L12). The window is untouched.
    Violation,
}

impl Window {
    /// A fresh window of `window` chunks that grants back in halves.
    #[must_use]
    pub const fn opened(window: u64) -> Self {
        let half = window / 2;
        Window { remaining: window, pending: 0, batch: if half == 0 { 1 } else { half } }
    }

    /// A fresh window whose grants are due after `batch` chunks, held between 1 and half the
    /// window, so that no window can stall under its own batch (L10).
    #[must_use]
    pub fn with_batch(window: u64, batch: u64) -> Self {
        let opened = Window::opened(window);
        Window { batch: batch.clamp(1, opened.batch), ..opened }
    }

    /// A chunk arrives.
    pub fn arrive(&mut self) -> Arrival {
        match self.remaining.checked_sub(1) {
            Some(left) => {
                self.remaining = left;
                Arrival::Accepted
            }
            None => Arrival::Violation,
        }
    }

    /// A chunk was consumed. Answers the grant that is now due, 0 for none (L10).
    #[must_use = "a grant that is not sent starves the sender"]
    pub fn consumed(&mut self) -> u64 {
        self.pending = self.pending.saturating_add(1);
        if self.pending < self.batch { 0 } else { self.flush() }
    }

    /// Answers everything that is pending, 0 for nothing. Due before any wait (L10).
    #[must_use = "a grant that is not sent starves the sender"]
    pub fn flush(&mut self) -> u64 {
        let grant = std::mem::take(&mut self.pending);
        self.remaining = self.remaining.saturating_add(grant);
        grant
    }

    /// A chunk arrived that only continues an item: it is given back at once, alone, so that an
    /// item may be wider than the window (L10).
    #[must_use = "a grant that is not sent starves the sender"]
    pub fn continued(&mut self) -> u64 {
        self.remaining = self.remaining.saturating_add(1);
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_batch_is_half_the_window_and_at_least_one() {
        let batches: Vec<u64> =
            [0, 1, 2, 3, 4, 5, 7, 8, 31, 32, 33].iter().map(|&w| Window::opened(w).batch).collect();
        assert_eq!(batches, [1, 1, 1, 1, 2, 2, 3, 4, 15, 16, 16]);
        assert_eq!(Window::with_batch(32, 0).batch, 1);
        assert_eq!(Window::with_batch(3, 100).batch, 1);
    }

    #[test]
    fn a_violation_leaves_the_window_untouched() {
        let mut window = Window::opened(0);
        assert_eq!(window.arrive(), Arrival::Violation);
        assert_eq!(window, Window::opened(0));
        assert_eq!(window.continued(), 1);
        assert_eq!(window.arrive(), Arrival::Accepted);
    }

    #[test]
    fn full_cycles_grant_what_the_specification_measured() {
        let cycle = |w: u64| {
            let mut window = Window::opened(w);
            for _ in 0..w {
                assert_eq!(window.arrive(), Arrival::Accepted);
            }
            let grants: Vec<u64> = (0..w).map(|_| window.consumed()).collect();
            (grants, window.flush(), window.remaining)
        };
        assert_eq!(cycle(1), (vec![1], 0, 1));
        assert_eq!(cycle(3), (vec![1, 1, 1], 0, 3));
        assert_eq!(cycle(4), (vec![0, 2, 0, 2], 0, 4));
        assert_eq!(cycle(5), (vec![0, 2, 0, 2, 0], 1, 5));
    }
}
