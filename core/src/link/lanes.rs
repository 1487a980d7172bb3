//! What waits to be written on one link.
//!
//! Two lanes: control frames, which go ahead, and flow frames, which keep their order. One writer
//! thread empties both. Data waits for room, in bytes, at a gate of its own: the link is one more
//! hop with a window. Every queue is bounded: data by that gate, the rest by a count and by its bytes,
//! beyond which the link is closed with a reason.

use std::io::Write;
use std::time::Duration;

use super::cut::Cut;
use super::least::{encode_cut, in_place_of};
use super::queue::{Batch, Next, Queue, cost};
use super::room::Room;
use super::transit::Source;
use super::writer::encode;
use super::{FrameWriter, spawn_quiet};
use crate::account::load::ROOM;
use crate::account::{Counters, Load};
use crate::check::{FlowLedger, GrantLedger, WindowLedger};
use crate::credit::{CreditGate, TryAcquire};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{
    Admitted, EncodedFrame, FlowKey, Frame, FrameType, SeqAssigner, Version, WriterGate,
};
use crate::model::accounting::DropReason;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering};
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::watched::{Watched, until};

/// How long a write that is on its way when the link is ended may take, before its socket is shut down.
/// A peer that reads gets whole frames.
const LAST_WRITE: Duration = Duration::from_millis(500);

/// The sending half of a link. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Lanes(Arc<Inner>);

/// Hears, once, that nothing more can be written, and answers what everybody is told.
type OnFailure = Box<dyn FnOnce(Reason) -> Reason + Send>;

struct Inner {
    /// Waited on by the writer thread alone, so that a push may be made under any lock.
    queue: Watched<Queue>,
    /// The writer thread has ended and dropped its half of the transport.
    finished: Watched<bool>,
    room: CreditGate,
    max_frame: u64,
    /// What is spoken: every frame is made one of this version when it is written.
    version: Version,
    counters: Arc<Counters>,
    grants: GrantLedger<FlowKey>,
    on_failure: Mutex<Option<OnFailure>>,
    /// The way out of a write; gone with the writer.
    cut: Mutex<Option<Cut>>,
}

