//! The order of a flow: numbers given by its writer, put right at a relay boundary, ended once.
//!
//! Pure state machines. A flow is a [`FlowKey`]: the same id with and without routing id are two. On a link
//! of its own nobody polices numbers, since public peers send 0 throughout: byte order is the order there.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::Frame;
use super::id::FlowKey;
use super::kind::FrameType;
use crate::model::reorder::{self, Accepted};
pub use crate::model::writer::Admitted;
use crate::model::writer::{admit, stamp};

/// How many ended flows a writer remembers; the oldest is forgotten first.
pub const ENDED_FLOWS_KEPT: usize = 1024;

/// Numbers flow frames at the moment of writing: 0, 1, 2 … for each flow, without gaps.
#[derive(Debug, Clone, Default)]
pub struct SeqAssigner {
    next: HashMap<FlowKey, u64>,
}

impl SeqAssigner {
    /// No flow has been numbered yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number for the next frame of `flow`. The flow's state stays until [`forget`](Self::forget).
    pub fn next(&mut self, flow: FlowKey) -> u64 {
        let next = self.next.entry(flow).or_insert(0);
        let seq = *next;
        *next = next.saturating_add(1);
        seq
    }

    /// Numbers a frame that is about to be written: the next number of its flow, or 0 when its type is not
    /// a flow type. A terminal drops the flow's state.
    pub fn stamp(&mut self, frame: &mut Frame) {
        if !frame.is_flow() {
            frame.seq = stamp(0, frame.frame_type).seq;
            return;
        }
        let flow = frame.flow_key();
        let next = self.next.entry(flow).or_insert(0);
        let stamped = stamp(*next, frame.frame_type);
        (frame.seq, *next) = (stamped.seq, stamped.next);
        if frame.is_terminal() {
            self.forget(&flow);
        }
    }

    /// Gives the number of a frame back that could not be written, so that the next one of its flow
    /// leaves no gap.
    pub fn take_back(&mut self, frame: &Frame) {
        if frame.is_flow() {
            self.next.insert(frame.flow_key(), frame.seq);
        }
    }

    /// Drops the state of a flow that ends without a terminal of its own, such as one whose peer died.
    pub fn forget(&mut self, flow: &FlowKey) {
        self.next.remove(flow);
    }

    /// How many flows have state.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.next.len()
    }
}

/// Lets nothing of a flow onto the wire behind its terminal (L4). Remembers the last
/// [`ENDED_FLOWS_KEPT`] ended flows.
#[derive(Debug, Clone, Default)]
pub struct WriterGate {
    ended: HashSet<FlowKey>,
    /// The same flows, oldest first.
    order: VecDeque<FlowKey>,
}

impl WriterGate {
    /// No flow has ended yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to write a frame of `frame_type` on `flow`. Frames outside of flows always pass.
    #[must_use = "a suppressed frame must not be written, and is counted as a straggler"]
    pub fn write(&mut self, flow: FlowKey, frame_type: FrameType) -> Admitted {
        let answer = admit(self.ended.contains(&flow), frame_type);
        if answer == Admitted::SendLast {
            if self.order.len() == ENDED_FLOWS_KEPT
                && let Some(oldest) = self.order.pop_front()
            {
                self.ended.remove(&oldest);
            }
            self.ended.insert(flow);
            self.order.push_back(flow);
        }
        answer
    }

    /// Whether the flow has ended, as far as that is remembered.
    #[must_use]
    pub fn is_over(&self, flow: &FlowKey) -> bool {
        self.ended.contains(flow)
    }
}

/// What a reorder buffer did with an item that it took.
#[must_use = "held frames that were stranded are to be counted"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reordered {
    /// Items delivered: this one and each held successor. 0 when this one is held.
    pub delivered: usize,
    /// Items that were still held, behind a gap, when the flow's terminal was delivered. They are gone, and
    /// count as stragglers (L8).
    pub stranded: usize,
}

/// Why a reorder buffer refuses an item. Each is an error of the protocol; the state is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The number was delivered before.
    #[error("number {seq} comes late: {expected} is next")]
    Stale {
        /// The item's number.
        seq: u64,
        /// The number that is next.
        expected: u64,
    },
    /// The number is held already.
    #[error("number {seq} came twice")]
    Duplicate {
        /// The item's number.
        seq: u64,
    },
    /// As many items are held as may be.
    #[error("number {seq} is out of order and {limit} frames are held already")]
    Overflow {
        /// The item's number.
        seq: u64,
        /// Most items that may be held.
        limit: u64,
    },
}

