//! How long a name may be that a peer gives and this end keeps.

use crate::error::{Error, ErrorKind};
use crate::frame::Frame;

/// Bytes of a cap, the name of a stream, of its output or of its medium.
pub(crate) const NAME: usize = 4096;

/// Refuses a frame with a name that is too long to be kept.
pub(crate) fn check_names(frame: &Frame) -> Result<(), Error> {
    let names = [
        ("cap", &frame.cap),
        ("stream", &frame.stream_id),
        ("media", &frame.media_urn),
        ("output", &frame.output),
    ];
    for (what, name) in names {
        let bytes = name.as_ref().map_or(0, String::len);
        if bytes > NAME {
            let message =
                format!("the name of a {what} has {bytes} bytes, and may have {NAME} at most");
            return Err(Error::new(ErrorKind::LimitReached, message));
        }
    }
    Ok(())
}
