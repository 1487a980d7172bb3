//! Frames out of a byte stream.

use std::io::{BufReader, ErrorKind as IoKind, Read};

use bytes::Bytes;

use super::trace;
use crate::error::{Error, ErrorKind};
use crate::frame::{self, DecodeError, Frame, Limits, PREFIX_LEN, Version, Versions};

/// What is read ahead of the decoder, in bytes.
const READ_AHEAD: usize = 64 * 1024;
/// What is allocated on the word of a length prefix alone, in bytes. Larger bodies grow as they come.
const TRUSTED: usize = 1024 * 1024;

/// Reads frames from any [`Read`], one at a time. The payload of a frame borrows its buffer, unless it is too
/// small a part of it.
pub struct FrameReader<R> {
    inner: BufReader<R>,
    max_frame: u64,
    version: Version,
}

impl<R: Read> FrameReader<R> {
    /// A reader with the default frame limit, as it holds until a handshake, of the default version.
    pub fn new(inner: R) -> Self {
        let max_frame = Limits::DEFAULT.max_frame;
        let inner = BufReader::with_capacity(READ_AHEAD, inner);
        FrameReader { inner, max_frame, version: Version::default() }
    }

    /// Sets the largest body that is taken, in bytes. The ceiling of 16 MiB holds beside it.
    pub fn set_max_frame(&mut self, max_frame: u64) {
        self.max_frame = max_frame;
    }

    /// Takes frames of `version` from now on, and of no other.
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// A frame of any protocol version, for the one that names it.
    pub(super) fn read_any_version(&mut self) -> Result<Option<Frame>, Error> {
        self.read_of(Versions::ANY)
    }

    /// The next frame, waiting for it; `None` at the end of the stream between two frames.
    ///
    /// # Errors
    /// * `FrameTooLarge`: straight after the length prefix; nothing was allocated for the body.
    /// * `Malformed`: the stream ends inside a frame, or the body is not a frame of the version that is
    ///   spoken here.
    /// * `Io`: the read failed.
    ///
    /// After an error the place in the stream is lost: the connection is over.
    pub fn read(&mut self) -> Result<Option<Frame>, Error> {
        self.read_of(Versions::only(self.version.number()))
    }

    fn read_of(&mut self, versions: Versions) -> Result<Option<Frame>, Error> {
        let mut prefix = [0; PREFIX_LEN];
        match self.fill(&mut prefix)? {
            0 => return Ok(None),
            PREFIX_LEN => {}
            got => return Err(truncated(got, PREFIX_LEN, "length prefix")),
        }
        let length = frame::check_length(u32::from_be_bytes(prefix), self.max_frame)
            .map_err(|error| explain_text(error.into(), prefix))?;
        let body = self.body(length)?;
        if body.len() < length {
            return Err(truncated(body.len(), length, "body"));
        }
        let mut frame = frame::decode_with(Bytes::from(body), versions)?;
        frame.let_go_of_body(length);
        trace::received(&frame);
        Ok(Some(frame))
    }

    /// A body of `length` bytes, or as much of it as comes. No more is reserved than that, and never more
    /// than twice what has come.
    fn body(&mut self, length: usize) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        while body.len() < length {
            let more = (length - body.len()).min(body.len().max(TRUSTED));
            body.reserve_exact(more);
            let limit = u64::try_from(more).unwrap_or(u64::MAX);
            let came = self.inner.by_ref().take(limit).read_to_end(&mut body);
            if came.map_err(|e| io_error(&e))? < more {
                break;
            }
        }
        Ok(body)
    }

    /// Fills `buffer` as far as the stream goes.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.inner.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == IoKind::Interrupted => {}
                Err(e) => return Err(io_error(&e)),
            }
        }
        Ok(filled)
    }
}

/// The code of the error of a stream that ends inside a frame.
pub(crate) const TRUNCATED: &str = "TRUNCATED";

fn truncated(got: usize, want: usize, part: &str) -> Error {
    Error::with_code(
        ErrorKind::Malformed,
        TRUNCATED,
        ErrorKind::Malformed.class(),
        format!("the stream ended inside a frame: {got} of {want} bytes of its {part} came"),
    )
}

/// A program that prints where frames belong is told so: its first letters are read as a length.
fn explain_text(error: Error, prefix: [u8; PREFIX_LEN]) -> Error {
    let text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    match std::str::from_utf8(&prefix) {
        Ok(letters) if prefix.iter().all(text) => {
            let message =
                format!("{}; these are the letters {letters:?}, not a frame", error.message());
            Error::with_code(error.kind(), error.code(), error.class(), message)
        }
        _ => error,
    }
}

fn io_error(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("reading a frame failed: {error}"))
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        let kind = match error.class() {
            frame::DecodeClass::FrameTooLarge => ErrorKind::FrameTooLarge,
            _ => ErrorKind::Malformed,
        };
        Error::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_error(bytes: &[u8]) -> Error {
        FrameReader::new(bytes).read().expect_err("refused")
    }

    #[test]
    fn an_empty_stream_is_a_clean_end() {
        assert!(FrameReader::new(&[][..]).read().expect("clean").is_none());
    }

    #[test]
    fn hz_c12_a_length_above_the_limit_is_refused_after_the_prefix() {
        assert_eq!(first_error(&[0xff; 4]).kind(), ErrorKind::FrameTooLarge);
        let above = u32::try_from(Limits::DEFAULT.max_frame + 1).expect("fits");
        assert_eq!(first_error(&above.to_be_bytes()).kind(), ErrorKind::FrameTooLarge);
    }

    #[test]
    fn a_cut_stream_is_an_error_and_never_a_clean_end() {
        let mut whole = Vec::new();
        let beat = Frame::heartbeat(frame::MessageId::Uint(7));
        crate::link::FrameWriter::new(&mut whole).write(&beat).expect("a vector takes it");
        for cut in 1..whole.len() {
            assert_eq!(first_error(&whole[..cut]).kind(), ErrorKind::Malformed, "cut at {cut}");
        }
        let mut reader = FrameReader::new(&whole[..]);
        assert_eq!(reader.read().expect("whole"), Some(beat));
    }
}
