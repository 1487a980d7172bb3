//! [`OutputStream`]: values out, one credit a chunk.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::chunk::{Arrived, Fragment, content_length, split_text};
use super::guards::{Batch, MidItem, Permit, Stall};
use super::numbered::Numbered;
use super::{
    Due, Mode, Owner, SCALAR_HEAD, StartOptions, StreamInfo, StreamSender, StreamStats, TimeLimit,
    Wire,
};
use crate::account::{Cause, Counters, Standing};
use crate::check;
use crate::credit::{CreditGate, TryAcquire};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{FlowKey, Frame, Value, encode_bytes, encode_text};
use crate::model::emission::Written;
use crate::sync::{Arc, Mutex};
use crate::time::{Deadline, now};
use crate::wait::owed::{BeforeWait, Owed};
use crate::wait::watched::{Watched, until};
use crate::wait::{Either, block_on, first};

/// Byte strings are held until so many bytes are together …
const COALESCE_BYTES: usize = 4096;
/// … or the oldest is so old at the next write.
const COALESCE_AGE: Duration = Duration::from_millis(20);

/// Values out. Cheap to clone; any thread or task may emit, and each emission is whole and in order.
///
/// The first emission starts the stream in the mode of that call. Every CHUNK takes one credit
/// (L9): an emission waits while the receiver has granted none, while the link has no room, and
/// while an earlier emission on the same stream waits. Closing the request releases it with the
/// reason (L13).
///
/// Dropping the future of an emission cancels it: what earlier calls wrote is kept, of this call's
/// bytes a part may have been sent. A sequence item cancelled in its middle breaks the stream.
#[derive(Clone)]
pub struct OutputStream {
    core: Arc<OutputCore>,
    _owner: Owner,
}

pub(crate) struct OutputCore {
    wire: Arc<Wire>,
    flow: FlowKey,
    pub(super) name: String,
    media: String,
    output: Option<String>,
    gate: CreditGate,
    /// One unit: whoever has it emits.
    baton: CreditGate,
    pub(super) state: Mutex<State>,
    course: Arc<Watched<Course>>,
    limit: TimeLimit,
}

/// What those who only look on are told.
#[derive(Default)]
struct Course {
    /// Nothing more can be sent, and why.
    ended: Option<Reason>,
    /// The other end wants no more of a live source.
    unwanted: bool,
}

#[derive(Default)]
pub(super) struct State {
    started: Option<StartOptions>,
    pub(super) held: Vec<u8>,
    pub(super) held_since: Option<Instant>,
    written: Numbered,
    bytes: u64,
    pub(super) broken: Option<Error>,
    /// Time spent waiting for credit, and for room on the link.
    pub(super) stalled: [Duration; 2],
    pub(super) stalled_since: Option<(Cause, Instant)>,
}

impl OutputCore {
    pub(crate) fn new(
        wire: Arc<Wire>,
        flow: FlowKey,
        name: String,
        media: String,
        output: Option<String>,
    ) -> Arc<Self> {
        let gate = CreditGate::new(wire.limits.initial_credit);
        gate.name(|| format!("output {name:?} of request {}", flow.id));
        Arc::new(OutputCore {
            wire,
            flow,
            name,
            media,
            output,
            gate,
            baton: CreditGate::new(1),
            state: Mutex::new(State::default()),
            course: Arc::new(Watched::new(Course::default())),
            limit: TimeLimit::default(),
        })
    }

    /// The other end says that a stream of this request overran its window. If this one did, that is a
    /// breach; if it kept to what it was given, the claim is reported.
    pub(crate) fn accused(&self) {
        let Some(given) = self.gate.given() else { return };
        let sent = self.state.lock().written.chunks();
        check::may_send(&self.name, sent, Some(given));
        let id = self.flow.id;
        let kept = format_args!("{sent} chunks sent, {given} given: nothing was overrun");
        check::report("L12", format_args!("output {:?} of request {id}: {kept}", self.name));
    }

    /// Releases everybody who emits on this stream, started or not (L13).
    pub(crate) fn end(&self, reason: &Reason) {
        self.gate.close(reason.clone());
        self.baton.close(reason.clone());
        self.over(reason.clone());
    }