impl Lanes {
    /// Starts the writer thread on `writer`. `on_failure` hears once that it failed, may wait, and
    /// answers the reason that later calls get.
    pub(crate) fn start<W: Write + Send + 'static>(
        writer: FrameWriter<W>,
        max_frame: u64,
        counters: Arc<Counters>,
        on_failure: impl FnOnce(Reason) -> Reason + Send + 'static,
    ) -> Result<Self, Error> {
        let inner = Arc::new(Inner {
            queue: Watched::new(Queue::default()),
            finished: Watched::new(false),
            room: CreditGate::new(ROOM),
            max_frame,
            version: writer.version(),
            counters,
            grants: GrantLedger::default(),
            on_failure: Mutex::new(Some(Box::new(on_failure))),
            cut: Mutex::new(Cut::of(writer.inner())),
        });
        let lanes = Lanes(Arc::clone(&inner));
        spawn_quiet("writer", move || inner.run(writer))
            .map_err(|e| Error::new(ErrorKind::Io, format!("no writer thread: {e}")))?;
        Ok(lanes)
    }

    /// What this link speaks.
    pub(crate) fn version(&self) -> Version {
        self.0.version
    }

    /// Queues a frame that goes ahead of data. Never waits.
    pub(crate) fn control(&self, frame: Frame) -> Result<(), Reason> {
        self.push(|queue| queue.push_control(frame))
    }

    /// Queues a CREDIT, ahead of data, unless `over`, and answers whether it did. Never waits.
    pub(crate) fn grant(&self, credit: Frame, over: &AtomicBool) -> bool {
        let mut queued = false;
        let pushed = self.push(|queue| {
            if !over.load(Ordering::Relaxed) {
                queue.push_control(credit);
                queued = true;
            }
        });
        pushed.is_ok() && queued
    }

    /// Queues the terminal of a request. `over` says, in the same step, that nothing more of it is to come:
    /// no [`grant`](Self::grant) comes behind it. Never waits.
    pub(crate) fn last(&self, terminal: Frame, over: impl FnOnce()) -> Result<(), Reason> {
        self.push(|queue| {
            over();
            queue.push_flow(terminal);
        })
    }

    /// The CREDIT frames of this stream come from `window` (checked processes only).
    pub(crate) fn watch_grants(&self, flow: FlowKey, stream: Option<&str>, window: &WindowLedger) {
        self.0.grants.watch(flow, stream, window);
    }

    /// Queues a CANCEL of a request of ours, ahead of data. What waits of its flow is forgotten; if
    /// the REQ is among it, the peer never hears of the request, and the answer is false. Never
    /// waits. `over` says before it, as in [`last`](Self::last), that nothing more of it is to come.
    pub(crate) fn cancel(&self, cancel: Frame, over: impl FnOnce()) -> Result<bool, Reason> {
        self.0.queue.with(|_| over());
        let begun = self.take_back(cancel.flow_key());
        if begun {
            self.control(cancel)?;
        }
        Ok(begun)
    }

    /// Forgets what waits of `flow`. False if its REQ was among it: the peer never hears of the request, and
    /// there is nothing to cancel. Never waits.
    pub(crate) fn take_back(&self, flow: FlowKey) -> bool {
        let (begun, freed) = self.0.queue.with(|queue| queue.take_back(flow));
        self.0.room.grant(freed);
        begun
    }

    /// Queues a frame of a flow that costs no credit, in its order. Never waits (L14).
    pub(crate) fn flow(&self, frame: Frame) -> Result<(), Reason> {
        self.push(|queue| queue.push_flow(frame))
    }

    /// Queues a LOG frame, or counts it as dropped. Never waits.
    pub(crate) fn log(&self, frame: Frame) -> Result<(), Reason> {
        if !self.0.queue.with(|queue| queue.has_room_for_a_log()) {
            self.0.counters.drop_frame(DropReason::LogLaneFull, FrameType::Log.name());
            return Ok(());
        }
        self.push(|queue| queue.push_flow(frame))
    }

    /// Waits for room for a chunk's bytes on this link.
    pub(crate) async fn room(&self, bytes: u64) -> Result<Room, Reason> {
        let cost = cost(bytes);
        self.0.room.acquire(cost).await?;
        Ok(Room { gate: self.0.room.clone(), cost })
    }

    /// Room for a chunk's bytes, if it is there.
    pub(crate) fn try_room(&self, bytes: u64) -> Result<Option<Room>, Reason> {
        let cost = cost(bytes);
        match self.0.room.try_acquire(cost) {
            TryAcquire::Taken => Ok(Some(Room { gate: self.0.room.clone(), cost })),
            TryAcquire::Wait => Ok(None),
            TryAcquire::Closed(reason) => Err(reason),
        }
    }

    /// Queues a CHUNK that has its room.
    pub(crate) fn chunk(&self, frame: Frame, room: Room) -> Result<(), Reason> {
        let cost = room.keep();
        self.push(|queue| queue.push_chunk(frame, cost))
    }

    /// Queues a CHUNK that is passed on for somebody else. Never waits: what its sender may send is
    /// bounded by the window of its stream (L11), which whoever passes it on has looked after.
    pub(crate) fn passed_chunk(&self, frame: Frame) -> Result<(), Reason> {
        self.push_unless(false, |queue| queue.push_passed_chunk(frame))
    }

    /// Queues a frame that is passed on for `source` and that no window bounds, in its lane. Never waits.
    /// False if too much of that source waits: it is not the link that is in default then.
    pub(crate) fn passed(&self, frame: Frame, source: Source) -> Result<bool, Reason> {
        let mut fits = false;
        self.push_unless(false, |queue| fits = queue.push_passed(frame, source))?;
        Ok(fits)
    }

    /// How many CHUNKs of the stream of `chunk` wait that are passed on for somebody else, and their
    /// bytes.
    pub(crate) fn passed_of(&self, chunk: &Frame) -> (u64, u64) {
        self.0.queue.with(|queue| queue.passed_of(chunk))
    }

    /// The bytes that wait for this link and that are being written, with the frames that they are; what
    /// may be held because of it is entered in `load`.
    pub(crate) fn held(&self, load: &mut Load) -> u64 {
        let (bytes, relayed) = self.0.queue.with(|queue| queue.held());
        load.relayed = load.relayed.saturating_add(relayed);
        bytes
    }

    fn push(&self, put: impl FnOnce(&mut Queue)) -> Result<(), Reason> {
        self.push_unless(true, put)
    }

    /// `counted`: nothing else bounds how many of such frames may wait.
    fn push_unless(&self, counted: bool, put: impl FnOnce(&mut Queue)) -> Result<(), Reason> {
        let mut overflow = false;
        let pushed = self.0.queue.update(|queue| {
            if let Some(reason) = queue.dead.as_ref().or(queue.closing.as_ref()) {
                return Err(reason.clone());
            }
            if counted && let Some(reason) = queue.overflow() {
                queue.die(reason.clone());
                overflow = true;
                return Err(reason);
            }
            put(queue);
            Ok(())
        });
        if overflow && let Err(reason) = &pushed {
            self.0.cut_off(reason.clone());
        }
        pushed
    }

    /// Nothing more of `flow` is written, and no state of it is kept. Never waits.
    pub(crate) fn forget(&self, flow: FlowKey) {
        self.0.queue.with(|queue| queue.forget(flow));
    }

    /// Takes no more frames; what is queued is written, then the transport is dropped.
    pub(crate) fn close(&self) {
        self.end(Error::new(ErrorKind::Closed, "the connection is closing"));
    }

    /// The peer says nothing more but may still read: takes no more frames, whoever waits for room
    /// gets `reason`, what is queued is written.
    pub(crate) fn end(&self, reason: Reason) {
        self.0.queue.update(|queue| {
            queue.closing.get_or_insert_with(|| reason.clone());
        });
        self.0.room.close(reason);
    }

    /// Ends the link now: what is queued is forgotten, whoever waits for room gets `reason`. A write
    /// that stands still ends too where there is a way, and its thread with it. Never waits.
    pub(crate) fn kill(&self, reason: Reason) {
        let writing = self.0.queue.update(|queue| {
            queue.die(reason.clone());
            queue.writing
        });
        self.0.room.close(reason);
        if writing && self.0.cut.lock().is_some() {
            let lanes = self.clone();
            let cutter = spawn_quiet("cut", move || {
                if block_on(lanes.finished(), Deadline::after(LAST_WRITE)).is_err() {
                    lanes.0.cut_short();
                }
            });
            if cutter.is_err() {
                self.0.cut_short();
            }
        }
    }

    /// Waits until the writer has written all and dropped the transport, or died.
    pub(crate) fn finished(&self) -> impl Future<Output = ()> + Send + use<> {
        until(Arc::clone(&self.0), |inner| &inner.finished, |finished| finished.then_some(()))
    }
}

