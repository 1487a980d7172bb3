//! Where the frames for one connection go: into its lanes, or, while it is being made, into a queue.

use std::collections::{HashMap, VecDeque};

use crate::account::load::QUEUED_BYTES;
use crate::error::Reason;
use crate::frame::{FlowKey, Frame, FrameType};
use crate::link::Source;
use crate::request::{Connection, Passed};
use crate::sync::Arc;

/// Frames that no window bounds and that may wait for a connection that is being made, and the bytes that
/// they may hold: as on a link.
const WAITING: usize = 4096;
const WAITING_BYTES: u64 = QUEUED_BYTES;

pub(crate) enum Port {
    Live(Arc<Connection>),
    Starting(Waiting),
}

impl Port {
    /// Sends a frame of `source` off. Never waits, and may be called under any lock unless it is a CANCEL.
    pub(crate) fn pass(&mut self, frame: Frame, source: Source) -> Result<Passed, Reason> {
        match self {
            Port::Starting(waiting) => Ok(waiting.push(frame)),
            Port::Live(connection) => connection.pass(frame, Some(source)),
        }
    }
}

/// What waits for a connection that is being made. Chunks are bounded by the windows of their
/// streams, everything else by a count and by its bytes.
#[derive(Default)]
pub(crate) struct Waiting {
    frames: VecDeque<Frame>,
    uncredited: usize,
    /// What they hold beside themselves.
    bytes: u64,
}

impl Waiting {
    /// Takes a frame in, unless as many wait as may. A CANCEL takes back what waits of its request, and
    /// answers [`Passed::Undone`] if that was all of it.
    pub(crate) fn push(&mut self, frame: Frame) -> Passed {
        if frame.frame_type == FrameType::Cancel {
            let flow = frame.flow_key();
            self.frames.retain(|waiting| waiting.flow_key() != flow);
            (self.uncredited, self.bytes) = (0, 0);
            for frame in self.frames.iter().filter(|frame| frame.frame_type != FrameType::Chunk) {
                self.uncredited += 1;
                self.bytes = self.bytes.saturating_add(frame.held());
            }
            return Passed::Undone;
        }
        if frame.frame_type != FrameType::Chunk {
            if self.uncredited >= WAITING || self.bytes >= WAITING_BYTES {
                return Passed::Crowded;
            }
            self.uncredited += 1;
            self.bytes = self.bytes.saturating_add(frame.held());
        }
        self.frames.push_back(frame);
        Passed::On
    }

    /// How many frames wait, by the ids that they carry.
    pub(super) fn by_flow(&self) -> HashMap<FlowKey, u64> {
        let mut frames = HashMap::new();
        for frame in &self.frames {
            *frames.entry(frame.flow_key()).or_default() += 1;
        }
        frames
    }

    pub(crate) fn into_frames(self) -> impl Iterator<Item = Frame> {
        self.frames.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::MessageId;

    fn req(n: u64) -> Frame {
        Frame::req(MessageId::Uint(n), None, "cap:x", "application/cbor")
    }

    #[test]
    fn a_cancel_takes_back_its_request_alone() {
        let mut waiting = Waiting::default();
        for n in 1..=3 {
            assert_eq!(waiting.push(req(n)), Passed::On);
        }
        let cancel = Frame::cancel(MessageId::Uint(2), None, false);
        assert_eq!(waiting.push(cancel), Passed::Undone);
        let left: Vec<_> = waiting.into_frames().map(|frame| frame.id).collect();
        assert_eq!(left, [MessageId::Uint(1), MessageId::Uint(3)]);
    }

    #[test]
    fn what_no_window_bounds_is_bounded_by_its_bytes() {
        let mut waiting = Waiting::default();
        let long =
            |n| Frame::req(MessageId::Uint(n), None, "x".repeat(1 << 20), "application/cbor");
        for n in 0..16 {
            assert_eq!(waiting.push(long(n)), Passed::On);
        }
        assert_eq!(waiting.push(req(20)), Passed::Crowded);
        let cancel = Frame::cancel(MessageId::Uint(2), None, false);
        assert_eq!(waiting.push(cancel), Passed::Undone);
        assert_eq!(waiting.push(req(20)), Passed::On);
    }

    #[test]
    fn what_no_window_bounds_is_bounded_by_a_count() {
        let mut waiting = Waiting::default();
        for _ in 0..WAITING {
            assert_eq!(waiting.push(req(1)), Passed::On);
        }
        assert_eq!(waiting.push(req(1)), Passed::Crowded);
    }
}
