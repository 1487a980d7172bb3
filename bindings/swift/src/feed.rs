//! Live feeds: a source that cannot be held up, in front of a consumer that may be slow.

use std::fs::File;
use std::os::fd::FromRawFd;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::feed::{
    Feed, FeedMeta, FeedOptions, FeedSender, FeedStats, Framing, OverrunPolicy, Pace,
};
use sluicegate::{Error, ErrorKind, Item, Value};

use crate::engine::CommandFacts;
use crate::error::{Failure, Fault};
use crate::guard::{guard, quiet};
use crate::input::{ItemsOp, Lent};
use crate::lend::borrow;
use crate::op::UnitOp;
use crate::output::{OutputCore, malformed, value};

/// The longest item of a source of lines, in bytes.
const LONGEST_LINE: usize = 1024 * 1024;

/// Both ends of core's feed. One that captures by itself has no capture side.
#[derive(uniffi::Object)]
pub struct FeedCore {
    feed: Feed,
    capture: Option<FeedSender>,
}

/// How a feed is opened.
#[derive(Clone, Debug, uniffi::Record)]
pub struct FeedFacts {
    /// Items the ring can hold.
    pub capacity: u64,
    /// It ends when its ring is full; otherwise the oldest item makes room.
    pub fails: bool,
    /// What is captured, CBOR.
    pub format: Option<Vec<u8>>,
}

/// A feed's figures at one moment, in items.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct FeedFigures {
    /// What the source produced.
    pub captured: u64,
    /// What left the ring for the consumer.
    pub delivered: u64,
    /// What was lost.
    pub dropped: u64,
    /// Of these, how many because the consumer was slower than reality.
    pub overruns: u64,
    /// What the ring holds.
    pub held: u64,
    /// What it can hold.
    pub capacity: u64,
    /// Nothing is captured any more.
    pub ended: bool,
}

impl From<FeedStats> for FeedFigures {
    fn from(stats: FeedStats) -> Self {
        let FeedStats { captured, delivered, dropped, overruns, held, capacity, ended } = stats;
        FeedFigures { captured, delivered, dropped, overruns, held, capacity, ended }
    }
}

fn options(facts: FeedFacts) -> Result<FeedOptions, Error> {
    let format = facts.format.as_deref().map(Value::decode).transpose().map_err(malformed)?;
    let policy = if facts.fails { OverrunPolicy::Fail } else { OverrunPolicy::DropOldest };
    Ok(FeedOptions { capacity: facts.capacity, policy, format })
}

