//! [`Queue`]: the frames that wait for one link, in their two lanes, and how much memory they hold. Pure.

use std::collections::VecDeque;

use super::sum::Sum;
use super::transit::{Source, Transit, Whose};
use crate::account::load::{CHUNK_COST, LOG_BYTES, LOGS, OWN, QUEUED, QUEUED_BYTES, ROOM};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{FlowKey, Frame, FrameType};

/// Bytes written in one go, about.
const AT_ONCE: usize = 256 * 1024;

/// A frame that waits.
struct Queued {
    frame: Frame,
    whose: Whose,
    /// What it holds beside itself.
    held: u64,
}

impl Queued {
    fn is_log(&self) -> bool {
        self.frame.frame_type == FrameType::Log
    }
}

#[derive(Default)]
pub(super) struct Queue {
    control: VecDeque<Queued>,
    flow: VecDeque<Queued>,
    /// Those that nothing else bounds.
    counted: Sum,
    /// LOG frames among them.
    logs: Sum,
    /// The others: CHUNK frames.
    chunks: Sum,
    /// Those that are passed on for others.
    transit: Transit,
    /// Those that the writer has taken last.
    taken: Sum,
    /// Flows that ended without a terminal of ours: nothing of them is written any more.
    ended: Vec<FlowKey>,
    /// Why no more frames are taken; what is queued is still written.
    pub(super) closing: Option<Reason>,
    /// Nothing is written any more.
    pub(super) dead: Option<Reason>,
    /// The writer is in a write.
    pub(super) writing: bool,
}

/// What is written in one go, each frame with the room that it has, and the flows that are over once it is.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) frames: Vec<(Frame, u64)>,
    pub(super) ended: Vec<FlowKey>,
}

pub(super) enum Next {
    Frames(Batch),
    End,
}

impl Queue {
    /// Takes in a frame that goes ahead of data.
    pub(super) fn push_control(&mut self, frame: Frame) {
        let queued = self.enter(frame, Whose::Own);
        self.control.push_back(queued);
    }

    /// Takes in a frame of a flow that costs no credit.
    pub(super) fn push_flow(&mut self, frame: Frame) {
        let queued = self.enter(frame, Whose::Own);
        self.flow.push_back(queued);
    }

    /// Takes in a CHUNK that has `room` on the link.
    pub(super) fn push_chunk(&mut self, frame: Frame, room: u64) {
        let queued = self.enter(frame, Whose::Room(room));
        self.flow.push_back(queued);
    }

    /// Takes in a CHUNK that is passed on for somebody else.
    pub(super) fn push_passed_chunk(&mut self, frame: Frame) {
        let weight = cost(frame.held());
        self.transit.enter_chunk(&frame, weight);
        let queued = self.enter(frame, Whose::Windowed(weight));
        self.flow.push_back(queued);
    }

    /// Takes in, in its lane, a frame that is passed on for `source` and that no window bounds. False if too
    /// much of that source waits.
    pub(super) fn push_passed(&mut self, frame: Frame, source: Source) -> bool {
        let free = (QUEUED - OWN).saturating_sub(self.counted.frames);
        if !self.transit.enter(source, frame.held(), free) {
            return false;
        }
        let flows = frame.frame_type.is_flow();
        let queued = self.enter(frame, Whose::Of(source));
        let lane = if flows { &mut self.flow } else { &mut self.control };
        lane.push_back(queued);
        true
    }

    fn enter(&mut self, frame: Frame, whose: Whose) -> Queued {
        let queued = Queued { held: frame.held(), frame, whose };
        match whose {
            Whose::Own | Whose::Of(_) => self.counted.enter(queued.held),
            Whose::Room(_) | Whose::Windowed(_) => self.chunks.enter(queued.held),
        }
        if queued.is_log() {
            self.logs.enter(queued.held);
        }
        queued
    }

    /// A frame leaves its lane; answers the room that it has.
    fn leave(&mut self, queued: &Queued) -> u64 {
        if queued.is_log() {
            self.logs.leave(queued.held);
        }
        self.transit.leave(&queued.frame, queued.held, queued.whose);
        match queued.whose {
            Whose::Own | Whose::Of(_) => self.counted.leave(queued.held),
            Whose::Room(_) | Whose::Windowed(_) => self.chunks.leave(queued.held),
        }
        match queued.whose {
            Whose::Room(room) => room,
            Whose::Own | Whose::Of(_) | Whose::Windowed(_) => 0,
        }
    }

