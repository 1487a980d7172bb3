//! A file or pipe as a source.

use std::io::{BufRead, BufReader, ErrorKind as IoKind, Read};
use std::time::{Duration, Instant};

use super::synthetic::no_thread;
use super::{Feed, FeedOptions, FeedSender};
use crate::error::{Error, ErrorKind};
use crate::frame::Value;
use crate::link::spawn_quiet;
use crate::time::{Deadline, now};
use crate::wait::block_on;

/// Where one item ends and the next begins in a stream of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Items of so many bytes, such as raw video frames or blocks of samples.
    Fixed(usize),
    /// One item a line, as bytes without the line's end; none longer than so many bytes.
    Lines(usize),
}

/// How fast a source is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As the bytes come: for what is live already. Presentation time is the time since the start.
    AsItComes,
    /// One item at such a distance: plays a file as if it were live. Presentation times are even.
    Every(Duration),
}

impl Feed {
    /// A feed of what `reader` gives, read on a thread of its own. The end of the bytes ends the feed
    /// as it should; an error of the reader, bytes that stop in the middle of an item, and a line
    /// that is too long fail it.
    ///
    /// The end of the feed is told at once whatever the reader does; its thread ends with the read
    /// that is going on.
    ///
    /// # Errors
    /// `InvalidArgument` if the ring or an item could hold nothing; `LimitReached` if there is no
    /// thread.
    pub fn reader(
        options: FeedOptions,
        reader: impl Read + Send + 'static,
        framing: Framing,
        pace: Pace,
    ) -> Result<Self, Error> {
        let (feed, capture) = Feed::open(options)?;
        framing.check()?;
        let run = move || match read_all(reader, framing, pace, &capture) {
            Ok(()) => capture.finish(),
            Err(error) => capture.fail(error),
        };
        spawn_quiet("capture", run).map_err(|e| no_thread(&e))?;
        Ok(feed)
    }
}

impl Framing {
    pub(super) fn check(self) -> Result<(), Error> {
        match self {
            Framing::Fixed(0) | Framing::Lines(0) => {
                let message = "an item of a feed holds at least 1 byte, not 0";
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
            Framing::Fixed(_) | Framing::Lines(_) => Ok(()),
        }
    }
}

/// Pushes item after item until the bytes or the feed end.
pub(super) fn read_all(
    reader: impl Read,
    framing: Framing,
    pace: Pace,
    capture: &FeedSender,
) -> Result<(), Error> {
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    let start = now();
    let mut number = 0u32;
    while let Some(item) = next_item(&mut reader, framing)? {
        let Some(pts_us) = pts(pace, start, number, capture) else { return Ok(()) };
        if !capture.push(Value::Bytes(item.into()), pts_us).goes_on() {
            return Ok(());
        }
        number = number.saturating_add(1);
    }
    Ok(())
}

/// Waits until the item with this number is due; `None` if the feed is over before.
fn pts(pace: Pace, start: Instant, number: u32, capture: &FeedSender) -> Option<u64> {
    let elapsed = now().saturating_duration_since(start);
    let at = match pace {
        Pace::AsItComes => elapsed,
        Pace::Every(interval) => {
            let due = interval.saturating_mul(number);
            let wait = due.saturating_sub(elapsed);
            if !wait.is_zero() && block_on(capture.over(), Deadline::after(wait)).is_ok() {
                return None;
            }
            due
        }
    };
    Some(u64::try_from(at.as_micros()).unwrap_or(u64::MAX))
}

fn next_item(reader: &mut impl BufRead, framing: Framing) -> Result<Option<Vec<u8>>, Error> {
    match framing {
        Framing::Fixed(size) => block(reader, size),
        Framing::Lines(longest) => line(reader, longest),
    }
}

/// The next `size` bytes. The buffer grows with what came, not with what was announced.
fn block(reader: &mut impl BufRead, size: usize) -> Result<Option<Vec<u8>>, Error> {
    let mut item = Vec::new();
    let limit = u64::try_from(size).unwrap_or(u64::MAX);
    reader.take(limit).read_to_end(&mut item).map_err(|e| unreadable(&e))?;
    match item.len() {
        0 => Ok(None),
        whole if whole == size => Ok(Some(item)),
        part => Err(Error::new(
            ErrorKind::Malformed,
            format!("the source ended in the middle of an item: {part} of {size} bytes came"),
        )),
    }
}

fn line(reader: &mut impl BufRead, longest: usize) -> Result<Option<Vec<u8>>, Error> {
    let mut item = Vec::new();
    loop {
        let bytes = match reader.fill_buf() {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == IoKind::Interrupted => continue,
            Err(e) => return Err(unreadable(&e)),
        };
        if bytes.is_empty() {
            return Ok((!item.is_empty()).then_some(item));
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = end.unwrap_or(bytes.len());
        if item.len().saturating_add(part) > longest {
            let message = format!("a line is longer than {longest} bytes");
            return Err(Error::new(ErrorKind::LimitReached, message));
        }
        item.extend_from_slice(&bytes[..part]);
        reader.consume(end.map_or(part, |end| end + 1));
        if end.is_some() {
            if item.last() == Some(&b'\r') {
                item.pop();
            }
            return Ok(Some(item));
        }
    }
}

fn unreadable(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the source cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(bytes: &[u8], framing: Framing) -> (Vec<Vec<u8>>, Result<(), ErrorKind>) {
        let mut reader = BufReader::with_capacity(3, bytes); // items span buffers
        let mut items = Vec::new();
        loop {
            match next_item(&mut reader, framing) {
                Ok(Some(item)) => items.push(item),
                Ok(None) => return (items, Ok(())),
                Err(error) => return (items, Err(error.kind())),
            }
        }
    }

    #[test]
    fn blocks_are_whole_or_an_error() {
        let whole = vec![b"abcd".to_vec(), b"efgh".to_vec()];
        assert_eq!(items(b"abcdefgh", Framing::Fixed(4)), (whole.clone(), Ok(())));
        let torn = items(b"abcdefghi", Framing::Fixed(4));
        assert_eq!(torn, (whole, Err(ErrorKind::Malformed)));
    }

    #[test]
    fn lines_lose_their_ends_and_keep_everything_else() {
        let lines = vec![b"one".to_vec(), b"".to_vec(), b"three".to_vec()];
        assert_eq!(items(b"one\r\n\nthree", Framing::Lines(5)), (lines, Ok(())));
        let long = items(b"one\nthree!\n", Framing::Lines(5));
        assert_eq!(long, (vec![b"one".to_vec()], Err(ErrorKind::LimitReached)));
    }
}
