//! What an input stream is behind its handles: its queue, its window, how it ended.

use std::collections::VecDeque;
use std::sync::Weak;
use std::time::{Duration, Instant};

use super::chunk::{Arrived, Assembler, Fragment, content_length};
use super::limit::{Due, TimeLimit};
use super::numbered::Numbered;
use super::{Item, Mode, StreamInfo, StreamStats, Wire};
use crate::account::{Cause, Load, Standing};
use crate::check::{Counters, Move, WindowLedger};
use crate::credit::CreditWindow;
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{CreditDirection, FlowKey, Frame};
use crate::model::emission::Written;
use crate::model::window::Place;
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::time::now;
use crate::wait::owed::Owing;
use crate::wait::watched::{Watched, until};

/// Largest item of a sequence stream unless set otherwise, in bytes.
pub(crate) const MAX_ITEM: u64 = 64 * 1024 * 1024;

pub(crate) struct InputCore {
    this: Weak<InputCore>,
    pub(super) wire: Arc<Wire>,
    flow: FlowKey,
    direction: CreditDirection,
    info: StreamInfo,
    pub(super) window: CreditWindow,
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
        let place = self.state.update(|state| {
            if state.given_up {
                self.ledger.forget_arriving();
                return Ok(None); // it crossed that in flight
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
                    Ok(Some(Place::Completes))
                }
                Mode::Sequence => {
                    let State { assembler, queue, .. } = state;
                    let completed =
                        assembler.push(fragment, frame.meta, self.wire.max_item, queue)?;
                    if completed {
                        self.ledger.moved(Move::Queued);
                    }
                    Ok(Some(if completed { Place::Completes } else { Place::Continues }))
                }
            }
        })?;
        if place.is_some_and(|place| !place.keeps_credit()) {
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

    /// The bytes that lie unread here, with what they cost to hold; what may be held is entered in `load`.
    pub(crate) fn held(&self, load: &mut Load) -> u64 {
        let streams = match self.info.mode {
            Mode::Scalar => &mut load.scalars,
            Mode::Sequence => &mut load.sequences,
        };
        *streams = streams.saturating_add(1);
        self.state.with(|state| {
            let unread = state.queue.iter().map(Arrived::held);
            unread.fold(state.assembler.cost(), u64::saturating_add)
        })
    }

    pub(crate) fn stats(&self) -> StreamStats {
        let (window, granted) = (self.window.remaining(), self.window.granted());
        self.state.with(|state| StreamStats {
            chunks: state.read.chunks(),
            bytes: state.bytes,
            window,
            granted,
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
                ahead: 0,
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
    pub(super) async fn next(&self) -> Result<Option<Arrived>, Error> {
        let this = self.this.upgrade().expect("a stream in use is alive");
        until(this, |core| &core.state, State::take).await
    }

    pub(super) fn try_next(&self) -> Option<Result<Option<Arrived>, Error>> {
        self.state.with(State::take)
    }

    /// A value was consumed: gives its chunk back, now or with the next batch.
    pub(super) fn consumed(&self, holds_credit: bool) {
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
    pub(super) fn open(&self, arrived: Arrived) -> Result<Option<Item>, Error> {
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

    /// Allows the stream so long from now.
    pub(super) fn allow(&self, limit: Duration) -> Result<(), Error> {
        self.limit.set(limit, &self.wire.alarm)
    }

    /// Waits until the stream has ended and nothing lies unread, and answers how; consumes nothing.
    pub(super) fn drained(
        self: Arc<Self>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let unread =
            |state: &mut State| if state.queue.is_empty() { state.end.clone() } else { None };
        until(self, |core| &core.state, unread)
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
        let FlowKey { id, routing_id } = self.flow;
        let stream = self.info.id.as_deref();
        let credit = Frame::credit(id, routing_id, stream, n, self.direction);
        self.wire.lanes.grant(credit, &self.over)
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
