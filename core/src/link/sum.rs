//! What some frames that wait hold.

use crate::account::load::FRAME;

/// Some frames: how many, and the bytes that they hold beside themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) frames: usize,
    pub(super) bytes: u64,
}

impl Sum {
    pub(super) fn enter(&mut self, bytes: u64) {
        self.frames = self.frames.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(super) fn leave(&mut self, bytes: u64) {
        self.frames = self.frames.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// What they take with what each of them is itself.
    pub(super) fn held(self) -> u64 {
        let frames = u64::try_from(self.frames).unwrap_or(u64::MAX);
        self.bytes.saturating_add(frames.saturating_mul(FRAME))
    }
}
