//! [`FeedItem`]: what a feed delivers, and what it says about it.

use crate::frame::Value;
use crate::model::feed as model;

/// A loss, told with the first item that is delivered after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Items lost between the item delivered before and this one.
    pub dropped: u64,
    /// Presentation time from the item delivered before to this one, in microseconds; 0 if there was
    /// none before.
    pub duration_us: u64,
}

impl From<model::Gap> for Gap {
    fn from(gap: model::Gap) -> Self {
        Gap { dropped: gap.lost, duration_us: gap.duration_us }
    }
}

/// What travels with an item as its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedMeta {
    /// The item's number in the order of capture, from 0. Lost items have one too: the numbers of two
    /// items that follow each other differ by one more than the gap of the second says.
    pub seq: u64,
    /// Presentation time, in microseconds, from wherever the source counts.
    pub pts_us: u64,
    /// When it was captured, in microseconds since the Unix epoch.
    pub capture_ts_us: u64,
    /// What was lost in front of it, if anything was.
    pub gap: Option<Gap>,
}

impl FeedMeta {
    /// As a map: `seq`, `pts_us`, `capture_ts_us`, and `gap` with `dropped` and `duration_us` where
    /// there is one.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut entries = vec![
            ("seq", Value::from(self.seq)),
            ("pts_us", self.pts_us.into()),
            ("capture_ts_us", self.capture_ts_us.into()),
        ];
        if let Some(Gap { dropped, duration_us }) = self.gap {
            let gap = [("dropped", dropped.into()), ("duration_us", duration_us.into())];
            entries.push(("gap", Value::text_map(gap)));
        }
        Value::text_map(entries)
    }

    /// Reads an item's metadata at the other end. `None` if it is not a feed's.
    #[must_use]
    pub fn read(meta: &Value) -> Option<Self> {
        let number = |of: &Value, name| of.get(name).and_then(Value::as_u64);
        let gap = match meta.get("gap") {
            None => None,
            Some(gap) => Some(Gap {
                dropped: number(gap, "dropped")?,
                duration_us: number(gap, "duration_us")?,
            }),
        };
        Some(FeedMeta {
            seq: number(meta, "seq")?,
            pts_us: number(meta, "pts_us")?,
            capture_ts_us: number(meta, "capture_ts_us")?,
            gap,
        })
    }
}

/// One captured item.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedItem {
    /// What was captured.
    pub value: Value,
    /// Its number and times, and what was lost in front of it.
    pub meta: FeedMeta,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_crosses_as_it_is() {
        let plain = FeedMeta { seq: 7, pts_us: 70, capture_ts_us: 1_000_000, gap: None };
        assert!(plain.to_value().get("gap").is_none(), "no loss, no marker");
        let gapped = FeedMeta { gap: Some(Gap { dropped: 3, duration_us: 40 }), ..plain };
        for meta in [plain, gapped] {
            assert_eq!(FeedMeta::read(&meta.to_value()), Some(meta));
        }
    }

    #[test]
    fn other_metadata_is_not_a_feeds() {
        assert_eq!(FeedMeta::read(&Value::Null), None);
        assert_eq!(FeedMeta::read(&Value::text_map([("seq", Value::from(1u64))])), None);
    }
}