impl Inner {
    fn run<W: Write>(self: Arc<Self>, mut writer: FrameWriter<W>) {
        let mut order = Numbering::default();
        let failure = loop {
            let next = until(Arc::clone(&self), |inner| &inner.queue, Queue::take_batch);
            match block_on(next, Deadline::NEVER).unwrap_or(Next::End) {
                Next::End => break self.queue.with(|queue| queue.dead.clone()),
                Next::Frames(batch) => {
                    let written = self.write(&mut writer, &mut order, batch);
                    if let Err(reason) = written {
                        break Some(reason);
                    }
                }
            }
        };
        let cut = self.cut.lock().take();
        drop(writer); // the peer sees the end of the stream
        match (cut, self.queue.with(|queue| queue.dead.is_some())) {
            (Some(cut), false) => cut.say_end(),
            (Some(cut), true) => cut.shut(), // which also ends the thread that reads
            (None, _) => {}
        }
        match failure {
            Some(reason) => self.failed(reason),
            None => {
                self.room.close(Error::new(ErrorKind::Closed, "the connection is closed"));
            }
        }
        self.finished.update(|finished| *finished = true);
    }

    /// Ends a write that stands still.
    fn cut_short(&self) {
        if let Some(cut) = &*self.cut.lock() {
            cut.shut();
        }
    }

