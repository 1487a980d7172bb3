//! [`Request`]: one call, at the handler's end.

use std::time::Duration;

use crate::error::{AttributionClass, Error, ErrorKind, Reason};
use crate::frame::{Frame, MessageId};
use crate::request::Call;
use crate::request::{Connection, Exchange, Keeper};
use crate::stream::{InputStream, OutputCore, OutputStream, StreamSender};
use crate::sync::{Arc, Mutex};
use crate::time::Deadline;
use crate::wait::block_on;

/// One call that a handler serves. Cheap to clone; any thread may use it.
///
/// It ends once: by [`finish`](Self::finish), by [`fail`](Self::fail), or, when the last handle of
/// it and of its streams is dropped unfinished, as failed.
#[derive(Clone)]
pub struct Request(Arc<Inner>);

struct Inner {
    exchange: Arc<Exchange>,
    keeper: Arc<Keeper>,
    connection: Arc<Connection>,
    /// Declared outputs, the main one first, and the stream of each that was asked for.
    outputs: Mutex<Vec<(String, Option<Arc<OutputCore>>)>>,
}

impl Request {
    pub(crate) fn new(
        connection: Arc<Connection>,
        exchange: Arc<Exchange>,
        mut outputs: Vec<String>,
    ) -> Self {
        if !connection.version().names_outputs() {
            outputs.truncate(1); // the main one
        }
        let keeper = Keeper::new(
            Arc::clone(&exchange),
            "the handler dropped the request without finishing it",
        );
        let outputs = Mutex::new(outputs.into_iter().map(|media| (media, None)).collect());
        Request(Arc::new(Inner { exchange, keeper, connection, outputs }))
    }

    /// The handler takes the request; false if it was cancelled before.
    pub(crate) fn begin(&self) -> bool {
        self.0.exchange.begin()
    }

