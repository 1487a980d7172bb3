//! What was lost, counted as what it is. Three families that are never mixed:
//!
//! * **drops**: something went wrong, by reason and frame type;
//! * **stragglers**: frames that crossed a terminal in flight, benign, by frame type;
//! * **overruns**: reality was faster than the consumer.

use std::collections::BTreeMap;

use crate::sync::Mutex;

/// The running totals of one runtime.
#[derive(Default)]
pub struct Counters(Mutex<Snapshot>);

/// The totals at one moment. Maps leave out what never happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Frames lost, by reason and by snapshot name of the frame type.
    pub drops: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// Frames that came after their request's end, by snapshot name of the frame type.
    pub stragglers: BTreeMap<&'static str, u64>,
    /// Items that a live source had to discard.
    pub overruns: u64,
}

impl Snapshot {
    /// All drops.
    #[must_use]
    pub fn drops_total(&self) -> u64 {
        self.drops.values().flat_map(BTreeMap::values).fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// All stragglers.
    #[must_use]
    pub fn stragglers_total(&self) -> u64 {
        self.stragglers.values().fold(0, |sum, n| sum.saturating_add(*n))
    }
}

impl Counters {
    /// A frame, by snapshot name of its type, was lost.
    pub(crate) fn drop_frame(&self, reason: &'static str, frame: &'static str) {
        let mut totals = self.0.lock();
        bump(totals.drops.entry(reason).or_default().entry(frame).or_default());
    }

    /// A frame, by snapshot name of its type, came after its request's end.
    pub(crate) fn straggler(&self, frame: &'static str) {
        bump(self.0.lock().stragglers.entry(frame).or_default());
    }

    /// The totals now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.0.lock().clone()
    }
}

fn bump(count: &mut u64) {
    *count = count.saturating_add(1);
}
