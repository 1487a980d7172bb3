//! Live feeds: a source that cannot be held up, in front of a consumer that may be slow.
//!
//! A device produces whether or not anyone granted credit. Every stage from the wire back to the
//! feed's ring waits; the capture edge cannot, so the ring applies a declared policy: it drops its
//! oldest item and says so with the next one delivered, or the feed ends with `FEED_OVERRUN`.
//!
//! ```
//! use sluicegate::feed::{Captured, Feed, FeedOptions};
//!
//! let (feed, capture) = Feed::open(FeedOptions { capacity: 2, ..FeedOptions::default() })?;
//! for (pts_us, sample) in [(0, "a"), (10, "b"), (20, "c")] {
//!     capture.push(sample, pts_us); // never waits
//! }
//! capture.finish();
//! let first = feed.blocking_recv()?.expect("two items are held");
//! let gap = first.meta.gap.expect("one was lost before it");
//! assert_eq!((first.meta.seq, gap.dropped), (1, 1));
//! assert_eq!(feed.stats().captured, feed.stats().delivered + feed.stats().dropped + 1);
//! assert_eq!(capture.push("late", 30), Captured::Over);
//! # Ok::<(), sluicegate::Error>(())
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `ring` | the ring under its lock: the decisions of [`model::feed`](crate::model::feed) on real items |
//! | `sender` | [`FeedSender`]: the capture side |
//! | `item` | [`FeedItem`], its metadata and gaps |
//! | `stats` | [`FeedStats`]: the figures |
//! | `serve` | ring to [`OutputStream`]: waits for credit, in the consumer's own thread |
//! | `synthetic`, `reader`, `command` | sources: a clock, a file or pipe, a child process |

mod command;
mod item;
mod reader;
mod ring;
mod sender;
mod serve;
mod stats;
mod synthetic;

pub use item::{FeedItem, FeedMeta, Gap};
pub use reader::{Framing, Pace};
pub use sender::{Captured, FeedSender};
pub use stats::FeedStats;
pub use synthetic::Synthetic;

pub use crate::model::feed::OverrunPolicy;

use ring::{Core, Taken};

use crate::error::{Error, ErrorKind};
use crate::frame::Value;
use crate::model::feed::{Feed as Machine, FeedEnd};
use crate::stream::OutputStream;
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::block_on;

/// How a feed is opened.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedOptions {
    /// Items the ring can hold, at least 1. A ring that is never full costs only what it holds.
    pub capacity: u64,
    /// What happens when it is full.
    pub policy: OverrunPolicy,
    /// What is captured, a map: rate, size, pixel format. It becomes the stream's metadata when the
    /// feed is served.
    pub format: Option<Value>,
}

impl Default for FeedOptions {
    /// 64 items, the oldest makes room, no format.
    fn default() -> Self {
        FeedOptions { capacity: 64, policy: OverrunPolicy::DropOldest, format: None }
    }
}

/// The consumer's end of a live feed. Cheap to clone; any thread may use it.
///
/// One consumer at a time: while the feed is being [served](Self::serve), `recv` is refused. Dropping
/// the last handle gives the feed up: what the ring holds is dropped and the source is stopped.
#[derive(Clone)]
pub struct Feed(Arc<Owner>);

struct Owner {
    core: Arc<Core>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.core.abandon();
    }
}

impl Feed {
    /// A feed that the caller's own source pushes into.
    ///
    /// # Errors
    /// `InvalidArgument` if the ring could hold nothing.
    pub fn open(options: FeedOptions) -> Result<(Self, FeedSender), Error> {
        let Some(machine) = Machine::opened(options.capacity, options.policy) else {
            let message = "a feed's ring holds at least 1 item, not 0";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        };
        let core = Core::new(machine, options.format);
        let sender = FeedSender::new(Arc::clone(&core));
        Ok((Feed(Arc::new(Owner { core })), sender))
    }