    /// Whether another LOG finds room.
    pub(super) fn has_room_for_a_log(&self) -> bool {
        self.logs.frames < LOGS && self.logs.bytes < LOG_BYTES
    }

    /// Why no further frame may wait that nothing else bounds, if as many do as may.
    pub(super) fn overflow(&self) -> Option<Reason> {
        let many = (self.counted.frames >= QUEUED).then(|| format!("{QUEUED} frames wait"));
        // What is passed on has its own share of bytes: who floods a relay ends no link.
        let own = self.counted.bytes.saturating_sub(self.transit.bytes());
        let large = || (own >= QUEUED_BYTES).then(|| format!("{QUEUED_BYTES} bytes wait"));
        let what = many.or_else(large)?;
        Some(Error::new(
            ErrorKind::LimitReached,
            format!("the peer reads nothing while {what} for it"),
        ))
    }

    /// How many CHUNKs of the stream of `chunk` wait that are passed on for somebody else, and their
    /// bytes.
    pub(super) fn passed_of(&self, chunk: &Frame) -> (u64, u64) {
        let (chunks, bytes) = self.transit.of_stream(chunk);
        (u64::try_from(chunks).unwrap_or(u64::MAX), bytes)
    }

    /// The bytes that all of it holds, with what is being written, and of how many streams of other ends
    /// CHUNKs wait.
    pub(super) fn held(&self) -> (u64, u64) {
        let sums = [self.counted, self.chunks, self.taken];
        let bytes = sums.into_iter().map(Sum::held).fold(0, u64::saturating_add);
        (bytes, u64::try_from(self.transit.streams()).unwrap_or(u64::MAX))
    }

    /// Nothing of it is written any more.
    pub(super) fn die(&mut self, reason: Reason) {
        self.dead.get_or_insert(reason);
        self.control.clear();
        self.flow.clear();
        self.ended.clear();
        self.transit = Transit::default();
        (self.counted, self.logs, self.chunks) = Default::default();
    }

    /// Nothing more of `flow` is written once what waits of it is.
    pub(super) fn forget(&mut self, flow: FlowKey) {
        if self.dead.is_none() {
            self.ended.push(flow);
        }
    }

    /// Takes out what waits of `flow`. Answers whether its REQ is on the wire, and the room freed.
    pub(super) fn take_back(&mut self, flow: FlowKey) -> (bool, u64) {
        let (mut begun, mut freed) = (true, 0_u64);
        let (taken, stay) = std::mem::take(&mut self.flow)
            .into_iter()
            .partition::<VecDeque<_>, _>(|waiting| waiting.frame.flow_key() == flow);
        self.flow = stay;
        for waiting in taken {
            begun &= waiting.frame.frame_type != FrameType::Req;
            freed = freed.saturating_add(self.leave(&waiting));
        }
        (begun, freed)
    }

    /// True if a grant for this stream waits, or did when the link died.
    pub(super) fn has_grant(&self, flow: FlowKey, stream: &Option<String>) -> bool {
        let is_one = |frame: &Frame| {
            frame.credit.is_some() && frame.flow_key() == flow && frame.stream_id == *stream
        };
        self.dead.is_some() || self.control.iter().any(|waiting| is_one(&waiting.frame))
    }

    /// What is to be written next; `None` while there is nothing.
    pub(super) fn take_batch(&mut self) -> Option<Next> {
        self.writing = false;
        self.taken = Sum::default();
        if self.dead.is_some() {
            return Some(Next::End);
        }
        let mut frames: Vec<(Frame, u64)> = Vec::with_capacity(self.control.len());
        for ahead in std::mem::take(&mut self.control) {
            let room = self.leave(&ahead);
            self.taken.enter(ahead.held);
            frames.push((ahead.frame, room));
        }
        let mut bytes = 0;
        while bytes < AT_ONCE {
            let Some(queued) = self.flow.pop_front() else { break };
            let room = self.leave(&queued);
            self.taken.enter(queued.held);
            bytes += queued.frame.payload.as_ref().map_or(0, bytes::Bytes::len);
            frames.push((queued.frame, room));
        }
        match (frames.is_empty(), self.closing.is_some()) {
            (false, _) => {
                // A flow whose frames still wait may have its terminal among them.
                let (later, ended) = std::mem::take(&mut self.ended)
                    .into_iter()
                    .partition(|ended| self.flow.iter().any(|w| w.frame.flow_key() == *ended));
                self.ended = later;
                self.writing = true;
                Some(Next::Frames(Batch { frames, ended }))
            }
            (true, true) => Some(Next::End),
            (true, false) => None,
        }
    }
}

