//! [`Call`]: one request, at the caller's end.

use std::time::Duration;

use super::connection::Connection;
use super::exchange::Exchange;
use super::keeper::{Keeper, abandon};
use super::terminal::{Event, Terminal};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{Frame, MessageId};
use crate::stream::{InputStream, OutputStream};
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::time::Deadline;
use crate::wait::block_on;

/// Something that a call keeps alive, such as the process that serves it.
pub(crate) type Anchor = Option<Arc<dyn std::any::Any + Send + Sync>>;

/// A call of a cap. Cheap to clone; any thread may use it. Sending arguments and reading results go
/// on at the same time (L15), so feed on one thread and read on another unless one of them is short.
///
/// Dropping the last handle of an unfinished call, its streams included, cancels it.
#[derive(Clone)]
pub struct Call(Arc<Inner>);

struct Inner {
    exchange: Arc<Exchange>,
    /// Cancels an unfinished call when the last handle goes; a stream is a handle too.
    _keeper: Arc<Keeper>,
    body_ended: AtomicBool,
    _anchor: Anchor,
}

impl Call {
    /// `parent`: the request that it is made for.
    pub(crate) fn start(
        connection: &Arc<Connection>,
        cap: &str,
        anchor: Anchor,
        parent: Option<&Arc<Exchange>>,
    ) -> Result<Self, Error> {
        let exchange = connection.call(cap, parent.map(|parent| parent.flow().id))?;
        if let Some(parent) = parent {
            parent.adopt(&exchange);
        }
        let keeper = Keeper::new(Arc::clone(&exchange), "the caller dropped the call");
        let body_ended = AtomicBool::new(false);
        Ok(Call(Arc::new(Inner { exchange, _keeper: keeper, body_ended, _anchor: anchor })))
    }

    /// The request's id.
    #[must_use]
    pub fn id(&self) -> MessageId {
        self.0.exchange.flow().id
    }

    /// The cap that is called.
    #[must_use]
    pub fn cap(&self) -> &str {
        self.0.exchange.cap()
    }

    /// Opens an argument stream of `media`.
    ///
    /// # Errors
    /// The reason if the call is over; `InvalidArgument` after [`finish_input`](Self::finish_input).
    pub fn input(&self, media: &str) -> Result<OutputStream, Error> {
        if self.0.body_ended.load(Ordering::Acquire) {
            let message = "the body of the call was finished: no more arguments";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let core = self.0.exchange.output(media, None)?;
        Ok(OutputStream::new(core, self.0.clone()))
    }

    /// Ends the arguments: closes every argument stream, which may wait for credit, and then the
    /// body. May be called again. Once the handler has answered all the same, the body is moot.
    pub fn finish_input(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let this = self.clone();
        self.0.exchange.wire().owed.before_wait(async move {
            for core in this.0.exchange.outputs() {
                core.close().await?;
            }
            if !this.0.body_ended.swap(true, Ordering::AcqRel) {
                let flow = this.0.exchange.flow();
                let sent = this.0.exchange.wire().send(Frame::end(flow.id, flow.routing_id));
                // A handler that has all streams may have answered by now, and the link may be gone since.
                if !matches!(this.outcome(), Some(Ok(_))) {
                    sent?;
                }
            }
            Ok(())
        })
    }

    /// The next result stream, as they open; `None` once the call has succeeded.
    pub fn next_output(
        &self,
    ) -> impl Future<Output = Result<Option<InputStream>, Error>> + Send + use<> {
        let this = self.clone();
        self.0.exchange.wire().owed.before_wait(async move {
            let core = Arc::clone(&this.0.exchange).next_input().await?;
            let abandon = abandon(&this.0.exchange);
            Ok(core.map(|core| InputStream::new(core, this.0.clone(), Some(abandon))))
        })
    }

    /// The next result stream, for a caller that needs one.
    ///
    /// # Errors
    /// Fails with `Protocol` if the call ends without one.
    pub fn output(&self) -> impl Future<Output = Result<InputStream, Error>> + Send + use<> {
        let next = self.next_output();
        async move {
            next.await?.ok_or_else(|| {
                Error::new(
                    ErrorKind::Protocol,
                    "the handler ended without the result that was awaited",
                )
            })
        }
    }

    /// The next log or progress; `None` after the end. The last 1024 are kept for a late reader.
    pub fn next_event(&self) -> impl Future<Output = Option<Event>> + Send + use<> {
        let exchange = Arc::clone(&self.0.exchange);
        self.0.exchange.wire().owed.before_wait(exchange.next_event())
    }

    /// Waits for the end.
    pub fn wait(&self) -> impl Future<Output = Result<Terminal, Error>> + Send + use<> {
        let exchange = Arc::clone(&self.0.exchange);
        self.0.exchange.wire().owed.before_wait(exchange.ended())
    }

    /// How the call ended, if it has.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<Terminal, Reason>> {
        self.0.exchange.outcome()
    }