    /// True once it has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.0.exchange.outcome().is_some()
    }

    /// The request's id.
    #[must_use]
    pub fn id(&self) -> MessageId {
        self.0.exchange.flow().id
    }

    /// The cap that was called.
    #[must_use]
    pub fn cap(&self) -> &str {
        self.0.exchange.cap()
    }

    /// The next argument stream, as they open; `None` when the caller has ended its body.
    pub fn next_input(
        &self,
    ) -> impl Future<Output = Result<Option<InputStream>, Error>> + Send + use<> {
        let this = self.clone();
        self.0.exchange.wire().owed.before_wait(async move {
            let core = Arc::clone(&this.0.exchange).next_input().await?;
            Ok(core.map(|core| InputStream::new(core, this.0.keeper.clone(), None)))
        })
    }

    /// The next argument stream, for a handler that needs one.
    ///
    /// # Errors
    /// Fails with `Protocol` if the caller ends its body without one.
    pub fn input(&self) -> impl Future<Output = Result<InputStream, Error>> + Send + use<> {
        let next = self.next_input();
        async move {
            next.await?.ok_or_else(|| {
                Error::with_code(
                    ErrorKind::Protocol,
                    "MISSING_ARGUMENT",
                    AttributionClass::Input,
                    "the caller ended its body without the argument stream that this cap needs",
                )
            })
        }
    }

    /// [`input`](Self::input), waiting on this thread.
    ///
    /// # Errors
    /// As there, or the reason why the request has to stop.
    pub fn blocking_input(&self) -> Result<InputStream, Error> {
        block_on(self.input(), Deadline::NEVER)?
    }

    /// [`next_input`](Self::next_input), waiting on this thread.
    ///
    /// # Errors
    /// The reason why the request has to stop.
    pub fn blocking_next_input(&self) -> Result<Option<InputStream>, Error> {
        block_on(self.next_input(), Deadline::NEVER)?
    }

    /// The main output. The same stream each time.
    ///
    /// # Panics
    /// If the cap declares no output.
    #[must_use]
    pub fn output(&self) -> OutputStream {
        let main = self.0.outputs.lock().first().map(|(media, _)| media.clone());
        let media = main.expect("the cap's manifest entry declares an output");
        self.open(&media)
    }

    /// The main output, if the cap declares one.
    #[must_use]
    pub fn try_output(&self) -> Option<OutputStream> {
        let main = self.0.outputs.lock().first().map(|(media, _)| media.clone());
        main.map(|media| self.open(&media))
    }

    /// Another declared output, by its media.
    ///
    /// # Errors
    /// `InvalidArgument` if the cap declares no such output, or the host speaks version 4, in which a
    /// response is its main output alone.
    pub fn output_for(&self, media: &str) -> Result<OutputStream, Error> {
        let declared: Vec<String> =
            self.0.outputs.lock().iter().map(|(media, _)| media.clone()).collect();
        if !declared.iter().any(|m| m == media) {
            let cap = self.cap();
            let mut message = format!("{cap} declares the outputs {declared:?}, not {media:?}");
            let version = self.0.connection.version();
            if !version.names_outputs() {
                message = format!(
                    "{cap} has its main output alone, not {media:?}: the host speaks protocol version {version}"
                );
            }
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        Ok(self.open(media))
    }

    fn open(&self, media: &str) -> OutputStream {
        let mut outputs = self.0.outputs.lock();
        let main = outputs.first().is_some_and(|(m, _)| m == media);
        let slot = outputs.iter_mut().find(|(m, _)| m == media).expect("a declared output");
        let core = slot.1.get_or_insert_with(|| {
            let name = (!main).then(|| media.to_owned());
            // A request that is over gives a stream that says so to every call.
            self.0.exchange.output(media, name.clone()).unwrap_or_else(|reason| {
                let wire = Arc::clone(self.0.exchange.wire());
                let flow = self.0.exchange.flow();
                let core = OutputCore::new(wire, flow, String::new(), media.to_owned(), name);
                core.end(&reason);
                core
            })
        });
        OutputStream::new(Arc::clone(core), self.0.keeper.clone())
    }

    /// A detached emitter on the main output, for another thread.
    ///
    /// # Panics
    /// If the cap declares no output.
    #[must_use]
    pub fn stream_sender(&self) -> StreamSender {
        self.output().sender()
    }

    /// Says how far the handler is, 0 to 1. Costs no credit and never waits (L14).
    pub fn progress(&self, value: f64, message: &str) {
        let flow = self.0.exchange.flow();
        let message = if message.is_empty() { "working" } else { message };
        let value = if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 };
        let frame = Frame::progress(flow.id, flow.routing_id, value, message);
        let _ = self.0.exchange.wire().lanes.log(frame); // a dead link has no reader
    }

    /// Says something to people, about whoever `class` names. Costs no credit and never waits (L14).
    pub fn log(&self, level: &str, class: AttributionClass, message: &str) {
        if message.is_empty() {
            return;
        }
        let flow = self.0.exchange.flow();
        let frame = Frame::log(flow.id, flow.routing_id, level, class, message);
        let _ = self.0.exchange.wire().lanes.log(frame); // a dead link has no reader
    }

    /// Calls a cap through the host. When this request has to stop, the call is cancelled for the same
    /// reason.
    ///
    /// # Errors
    /// The reason why the connection is over, or `LimitReached`.
    pub fn peer(&self, cap: &str) -> Result<Call, Error> {
        Call::start(&self.0.connection, cap, None, Some(&self.0.exchange))
    }

    /// Allows the request `limit` from now until it has ended. Then the caller is told by an ERR with code
    /// `DEADLINE_EXCEEDED`, every waiter of the request is released with an error of kind `TimedOut` that
    /// names what stood still (L13), and what the handler still does for it has no effect. The last limit
    /// that was set counts; one that no clock can represent is none. Never waits.
    ///
    /// # Errors
    /// `Io` if the system gives no thread to look after it.
    pub fn limit(&self, limit: Duration) -> Result<(), Error> {
        self.0.exchange.limit(limit)
    }

    /// Why the handler has to stop: cancelled, failed by the protocol, or the host is gone.
    #[must_use]
    pub fn is_cancelled(&self) -> Option<Reason> {
        self.0.exchange.stopped()
    }

    /// Waits until the handler has to stop, and answers why; kind `Closed` if it finished before.
    pub fn cancelled(&self) -> impl Future<Output = Reason> + Send + use<> {
        let exchange = Arc::clone(&self.0.exchange);
        self.0.exchange.wire().owed.before_wait(exchange.stopping())
    }

    /// Ends the request as done. Every output is flushed and closed first, which may wait for
    /// credit; a declared output that was never written to is sent as an empty stream. Progress is
    /// 1 unless given; it is the terminal that carries it (L3).
    ///
    /// Fails with the reason if the request had to stop; the caller is told that then.
    pub fn finish(
        &self,
        progress: Option<f64>,
        message: Option<String>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let this = self.clone();
        self.0.exchange.wire().owed.before_wait(async move {
            if let Some(reason) = this.is_cancelled() {
                this.0.exchange.fail(&reason);
                return Err(reason);
            }
            let declared: Vec<String> =
                this.0.outputs.lock().iter().map(|(media, _)| media.clone()).collect();
            for media in declared {
                let closed = this.open(&media).core().close().await;
                if let Err(error) = closed
                    && this.0.exchange.outcome().is_none()
                {
                    this.fail(&error);
                    return Err(error);
                }
            }
            this.0.exchange.finish(progress, message.as_deref())
        })
    }

    /// Ends the request as failed. Never waits. The first end stays.
    pub fn fail(&self, error: &Error) {
        let reason = self.is_cancelled().unwrap_or_else(|| error.clone());
        self.0.exchange.fail(&reason);
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Request({} {})", self.id(), self.cap())
    }
}