/// What a chunk takes of the room that holds so many bytes.
pub(super) fn cost(bytes: u64) -> u64 {
    bytes.saturating_add(CHUNK_COST).min(ROOM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::load::FRAME;
    use crate::frame::{AttributionClass, MessageId};

    const MIB: usize = 1024 * 1024;

    fn log(length: usize) -> Frame {
        let text = "x".repeat(length);
        Frame::log(MessageId::Uint(1), None, "info", AttributionClass::Internal, &text)
    }

    fn chunk(id: u64, length: usize) -> Frame {
        Frame::chunk(MessageId::Uint(id), None, "in", 0, vec![7; length].into())
    }

    /// What is left when the writer has taken and written all.
    fn written(queue: &mut Queue) -> Sum {
        while let Some(Next::Frames(_)) = queue.take_batch() {}
        assert_eq!(queue.held(), (0, 0));
        assert_eq!((queue.counted, queue.logs, queue.chunks), Default::default());
        queue.taken
    }

    #[test]
    fn what_waits_and_what_is_being_written_is_held() {
        let mut queue = Queue::default();
        queue.push_control(Frame::heartbeat(MessageId::Uint(1)));
        queue.push_chunk(chunk(1, 1000), 1256);
        queue.push_passed_chunk(chunk(2, 500));
        let all = 3 * FRAME + (2 + 1000) + (2 + 500);
        assert_eq!(queue.held(), (all, 1));
        let Some(Next::Frames(batch)) = queue.take_batch() else { panic!("three wait") };
        assert_eq!(batch.frames.iter().map(|(_, room)| *room).collect::<Vec<_>>(), [0, 1256, 0]);
        assert_eq!(queue.held(), (all, 0), "until the next is taken");
        assert_eq!(written(&mut queue), Sum::default());
    }

    #[test]
    fn frames_that_nothing_bounds_are_bounded_by_count_and_by_bytes() {
        let mut queue = Queue::default();
        for n in 0..QUEUED {
            assert!(queue.overflow().is_none(), "{n}");
            queue.push_control(Frame::heartbeat(MessageId::Uint(n as u64)));
        }
        assert!(queue.overflow().expect("full").message().contains("16384 frames"));
        written(&mut queue);
        for _ in 0..16 {
            assert!(queue.overflow().is_none());
            queue.push_flow(log(MIB));
        }
        let full = queue.overflow().expect("full");
        assert_eq!(full.kind(), ErrorKind::LimitReached);
        assert!(full.message().contains("16777216 bytes"), "{full}");
        written(&mut queue);
        for _ in 0..2 * QUEUED {
            queue.push_passed_chunk(chunk(1, 0)); // within the window of its stream
        }
        assert!(queue.overflow().is_none());
    }

    #[test]
    fn logs_are_bounded_by_count_and_by_bytes() {
        let mut queue = Queue::default();
        let mut took = 0;
        while queue.has_room_for_a_log() {
            queue.push_flow(log(1));
            took += 1;
        }
        assert_eq!(took, LOGS);
        written(&mut queue);
        while queue.has_room_for_a_log() {
            queue.push_flow(log(MIB));
        }
        assert_eq!(queue.logs.frames, 4);
    }

    #[test]
    fn what_is_taken_back_is_not_held() {
        let mut queue = Queue::default();
        let flow = log(1).flow_key();
        queue.push_flow(Frame::req(MessageId::Uint(1), None, "cap:x", "application/cbor"));
        queue.push_flow(log(10));
        queue.push_chunk(chunk(1, 10), 300);
        queue.push_passed_chunk(chunk(1, 10));
        queue.push_passed_chunk(chunk(2, 10));
        assert_eq!(queue.take_back(flow), (false, 300));
        assert_eq!(queue.held(), (FRAME + 2 + 10, 1));
        assert_eq!(queue.passed_of(&chunk(2, 0)), (1, cost(12)));
        written(&mut queue);
        queue.push_flow(log(10));
        queue.die(ErrorKind::Closed.into());
        assert_eq!(queue.held(), (0, 0));
    }
}
