//! [`Loss`]: a notice of what was lost since the last one.

use std::fmt;

use serde_json::{Value as Json, json};

use super::Snapshot;
use crate::sync::Arc;

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Benign: stragglers, which crossed the end of their request in flight.
    Debug,
    /// Something went wrong: drops.
    Warning,
}

impl Severity {
    /// The word for it in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Debug => "debug",
            Severity::Warning => "warning",
        }
    }
}

/// What a notice gives as the reason for stragglers, which have none of their own.
const STRAGGLER: &str = "straggler";

/// Frames of one type that were lost for one reason since the last notice of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// How much it matters.
    pub severity: Severity,
    /// Where they were lost: the command or transport of a cartridge, the name of a cartridge that tells
    /// it itself, `switch`, `host`, or `peer calls`.
    pub party: String,
    /// The reason of a drop, by its name in a snapshot; `straggler` for frames that came late.
    pub reason: &'static str,
    /// The type of the frames, by its name in a snapshot.
    pub frame_type: &'static str,
    /// How many since the last notice of this reason and type.
    pub count: u64,
    /// How many in all.
    pub total: u64,
}

/// Hears of losses, on a thread of the library. Must not wait for long.
pub type OnLoss = Arc<dyn Fn(&Loss) + Send + Sync>;

impl Loss {
    /// As JSON: `severity` (`debug` or `warning`), `party`, `reason`, `frame_type`, `count`, `total`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        json!({
            "severity": self.severity.name(),
            "party": self.party,
            "reason": self.reason,
            "frame_type": self.frame_type,
            "count": self.count,
            "total": self.total,
        })
    }

    /// What was lost between two snapshots of `party`, at most one for each reason and type of frame.
    pub(crate) fn between(before: &Snapshot, after: &Snapshot, party: &str) -> Vec<Loss> {
        let loss = |severity, reason, frame_type, told: Option<&u64>, total: u64| Loss {
            severity,
            party: party.to_owned(),
            reason,
            frame_type,
            count: total.saturating_sub(told.copied().unwrap_or_default()),
            total,
        };
        let dropped = after.drops.iter().flat_map(|(reason, types)| {
            let told = before.drops.get(reason);
            types.iter().map(move |(frame, total)| {
                let told = told.and_then(|told| told.get(frame));
                loss(Severity::Warning, *reason, *frame, told, *total)
            })
        });
        let late = after.stragglers.iter().map(|(frame, total)| {
            loss(Severity::Debug, STRAGGLER, *frame, before.stragglers.get(frame), *total)
        });
        dropped.chain(late).filter(|loss| loss.count > 0).collect()
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loss { severity, party, reason, frame_type, count, total } = self;
        let frames = if *count == 1 { "frame" } else { "frames" };
        write!(f, "{party}: {count} {frame_type} {frames} ")?;
        match severity {
            Severity::Warning => write!(f, "lost, {reason} ({total} in all)"),
            Severity::Debug => write!(f, "came after the end of the request ({total} in all)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Counters;
    use crate::model::accounting::DropReason;

    #[test]
    fn a_notice_tells_what_came_since_the_last_one() {
        let counters = Counters::default();
        counters.drop_frame(DropReason::NoRoute, "credit");
        let before = counters.snapshot();
        assert_eq!(Loss::between(&before, &before, "x"), []);
        for _ in 0..2 {
            counters.drop_frame(DropReason::NoRoute, "credit");
        }
        counters.drop_frame(DropReason::NoRoute, "chunk");
        counters.straggler("log");
        let told = Loss::between(&before, &counters.snapshot(), "x");
        let texts: Vec<_> = told.iter().map(Loss::to_string).collect();
        assert_eq!(
            texts,
            [
                "x: 1 chunk frame lost, no_route (1 in all)",
                "x: 2 credit frames lost, no_route (3 in all)",
                "x: 1 log frame came after the end of the request (1 in all)",
            ]
        );
        assert_eq!(
            told[1].to_json(),
            json!({"severity": "warning", "party": "x", "reason": "no_route",
                   "frame_type": "credit", "count": 2, "total": 3})
        );
        assert_eq!(told[2].severity, Severity::Debug);
    }
}