    /// Waits until nothing more can be sent.
    fn ended(&self) -> impl Future<Output = Reason> + Send + use<> {
        until(Arc::clone(&self.course), |course| course, |course| course.ended.clone())
    }

    /// The limit of the stream, unless it has ended.
    pub(crate) fn due(&self) -> Option<Due> {
        self.limit.due().filter(|_| !self.gate.is_closed())
    }

    fn over(&self, reason: Reason) {
        self.course.update(|course| course.ended.get_or_insert(reason).clone());
    }

    /// CLOSE_STREAM came: a live source is to stop, what it holds is still wanted.
    pub(crate) fn close_wanted(&self) {
        self.course.update(|course| course.unwanted = true);
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_unbounded(&self) -> bool {
        self.state.lock().started.as_ref().is_some_and(|options| options.unbounded)
    }

    pub(crate) fn stats(&self) -> StreamStats {
        let state = self.state.lock();
        let mut stalled = state.stalled;
        if let Some((cause, since)) = state.stalled_since {
            stalled[usize::from(cause == Cause::Room)] += now().saturating_duration_since(since);
        }
        StreamStats {
            chunks: state.written.chunks(),
            bytes: state.bytes,
            window: self.gate.available(),
            initial_credit: self.wire.limits.initial_credit,
            stalled: stalled[0],
            stalled_for_room: stalled[1],
            ended: state.written.is_closed() || self.gate.is_closed(),
        }
    }

    /// What an emission of this stream waits for, if one does.
    pub(crate) fn standing(&self, at: Instant) -> Option<Standing> {
        let state = self.state.lock();
        let (cause, since) = state.stalled_since?;
        let (sent, window) = (state.written.chunks(), self.gate.available());
        drop(state);
        Some(Standing {
            stream: self.name.clone(),
            cause,
            since: at.saturating_duration_since(since),
            chunks: sent,
            window,
            unread: 0,
        })
    }

    /// Opens the stream on the wire unless that was done; refuses another mode.
    fn ensure_started(&self, mode: Mode) -> Result<(), Error> {
        let mut state = self.state.lock();
        if let Some(error) = &state.broken {
            return Err(error.clone());
        }
        if state.written.is_closed() {
            return Err(self.not_open());
        }
        match &state.started {
            None => self.open(&mut state, StartOptions::mode(mode)),
            Some(options) if options.mode == mode => Ok(()),
            Some(options) => Err(Error::new(
                ErrorKind::WrongMode,
                format!(
                    "stream {:?} was started as {:?}, this call is for {mode:?}",
                    self.name, options.mode
                ),
            )),
        }
    }

    fn open(&self, state: &mut State, options: StartOptions) -> Result<(), Error> {
        let FlowKey { id, routing_id } = self.flow;
        let mut frame = Frame::stream_start(id, routing_id, &self.name, &self.media)
            .with_sequence(options.mode == Mode::Sequence)
            .with_unbounded(options.unbounded);
        if let Some(output) = &self.output {
            frame = frame.with_output(output);
        }
        if let Some(meta) = &options.meta {
            self.wire.check_size(0, Some(meta))?;
            frame = frame.with_meta(meta.clone());
        }
        self.wire.router.register(self.flow, Some(&self.name), &self.gate);
        if let Some(reason) = self.gate.reason() {
            self.wire.router.unregister(&self.flow, Some(&self.name)); // the request ended meanwhile
            return Err(reason);
        }
        let after = state.written.after(Written::StreamStart).map_err(|_| self.not_open())?;
        self.wire.send(frame)?; // never credited (L14)
        state.written = after;
        state.started = Some(options);
        Ok(())
    }

    fn not_open(&self) -> Error {
        Error::new(ErrorKind::Closed, format!("stream {:?} is closed", self.name))
    }

    async fn baton(&self) -> Result<Permit<'_>, Error> {
        self.baton.acquire(1).await?;
        Ok(Permit { gate: &self.baton, units: 1 })
    }