/// Takes a descriptor over.
fn own(descriptor: i32) -> Result<File, Error> {
    if descriptor < 0 {
        return Err(Error::new(ErrorKind::InvalidArgument, "there is no such descriptor"));
    }
    // SAFETY: the Swift side hands over an open descriptor that it owns and does not use again.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

fn framing(item_bytes: Option<u64>) -> Framing {
    let bytes = |n| Framing::Fixed(usize::try_from(n).unwrap_or(usize::MAX));
    item_bytes.map_or(Framing::Lines(LONGEST_LINE), bytes)
}

/// Opens a feed that is pushed into.
///
/// # Errors
/// `InvalidArgument` for a ring of nothing, `Malformed` for a format that is not CBOR.
#[uniffi::export]
pub fn open_feed(facts: FeedFacts) -> Result<Arc<FeedCore>, Failure> {
    guard(|| {
        let (feed, capture) = Feed::open(options(facts)?)?;
        Ok::<_, Error>(Arc::new(FeedCore { feed, capture: Some(capture) }))
    })
}

/// Starts a command whose output is the source.
///
/// # Errors
/// As core's `command`.
#[uniffi::export]
pub fn command_feed(
    facts: FeedFacts,
    command: CommandFacts,
    item_bytes: Option<u64>,
) -> Result<Arc<FeedCore>, Failure> {
    guard(|| {
        let feed = Feed::command(options(facts)?, &command.into(), framing(item_bytes))?;
        Ok::<_, Error>(Arc::new(FeedCore { feed, capture: None }))
    })
}

/// Opens a feed of a descriptor, which is taken over.
///
/// # Errors
/// As core's `reader`.
#[uniffi::export]
pub fn descriptor_feed(
    facts: FeedFacts,
    descriptor: i32,
    item_bytes: Option<u64>,
    interval_micros: Option<u64>,
) -> Result<Arc<FeedCore>, Failure> {
    guard(|| {
        let file = own(descriptor)?;
        let every = |micros| Pace::Every(Duration::from_micros(micros));
        let pace = interval_micros.map_or(Pace::AsItComes, every);
        let feed = Feed::reader(options(facts)?, file, framing(item_bytes), pace)?;
        Ok::<_, Error>(Arc::new(FeedCore { feed, capture: None }))
    })
}

impl FeedCore {
    /// The consumer's side.
    pub(crate) fn feed(&self) -> Feed {
        self.feed.clone()
    }

    fn capture(&self) -> Result<&FeedSender, Error> {
        self.capture.as_ref().ok_or_else(|| {
            let message = "this feed captures by itself: nothing is pushed into it";
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }

    fn push(&self, value: Value, pts_us: u64, capture_ts_us: Option<u64>) -> Result<bool, Error> {
        let capture = self.capture()?;
        let captured = match capture_ts_us {
            None => capture.push(value, pts_us),
            Some(at) => capture.push_at(value, pts_us, at),
        };
        Ok(captured.goes_on())
    }
}

#[uniffi::export]
impl FeedCore {
    /// Captures the bytes that are lent for this call. True while there is a point in going on.
    ///
    /// # Errors
    /// `InvalidArgument` if the feed captures by itself.
    pub fn push_bytes(
        &self,
        address: u64,
        count: u64,
        pts_us: u64,
        capture_ts_us: Option<u64>,
    ) -> Result<bool, Failure> {
        // SAFETY: Swift lends the bytes with `withUnsafeBytes` round this call.
        let bytes = unsafe { borrow(address, count) };
        guard(|| self.push(Value::Bytes(bytes), pts_us, capture_ts_us))
    }

    /// Captures the value whose CBOR is lent for this call.
    ///
    /// # Errors
    /// As [`push_bytes`](Self::push_bytes), and `Malformed`.
    pub fn push_value(
        &self,
        address: u64,
        count: u64,
        pts_us: u64,
        capture_ts_us: Option<u64>,
    ) -> Result<bool, Failure> {
        // SAFETY: Swift lends the bytes with `withUnsafeBytes` round this call.
        guard(|| self.push(unsafe { value(address, count) }?, pts_us, capture_ts_us))
    }

    /// Stops the capture; what is held is delivered.
    pub fn stop(&self) {
        quiet((), || self.feed.stop());
    }

    /// The device failed.
    ///
    /// # Errors
    /// `InvalidArgument` if the feed captures by itself.
    pub fn fail(&self, reason: Fault) -> Result<(), Failure> {
        guard(|| {
            self.capture()?.fail(reason.into());
            Ok::<_, Error>(())
        })
    }

    /// Gives the feed up.
    pub fn abandon(&self) {
        quiet((), || self.feed.abandon());
    }

    /// The next item; none at the clean end.
    pub fn recv(&self) -> Arc<ItemsOp> {
        let next = self.feed.recv();
        ItemsOp::start(async move {
            let item = next.await?;
            let item = item.map(|i| Item { value: i.value, meta: Some(i.meta.to_value()) });
            Ok::<_, Error>(item.map(Lent::from).into_iter().collect())
        })
    }

    /// Delivers the feed to a stream until it ends.
    pub fn serve(&self, output: &OutputCore) -> Arc<UnitOp> {
        UnitOp::start(self.feed.serve(&output.0))
    }

    /// The figures now.
    ///
    /// # Errors
    /// `Broken` after a panic.
    pub fn stats(&self) -> Result<FeedFigures, Failure> {
        guard(|| Ok::<_, Error>(self.feed.stats().into()))
    }
}

/// What travels with an item of a feed.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct FeedMetaFacts {
    /// Its number in the order of capture.
    pub seq: u64,
    /// Presentation time in microseconds.
    pub pts_us: u64,
    /// Microseconds since the Unix epoch.
    pub capture_ts_us: u64,
    /// Items lost in front of it, if any were.
    pub gap_dropped: Option<u64>,
    /// Presentation time from the item delivered before, in microseconds.
    pub gap_duration_us: u64,
}

/// What a feed says about an item, from the CBOR of its metadata; none if it is not a feed's.
#[uniffi::export]
pub fn feed_meta(meta: Vec<u8>) -> Option<FeedMetaFacts> {
    quiet(None, || {
        let meta = FeedMeta::read(&Value::decode(&meta).ok()?)?;
        Some(FeedMetaFacts {
            seq: meta.seq,
            pts_us: meta.pts_us,
            capture_ts_us: meta.capture_ts_us,
            gap_dropped: meta.gap.map(|gap| gap.dropped),
            gap_duration_us: meta.gap.map_or(0, |gap| gap.duration_us),
        })
    })
}
