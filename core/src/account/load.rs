//! [`Load`]: how much memory a connection may hold, and every bound that it is made of.
//!
//! `docs/architecture.md` has the formula in words, and [`Load::bound`] is the formula: a snapshot tells it
//! beside what is held, and the tests of hostile peers hold a process to it.

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Requests that may be live on one link.
pub(crate) const REQUESTS: usize = 1024;
/// Streams that one request may open in one direction.
pub(crate) const STREAMS: usize = 1024;

/// Bytes of CHUNK frames that may wait for the wire.
pub(crate) const ROOM: u64 = MIB;
/// What a CHUNK takes of it beside its bytes, so that many small ones wait for room too.
pub(crate) const CHUNK_COST: u64 = 256;
/// Control and other uncredited frames that may wait; a peer that lets more pile up is cut off …
pub(crate) const QUEUED: usize = 16 * 1024;
/// … and so is one that lets more bytes pile up of what this end itself has to say.
pub(crate) const QUEUED_BYTES: u64 = 16 * MIB;
/// Of the frames, places that are kept for what this end itself has to say.
pub(crate) const OWN: usize = 2 * 1024;
/// Bytes of frames that may wait beside those and are passed on for others; what does not fit fails its
/// request.
pub(crate) const PASSED_BYTES: u64 = 16 * MIB;
/// LOG frames among them; what does not fit is counted as dropped.
pub(crate) const LOGS: usize = 1024;
/// Bytes of them, likewise.
pub(crate) const LOG_BYTES: u64 = 4 * MIB;
/// Bytes of one stream that may wait for whoever granted more than its window. Within the window, all
/// that it holds may wait.
pub(crate) const UNREAD: u64 = 4 * MIB;

/// Events of a request that wait to be read; the oldest is counted as dropped when more come.
pub(crate) const EVENTS: usize = 1024;
/// Bytes of text in them, likewise.
pub(crate) const EVENT_BYTES: usize = 1024 * 1024;

/// Byte strings are held until so many bytes are together.
pub(crate) const COALESCE_BYTES: usize = 4096;
/// Chunks that one item may come in: each costs memory beside its bytes.
pub(crate) const CHUNKS_PER_ITEM: usize = 256 * 1024;
/// Items that one chunk may hold.
pub(crate) const ITEMS_PER_CHUNK: usize = 4096;
/// Most values that a frame's metadata may hold.
pub(crate) const META_VALUES: u64 = 65_536;

/// What a frame that waits for the wire takes beside its texts and its payload: itself, its place in a
/// lane, and itself once more as it is encoded.
pub(crate) const FRAME: u64 = KIB;
/// What a value, a part of one or an event that waits to be read takes beside its content.
pub(crate) const ENTRY: u64 = 512;
/// What a value of a frame's metadata takes beside its content.
pub(crate) const META_VALUE: u64 = 64;

/// A connection itself: its threads, what it reads ahead, the requests that ended lately.
const LINK: u64 = MIB;
/// A request itself, with the thread of its handler and the name of its cap.
const REQUEST: u64 = 64 * KIB;
/// A stream itself, with its names.
const STREAM: u64 = 16 * KIB;

/// What decides how much memory a connection may hold.
///
/// What a peer sends counts in full: a peer that is hostile fills each frame to `max_frame`. What the
/// application holds, a value that it has taken or that it is sending, is its own affair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Load {
    /// The initial credit that was agreed on, in chunks.
    pub window: u64,
    /// The largest body of a frame that was agreed on, in bytes: at most 16 MiB.
    pub max_frame: u64,
    /// The largest item of a sequence stream that is taken, in bytes.
    pub max_item: u64,
    /// Live requests.
    pub requests: u64,
    /// Scalar streams that come in.
    pub scalars: u64,
    /// Sequence streams that come in.
    pub sequences: u64,
    /// Streams that go out.
    pub outputs: u64,
    /// Streams of other ends that chunks are passed on of, and wait here.
    pub relayed: u64,
}

impl Load {
    /// The most that the connection holds, in bytes: what waits in its lanes, in its streams and in its
    /// requests, and what that costs to hold. Saturates. Pure.
    #[must_use]
    pub const fn bound(self) -> u64 {
        let requests = times(self.requests, self.of_a_request());
        let inputs = plus(
            times(self.scalars, self.of_a_scalar()),
            times(self.sequences, self.of_a_sequence()),
        );
        let outputs = times(self.outputs, self.of_an_output());
        let relayed = times(self.relayed, self.of_a_relayed());
        plus(plus(self.of_the_link(), requests), plus(plus(inputs, outputs), relayed))
    }

    /// Frames that no window bounds, those that wait and those that are being written, the latter once more
    /// as they are encoded; chunks in their room; a frame that is being read.
    const fn of_the_link(self) -> u64 {
        let texts = times(3, plus(plus(QUEUED_BYTES, PASSED_BYTES), self.max_frame));
        let frames = times(2, times(QUEUED as u64, FRAME));
        let room = plus(plus(ROOM, self.max_frame), times(ROOM / CHUNK_COST, FRAME));
        plus(plus(LINK, self.max_frame), plus(plus(texts, frames), room))
    }