    /// Tells the connection that nothing more can be written, and then everybody who tries.
    fn failed(&self, reason: Reason) {
        let tell = self.on_failure.lock().take();
        let reason = match tell {
            Some(tell) => tell(reason),
            None => reason,
        };
        self.room.close(reason.clone());
        self.queue.update(|queue| queue.die(reason));
    }

    /// [`failed`](Self::failed) for a push, which may be made under any lock: on a thread of its own.
    fn cut_off(self: &Arc<Self>, reason: Reason) {
        let inner = Arc::clone(self);
        // Without a thread it is told by the writer, once it gets on.
        let _ = spawn_quiet("cut-off", move || inner.failed(reason));
    }

    fn write<W: Write>(
        &self,
        writer: &mut FrameWriter<W>,
        order: &mut Numbering,
        batch: Batch,
    ) -> Result<(), Reason> {
        let credits = batch.frames.iter().filter(|(frame, _)| frame.credit.is_some());
        let mut grants =
            self.grants.batch(credits.map(|(frame, _)| (frame.flow_key(), &frame.stream_id)));
        let mut encoded = Vec::with_capacity(batch.frames.len());
        let mut cost = 0_u64;
        for (mut frame, bytes) in batch.frames {
            cost = cost.saturating_add(bytes);
            let grant = frame.credit.map(|n| (n, frame.stream_id.clone()));
            if !self.version.fit(&mut frame) {
                continue; // the other end would not know it
            }
            match order.number(&mut frame) {
                Admitted::Send | Admitted::SendLast => match encode(&frame, self.max_frame) {
                    Ok(bytes) => {
                        encoded.push(bytes);
                        if let Some((n, stream)) = &grant {
                            grants.laid(frame.flow_key(), stream, *n);
                        }
                    }
                    Err(e) => encoded.extend(self.too_large(order, &frame, &e)),
                },
                Admitted::Suppress => self.counters.straggler(frame.frame_type.name()),
            }
        }
        for flow in batch.ended {
            order.end(flow);
        }
        let written = writer.write_encoded(&encoded);
        self.room.grant(cost);
        if written.is_ok() {
            self.grants.written(grants, |flow, stream| {
                self.queue.with(|queue| queue.has_grant(flow, stream))
            });
        }
        written
    }

    /// A frame that cannot be written fails its request, not the link.
    fn too_large(
        &self,
        order: &mut Numbering,
        frame: &Frame,
        error: &Error,
    ) -> Option<EncodedFrame> {
        self.counters.drop_frame(DropReason::NotEncodable, frame.frame_type.name());
        if !frame.frame_type.is_flow() {
            return None;
        }
        let mut err = in_place_of(frame, error);
        let _known_to_all = self.version.fit(&mut err);
        let admitted = if frame.is_terminal() {
            err.seq = frame.seq; // the end of the flow is its place already
            Admitted::SendLast
        } else {
            order.seq.take_back(frame);
            order.number(&mut err)
        };
        match admitted {
            Admitted::Send | Admitted::SendLast => encode_cut(&err, self.max_frame),
            Admitted::Suppress => None,
        }
    }
}

/// Numbers flow frames at the moment of writing, and lets nothing of a flow follow its terminal (L4).
#[derive(Default)]
struct Numbering {
    gate: WriterGate,
    seq: SeqAssigner,
    ledger: FlowLedger<FlowKey>,
}

impl Numbering {
    /// Marks a flow as over that had no terminal written.
    fn end(&mut self, flow: FlowKey) {
        self.seq.forget(&flow);
        self.ledger.over(flow);
        if !self.gate.is_over(&flow) {
            let _over = self.gate.write(flow, FrameType::Err);
        }
    }

    fn number(&mut self, frame: &mut Frame) -> Admitted {
        let answer = self.gate.write(frame.flow_key(), frame.frame_type);
        if answer != Admitted::Suppress {
            self.seq.stamp(frame);
            if frame.is_flow() {
                let named = || format!("request {}", frame.id);
                self.ledger.written(frame.flow_key(), frame.seq, frame.is_terminal(), named);
            }
        }
        answer
    }
}
