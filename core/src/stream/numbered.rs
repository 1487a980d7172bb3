//! How far one stream has come on the wire: its next index, and whether it is open.

use crate::model::emission::{Emission, NamedStream, Verdict, Written};

/// One stream as the model checks it, at the side that writes it and at the side that reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered {
    /// The flow as far as this stream goes: its terminal is the request's business.
    flow: Emission,
    stream: NamedStream,
    /// Chunks so far; kept when the stream is closed.
    chunks: u64,
}

impl Default for Numbered {
    fn default() -> Self {
        Numbered { flow: Emission::STARTED, stream: NamedStream::Unused, chunks: 0 }
    }
}

impl Numbered {
    /// A stream whose STREAM_START has passed.
    pub(super) fn open() -> Self {
        Numbered::default().after(Written::StreamStart).expect("a fresh stream can start")
    }

    /// Chunks so far, which is the index of the next one.
    pub(super) fn chunks(&self) -> u64 {
        self.chunks
    }

    /// STREAM_END has passed.
    pub(super) fn is_closed(&self) -> bool {
        self.stream == NamedStream::Closed
    }

    /// The stream after `frame`, or what is wrong with that.
    pub(super) fn after(self, frame: Written) -> Result<Self, Verdict> {
        let ((flow, stream), verdict) = self.flow.check(self.stream, frame);
        if verdict != Verdict::Good {
            return Err(verdict);
        }
        let chunks = match stream {
            NamedStream::Open(next) => next,
            NamedStream::Unused | NamedStream::Closed => self.chunks,
        };
        Ok(Numbered { flow, stream, chunks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_the_count_and_stays_behind_the_end() {
        let mut stream = Numbered::open();
        for n in 0..3 {
            assert_eq!(stream.chunks(), n);
            let wrong = stream.after(Written::Chunk(n.wrapping_sub(1)));
            assert_eq!(wrong.expect_err("not the next"), Verdict::OutOfPlace(n));
            stream = stream.after(Written::Chunk(n)).expect("the next");
        }
        let wrong = stream.after(Written::StreamEnd(Some(2)));
        assert_eq!(wrong.expect_err("not the count"), Verdict::CountWrong(3));
        let closed = stream.after(Written::StreamEnd(Some(3))).expect("the count");
        assert!(closed.is_closed() && !stream.is_closed());
        assert_eq!(closed.chunks(), 3);
        assert_eq!(closed.after(Written::Chunk(3)).expect_err("closed"), Verdict::NotOpen);
        assert_eq!(closed.after(Written::StreamStart).expect_err("closed"), Verdict::Restarted);
    }

    #[test]
    fn nothing_is_written_before_the_start() {
        let fresh = Numbered::default();
        assert_eq!(fresh.after(Written::Chunk(0)).expect_err("not open"), Verdict::NotOpen);
        assert_eq!(fresh.after(Written::StreamEnd(None)).expect_err("not open"), Verdict::NotOpen);
    }
}
