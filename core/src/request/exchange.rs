//! One request at one end: its streams in both directions, its events and its end.
//!
//! The caller's and the handler's end are the same object; they differ in who sends which terminal.
//! Receiving never waits for sending, and sending never for receiving (L15).

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use super::children::Children;
use super::events::Events;
use super::names::check_names;
use super::refused::drop_reason;
use super::table::Summary;
use super::terminal::{self, Event, Terminal};
use crate::account::Load;
use crate::account::load::STREAMS;
use crate::check;
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{CreditDirection, FlowKey, Frame, FrameType};
use crate::link::Lanes;
use crate::model::accounting::DropReason;
use crate::model::cancel::{Duty, Stage};
use crate::stream::{InputCore, Mode, OutputCore, StreamInfo, TimeLimit, Wire};
use crate::sync::Arc;
use crate::time::now;
use crate::wait::watched::{Watched, until};

pub(crate) use crate::model::direction::Side;

pub(crate) struct Exchange {
    side: Side,
    flow: FlowKey,
    cap: String,
    wire: Arc<Wire>,
    state: Watched<State>,
    /// How long it may take.
    pub(super) limit: TimeLimit,
    /// The calls that were made for it.
    children: Children<Exchange>,
    pub(super) opened: Instant,
    forget: Box<dyn Fn(FlowKey, Summary) + Send + Sync>,
}

struct State {
    inputs: HashMap<Option<String>, Arc<InputCore>>,
    /// Inputs that nobody has fetched yet, in the order they opened.
    fresh: VecDeque<Arc<InputCore>>,
    /// No more inputs will open.
    body_ended: bool,
    outputs: Vec<Arc<OutputCore>>,
    events: Events,
    /// How far it is at the side that answers it.
    stage: Stage,
    /// Why a handler has to stop.
    stop: Option<Reason>,
    /// Why it is ending: nothing begins any more, and whoever waits is about to be told.
    ending: Option<Reason>,
    /// How it ended. Once this is told, nothing is left of the request.
    end: Option<Result<Terminal, Reason>>,
}

impl Default for State {
    fn default() -> Self {
        State {
            inputs: Default::default(),
            fresh: Default::default(),
            body_ended: Default::default(),
            outputs: Default::default(),
            events: Default::default(),
            stage: Stage::Queued,
            stop: Default::default(),
            ending: Default::default(),
            end: Default::default(),
        }
    }
}

impl Exchange {
    pub(crate) fn new(
        side: Side,
        flow: FlowKey,
        cap: String,
        wire: Arc<Wire>,
        forget: impl Fn(FlowKey, Summary) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (state, limit) = (Watched::new(State::default()), TimeLimit::default());
        let (children, opened, forget) = (Children::default(), now(), Box::new(forget));
        Arc::new(Exchange { side, flow, cap, wire, state, limit, children, opened, forget })
    }

    pub(super) fn side(&self) -> Side {
        self.side
    }

    pub(crate) fn flow(&self) -> FlowKey {
        self.flow
    }

    pub(crate) fn cap(&self) -> &str {
        &self.cap
    }

    pub(crate) fn wire(&self) -> &Arc<Wire> {
        &self.wire
    }

    /// Opens a stream for sending; its name is made from its number.
    pub(crate) fn output(
        &self,
        media: &str,
        output: Option<String>,
    ) -> Result<Arc<OutputCore>, Error> {
        self.state.with(|state| {
            if let Some(reason) = state.over() {
                return Err(reason);
            }
            if state.outputs.len() >= STREAMS {
                let message = format!("a request opens at most {STREAMS} streams");
                return Err(Error::new(ErrorKind::LimitReached, message));
            }
            let prefix = match self.side {
                Side::Caller => "arg",
                Side::Handler => "resp",
            };
            let name = format!("{prefix}-{}", state.outputs.len());
            let wire = Arc::clone(&self.wire);
            let core = OutputCore::new(wire, self.flow, name, media.to_owned(), output);
            state.outputs.push(Arc::clone(&core));
            Ok(core)
        })
    }

