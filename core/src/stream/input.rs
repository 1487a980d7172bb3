//! [`InputStream`]: values in, credit back as they are consumed.

use std::collections::VecDeque;
use std::sync::Weak;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::chunk::{Arrived, Assembler, Fragment, content_length};
use super::numbered::Numbered;
use super::{Due, Item, Iter, Mode, Owner, StreamInfo, StreamStats, TimeLimit, Wire};
use crate::account::{Cause, Standing};
use crate::check::{Counters, Move, WindowLedger};
use crate::credit::CreditWindow;
use crate::error::{Error, ErrorKind, Reason, TimedOut};
use crate::frame::{CreditDirection, FlowKey, Frame, Value};
use crate::model::emission::Written;
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::time::{Deadline, now};
use crate::wait::block_on;
use crate::wait::owed::Owing;
use crate::wait::watched::{Watched, until};

/// Largest item of a sequence stream unless set otherwise, in bytes.
pub(crate) const MAX_ITEM: u64 = 64 * 1024 * 1024;

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
            && self.core.state.with(|state| state.end.is_none())
        {
            abandon(Error::new(ErrorKind::Cancelled, "the reader of the stream went away"));
        }
    }
}

pub(crate) struct InputCore {
    this: Weak<InputCore>,
    pub(super) wire: Arc<Wire>,
    flow: FlowKey,
    direction: CreditDirection,
    info: StreamInfo,
    window: CreditWindow,
    state: Watched<State>,
    ledger: WindowLedger,
    /// Noted as owing a grant.
    noted: AtomicBool,
    /// The request is over: grants mean nothing any more.
    over: AtomicBool,
    limit: TimeLimit,
}

#[derive(Default)]
struct State {
    ledger: WindowLedger,
    queue: VecDeque<Arrived>,
    assembler: Assembler,
    read: Numbered,
    bytes: u64,
    end: Option<Result<(), Error>>,
    /// Nobody reads on: what still comes is forgotten.
    given_up: bool,
    idle: Duration,
    /// Somebody asked, and there was nothing.
    idle_since: Option<Instant>,
    /// Since when something lies unread: the last read, or the first arrival after it.
    unread_since: Option<Instant>,
}

impl InputCore {
    pub(crate) fn new(
        wire: Arc<Wire>,
        flow: FlowKey,
        direction: CreditDirection,
        info: StreamInfo,
    ) -> Arc<Self> {
        let window = CreditWindow::new(wire.limits.initial_credit);
        let ledger = WindowLedger::open(window.size(), || {
            format!("input {:?} of request {}", info.id.as_deref().unwrap_or(""), flow.id)
        });
        wire.lanes.watch_grants(flow, info.id.as_deref(), &ledger);
        let state = State { ledger: ledger.clone(), read: Numbered::open(), ..State::default() };
        Arc::new_cyclic(|this| InputCore {
            this: this.clone(),
            wire,
            flow,
            direction,
            info,
            window,
            state: Watched::new(state),
            ledger,
            noted: AtomicBool::new(false),
            over: AtomicBool::new(false),
            limit: TimeLimit::default(),
        })
    }

    pub(crate) fn info(&self) -> &StreamInfo {
        &self.info
    }

    /// A CHUNK came. Called by the reading thread: never waits, decodes nothing it need not.
    ///
    /// # Errors
    /// What the request must fail with: `CreditViolation` (L12), `Protocol`, `Malformed`,
    /// `LimitReached`. The chunk was not delivered.
    pub(crate) fn arrive(&self, frame: Frame) -> Result<(), Error> {
        let name = self.info.id.as_deref().unwrap_or("");
        let arrived = self.ledger.step(
            || self.window.arrive(),
            |arrived| {
                (if arrived.is_ok() { Move::Arrived } else { Move::Refused }, self.counters())
            },
        );
        if arrived.is_err() {
            return Err(Error::new(
                ErrorKind::CreditViolation,
                format!(
                    "chunk {} of stream {name:?} came beyond the granted window of {}",
                    frame.chunk_index.unwrap_or_default(),
                    self.window.size()
                ),
            ));
        }
        let fragment = Fragment {
            checksum: frame.checksum.unwrap_or_default(),
            payload: frame.payload.unwrap_or_default(),
        };
        let gives_back = self.state.update(|state| {
            if state.given_up {
                self.ledger.forget_arriving();
                return Ok(false); // it crossed that in flight
            }
            if state.end.is_some() {
                return Err(protocol(format!("a chunk of stream {name:?} came after its end")));
            }
            let read = frame.chunk_index.map(|index| state.read.after(Written::Chunk(index)));
            let Some(Ok(read)) = read else {
                let (got, due) = (frame.chunk_index.unwrap_or_default(), state.read.chunks());
                return Err(protocol(format!(
                    "stream {name:?}: chunk {got} came where {due} was due"
                )));
            };
            state.read = read;
            let content = content_length(&fragment.payload, self.info.mode);
            state.bytes = state.bytes.saturating_add(content);
            state.stop_idling();
            state.unread_since.get_or_insert_with(now);
            match self.info.mode {
                Mode::Scalar => {
                    self.ledger.moved(Move::Queued);
                    state.queue.push_back(Arrived::scalar(fragment, frame.meta));
                    Ok(false)
                }
                Mode::Sequence => {
                    let State { assembler, queue, .. } = state;
                    let completed =
                        assembler.push(fragment, frame.meta, self.wire.max_item, queue)?;
                    if completed {
                        self.ledger.moved(Move::Queued);
                    }
                    Ok(!completed)
                }
            }
        })?;
        if gives_back {
            self.give(|| self.window.continued(), Move::Continued);
        }
        Ok(())
    }

