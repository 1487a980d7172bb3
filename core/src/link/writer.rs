//! Frames into a byte stream.

use std::io::{ErrorKind as IoKind, IoSlice, Write};

use super::trace;
use crate::error::{Error, ErrorKind};
use crate::frame::{self, EncodeError, EncodedFrame, Frame, FrameRule, Limits, Version, Versions};

/// Slices handed to one system call.
const SLICES: usize = 96;

/// Writes frames to any [`Write`]. Payloads are written from where they lie.
pub struct FrameWriter<W> {
    inner: W,
    max_frame: u64,
    version: Version,
}

impl<W: Write> FrameWriter<W> {
    /// A writer with the default frame limit, as it holds until a handshake, of the default version.
    pub fn new(inner: W) -> Self {
        FrameWriter { inner, max_frame: Limits::DEFAULT.max_frame, version: Version::default() }
    }

    /// What the frames are written to.
    pub(super) fn inner(&self) -> &W {
        &self.inner
    }

    /// Sets the largest body that is written, in bytes.
    pub fn set_max_frame(&mut self, max_frame: u64) {
        self.max_frame = max_frame;
    }

    /// What is spoken.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Writes frames of `version` from now on, and of no other.
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// Writes one frame and flushes.
    ///
    /// # Errors
    /// `FrameTooLarge`, or `InvalidArgument` for a frame of another version, before anything is written;
    /// `Io` if the write failed.
    pub fn write(&mut self, frame: &Frame) -> Result<(), Error> {
        let (version, spoken) = (frame.version, Versions::only(self.version.number()));
        if !spoken.contains(version) {
            let error = EncodeError::Frame(FrameRule::Version { version, spoken });
            return Err(unwritable(frame, &error));
        }
        let encoded = encode(frame, self.max_frame)?;
        self.write_encoded(&[encoded])
    }

    /// Writes frames as few system calls and flushes.
    pub(crate) fn write_encoded(&mut self, frames: &[EncodedFrame]) -> Result<(), Error> {
        for part in frames.chunks(SLICES / 3) {
            let mut slices = Vec::with_capacity(part.len() * 3);
            for frame in part {
                for piece in frame.parts() {
                    if !piece.is_empty() {
                        slices.push(IoSlice::new(piece));
                    }
                }
            }
            self.write_slices(&mut slices)?;
        }
        self.inner.flush().map_err(|e| io_error(&e))
    }

    fn write_slices(&mut self, mut slices: &mut [IoSlice<'_>]) -> Result<(), Error> {
        while !slices.is_empty() {
            match self.inner.write_vectored(slices) {
                Ok(0) => return Err(io_error(&IoKind::WriteZero.into())),
                Ok(n) => IoSlice::advance_slices(&mut slices, n),
                Err(e) if e.kind() == IoKind::Interrupted => {}
                Err(e) => return Err(io_error(&e)),
            }
        }
        Ok(())
    }
}

/// Encodes a frame, refusing one whose body is larger than `max_frame` bytes.
pub(crate) fn encode(frame: &Frame, max_frame: u64) -> Result<EncodedFrame, Error> {
    let encoded =
        frame::encode_parts(frame, max_frame).map_err(|error| unwritable(frame, &error))?;
    trace::sent(frame);
    Ok(encoded)
}

pub(super) fn unwritable(frame: &Frame, error: &EncodeError) -> Error {
    let kind = match error {
        EncodeError::TooLarge { .. } => ErrorKind::FrameTooLarge,
        EncodeError::Frame(_) => ErrorKind::InvalidArgument,
    };
    Error::new(kind, format!("a {} frame cannot be written: {error}", frame.frame_type.name()))
}

fn io_error(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("writing a frame failed: {error}"))
}