    /// A request and the events of it that lie unread.
    const fn of_a_request(self) -> u64 {
        let events = plus(plus(EVENT_BYTES as u64, self.max_frame), times(EVENTS as u64, ENTRY));
        plus(REQUEST, events)
    }

    /// A window of chunks.
    const fn of_a_scalar(self) -> u64 {
        plus(self.of_a_stream(), times(self.window, self.of_a_chunk()))
    }

    /// A window of whole items, and the one that is being put together. A chunk that ends an item may hold
    /// further ones.
    const fn of_a_sequence(self) -> u64 {
        let items = times(plus(self.window, 1), self.of_an_item());
        let small = times(times(self.window, ITEMS_PER_CHUNK as u64), ENTRY);
        plus(self.of_a_stream(), plus(items, small))
    }

    /// What is held for coalescing, and the chunk that is on its way.
    const fn of_an_output(self) -> u64 {
        let held = times(2, COALESCE_BYTES as u64);
        plus(self.of_a_stream(), plus(held, times(2, self.max_frame)))
    }

    /// A window of chunks, or what may lie unread of a receiver that granted more.
    const fn of_a_relayed(self) -> u64 {
        let within = times(self.window, self.of_a_chunk());
        let unread = plus(UNREAD, self.of_a_chunk());
        if within > unread { within } else { unread }
    }

    /// A stream without its chunks, with the metadata that it was opened with.
    const fn of_a_stream(self) -> u64 {
        plus(STREAM, plus(self.max_frame, self.of_metadata()))
    }

    /// A chunk: its body, which its payload may keep, the texts of its metadata, and what they cost.
    const fn of_a_chunk(self) -> u64 {
        plus(plus(times(2, self.max_frame), self.of_metadata()), FRAME)
    }

    /// An item: its bytes, which may keep an eighth more, each of its chunks, and the metadata of the first.
    const fn of_an_item(self) -> u64 {
        let bytes = plus(self.max_item, self.max_item / 8);
        let parts = least(self.max_item, CHUNKS_PER_ITEM as u64);
        plus(plus(bytes, times(parts, ENTRY)), self.of_a_chunk())
    }

    /// The values of the metadata of a frame, each of which has a byte of it at least.
    const fn of_metadata(self) -> u64 {
        times(least(self.max_frame, META_VALUES), META_VALUE)
    }
}

const fn plus(a: u64, b: u64) -> u64 {
    a.saturating_add(b)
}

const fn times(a: u64, b: u64) -> u64 {
    a.saturating_mul(b)
}

const fn least(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Load = Load {
        window: 4,
        max_frame: 64 * KIB,
        max_item: MIB,
        requests: 0,
        scalars: 0,
        sequences: 0,
        outputs: 0,
        relayed: 0,
    };

    /// What `load` may hold beyond what an idle connection may.
    fn more(load: Load) -> u64 {
        load.bound() - IDLE.bound()
    }

    #[test]
    fn a_connection_without_a_request_holds_its_lanes() {
        let texts = 3 * (32 * MIB + 64 * KIB);
        let frames = 2 * 16 * MIB;
        let room = MIB + 64 * KIB + 4096 * KIB;
        assert_eq!(IDLE.bound(), MIB + 64 * KIB + texts + frames + room);
        assert_eq!(Load { window: 99, max_item: 1, ..IDLE }.bound(), IDLE.bound());
    }

    #[test]
    fn each_thing_that_is_open_adds_its_own() {
        let metadata = 64 * 64 * KIB;
        let (stream, chunk) = (16 * KIB + 64 * KIB + metadata, 128 * KIB + metadata + KIB);
        let item = MIB + 128 * KIB + 256 * 1024 * 512 + chunk;
        let events = MIB + 64 * KIB + 1024 * 512;
        assert_eq!(more(Load { requests: 3, ..IDLE }), 3 * (64 * KIB + events));
        assert_eq!(more(Load { scalars: 2, ..IDLE }), 2 * (stream + 4 * chunk));
        let sequence = stream + 5 * item + 4 * 4096 * 512;
        assert_eq!(more(Load { sequences: 1, ..IDLE }), sequence);
        assert_eq!(more(Load { outputs: 1, ..IDLE }), stream + 8 * KIB + 128 * KIB);
        assert_eq!(more(Load { relayed: 1, ..IDLE }), 4 * chunk);
        let narrow = Load { window: 1, relayed: 1, ..IDLE };
        assert_eq!(more(narrow), 4 * MIB + chunk, "it may have granted more than its window");
    }

    #[test]
    fn small_items_come_in_few_chunks_and_small_frames_have_little_metadata() {
        let tiny = Load { max_frame: 1000, max_item: 10, ..IDLE };
        let chunk = 2 * 1000 + 64 * 1000 + KIB;
        assert_eq!(tiny.of_an_item(), 10 + 1 + 10 * 512 + chunk);
    }

    #[test]
    fn nothing_overflows() {
        let most = u64::MAX;
        let all = Load {
            window: most,
            max_frame: most,
            max_item: most,
            requests: most,
            scalars: most,
            sequences: most,
            outputs: most,
            relayed: most,
        };
        assert_eq!(all.bound(), most);
    }
}