    /// STREAM_END came, with the number of chunks it promises.
    ///
    /// # Errors
    /// `Protocol` if the count is wrong or a part of an item is held.
    pub(crate) fn finish(&self, count: Option<u64>) -> Result<(), Error> {
        let name = self.info.id.as_deref().unwrap_or("");
        self.state.update(|state| {
            if state.given_up {
                return Ok(());
            }
            if state.end.is_some() {
                return Err(protocol(format!("stream {name:?} ended twice")));
            }
            let Ok(read) = state.read.after(Written::StreamEnd(count)) else {
                let (sent, said) = (state.read.chunks(), count.unwrap_or_default());
                let what = format!("stream {name:?} ended after {sent} chunks and says {said}");
                return Err(protocol(what));
            };
            if state.assembler.held() > 0 {
                return Err(protocol(format!(
                    "stream {name:?} ended inside an item: {} bytes are held",
                    state.assembler.held()
                )));
            }
            state.read = read;
            state.finish(Ok(()));
            Ok(())
        })
    }

    /// Ends the stream with `reason`; what came before is still delivered. The first end stays.
    pub(crate) fn fail(&self, reason: &Reason) {
        self.state.update(|state| state.finish(Err(reason.clone())));
    }

    /// Ends the stream at once: what came before is forgotten.
    pub(crate) fn cut(&self, reason: &Reason) {
        let forgotten = self.state.update(|state| {
            if matches!(state.end, Some(Ok(()))) && !state.queue.is_empty() {
                state.end = None; // a clean end does not cover what is forgotten
            }
            state.finish(Err(reason.clone()));
            state.given_up = true;
            self.ledger.forget_queued();
            (std::mem::take(&mut state.queue), std::mem::take(&mut state.assembler))
        });
        drop(forgotten);
    }

    /// The request is over: grants mean nothing any more.
    pub(crate) fn mark_over(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self) -> StreamStats {
        let window = self.window.remaining();
        self.state.with(|state| StreamStats {
            chunks: state.read.chunks(),
            bytes: state.bytes,
            window,
            initial_credit: self.window.size(),
            stalled: state.idle
                + state.idle_since.map(|s| now().saturating_duration_since(s)).unwrap_or_default(),
            stalled_for_room: Duration::ZERO,
            ended: state.end.is_some(),
        })
    }

    /// What stands still here, if anything does: values that nobody reads, or a reader without any.
    pub(crate) fn standing(&self, at: Instant) -> Option<Standing> {
        let window = self.window.remaining();
        self.state.with(|state| {
            let (cause, since) = match (state.queue.is_empty(), &state.end) {
                (false, _) => (Cause::Unread, state.unread_since?),
                (true, None) => (Cause::Data, state.idle_since?),
                (true, Some(_)) => return None,
            };
            Some(Standing {
                stream: self.info.id.clone().unwrap_or_default(),
                cause,
                since: at.saturating_duration_since(since),
                chunks: state.read.chunks(),
                window,
                unread: u64::try_from(state.queue.len()).unwrap_or(u64::MAX),
            })
        })
    }

    /// The limit of the stream, unless its end has come.
    pub(crate) fn due(&self) -> Option<Due> {
        self.limit.due().filter(|_| !self.has_ended())
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state.with(|state| state.end.is_some())
    }

    /// The next value as it came, or `None` at the clean end. The caller says
    /// [`consumed`](Self::consumed) for it.
    async fn next(&self) -> Result<Option<Arrived>, Error> {
        let this = self.this.upgrade().expect("a stream in use is alive");
        until(this, |core| &core.state, State::take).await
    }

