//! [`Room`]: a place in bytes for a chunk that is to be queued.

use crate::credit::CreditGate;

/// Room on a link, given back when dropped unless the frame that it is for was queued.
pub(crate) struct Room {
    pub(super) gate: CreditGate,
    pub(super) cost: u64,
}

impl Room {
    pub(super) fn keep(mut self) -> u64 {
        std::mem::take(&mut self.cost)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.gate.grant(self.cost);
    }
}
