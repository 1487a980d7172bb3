//! What waits on a link that is passed on for somebody else.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::sum::Sum;
use crate::account::load::PASSED_BYTES;
use crate::frame::{FlowKey, Frame, MessageId};

/// Whose frame is passed on: the connection that it came from, and beyond a switch, where one connection is
/// everybody's, the number of its request.
pub(crate) type Source = (u64, Option<MessageId>);

/// Why a frame waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// This end has it to say.
    Own,
    /// A CHUNK of this end, which has so much of the room on the link.
    Room(u64),
    /// A CHUNK that is passed on, which the window of its stream bounds; its bytes.
    Windowed(u64),
    /// Another frame that is passed on.
    Of(Source),
}

/// Frames that wait and are passed on for others. None of the numbers in the maps is 0.
#[derive(Default)]
pub(super) struct Transit {
    /// CHUNKs, each within a window, by flow and stream, and their bytes.
    streams: HashMap<(FlowKey, Option<String>), (usize, u64)>,
    /// What no window bounds, by who sent it …
    sources: HashMap<Source, Sum>,
    /// … and in bytes.
    bytes: u64,
}

impl Transit {
    /// Of how many streams CHUNKs wait.
    pub(super) fn streams(&self) -> usize {
        self.streams.len()
    }

    /// What the frames hold that no window bounds.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many CHUNKs of the stream of `chunk` wait, and their bytes.
    pub(super) fn of_stream(&self, chunk: &Frame) -> (usize, u64) {
        self.streams.get(&stream_of(chunk)).copied().unwrap_or_default()
    }

    pub(super) fn enter_chunk(&mut self, chunk: &Frame, weight: u64) {
        let (chunks, bytes) = self.streams.entry(stream_of(chunk)).or_default();
        *chunks += 1;
        *bytes = bytes.saturating_add(weight);
    }

    /// Lets a frame of `source` in that holds so many bytes, unless as many of its frames wait as there are
    /// places `free`, or with it more of its bytes than are left then. So one source never takes more than
    /// half of them, two no more than three quarters, and another finds a place.
    pub(super) fn enter(&mut self, source: Source, held: u64, free: usize) -> bool {
        let mut waiting = self.sources.get(&source).copied().unwrap_or_default();
        let left = PASSED_BYTES.saturating_sub(self.bytes.saturating_add(held));
        if waiting.frames >= free || waiting.bytes.saturating_add(held) > left {
            return false;
        }
        waiting.enter(held);
        self.sources.insert(source, waiting);
        self.bytes = self.bytes.saturating_add(held);
        true
    }

    /// A frame waits no longer that holds so many bytes.
    pub(super) fn leave(&mut self, frame: &Frame, held: u64, whose: Whose) {
        match whose {
            Whose::Own | Whose::Room(_) => {}
            Whose::Of(source) => {
                if let Entry::Occupied(mut waiting) = self.sources.entry(source) {
                    waiting.get_mut().leave(held);
                    if waiting.get().frames == 0 {
                        waiting.remove();
                    }
                }
                self.bytes = self.bytes.saturating_sub(held);
            }
            Whose::Windowed(weight) => {
                if let Entry::Occupied(mut waiting) = self.streams.entry(stream_of(frame)) {
                    let (chunks, bytes) = waiting.get_mut();
                    *chunks -= 1;
                    *bytes = bytes.saturating_sub(weight);
                    if *chunks == 0 {
                        waiting.remove();
                    }
                }
            }
        }
    }
}

fn stream_of(chunk: &Frame) -> (FlowKey, Option<String>) {
    (chunk.flow_key(), chunk.stream_id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant() -> Frame {
        let direction = crate::frame::CreditDirection::Response;
        Frame::credit(MessageId::Uint(1), None, None, 1, direction)
    }

    #[test]
    fn however_much_a_few_send_a_newcomer_finds_places() {
        const PLACES: usize = 1000;
        let (mut transit, mut taken) = (Transit::default(), 0);
        for (link, most) in (0..3).zip([500, 750, 875]) {
            while transit.enter((link, None), 2, PLACES - taken) {
                taken += 1;
            }
            assert_eq!(taken, most);
        }
        for _ in 0..62 {
            assert!(transit.enter((99, None), 2, PLACES - taken), "a newcomer");
            taken += 1;
        }
        // Who leaves makes room for more of the same.
        assert!(!transit.enter((0, None), 2, PLACES - taken));
        for _ in 0..500 {
            transit.leave(&grant(), 2, Whose::Of((0, None)));
            taken -= 1;
        }
        assert!(!transit.sources.contains_key(&(0, None)), "nothing is left behind");
        assert!(transit.enter((0, None), 2, PLACES - taken));
    }

    #[test]
    fn however_large_what_a_few_send_a_newcomer_finds_room() {
        const MIB: u64 = 1024 * 1024;
        const PLACES: usize = 1000;
        let mut transit = Transit::default();
        for (link, most) in (0..3).zip([8, 12, 14]) {
            while transit.enter((link, None), MIB, PLACES) {}
            assert_eq!(transit.bytes(), most * MIB);
        }
        assert!(transit.enter((99, None), MIB, PLACES), "a newcomer");
        assert!(!transit.enter((99, None), MIB, PLACES), "as much of it waits as is left");
        for _ in 0..8 {
            transit.leave(&grant(), MIB, Whose::Of((0, None)));
        }
        assert!(!transit.sources.contains_key(&(0, None)), "nothing is left behind");
        assert_eq!(transit.bytes(), 7 * MIB);
        assert!(transit.enter((0, None), 4 * MIB, PLACES));
        assert!(!transit.enter((5, None), 3 * MIB, PLACES), "another would find no room then");
    }
}
