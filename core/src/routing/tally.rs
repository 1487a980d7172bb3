//! What a relay has seen of one stream.

use crate::frame::{Frame, FrameType};
use crate::model::ledger::Balance;

/// Which way a frame goes through a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Way {
    /// From who asked to who answers: arguments, and grants for results.
    ToServer,
    /// From who answers to who asked: results, and grants for arguments.
    ToAsker,
}

impl Way {
    pub(crate) const fn back(self) -> Self {
        match self {
            Way::ToServer => Way::ToAsker,
            Way::ToAsker => Way::ToServer,
        }
    }
}

/// Counters of one stream, in the way its chunks go; its grants, which go the other way, are seen in
/// `balance` alone.
#[derive(Clone, Debug)]
pub(crate) struct StreamTally {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) chunks: u64,
    /// The remaining window, as a bystander counts it.
    pub(crate) balance: Balance,
    pub(crate) unbounded: bool,
    pub(crate) ended: bool,
}

impl StreamTally {
    pub(crate) fn new(window: u64) -> Self {
        let balance = Balance::seeded(window);
        StreamTally { frames: 0, bytes: 0, chunks: 0, balance, unbounded: false, ended: false }
    }

    /// Counts a frame. False for a chunk that nobody granted (L12): it is not counted and must not
    /// pass.
    pub(crate) fn note(&mut self, frame: &Frame) -> bool {
        match frame.frame_type {
            FrameType::Credit => {
                self.balance = self.balance.earn(frame.credit.unwrap_or_default());
                return true;
            }
            FrameType::Chunk => {
                let spent = self.balance.spend();
                if matches!(spent, Balance::Overrun(_)) {
                    return false;
                }
                self.balance = spent;
                self.chunks = self.chunks.saturating_add(1);
            }
            FrameType::StreamStart => self.unbounded = frame.opens_unbounded(),
            FrameType::StreamEnd => self.ended = true,
            _ => {}
        }
        let bytes = u64::try_from(frame.payload_bytes().len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(bytes);
        self.frames = self.frames.saturating_add(1);
        true
    }

    /// The remaining window as one number; below zero, a sender ran past it.
    pub(crate) fn outstanding(&self) -> i64 {
        let bounded = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        match self.balance {
            Balance::Left(n) => bounded(n),
            Balance::Overrun(n) => -bounded(n),
        }
    }
}