    /// Takes one credit, noting the time it took.
    async fn credit(&self) -> Result<Permit<'_>, Error> {
        match self.gate.try_acquire(1) {
            TryAcquire::Taken => {}
            TryAcquire::Closed(reason) => return Err(reason),
            TryAcquire::Wait => {
                let _stall = Stall::begin(&self.state, Cause::Credit);
                self.gate.acquire(1).await?;
            }
        }
        Ok(Permit { gate: &self.gate, units: 1 })
    }

    /// Sends one chunk: a credit, then room on the link, then the next index. The caller has the
    /// baton.
    async fn send_chunk(&self, fragment: Fragment, meta: Option<Value>) -> Result<(), Error> {
        self.wire.check_size(fragment.payload.len(), meta.as_ref())?;
        let credit = self.credit().await?;
        let length = fragment.payload.len();
        let room = match self.wire.lanes.try_room(length)? {
            Some(room) => room,
            None => {
                let _stall = Stall::begin(&self.state, Cause::Room);
                match first(self.wire.lanes.room(length), self.ended()).await {
                    Either::Left(room) => room?,
                    Either::Right(reason) => return Err(reason), // L13
                }
            }
        };
        let FlowKey { id, routing_id } = self.flow;
        let mut state = self.state.lock();
        let index = state.written.chunks();
        let after = state.written.after(Written::Chunk(index)).map_err(|_| self.not_open())?;
        check::may_send(&self.name, after.chunks(), self.gate.given());
        let mode = state.started.as_ref().map_or(Mode::Scalar, |options| options.mode);
        let content = content_length(&fragment.payload, mode);
        let mut frame = Frame::new(crate::frame::FrameType::Chunk, id);
        frame.routing_id = routing_id;
        frame.stream_id = Some(self.name.clone());
        frame.chunk_index = Some(index);
        frame.payload = Some(fragment.payload);
        frame.checksum = Some(fragment.checksum);
        frame.meta = meta;
        self.wire.lanes.chunk(frame, room)?;
        credit.spent();
        state.written = after;
        state.bytes = state.bytes.saturating_add(content);
        Ok(())
    }

    async fn send_payload(&self, payload: Bytes, meta: Option<Value>) -> Result<(), Error> {
        let checksum = crate::frame::fnv1a64(&payload);
        self.send_chunk(Fragment { payload, checksum }, meta).await
    }

    fn max_chunk(&self) -> usize {
        self.wire.max_chunk()
    }

    async fn write(&self, data: &[u8]) -> Result<(), Error> {
        let _baton = self.baton().await?;
        self.ensure_started(Mode::Scalar)?;
        if data.is_empty() {
            return Ok(());
        }
        {
            let mut state = self.state.lock();
            let old = state.held_since.is_some_and(|since| now() >= since + COALESCE_AGE);
            if !old && state.held.len() + data.len() < COALESCE_BYTES {
                state.held.extend_from_slice(data);
                state.held_since.get_or_insert_with(now);
                return Ok(());
            }
        }
        self.send_bytes(data).await
    }

    /// Sends what is held and `data` behind it, cut at `max_chunk`.
    async fn send_bytes(&self, data: &[u8]) -> Result<(), Error> {
        let mut batch = Batch::begin(self);
        let joined;
        let all = if batch.held.is_empty() {
            data
        } else {
            joined = [&batch.held[..], data].concat();
            &joined
        };
        for piece in all.chunks(self.max_chunk()) {
            self.send_payload(encode_bytes(piece), None).await?;
            batch.sent(piece.len());
        }
        Ok(())
    }

    async fn emit(&self, value: Value) -> Result<(), Error> {
        if let Value::Bytes(bytes) = &value {
            return self.write(bytes).await;
        }
        let _baton = self.baton().await?;
        self.ensure_started(Mode::Scalar)?;
        self.send_bytes(&[]).await?;
        match &value {
            Value::Text(text) => {
                for piece in split_text(text, self.max_chunk()) {
                    self.send_payload(encode_text(piece), None).await?;
                }
                Ok(())
            }
            other => self.send_payload(other.encode().into(), None).await,
        }
    }

    async fn emit_list_item(&self, value: Value, mut meta: Option<Value>) -> Result<(), Error> {
        let _baton = self.baton().await?;
        self.ensure_started(Mode::Sequence)?;
        let mut item = MidItem { core: self, begun: false };
        let mut encoded = Bytes::from(value.encode());
        while !encoded.is_empty() {
            let fragment = encoded.split_to(encoded.len().min(self.max_chunk()));
            self.send_payload(fragment, meta.take()).await?;
            item.begun = !encoded.is_empty();
        }
        Ok(())
    }

    /// Passes on a value or item as it came: no decoding, and the checksum stays the producer's.
    pub(crate) async fn forward(&self, arrived: &mut Arrived, mode: Mode) -> Result<(), Error> {
        let _baton = self.baton().await?;
        self.ensure_started(mode)?;
        if mode == Mode::Scalar {
            self.send_bytes(&[]).await?;
        }
        let mut item = MidItem { core: self, begun: false };
        let fragments = std::mem::take(&mut arrived.fragments);
        let last = fragments.len().saturating_sub(1);
        for (n, fragment) in fragments.into_iter().enumerate() {
            if !fragment.payload.is_empty() {
                self.send_chunk(fragment, arrived.meta.take()).await?;
                item.begun = n < last;
            }
        }
        Ok(())
    }

    /// The most bytes a forwarded chunk may have here.
    pub(crate) fn fits(&self, payload: usize) -> bool {
        payload <= self.max_chunk().saturating_add(SCALAR_HEAD)
    }

    async fn flush(&self) -> Result<(), Error> {
        let _baton = self.baton().await?;
        self.send_bytes(&[]).await
    }

    pub(crate) async fn close(&self) -> Result<(), Error> {
        if self.state.lock().written.is_closed() {
            return Ok(());
        }
        let _baton = self.baton().await?;
        self.send_bytes(&[]).await?;
        let mut state = self.state.lock();
        if state.written.is_closed() {
            return Ok(());
        }
        if let Some(error) = &state.broken {
            return Err(error.clone());
        }
        if state.started.is_none() {
            self.open(&mut state, StartOptions::default())?;
        }
        let bounded = !state.started.as_ref().is_some_and(|options| options.unbounded);
        let FlowKey { id, routing_id } = self.flow;
        let count = bounded.then_some(state.written.chunks());
        let after = state.written.after(Written::StreamEnd(count)).map_err(|_| self.not_open())?;
        self.wire.send(Frame::stream_end(id, routing_id, &self.name, count))?; // never credited (L14)
        state.written = after;
        drop(state);
        self.wire.router.unregister(&self.flow, Some(&self.name));
        self.gate.close("STREAM_END");
        self.over("STREAM_END".into());
        Ok(())
    }
}