    /// A frame of this request came. Called by the reading thread; never waits.
    pub(crate) fn frame(&self, frame: Frame) {
        if self.state.with(|state| state.over().is_some()) {
            // It crossed the end, or what stopped the handler, in flight.
            return self.wire.counters.straggler(frame.frame_type.name());
        }
        let outcome = match frame.frame_type {
            FrameType::StreamStart => self.stream_start(&frame),
            FrameType::Chunk => self.chunk(frame),
            FrameType::StreamEnd => self.stream_end(&frame),
            FrameType::End => self.inbound_end(&frame),
            FrameType::Err => {
                self.inbound_err(&terminal::read_err(&frame));
                Ok(())
            }
            FrameType::Log if self.side == Side::Caller => {
                self.event(terminal::read_log(&frame));
                Ok(())
            }
            FrameType::Cancel if self.side == Side::Handler => {
                self.cancel(&terminal::read_cancel(&frame));
                Ok(())
            }
            FrameType::CloseStream if self.side == Side::Handler => {
                self.close_feeds(frame.stream_id.as_deref());
                Ok(())
            }
            // CANCEL and CLOSE_STREAM toward a caller, LOG toward a handler: no effect
            _ => Ok(()),
        };
        if let Err(error) = outcome {
            self.break_off(&error); // the request fails, the connection lives on (L12)
        }
    }

    /// Fails the request for what the peer did. What came before is still delivered. A handler is
    /// made to stop, and its answer says why; a caller cancels.
    pub(crate) fn break_off(&self, error: &Error) {
        match self.side {
            Side::Caller => self.fail(error),
            Side::Handler => self.halt(error, false),
        }
    }

    /// CANCEL came. A request that no handler has taken yet is answered here and never runs.
    fn cancel(&self, reason: &Reason) {
        // One step under the lock: a handler that takes the request now finds it ended, or is told.
        let duty = self.state.with(|state| {
            let (stage, duty) = state.stage.cancel();
            state.stage = stage;
            if duty == Duty::SendErr {
                state.stop.get_or_insert_with(|| reason.clone()); // who drops it first says the same
            }
            duty
        });
        match duty {
            Duty::SendErr => self.fail(reason),
            Duty::ReleaseAll => self.stop(reason),
            Duty::Nothing | Duty::Start | Duty::SendEnd => {}
        }
    }

    /// A handler takes the request. False if it is over: it was cancelled while it waited.
    pub(crate) fn begin(&self) -> bool {
        self.state.with(|state| {
            let (stage, duty) = state.stage.begin();
            state.stage = stage;
            duty == Duty::Start && state.ending.is_none()
        })
    }

    /// CLOSE_STREAM came: the live source behind the output named stops, and all of the request if no
    /// output has that name. Not an end: what they hold still drains.
    fn close_feeds(&self, name: Option<&str>) {
        let outputs = self.state.with(|state| state.outputs.clone());
        let named = outputs.iter().any(|output| Some(output.name()) == name);
        for output in outputs.iter().filter(|output| !named || Some(output.name()) == name) {
            output.close_wanted();
        }
    }

    fn stream_start(&self, frame: &Frame) -> Result<(), Error> {
        let Some(name) = frame.stream_id.clone() else {
            return Err(protocol("a stream was opened without a name"));
        };
        if self.side == Side::Handler && frame.output.is_some() {
            return Err(protocol("an argument stream names an output"));
        }
        check_names(frame)?;
        let info = StreamInfo {
            id: Some(name.clone()),
            media: frame.media_urn.clone().unwrap_or_default(),
            output: frame.output.clone(),
            mode: if frame.opens_sequence() { Mode::Sequence } else { Mode::Scalar },
            unbounded: frame.opens_unbounded(),
            meta: frame.meta.clone(),
        };
        let direction = CreditDirection::from(self.side.granted_by());
        let core = InputCore::new(Arc::clone(&self.wire), self.flow, direction, info);
        self.state.update(|state| {
            if state.over().is_some() {
                return Ok(());
            }
            state.events.works();
            if state.body_ended {
                return Err(protocol(format!(
                    "stream {name:?} was opened after the end of the body"
                )));
            }
            if state.inputs.len() >= STREAMS {
                let message = format!("a request opens at most {STREAMS} streams");
                return Err(Error::new(ErrorKind::LimitReached, message));
            }
            if state.inputs.contains_key(&Some(name.clone())) {
                return Err(protocol(format!("stream {name:?} was opened twice")));
            }
            state.inputs.insert(Some(name), Arc::clone(&core));
            state.fresh.push_back(core);
            Ok(())
        })
    }

