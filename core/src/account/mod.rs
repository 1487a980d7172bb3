//! What was lost, counted as what it is. Three families that are never mixed:
//!
//! * **drops**: something went wrong, by reason and frame type;
//! * **stragglers**: frames that crossed a terminal in flight, benign, by frame type;
//! * **overruns**: reality was faster than the consumer.

mod ending;
mod explanation;
pub(crate) mod load;
mod loss;
mod memory;
mod standing;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Value as Json, json};

pub(crate) use ending::Ending;
pub use explanation::Explanation;
pub(crate) use explanation::TellsOfStages;
pub use load::Load;
pub use loss::{Loss, OnLoss, Severity};
pub use memory::Memory;
pub(crate) use standing::in_line;
pub use standing::{Cause, Standing, StandingRequest};

use crate::model::accounting::{DropReason, Fate};
use crate::sync::{AtomicU64, Mutex, Ordering};

/// The running totals of one runtime.
#[derive(Default)]
pub struct Counters {
    totals: Mutex<Snapshot>,
    /// Beside the lock: a capture thread counts here and waits for nobody.
    overruns: AtomicU64,
    /// Rung at each drop and straggler, with no lock of this held.
    bell: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

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

impl Snapshot {
    /// The drops as JSON: `total`, `by_reason`, `by_reason_frame_type`.
    #[must_use]
    pub fn drops_json(&self) -> Json {
        let sum =
            |types: &BTreeMap<&str, u64>| types.values().fold(0, |a: u64, n| a.saturating_add(*n));
        let by_reason: BTreeMap<_, _> =
            self.drops.iter().map(|(r, types)| (*r, sum(types))).collect();
        json!({
            "total": self.drops_total(),
            "by_reason": by_reason,
            "by_reason_frame_type": self.drops,
        })
    }

    /// The stragglers as JSON: `total`, `by_frame_type`.
    #[must_use]
    pub fn stragglers_json(&self) -> Json {
        json!({"total": self.stragglers_total(), "by_frame_type": self.stragglers})
    }
}

impl DropReason {
    /// The name of the reason in a snapshot.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::NoRoute => "no_route",
            DropReason::ChannelClosed => "channel_closed",
            DropReason::CreditViolation => "credit_violation",
            DropReason::Cancelled => "cancelled",
            DropReason::MasterDied => "master_died",
            DropReason::LimitReached => "limit_reached",
            DropReason::Protocol => "protocol",
            DropReason::Unread => "unread",
            DropReason::EventUnread => "event_unread",
            DropReason::LogLaneFull => "log_lane_full",
            DropReason::NotEncodable => "not_encodable",
        }
    }
}

impl Counters {
    /// Counts a frame, by snapshot name of its type, where it belongs (L6, L8). One that went where it
    /// belongs moves none of these totals.
    pub(crate) fn count(&self, fate: Fate, frame: &'static str) {
        let mut totals = self.totals.lock();
        let Snapshot { drops, stragglers, .. } = &mut *totals;
        bump(match fate {
            Fate::Passed => return,
            Fate::Late => stragglers.entry(frame).or_default(),
            Fate::Dropped(why) => drops.entry(why.name()).or_default().entry(frame).or_default(),
        });
        drop(totals);
        if let Some(bell) = self.bell.get() {
            bell();
        }
    }

    /// Has `bell` rung whenever a frame is counted as lost, whatever thread that is on and whatever locks
    /// that has: it must not wait. There is one; a second is not heard.
    pub(crate) fn rings(&self, bell: impl Fn() + Send + Sync + 'static) {
        let _first = self.bell.set(Box::new(bell));
    }

    /// A frame, by snapshot name of its type, was lost.
    pub(crate) fn drop_frame(&self, why: DropReason, frame: &'static str) {
        self.count(Fate::Dropped(why), frame);
    }

    /// A frame, by snapshot name of its type, came after its request's end.
    pub(crate) fn straggler(&self, frame: &'static str) {
        self.count(Fate::Late, frame);
    }

    /// A live source had to discard `n` items. Takes no lock.
    pub(crate) fn overrun(&self, n: u64) {
        self.overruns.fetch_add(n, Ordering::Relaxed); // 2^64 items never come
    }

    /// The totals now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let totals = self.totals.lock().clone();
        Snapshot { overruns: self.overruns.load(Ordering::Relaxed), ..totals }
    }
}

fn bump(count: &mut u64) {
    *count = count.saturating_add(1);
}
