//! [`FeedSender`]: the capture side of a feed.

use super::ring::Core;
use crate::error::{Error, ErrorKind};
use crate::frame::Value;
use crate::model::feed::{CaptureAnswer, FeedEnd};
use crate::sync::Arc;
use crate::time::unix_micros;

/// What became of an item that was pushed. The number is the item's, in the order of capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Captured {
    /// It is in the ring.
    Stored(u64),
    /// It is in the ring, and the oldest item was dropped for it.
    Evicted(u64),
    /// The ring was full under [`OverrunPolicy::Fail`](super::OverrunPolicy::Fail): it was dropped,
    /// and the feed ends.
    Overflowed(u64),
    /// The feed captures no more; the item counts nowhere. Time to stop the device.
    Over,
}

impl Captured {
    /// True while there is a point in capturing on.
    #[must_use]
    pub fn goes_on(self) -> bool {
        matches!(self, Captured::Stored(_) | Captured::Evicted(_))
    }
}

impl From<CaptureAnswer> for Captured {
    fn from(answer: CaptureAnswer) -> Self {
        match answer {
            CaptureAnswer::Stored(seq) => Captured::Stored(seq),
            CaptureAnswer::Evicted(seq) => Captured::Evicted(seq),
            CaptureAnswer::Overflowed(seq) => Captured::Overflowed(seq),
            CaptureAnswer::Refused => Captured::Over,
        }
    }
}

/// The capture side of a feed. Cheap to clone; clones push into the same ring, from any thread.
///
/// A push is made for a capture callback. It never waits for the consumer, for credit or for memory
/// of the wire: it takes one lock for a fixed number of steps, reads the clock, and wakes the
/// consumer if that waits (one system call). Of its own it allocates nothing while the ring's
/// capacity is at most 1024 items; what makes the item is the caller's. An item that is evicted is
/// freed here, outside the lock. On a thread with real-time priority that is one short lock shared
/// with the consumer's and the readers' of statistics, and one call of the allocator for an eviction.
///
/// Ends with [`finish`](Self::finish) or [`fail`](Self::fail). When the last sender is dropped
/// without either, the feed fails: a capture thread that died must not look like a clean end.
#[derive(Clone)]
pub struct FeedSender(Arc<Device>);

struct Device {
    core: Arc<Core>,
}

impl Drop for Device {
    fn drop(&mut self) {
        if self.core.end_reason().is_none() {
            let message = "the capture side went away without finishing the feed";
            let class = ErrorKind::Closed.class();
            let error = Error::with_code(ErrorKind::Closed, "CAPTURE_LOST", class, message);
            self.core.end(FeedEnd::Broken, Some(error));
        }
    }
}

impl FeedSender {
    pub(super) fn new(core: Arc<Core>) -> Self {
        FeedSender(Arc::new(Device { core }))
    }

    /// An item was captured now; `pts_us` is its presentation time in microseconds. Never waits.
    pub fn push(&self, value: impl Into<Value>, pts_us: u64) -> Captured {
        self.push_at(value, pts_us, unix_micros())
    }

    /// An item was captured at `capture_ts_us`, in microseconds since the Unix epoch, by the device's
    /// own clock. Never waits.
    pub fn push_at(&self, value: impl Into<Value>, pts_us: u64, capture_ts_us: u64) -> Captured {
        self.0.core.capture(value.into(), pts_us, capture_ts_us).into()
    }

    /// The source came to its end. What is held is still delivered. The first end stays.
    pub fn finish(&self) {
        self.0.core.end(FeedEnd::Finished, None);
    }

    /// The device failed. What is held is still delivered, then the consumer gets `error`. The first
    /// end stays.
    pub fn fail(&self, error: Error) {
        self.0.core.end(FeedEnd::Broken, Some(error));
    }

    /// True once nothing is captured any more: stopped, given up, finished, failed or overrun.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.core.end_reason().is_some()
    }

    /// Waits until nothing is captured any more, so that a source can stop its device at once.
    pub fn over(&self) -> impl Future<Output = ()> + Send + use<> {
        Arc::clone(&self.0.core).has_ended()
    }
}

impl std::fmt::Debug for FeedSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FeedSender").field(&self.0.core.stats()).finish()
    }
}
