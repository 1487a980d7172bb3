//! What an output stream is behind its handles: its gate, its place on the wire, what it has written.

use std::sync::{OnceLock, Weak};
use std::time::{Duration, Instant};

use super::limit::{Due, TimeLimit};
use super::numbered::Numbered;
use super::{LiveSource, Mode, StartOptions, StreamInfo, StreamStats, Wire};
use crate::account::{Cause, Load, Standing};
use crate::check;
use crate::credit::CreditGate;
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{FlowKey, Frame};
use crate::model::emission::Written;
use crate::sync::{Arc, Mutex};
use crate::time::now;
use crate::wait::watched::{Watched, until};

pub(crate) struct OutputCore {
    pub(super) wire: Arc<Wire>,
    pub(super) flow: FlowKey,
    pub(super) name: String,
    pub(super) media: String,
    output: Option<String>,
    pub(super) gate: CreditGate,
    /// One unit: whoever has it emits.
    pub(super) baton: CreditGate,
    pub(super) state: Mutex<State>,
    course: Arc<Watched<Course>>,
    limit: TimeLimit,
    /// The live source that it delivers, once one does.
    source: OnceLock<Weak<dyn LiveSource>>,
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
    pub(super) started: Option<StartOptions>,
    pub(super) held: Vec<u8>,
    pub(super) held_since: Option<Instant>,
    pub(super) written: Numbered,
    pub(super) bytes: u64,
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
        let gate = CreditGate::accounted(wire.limits.initial_credit);
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
            source: OnceLock::new(),
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

    /// It delivers what a live source captures; the first one stays.
    pub(super) fn delivers(&self, source: Weak<dyn LiveSource>) {
        let _first = self.source.set(source);
    }

    /// The figures of the live source that it delivers, as JSON.
    pub(crate) fn source_json(&self) -> Option<serde_json::Value> {
        Some(self.source.get()?.upgrade()?.figures())
    }

    /// Releases everybody who emits on this stream, started or not (L13).
    pub(crate) fn end(&self, reason: &Reason) {
        // Who was refused credit by the end finds the stream ended, whatever it does next.
        self.baton.close(reason.clone());
        self.gate.close(reason.clone());
        self.over(reason.clone());
    }

    /// Waits until nothing more can be sent.
    pub(super) fn ended(&self) -> impl Future<Output = Reason> + Send + use<> {
        until(Arc::clone(&self.course), |course| course, |course| course.ended.clone())
    }

    /// The limit of the stream, unless it has ended.
    pub(crate) fn due(&self) -> Option<Due> {
        self.limit.due().filter(|_| !self.gate.is_closed())
    }

    pub(super) fn over(&self, reason: Reason) {
        self.course.update(|course| course.ended.get_or_insert(reason).clone());
    }

    /// CLOSE_STREAM came: a live source is to stop, what it holds is still wanted.
    pub(crate) fn close_wanted(&self) {
        self.course.update(|course| course.unwanted = true);
    }

    /// Waits until the other end wants no more of a live source.
    pub(super) fn unwanted(&self) -> impl Future<Output = ()> + Send + use<> {
        let course = Arc::clone(&self.course);
        until(course, |course| course, |course| course.unwanted.then_some(()))
    }

    /// Allows the stream so long from now.
    pub(super) fn allow(&self, limit: Duration) -> Result<(), Error> {
        self.limit.set(limit, &self.wire.alarm)
    }

    pub(super) fn info(&self) -> StreamInfo {
        let options = self.state.lock().started.clone().unwrap_or_default();
        StreamInfo {
            id: Some(self.name.clone()),
            media: self.media.clone(),
            output: self.output.clone(),
            mode: options.mode,
            unbounded: options.unbounded,
            meta: options.meta,
        }
    }

    /// The bytes that are held for coalescing; what may be held is entered in `load`.
    pub(crate) fn held(&self, load: &mut Load) -> u64 {
        load.outputs = load.outputs.saturating_add(1);
        u64::try_from(self.state.lock().held.len()).unwrap_or(u64::MAX)
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
            granted: self.gate.granted(),
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
            ahead: 0,
        })
    }

    /// Opens the stream on the wire unless that was done; refuses another mode.
    pub(super) fn ensure_started(&self, mode: Mode) -> Result<(), Error> {
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

    /// Opens the stream on the wire as the caller wants it.
    pub(super) fn start(&self, options: StartOptions) -> Result<(), Error> {
        let mut state = self.state.lock();
        if state.started.is_some() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("stream {:?} was started already", self.name),
            ));
        }
        if let Some(reason) = self.gate.reason() {
            return Err(reason);
        }
        self.open(&mut state, options)
    }

    pub(super) fn open(&self, state: &mut State, options: StartOptions) -> Result<(), Error> {
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

    pub(super) fn not_open(&self) -> Error {
        Error::new(ErrorKind::Closed, format!("stream {:?} is closed", self.name))
    }
}
