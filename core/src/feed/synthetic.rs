//! A source that only needs a clock.

use std::time::Duration;

use super::{Feed, FeedOptions, FeedSender};
use crate::error::{Error, ErrorKind};
use crate::frame::Value;
use crate::link::spawn_quiet;
use crate::time::{Deadline, now, unix_micros};
use crate::wait::block_on;

/// What a clocked source produces: items of a size, at even distances.
///
/// An item is a byte string: its number as 8 bytes, the highest first, then bytes that count up from
/// it, cut or filled to `item_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthetic {
    /// How many items, then the feed finishes; `None` for no end.
    pub items: Option<u64>,
    /// Presentation time from one item to the next. Zero makes items as fast as it can.
    pub interval: Duration,
    /// Bytes of an item.
    pub item_bytes: usize,
}

impl Synthetic {
    /// Pushes what is due `elapsed` after the start, all of it, as a device would have, and answers
    /// when the next is due, counted from the start as well; `None` once the feed is over, by the last item or
    /// otherwise. `next` is how many were made before, and is brought up to date; `start_us` is the
    /// start in microseconds since the Unix epoch. Reads no clock.
    pub fn advance(
        &self,
        next: &mut u64,
        elapsed: Duration,
        start_us: u64,
        capture: &FeedSender,
    ) -> Option<Duration> {
        loop {
            if self.items.is_some_and(|items| *next >= items) {
                capture.finish();
                return None;
            }
            let due = micros(self.interval).saturating_mul(*next);
            if due > micros(elapsed) {
                return Some(Duration::from_micros(due));
            }
            let captured = capture.push_at(self.item(*next), due, start_us.saturating_add(due));
            if !captured.goes_on() {
                return None;
            }
            *next = next.saturating_add(1);
            if self.interval.is_zero() {
                return Some(elapsed); // one at a time, so that a caller can look at other things
            }
        }
    }

    fn item(&self, number: u64) -> Value {
        let mut bytes = number.to_be_bytes().to_vec();
        bytes.truncate(self.item_bytes);
        let low = number.to_be_bytes()[7];
        let filler = (1..=u8::MAX).cycle().map(|step| low.wrapping_add(step));
        let missing = self.item_bytes - bytes.len();
        bytes.extend(filler.take(missing));
        Value::Bytes(bytes.into())
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Feed {
    /// A feed of synthetic items by this machine's clock, made on a thread of its own.
    ///
    /// # Errors
    /// `InvalidArgument` if the ring could hold nothing; `LimitReached` if there is no thread.
    pub fn synthetic(options: FeedOptions, source: Synthetic) -> Result<Self, Error> {
        let (feed, capture) = Feed::open(options)?;
        let run = move || {
            let (start, start_us, mut next) = (now(), unix_micros(), 0);
            loop {
                let elapsed = now().saturating_duration_since(start);
                let Some(due) = source.advance(&mut next, elapsed, start_us, &capture) else {
                    break;
                };
                let wait = due.saturating_sub(elapsed);
                // Woken early by the end alone: the clock decides, the end is seen by the next push.
                if !wait.is_zero() && block_on(capture.over(), Deadline::after(wait)).is_ok() {
                    break;
                }
            }
        };
        spawn_quiet("synthetic", run).map_err(|e| no_thread(&e))?;
        Ok(feed)
    }
}

pub(super) fn no_thread(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::LimitReached, format!("no thread for the source: {error}"))
}
