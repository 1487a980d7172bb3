//! What waits on a link that is passed on for somebody else.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::frame::{FlowKey, Frame, MessageId};

/// Whose frame is passed on: the connection that it came from, and beyond a switch, where one connection is
/// everybody's, the number of its request.
pub(crate) type Source = (u64, Option<MessageId>);

/// Why a frame waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// This end has it to say.
    Own,
    /// A CHUNK that is passed on, which the window of its stream bounds; its bytes.
    Windowed(u64),
    /// Another frame that is passed on.
    Of(Source),
}

/// Frames that wait and are passed on for others. None of the numbers in the maps is 0.
#[derive(Default)]
pub(super) struct Transit {
    /// CHUNKs, each within a window.
    chunks: usize,
    /// The same by flow and stream, and their bytes.
    streams: HashMap<(FlowKey, Option<String>), (usize, u64)>,
    /// What no window bounds.
    sources: HashMap<Source, usize>,
}

impl Transit {
    pub(super) fn chunks(&self) -> usize {
        self.chunks
    }

    /// How many CHUNKs of the stream of `chunk` wait, and their bytes.
    pub(super) fn of_stream(&self, chunk: &Frame) -> (usize, u64) {
        self.streams.get(&stream_of(chunk)).copied().unwrap_or_default()
    }

    pub(super) fn enter_chunk(&mut self, chunk: &Frame, weight: u64) {
        self.chunks += 1;
        let (chunks, bytes) = self.streams.entry(stream_of(chunk)).or_default();
        *chunks += 1;
        *bytes = bytes.saturating_add(weight);
    }

    /// Lets a frame of `source` in unless as many of its frames wait as there are places `free`. So one source
    /// never takes more than half of them, two no more than three quarters, and another finds a place.
    pub(super) fn enter(&mut self, source: Source, free: usize) -> bool {
        let waiting = self.sources.get(&source).copied().unwrap_or_default();
        if waiting >= free {
            return false;
        }
        self.sources.insert(source, waiting + 1);
        true
    }

    /// A frame waits no longer.
    pub(super) fn leave(&mut self, frame: &Frame, whose: Whose) {
        match whose {
            Whose::Own => {}
            Whose::Of(source) => {
                if let Entry::Occupied(mut waiting) = self.sources.entry(source) {
                    *waiting.get_mut() -= 1;
                    if *waiting.get() == 0 {
                        waiting.remove();
                    }
                }
            }
            Whose::Windowed(weight) => {
                self.chunks = self.chunks.saturating_sub(1);
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
            while transit.enter((link, None), PLACES - taken) {
                taken += 1;
            }
            assert_eq!(taken, most);
        }
        for _ in 0..62 {
            assert!(transit.enter((99, None), PLACES - taken), "a newcomer");
            taken += 1;
        }
        // Who leaves makes room for more of the same.
        assert!(!transit.enter((0, None), PLACES - taken));
        for _ in 0..500 {
            transit.leave(&grant(), Whose::Of((0, None)));
            taken -= 1;
        }
        assert!(!transit.sources.contains_key(&(0, None)), "nothing is left behind");
        assert!(transit.enter((0, None), PLACES - taken));
    }
}