    fn input_of(&self, frame: &Frame) -> Result<Arc<InputCore>, Error> {
        self.state.with(|state| state.inputs.get(&frame.stream_id).cloned()).ok_or_else(|| {
            let what = frame.frame_type.name();
            protocol(format!("a {what} came for stream {:?}, which is not open", frame.stream_id))
        })
    }

    fn chunk(&self, frame: Frame) -> Result<(), Error> {
        let input = self.input_of(&frame)?;
        input.arrive(frame).inspect_err(|error| {
            self.wire.counters.drop_frame(drop_reason(error), FrameType::Chunk.name());
            input.fail(error); // shows behind the good chunks
        })
    }

    fn stream_end(&self, frame: &Frame) -> Result<(), Error> {
        self.input_of(frame)?.finish(frame.chunk_count)
    }

    /// END: the caller's closes the body, the handler's ends the request. A stream that is open ends with it
    /// if it promised no end (L16); otherwise something is missing.
    fn inbound_end(&self, frame: &Frame) -> Result<(), Error> {
        let mut open: Vec<_> = self.state.update(|state| {
            state.body_ended = true;
            state.inputs.values().filter(|input| !input.has_ended()).cloned().collect()
        });
        open.retain(|input| !input.info().unbounded || input.finish(None).is_err());
        let unclosed = open.first().map(|input| {
            protocol(format!("the request ended with stream {:?} open", input.info().id))
        });
        match self.side {
            Side::Handler => unclosed.map_or(Ok(()), |error| {
                for input in open {
                    input.fail(&error);
                }
                Ok(())
            }),
            Side::Caller => {
                let outcome = terminal::read_end(frame);
                self.end(unclosed.map_or(outcome, Err));
                Ok(())
            }
        }
    }

    /// ERR: the handler's ends the request, the caller's ends its body as failed.
    fn inbound_err(&self, reason: &Reason) {
        if check::on() && reason.kind() == ErrorKind::CreditViolation {
            self.outputs().iter().for_each(|output| output.accused());
        }
        match self.side {
            Side::Caller => self.end(Err(reason.clone())),
            Side::Handler => {
                let inputs = self.state.update(|state| {
                    state.body_ended = true;
                    state.inputs.values().cloned().collect::<Vec<_>>()
                });
                for input in inputs {
                    input.fail(reason);
                }
            }
        }
    }

    fn event(&self, event: Event) {
        let dropped = self.state.update(|state| state.events.push(event, now()));
        for _ in 0..dropped {
            self.wire.counters.drop_frame(DropReason::EventUnread, FrameType::Log.name());
        }
    }

    /// Makes a handler stop: input ends as abandoned, waiters are released with `reason` (L13). Its
    /// terminal follows when the handler has returned, from [`finish`](Self::finish).
    pub(crate) fn stop(&self, reason: &Reason) {
        self.halt(reason, true);
    }

    /// `forget`: what came and was not read is not delivered any more.
    fn halt(&self, reason: &Reason, forget: bool) {
        let Some((inputs, outputs)) = self.state.update(|state| {
            if state.over().is_some() {
                return None;
            }
            state.stop = Some(reason.clone());
            state.body_ended = true;
            if forget {
                state.fresh.clear();
            }
            Some(state.streams())
        }) else {
            return;
        };
        self.release(&inputs, &outputs, reason, forget);
        self.cancel_children(reason);
    }

    /// Fails the request from this end: a handler sends ERR, a caller CANCEL with the same reason.
    /// The first end stays.
    pub(crate) fn fail(&self, reason: &Reason) {
        let FlowKey { id, routing_id } = self.flow;
        let (code, class, message) = (reason.code(), reason.class(), reason.message());
        let message = if message.is_empty() { code } else { message };
        let code = if code.is_empty() { reason.kind().code() } else { code };
        let message = terminal::fitting(if message.is_empty() { code } else { message });
        // A caller that gives up wants nothing of what has come; one that has to, what came before.
        let given_up = matches!(reason.kind(), ErrorKind::Cancelled | ErrorKind::TimedOut);
        self.close(Err(reason.clone()), given_up, |lanes, over| match self.side {
            Side::Handler => lanes.last(Frame::err(id, routing_id, code, class, message), over),
            Side::Caller => {
                let cancel = Frame::cancel(id, routing_id, false).with_reason(code, class, message);
                lanes.cancel(cancel, over).map(drop) // a peer that never hears of it answers nothing
            }
        });
    }

