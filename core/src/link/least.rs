//! The smallest frame limit that a link can be used with.

use std::sync::OnceLock;

use bytes::Bytes;

use super::writer::{self, unwritable};
use crate::error::{Error, ErrorKind};
use crate::frame::{EncodedFrame, Frame, FrameType, MessageId, Value, encode, encode_parts};

/// The smallest `max_frame`, in bytes, with which a request can be answered at all: an ERR that says so fits,
/// with a character of its text, and a CHUNK with one byte of data. With less, whoever calls would wait for
/// an answer that nobody can send.
pub(crate) fn least_max_frame() -> u64 {
    static LEAST: OnceLock<u64> = OnceLock::new();
    *LEAST.get_or_init(|| {
        let (id, kind) = (MessageId::new_random(), ErrorKind::FrameTooLarge);
        let error = Frame::err(id, None, kind.code(), kind.class(), "?");
        let byte = Value::Bytes(Bytes::from_static(b"?")).encode();
        let chunk = Frame::chunk(id, None, "resp-0", 0, byte.into());
        let sizes = [error, chunk].map(|frame| encode(&frame).map_or(0, |body| body.len()));
        u64::try_from(sizes.into_iter().max().unwrap_or_default()).unwrap_or(u64::MAX)
    })
}

/// Whether a link takes a frame.
///
/// # Errors
/// `FrameTooLarge`, naming the limit.
pub(crate) fn fits(frame: &Frame, max_frame: u64) -> Result<(), Error> {
    match encode_parts(frame, max_frame) {
        Ok(_) => Ok(()),
        Err(error) => Err(unwritable(frame, &error)),
    }
}

/// What is written in place of a frame of a request that does not fit: an ERR, which keeps its code if it was
/// one before.
pub(super) fn in_place_of(frame: &Frame, error: &Error) -> Frame {
    match frame.frame_type {
        FrameType::Err => frame.clone(),
        _ => {
            let (id, routing_id) = (frame.id, frame.routing_id);
            Frame::err(id, routing_id, error.code(), error.class(), error.message())
        }
    }
}

/// An ERR on its way, with as much of its text as fits; without what else it says, if not even its first
/// character does.
pub(super) fn encode_cut(err: &Frame, max_frame: u64) -> Option<EncodedFrame> {
    if let Ok(whole) = writer::encode(err, max_frame) {
        return Some(whole);
    }
    let cut = cut_to_fit(err, max_frame).or_else(|| {
        // A code of somebody else's may be of any length.
        let kind = ErrorKind::FrameTooLarge;
        let message = err.message().unwrap_or("?");
        let mut plain = Frame::err(err.id, err.routing_id, kind.code(), kind.class(), message);
        (plain.seq, plain.version) = (err.seq, err.version);
        cut_to_fit(&plain, max_frame)
    })?;
    writer::encode(&cut, max_frame).ok()
}

/// `err` with as much of its text as fits a body of `max_frame` bytes.
fn cut_to_fit(err: &Frame, max_frame: u64) -> Option<Frame> {
    let (code, class) = (err.error_code()?, err.attribution_class()?);
    let message = err.message().unwrap_or("?");
    let with = |message: &str| {
        let mut cut = Frame::err(err.id, err.routing_id, code, class, message);
        (cut.seq, cut.version) = (err.seq, err.version);
        cut
    };
    let fits = |frame: &Frame| encode(frame).is_ok_and(|body| body.len() as u64 <= max_frame);
    let first = message.chars().next()?.len_utf8();
    let mut end = message.len();
    loop {
        let cut = with(&message[..end]);
        if fits(&cut) {
            return Some(cut);
        }
        if end == first {
            return None;
        }
        let size = encode(&cut).map_or(usize::MAX, |body| body.len());
        let over = size.saturating_sub(usize::try_from(max_frame).unwrap_or(usize::MAX)).max(1);
        end = end.saturating_sub(over).max(first);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::AttributionClass;
    use crate::frame::CHUNK_HEAD;

    #[test]
    fn a_chunk_of_ours_has_no_more_beside_its_payload_than_is_counted_for_it() {
        let id = MessageId::new_random();
        let one = Value::from("x").encode();
        // The longest of each that a runtime of this library makes.
        let mut chunk = Frame::chunk(id, Some(id), "resp-1023", u64::MAX, one.clone().into());
        chunk.seq = u64::MAX;
        chunk.checksum = Some(u64::MAX);
        let head = encode(&chunk).expect("a frame").len() - one.len() + 4; // the payload's own head may grow
        assert!(head <= CHUNK_HEAD, "{head}");
    }

    #[test]
    fn an_error_is_cut_where_it_fits() {
        let id = MessageId::new_random();
        let text = "\u{10ffff}".repeat(100);
        let class = AttributionClass::Environment;
        for kind in ErrorKind::ALL {
            let err = Frame::err(id, Some(id), kind.code(), class, &text);
            for max_frame in 200..400 {
                let cut = cut_to_fit(&err, max_frame).expect("one character fits");
                let size = encode(&cut).expect("a frame").len() as u64;
                assert!(size <= max_frame, "{size} > {max_frame}");
                let message = cut.message().expect("a text");
                assert!(!message.is_empty() && text.starts_with(message));
            }
        }
        let short = Frame::err(id, None, "CLOSED", class, "no");
        assert_eq!(cut_to_fit(&short, 4096).expect("it fits"), short);
        assert_eq!(cut_to_fit(&short, 20), None);
        // What fits with no code of its own has that of what is too large.
        let least = least_max_frame();
        assert!(least < 100, "{least}");
        let long = Frame::err(id, None, &"X".repeat(200), class, "why");
        assert!(encode_cut(&long, least).is_some());
    }
}