    fn try_next(&self) -> Option<Result<Option<Arrived>, Error>> {
        self.state.with(State::take)
    }

    /// A value was consumed: gives its chunk back, now or with the next batch.
    fn consumed(&self, holds_credit: bool) {
        if !holds_credit {
            return;
        }
        let due = self.give(|| self.window.consumed(), Move::Consumed);
        if due == 0 && !self.noted.load(Ordering::Acquire) {
            let weak: Weak<Self> = self.this.clone();
            self.wire.owed.note(weak, &self.noted); // L10: settled before any wait
        }
    }

    /// Consumes and decodes a value; `None` for a chunk that carries none.
    fn open(&self, arrived: Arrived) -> Result<Option<Item>, Error> {
        self.consumed(arrived.holds_credit);
        match arrived.open() {
            Ok(opened) => Ok(opened.map(|(value, meta)| Item { value, meta })),
            Err(error) => {
                self.cut(&error);
                let kept = self.state.with(|state| state.end.clone());
                Err(kept.and_then(Result::err).unwrap_or(error))
            }
        }
    }

    fn counters(&self) -> Counters {
        Counters { remaining: self.window.remaining(), pending: self.window.pending() }
    }

    /// Gives credit back and grants what is due. Answers how much was.
    fn give(&self, step: impl FnOnce() -> u64, moved: Move) -> u64 {
        self.ledger.give(step, || (moved, self.counters()), |n| self.grant(n))
    }

    /// False if the grant means nothing any more, or the link is dead: whoever waits on it is told by its
    /// own means.
    fn grant(&self, n: u64) -> bool {
        if self.over.load(Ordering::Relaxed) {
            return false;
        }
        let FlowKey { id, routing_id } = self.flow;
        let stream = self.info.id.as_deref();
        self.wire.lanes.control(Frame::credit(id, routing_id, stream, n, self.direction)).is_ok()
    }
}

impl Owing for InputCore {
    fn settle(&self) {
        self.noted.store(false, Ordering::Release);
        self.give(|| self.window.flush(), Move::Flushed);
    }
}

impl State {
    fn take(&mut self) -> Option<Result<Option<Arrived>, Error>> {
        if let Some(arrived) = self.queue.pop_front() {
            if arrived.holds_credit {
                self.ledger.moved(Move::Taken);
            }
            self.stop_idling();
            self.unread_since = (!self.queue.is_empty()).then(now);
            return Some(Ok(Some(arrived)));
        }
        match &self.end {
            Some(Ok(())) => Some(Ok(None)),
            Some(Err(error)) => Some(Err(error.clone())),
            None => {
                self.ledger.quiet();
                self.idle_since.get_or_insert_with(now);
                None
            }
        }
    }

    fn finish(&mut self, end: Result<(), Error>) {
        self.stop_idling();
        match &self.end {
            // A failure after a clean end changes nothing; the first failure stays.
            Some(_) => {}
            None => self.end = Some(end),
        }
    }

    fn stop_idling(&mut self) {
        if let Some(since) = self.idle_since.take() {
            self.idle += now().saturating_duration_since(since);
        }
    }
}

fn protocol(message: String) -> Error {
    Error::new(ErrorKind::Protocol, message)
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
        &self.core().info
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

    /// The values as they come, waiting on this thread; ends after the clean end or the first error.
    #[must_use]
    pub fn iter(&self) -> Iter {
        Iter::of(self)
    }

    /// The byte strings of a stream as they come, waiting on this thread; a value of another kind is
    /// an error of kind `WrongMode`. Ends after the clean end or the first error.
    pub fn chunks(&self) -> impl Iterator<Item = Result<Bytes, Error>> + use<> {
        let mut items = self.iter();
        std::iter::from_fn(move || {
            let bytes = items.next()?.and_then(|item| match item.value {
                Value::Bytes(bytes) => Ok(bytes),
                other => Err(wrong_value("bytes", &other)),
            });
            items.done |= bytes.is_err();
            Some(bytes)
        })
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
        self.core().limit.set(limit, &self.core().wire.alarm)
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
        let unread =
            |state: &mut State| if state.queue.is_empty() { state.end.clone() } else { None };
        let ended = until(Arc::clone(&self.0.core), |core| &core.state, unread);
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

pub(super) fn wrong_value(wanted: &str, got: &Value) -> Error {
    let got = got.kind();
    Error::new(ErrorKind::WrongMode, format!("a stream of {wanted} was expected, {got} came"))
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