    /// The next item, oldest first; `None` when the feed has ended as it should and all is delivered.
    ///
    /// Dropping the future takes nothing.
    ///
    /// # Errors
    /// Once all that is held was delivered, `FeedOverrun` if the ring was full under
    /// [`OverrunPolicy::Fail`], or what the source failed with; `InvalidArgument` while the feed is
    /// being served.
    pub fn recv(&self) -> impl Future<Output = Result<Option<FeedItem>, Error>> + Send + use<> {
        let this = self.clone();
        async move {
            this.core().refuse_if_served()?;
            Arc::clone(this.core()).next().await
        }
    }

    /// [`recv`](Self::recv), waiting on this thread.
    ///
    /// # Errors
    /// As there.
    pub fn blocking_recv(&self) -> Result<Option<FeedItem>, Error> {
        block_on(self.recv(), Deadline::NEVER)?
    }

    /// [`recv`](Self::recv), waiting on this thread until `deadline`.
    ///
    /// # Errors
    /// As there, and `TimedOut`; nothing was taken then.
    pub fn blocking_recv_timeout(&self, deadline: Deadline) -> Result<Option<FeedItem>, Error> {
        block_on(self.recv(), deadline)?
    }

    /// What [`recv`](Self::recv) would answer if it needs no waiting; outer `None` if it would wait.
    ///
    /// # Errors
    /// As there.
    pub fn try_recv(&self) -> Result<Option<Option<FeedItem>>, Error> {
        self.core().refuse_if_served()?;
        match self.core().try_next() {
            Some(Taken::Item(item)) => Ok(Some(Some(item))),
            Some(Taken::Over(over)) => over.map(|()| Some(None)),
            None => Ok(None),
        }
    }

    /// The items as they come, waiting on this thread. Ends behind the last one, or behind an error.
    pub fn iter(&self) -> impl Iterator<Item = Result<FeedItem, Error>> + use<> {
        let this = self.clone();
        let mut over = false;
        std::iter::from_fn(move || {
            let next = if over { None } else { this.blocking_recv().transpose() };
            over = !matches!(next, Some(Ok(_)));
            next
        })
    }

    /// Delivers the feed to `output` until it ends: each item takes its credit (L9) and waits for it
    /// here, never at the source. The stream is opened, unless it is open, as an unbounded sequence
    /// (L16) with the feed's format as metadata; it is left open at the end.
    ///
    /// The feed's overruns count in the runtime of `output` from here on. A CLOSE_STREAM from the
    /// caller stops the capture and lets what is held drain.
    ///
    /// Fails with what the feed failed with, once what it held was delivered; with the reason if the
    /// request ends (L13), also while the source is silent; with `InvalidArgument` if the feed is
    /// being served already. Dropping the future ends the delivery; the feed goes on capturing.
    pub fn serve(
        &self,
        output: &OutputStream,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        serve::serve(self.clone(), output.clone())
    }

    /// [`serve`](Self::serve), waiting on this thread.
    ///
    /// # Errors
    /// As there.
    pub fn blocking_serve(&self, output: &OutputStream) -> Result<(), Error> {
        block_on(self.serve(output), Deadline::NEVER)?
    }

    /// Stops the capture. What is held is still delivered, then the feed ends as it should. Never
    /// waits, whatever the consumer does; may be called again.
    pub fn stop(&self) {
        self.core().end(FeedEnd::Finished, None);
    }

    /// Gives the feed up: the source is stopped and what is held is dropped. Never waits.
    pub fn abandon(&self) {
        self.core().abandon();
    }

    /// Waits until the feed has ended and nothing is held, and answers how; takes nothing.
    pub(crate) fn drained(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        Arc::clone(self.core()).drained()
    }

    /// The figures now.
    #[must_use]
    pub fn stats(&self) -> FeedStats {
        self.core().stats()
    }

    fn core(&self) -> &Arc<Core> {
        &self.0.core
    }
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Feed").field(&self.stats()).finish()
    }
}
