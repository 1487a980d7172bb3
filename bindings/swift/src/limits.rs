//! The limits of a link, and limits of time.

use std::time::Duration;

use sluicegate::Limits;

/// What a link allows. Bytes, but for `initial_credit` (chunks) and `max_reorder_buffer` (frames).
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct LimitFacts {
    /// Largest encoded frame, in bytes.
    pub max_frame: u64,
    /// Most bytes of data in a chunk.
    pub max_chunk: u64,
    /// Most out-of-order frames held for each flow.
    pub max_reorder_buffer: u64,
    /// Chunks that a stream may send before the first grant.
    pub initial_credit: u64,
}

impl From<Limits> for LimitFacts {
    fn from(limits: Limits) -> Self {
        LimitFacts {
            max_frame: limits.max_frame,
            max_chunk: limits.max_chunk,
            max_reorder_buffer: limits.max_reorder_buffer,
            initial_credit: limits.initial_credit,
        }
    }
}

impl From<LimitFacts> for Limits {
    fn from(facts: LimitFacts) -> Self {
        Limits {
            max_frame: facts.max_frame,
            max_chunk: facts.max_chunk,
            max_reorder_buffer: facts.max_reorder_buffer,
            initial_credit: facts.initial_credit,
        }
    }
}

/// The limits that hold unless others are proposed.
#[uniffi::export]
pub fn default_limits() -> LimitFacts {
    Limits::default().into()
}

/// A limit of time; none is the longest there is.
pub(crate) fn within(micros: Option<u64>) -> Duration {
    micros.map_or(Duration::MAX, Duration::from_micros)
}
