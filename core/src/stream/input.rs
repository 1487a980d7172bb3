//! [`InputStream`]: values in, credit back as they are consumed.

use std::time::Duration;

use super::chunk::Arrived;
use super::input_core::InputCore;
use super::{Item, Owner, StreamInfo, StreamStats, Wire};
use crate::error::{Error, ErrorKind, Reason, TimedOut};
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::block_on;

/// Values in. Cheap to clone; several threads or tasks may consume, each value reaches one of them.
///
/// Consuming is what grants credit (L10): grants go out in batches of half the window, and whatever
/// is pending goes out before any wait. The memory held is bounded by the window: at most
/// `initial_credit` chunks, and the one item being put together.
///
/// Values that came before the end are delivered before it. A stream that fails gives the same
/// error to every later call.
#[derive(Clone)]
pub struct InputStream(Arc<Reader>);

/// What happens when a stream is given up before its end.
pub(crate) type Abandon = Box<dyn Fn(Reason) + Send + Sync>;

struct Reader {
    core: Arc<InputCore>,
    _owner: Owner,
    abandon: Option<Abandon>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(abandon) = &self.abandon
            && !self.core.has_ended()
        {
            abandon(Error::new(ErrorKind::Cancelled, "the reader of the stream went away"));
        }
    }
}

/// What [`InputStream::try_recv`] answers.
#[derive(Clone, Debug, PartialEq)]
pub enum TryRecv {
    /// A value.
    Item(Item),
    /// Nothing has come yet.
    Wait,
    /// The clean end.
    End,
}

impl InputStream {
    pub(crate) fn new(core: Arc<InputCore>, owner: Owner, abandon: Option<Abandon>) -> Self {
        InputStream(Arc::new(Reader { core, _owner: owner, abandon }))
    }

    pub(super) fn core(&self) -> &InputCore {
        &self.0.core
    }

    /// What is known of the stream.
    #[must_use]
    pub fn info(&self) -> &StreamInfo {
        self.core().info()
    }

    /// The next value; `None` at the clean end.
    pub fn recv(&self) -> impl Future<Output = Result<Option<Item>, Error>> + Send + use<> {
        let this = self.clone();
        self.core().wire.owed.before_wait(async move { this.next_item().await })
    }

    pub(super) async fn next_item(&self) -> Result<Option<Item>, Error> {
        while let Some(arrived) = self.core().next().await? {
            if let Some(item) = self.open(arrived)? {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// Consumes and decodes a value; `None` for a chunk that carries none. One that cannot be
    /// decoded ends the stream, and at a caller the request.
    fn open(&self, arrived: Arrived) -> Result<Option<Item>, Error> {
        self.core().open(arrived).inspect_err(|error| {
            if let Some(abandon) = &self.0.abandon {
                abandon(error.clone());
            }
        })
    }

    /// The next value if it is there. When there is none, what is pending is granted: whoever asks
    /// like this waits by its own means (L10).
    ///
    /// # Errors
    /// What the stream failed with.
    pub fn try_recv(&self) -> Result<TryRecv, Error> {
        loop {
            match self.core().try_next() {
                None => {
                    self.core().wire.owed.settle_all();
                    return Ok(TryRecv::Wait);
                }
                Some(next) => match next? {
                    None => return Ok(TryRecv::End),
                    Some(arrived) => {
                        if let Some(item) = self.open(arrived)? {
                            return Ok(TryRecv::Item(item));
                        }
                    }
                },
            }
        }
    }

    /// The next value, waiting on this thread; `None` at the clean end.
    ///
    /// # Errors
    /// What the stream failed with.
    pub fn blocking_recv(&self) -> Result<Option<Item>, Error> {
        self.blocking_recv_timeout(Deadline::NEVER)?
    }

    /// The next value, waiting on this thread until `deadline`; `None` at the clean end.
    ///
    /// # Errors
    /// [`TimedOut`] if nothing came in time; no value is lost by that. The inner error is what the
    /// stream failed with.
    pub fn blocking_recv_timeout(
        &self,
        deadline: Deadline,
    ) -> Result<Result<Option<Item>, Error>, TimedOut> {
        block_on(self.core().wire.owed.before_wait(self.next_item()), deadline)
    }

    /// Allows the stream `limit` from now until its end has come. Then the request fails with kind
    /// `TimedOut`, whether somebody waits for a value or values lie unread; those are forgotten. The
    /// other end is told, as [`Call::limit`](crate::Call::limit) and
    /// [`Request::limit`](crate::Request::limit) say. The last limit that was set counts; one that no
    /// clock can represent is none. Never waits.
    ///
    /// # Errors
    /// `Io` if the system gives no thread to look after it.
    pub fn limit(&self, limit: Duration) -> Result<(), Error> {
        self.core().allow(limit)
    }

    /// Stops reading. At a caller this cancels the request; at a handler the rest of the input is
    /// left to the end of the request.
    pub fn cancel(&self) {
        let reason = Error::new(ErrorKind::Cancelled, "the reader gave the stream up");
        let was_open = !self.core().has_ended();
        self.core().cut(&reason);
        if let Some(abandon) = &self.0.abandon
            && was_open
        {
            abandon(reason);
        }
    }

    /// The stream's figures now.
    #[must_use]
    pub fn stats(&self) -> StreamStats {
        self.core().stats()
    }

    /// Waits until the stream has ended and nothing lies unread, and answers how; consumes nothing.
    pub(crate) fn drained(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let ended = Arc::clone(&self.0.core).drained();
        self.core().wire.owed.before_wait(ended)
    }

    /// The next value for a forwarder, not consumed yet.
    pub(crate) async fn next_raw(&self) -> Result<Option<Arrived>, Error> {
        self.core().next().await
    }

    /// The forwarder has passed the value on.
    pub(crate) fn passed_on(&self, holds_credit: bool) {
        self.core().consumed(holds_credit);
    }

    pub(crate) fn wire(&self) -> &Arc<Wire> {
        &self.core().wire
    }
}

impl std::fmt::Debug for InputStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "InputStream({:?} {} {:?})",
            self.info().id,
            self.info().media,
            self.core().window
        )
    }
}
