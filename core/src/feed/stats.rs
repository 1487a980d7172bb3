//! [`FeedStats`]: a feed's figures.

/// A feed's figures at one moment, in items. `captured = delivered + dropped + held`, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedStats {
    /// What the source produced while the feed was capturing.
    pub captured: u64,
    /// What left the ring for the consumer.
    pub delivered: u64,
    /// What was lost: overruns, and what was held when the feed was given up.
    pub dropped: u64,
    /// Of these, how many because the consumer was slower than reality.
    pub overruns: u64,
    /// What the ring holds now.
    pub held: u64,
    /// What the ring can hold.
    pub capacity: u64,
    /// True once nothing is captured any more.
    pub ended: bool,
}

impl FeedStats {
    /// As JSON, by the names of the fields.
    pub(super) fn to_json(self) -> serde_json::Value {
        let FeedStats { captured, delivered, dropped, overruns, held, capacity, ended } = self;
        serde_json::json!({
            "captured": captured, "delivered": delivered, "dropped": dropped,
            "overruns": overruns, "held": held, "capacity": capacity, "ended": ended,
        })
    }
}