impl OutputStream {
    pub(crate) fn new(core: Arc<OutputCore>, owner: Owner) -> Self {
        OutputStream { core, _owner: owner }
    }

    pub(crate) fn core(&self) -> &Arc<OutputCore> {
        &self.core
    }

    pub(crate) fn owed(&self) -> Arc<Owed> {
        Arc::clone(&self.core.wire.owed)
    }

    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.core.wire.counters)
    }

    /// Waits until a CLOSE_STREAM says that a live source is to stop.
    pub(crate) fn unwanted(&self) -> impl Future<Output = ()> + Send + use<> {
        let course = Arc::clone(&self.core.course);
        until(course, |course| course, |course| course.unwanted.then_some(()))
    }

    /// Waits until nothing more can be sent, and answers why: the request's end or the stream's own,
    /// code `STREAM_END`. For who produces for this stream and may have nothing to send for a while.
    pub fn ended(&self) -> impl Future<Output = Reason> + Send + use<> {
        self.waits(self.core.ended())
    }

    /// Allows the stream `limit` from now until it is closed. Then the request fails with kind `TimedOut`,
    /// whatever is waited for: credit, room, or nothing just now. The other end is told, as
    /// [`Call::limit`](crate::Call::limit) and [`Request::limit`](crate::Request::limit) say. The last
    /// limit that was set counts; one that no clock can represent is none. Never waits.
    ///
    /// # Errors
    /// `Io` if the system gives no thread to look after it.
    pub fn limit(&self, limit: Duration) -> Result<(), Error> {
        self.core.limit.set(limit, &self.core.wire.alarm)
    }

    /// What is known of the stream; mode and flags are the defaults until it is started.
    #[must_use]
    pub fn info(&self) -> StreamInfo {
        let options = self.core.state.lock().started.clone().unwrap_or_default();
        StreamInfo {
            id: Some(self.core.name.clone()),
            media: self.core.media.clone(),
            output: self.core.output.clone(),
            mode: options.mode,
            unbounded: options.unbounded,
            meta: options.meta,
        }
    }

    /// Starts the stream explicitly, to choose what the first emission cannot: unbounded, or with
    /// metadata. Never waits.
    ///
    /// # Errors
    /// `InvalidArgument` if it was started already; the reason if the request is over.
    pub fn start(&self, options: StartOptions) -> Result<(), Error> {
        let mut state = self.core.state.lock();
        if state.started.is_some() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("stream {:?} was started already", self.core.name),
            ));
        }
        if let Some(reason) = self.core.gate.reason() {
            return Err(reason);
        }
        self.core.open(&mut state, options)
    }

    /// Writes bytes to a scalar stream. Small writes are held and sent together: when 4096 bytes
    /// are there, when the oldest is 20 ms old at the next write, at [`flush`](Self::flush) and at
    /// [`close`](Self::close). Empty writes send nothing.
    pub fn write(&self, data: Bytes) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let this = self.clone();
        self.waits(async move { this.core.write(&data).await })
    }

    /// Emits one value to a scalar stream. Byte strings are written as by [`write`](Self::write),
    /// long texts are split between characters, any other value is one chunk.
    pub fn emit(&self, value: Value) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let this = self.clone();
        self.waits(async move { this.core.emit(value).await })
    }

    /// Emits one item, of any size, to a sequence stream; `meta` is a map.
    pub fn emit_list_item(
        &self,
        value: Value,
        meta: Option<Value>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let this = self.clone();
        self.waits(async move { this.core.emit_list_item(value, meta).await })
    }

    /// Sends what is held.
    pub fn flush(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let this = self.clone();
        self.waits(async move { this.core.flush().await })
    }

    /// Sends what is held and ends the stream; a stream that never started is an empty one. May be
    /// called again.
    pub fn close(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let this = self.clone();
        self.waits(async move { this.core.close().await })
    }

    /// [`write`](Self::write), waiting on this thread.
    ///
    /// # Errors
    /// The reason why the request or connection ended; `WrongMode` on a sequence stream.
    pub fn blocking_write(&self, data: &[u8]) -> Result<(), Error> {
        self.block(self.core.write(data))
    }

    /// [`emit`](Self::emit), waiting on this thread.
    ///
    /// # Errors
    /// As [`blocking_write`](Self::blocking_write), and `FrameTooLarge`.
    pub fn blocking_emit(&self, value: Value) -> Result<(), Error> {
        self.block(self.core.emit(value))
    }

    /// [`emit_list_item`](Self::emit_list_item), waiting on this thread.
    ///
    /// # Errors
    /// As [`blocking_write`](Self::blocking_write), `WrongMode` on a scalar stream.
    pub fn blocking_emit_list_item(&self, value: Value, meta: Option<Value>) -> Result<(), Error> {
        self.block(self.core.emit_list_item(value, meta))
    }

    /// [`flush`](Self::flush), waiting on this thread.
    ///
    /// # Errors
    /// As [`blocking_write`](Self::blocking_write).
    pub fn blocking_flush(&self) -> Result<(), Error> {
        self.block(self.core.flush())
    }

    /// [`close`](Self::close), waiting on this thread.
    ///
    /// # Errors
    /// As [`blocking_write`](Self::blocking_write).
    pub fn blocking_close(&self) -> Result<(), Error> {
        self.block(self.core.close())
    }

    /// A detached emitter for another thread, such as an FFI callback's.
    #[must_use]
    pub fn sender(&self) -> StreamSender {
        StreamSender::new(self.clone())
    }

    /// The stream's figures now.
    #[must_use]
    pub fn stats(&self) -> StreamStats {
        self.core.stats()
    }

    fn waits<F: Future>(&self, future: F) -> BeforeWait<F> {
        self.core.wire.owed.before_wait(future) // L10
    }

    fn block<T>(&self, future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        block_on(self.core.wire.owed.before_wait(future), Deadline::NEVER)?
    }
}

impl std::fmt::Debug for OutputStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OutputStream({:?} {} {:?})", self.core.name, self.core.media, self.core.gate)
    }
}