    /// Asks the handler to stop capturing: the live source behind the result stream with this name
    /// ([`StreamInfo::id`](crate::stream::StreamInfo)), or every one of the call. What it holds still
    /// comes, so go on reading; then the call ends by itself. Not a cancel. Never waits; nothing
    /// happens if the call has ended, nothing of it is live, or the handler's end speaks the early form of
    /// version 4, which has no such thing.
    pub fn close_stream(&self, stream: Option<&str>) {
        let flow = self.0.exchange.flow();
        let frame = Frame::close_stream(flow.id, flow.routing_id, stream);
        if self.outcome().is_none() {
            let _ = self.0.exchange.wire().lanes.control(frame); // a dead link captures nothing
        }
    }

    /// Allows the call `limit` from now until it has ended. Then every waiter of it is released with an
    /// error of kind `TimedOut` that names what stood still, whatever that was: credit, room on the link,
    /// a value, a value that nobody reads (L13). What came and was not read is forgotten, and the handler
    /// is told by a CANCEL with code `DEADLINE_EXCEEDED`. The last limit that was set counts; one that no
    /// clock can represent is none. Nothing happens if the call has ended. Never waits.
    ///
    /// # Errors
    /// `Io` if the system gives no thread to look after it.
    pub fn limit(&self, limit: Duration) -> Result<(), Error> {
        self.0.exchange.limit(limit)
    }

    /// Cancels the call: every waiter of it is released with `reason` (L13, L17), the handler is
    /// told. Nothing happens if it has ended. A reason of kind `TimedOut` is a limit that the caller has
    /// looked after itself: it stays of that kind, and what stood still is put to its message.
    pub fn cancel(&self, reason: &Reason) {
        self.0.exchange.give_up(reason);
    }

    /// [`finish_input`](Self::finish_input), waiting on this thread.
    ///
    /// # Errors
    /// The reason if the call is over.
    pub fn blocking_finish_input(&self) -> Result<(), Error> {
        block_on(self.finish_input(), Deadline::NEVER)?
    }

    /// [`output`](Self::output), waiting on this thread.
    ///
    /// # Errors
    /// As there, or why the call failed.
    pub fn blocking_output(&self) -> Result<InputStream, Error> {
        block_on(self.output(), Deadline::NEVER)?
    }

    /// [`next_output`](Self::next_output), waiting on this thread.
    ///
    /// # Errors
    /// Why the call failed.
    pub fn blocking_next_output(&self) -> Result<Option<InputStream>, Error> {
        block_on(self.next_output(), Deadline::NEVER)?
    }

    /// [`next_event`](Self::next_event), waiting on this thread.
    #[must_use]
    pub fn blocking_next_event(&self) -> Option<Event> {
        block_on(self.next_event(), Deadline::NEVER).unwrap_or(None)
    }

    /// [`wait`](Self::wait), waiting on this thread.
    ///
    /// # Errors
    /// Why the call failed.
    pub fn blocking_wait(&self) -> Result<Terminal, Error> {
        block_on(self.wait(), Deadline::NEVER)?
    }
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Call({} {})", self.id(), self.cap())
    }
}