    /// The handler is done: END, or ERR if it had to stop.
    pub(crate) fn finish(&self, progress: Option<f64>, message: Option<&str>) -> Result<(), Error> {
        if let Some(reason) = self.stopped() {
            self.fail(&reason);
            return Err(reason);
        }
        let FlowKey { id, routing_id } = self.flow;
        let progress = progress.unwrap_or(1.0);
        let message = message.map(terminal::fitting);
        let done = Terminal { exit_code: 0, progress, message: message.map(str::to_owned) };
        let first = self.close(Ok(done), false, |lanes, over| {
            lanes.last(Frame::end_with(id, routing_id, 0, Some(progress), message), over)
        });
        match first || self.outcome().is_some_and(|outcome| outcome.is_ok()) {
            true => Ok(()),
            false => Err(self.ended_reason()),
        }
    }

    /// The other end's terminal came, or the link died.
    pub(crate) fn end(&self, outcome: Result<Terminal, Reason>) {
        let cancelled = matches!(&outcome, Err(reason) if reason.kind() == ErrorKind::Cancelled);
        self.close(outcome, cancelled, |_, over| {
            over();
            Ok(())
        });
    }

    /// The one transition to the end (L7). True if this call made it. `given_up`: what came and was not
    /// read is not delivered any more. `tell` sends the terminal, and calls what it is given in the step in
    /// which it does: from then on this end grants nothing more.
    fn close(
        &self,
        outcome: Result<Terminal, Reason>,
        given_up: bool,
        tell: impl FnOnce(&Lanes, &dyn Fn()) -> Result<(), Reason>,
    ) -> bool {
        let reason = match &outcome {
            Ok(_) => Error::with_code(
                ErrorKind::Closed,
                "END",
                ErrorKind::Closed.class(),
                "the request has ended",
            ),
            Err(reason) => reason.clone(),
        };
        let clean = outcome.is_ok();
        let Some((inputs, outputs)) = self.state.with(|state| {
            if state.ending.is_some() {
                return None;
            }
            state.ending = Some(reason.clone());
            state.stage = Stage::Ended;
            if !clean && self.side == Side::Handler {
                state.stop.get_or_insert_with(|| reason.clone()); // it learns why it has to stop
            }
            Some(state.streams())
        }) else {
            return false;
        };
        // The terminal goes out before the state goes (L6). A dead link has nobody to tell.
        let _ = tell(&self.wire.lanes, &|| inputs.iter().for_each(|input| input.mark_over()));
        let forget = given_up || self.side == Side::Handler;
        self.release(&inputs, &outputs, &reason, forget);
        if !clean {
            self.cancel_children(&reason);
        }
        self.wire.lanes.forget(self.flow);
        (self.forget)(self.flow, self.summary(&outcome));
        self.state.update(|state| {
            state.body_ended = true;
            state.end = Some(outcome);
        });
        true
    }

    /// `child` is a call made for this request: when this has to stop, so has that, for the same reason
    /// (L17).
    pub(super) fn adopt(&self, child: &Arc<Exchange>) {
        self.children.add(child);
        if let Some(reason) = self.stopped() {
            child.give_up(&reason); // it had to stop meanwhile
        }
    }

    fn cancel_children(&self, reason: &Reason) {
        self.children.take().iter().for_each(|child| child.give_up(reason));
    }

    /// Releases everybody who waits on this request (L13).
    fn release(
        &self,
        inputs: &[Arc<InputCore>],
        outputs: &[Arc<OutputCore>],
        reason: &Reason,
        forget: bool,
    ) {
        for output in outputs {
            output.end(reason);
        }
        // After the gates: who registers one from here on finds it closed.
        self.wire.router.close_request(&self.flow, reason.clone());
        for input in inputs {
            if forget {
                input.cut(reason);
            } else {
                input.fail(reason); // what came before the end is still delivered
            }
        }
    }