/// An item that was refused, handed back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refused<T> {
    /// Why.
    pub why: Refusal,
    /// The item.
    pub item: T,
}

/// Puts the items of one flow back into the order of their numbers, from 0.
#[derive(Debug, Clone)]
pub struct ReorderBuffer<T> {
    /// `None` once the last number there is was delivered.
    expected: Option<u64>,
    held: BTreeMap<u64, T>,
}

impl<T> Default for ReorderBuffer<T> {
    fn default() -> Self {
        Self { expected: Some(0), held: BTreeMap::new() }
    }
}

impl<T> ReorderBuffer<T> {
    /// Expects number 0, holds nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an item. What can be delivered in order is appended to `out`. At most `limit` items are held;
    /// with 0 nothing is, and items in order still pass.
    ///
    /// # Errors
    /// [`Refused`] with the item, for a number that was delivered, is held, or finds no room; in this order.
    pub fn accept(
        &mut self,
        seq: u64,
        item: T,
        limit: u64,
        out: &mut Vec<T>,
    ) -> Result<Reordered, Refused<T>> {
        let refuse = |why, item| Err(Refused { why, item });
        let held_already = self.held.contains_key(&seq);
        match reorder::accept(self.expected, seq, held_already, self.held.len() as u64, limit) {
            Accepted::Deliver => {}
            Accepted::Hold => {
                self.held.insert(seq, item);
                return Ok(Reordered { delivered: 0, stranded: 0 });
            }
            Accepted::Stale => {
                let expected = self.expected.unwrap_or(u64::MAX);
                return refuse(Refusal::Stale { seq, expected }, item);
            }
            Accepted::Duplicate => return refuse(Refusal::Duplicate { seq }, item),
            Accepted::Overflow => return refuse(Refusal::Overflow { seq, limit }, item),
        }
        let mut next = reorder::after(seq);
        out.push(item);
        let mut delivered = 1;
        while let Some(item) = next.and_then(|seq| self.held.remove(&seq)) {
            out.push(item);
            delivered += 1;
            next = next.and_then(reorder::after);
        }
        self.expected = next;
        Ok(Reordered { delivered, stranded: 0 })
    }

    /// The number that is next; `None` once no number is left.
    #[must_use]
    pub fn expected(&self) -> Option<u64> {
        self.expected
    }

    /// The numbers that are held, ascending.
    pub fn held(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.held.keys().copied()
    }
}

/// A [`ReorderBuffer`] for each flow of a link, at a relay boundary.
#[derive(Debug, Clone)]
pub struct Reorder {
    limit: u64,
    flows: HashMap<FlowKey, ReorderBuffer<Frame>>,
}

impl Reorder {
    /// Holds at most `limit` frames per flow (`max_reorder_buffer`).
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { limit, flows: HashMap::new() }
    }

    /// Takes a frame. What can be delivered in order is appended to `out`; a frame outside of flows always
    /// can. Delivering a flow's terminal drops its state.
    ///
    /// # Errors
    /// [`Refused`] with the frame, as [`ReorderBuffer::accept`].
    pub fn accept(
        &mut self,
        frame: Frame,
        out: &mut Vec<Frame>,
    ) -> Result<Reordered, Box<Refused<Frame>>> {
        if !frame.is_flow() {
            out.push(frame);
            return Ok(Reordered { delivered: 1, stranded: 0 });
        }
        let flow = frame.flow_key();
        let buffer = self.flows.entry(flow).or_default();
        let mut done = buffer.accept(frame.seq, frame, self.limit, out).map_err(Box::new)?;
        let delivered = &out[out.len() - done.delivered..];
        if delivered.iter().any(Frame::is_terminal) {
            done.stranded = buffer.held().len();
            self.flows.remove(&flow);
        }
        Ok(done)
    }

    /// Drops the state of a flow that ends without a terminal. Answers how many held frames that lost.
    pub fn forget(&mut self, flow: &FlowKey) -> usize {
        self.flows.remove(flow).map_or(0, |buffer| buffer.held.len())
    }

    /// How many flows have state.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.flows.len()
    }
}