    /// Its streams, those that come and those that go.
    pub(super) fn streams(&self) -> (Vec<Arc<InputCore>>, Vec<Arc<OutputCore>>) {
        self.state.with(|state| state.streams())
    }

    /// The bytes that its streams and events hold, with what they cost to hold; what may be held is entered
    /// in `load`.
    pub(super) fn held(&self, load: &mut Load) -> u64 {
        load.requests = load.requests.saturating_add(1);
        let (inputs, outputs) = self.streams();
        let events = self.state.with(|state| state.events.held());
        let inputs = inputs.iter().fold(events, |sum, input| sum.saturating_add(input.held(load)));
        outputs.iter().fold(inputs, |sum, output| sum.saturating_add(output.held(load)))
    }

    /// At a handler's end, nobody has taken it yet.
    pub(super) fn is_queued(&self) -> bool {
        self.side == Side::Handler && self.state.with(|state| state.stage == Stage::Queued)
    }

    /// At a caller's end, since when it has waited for a place in its handler's pool, if it does.
    pub(super) fn pooled(&self) -> Option<Instant> {
        self.state.with(|state| state.events.pooled().filter(|_| state.over().is_none()))
    }

    /// True once it ends, whatever is still to be told of it.
    pub(super) fn is_ending(&self) -> bool {
        self.state.with(|state| state.ending.is_some())
    }

    /// True once it has to stop or ends: what still comes of it crossed that in flight.
    pub(crate) fn is_over(&self) -> bool {
        self.state.with(|state| state.over().is_some())
    }

    /// Why the handler has to stop, if it has.
    pub(crate) fn stopped(&self) -> Option<Reason> {
        self.state.with(|state| match (&state.stop, &state.end) {
            (Some(reason), _) => Some(reason.clone()),
            (None, Some(Err(reason))) => Some(reason.clone()),
            _ => None,
        })
    }

    pub(crate) fn outcome(&self) -> Option<Result<Terminal, Reason>> {
        self.state.with(|state| state.end.clone())
    }

    pub(crate) fn outputs(&self) -> Vec<Arc<OutputCore>> {
        self.state.with(|state| state.outputs.clone())
    }

    fn ended_reason(&self) -> Reason {
        self.state.with(|state| state.over()).unwrap_or_else(|| ErrorKind::Closed.into())
    }

    /// Waits for the next input to open; `None` when no more will.
    pub(crate) async fn next_input(self: Arc<Self>) -> Result<Option<Arc<InputCore>>, Error> {
        until(
            self,
            |exchange| &exchange.state,
            |state| {
                if let Some(input) = state.fresh.pop_front() {
                    return Some(Ok(Some(input)));
                }
                match (&state.stop, &state.end) {
                    (Some(reason), _) | (_, Some(Err(reason))) => Some(Err(reason.clone())),
                    _ if state.ending.is_some() && state.end.is_none() => None,
                    _ => state.body_ended.then_some(Ok(None)),
                }
            },
        )
        .await
    }

    /// Waits for the next event; `None` after the end.
    pub(crate) async fn next_event(self: Arc<Self>) -> Option<Event> {
        until(
            self,
            |exchange| &exchange.state,
            |state| match state.events.take() {
                Some(event) => Some(Some(event)),
                None => state.end.is_some().then_some(None),
            },
        )
        .await
    }

    /// Waits for the end.
    pub(crate) async fn ended(self: Arc<Self>) -> Result<Terminal, Reason> {
        until(self, |exchange| &exchange.state, |state| state.end.clone()).await
    }

    /// Waits until the handler has to stop; answers with kind `Closed` if it finished before.
    pub(crate) async fn stopping(self: Arc<Self>) -> Reason {
        until(self, |exchange| &exchange.state, |state| state.over()).await
    }
}

impl State {
    fn streams(&self) -> (Vec<Arc<InputCore>>, Vec<Arc<OutputCore>>) {
        (self.inputs.values().cloned().collect(), self.outputs.clone())
    }

    /// Why nothing more can be done with this request.
    fn over(&self) -> Option<Reason> {
        self.stop.as_ref().or(self.ending.as_ref()).cloned()
    }
}

fn protocol(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Protocol, message)
}
