//! One link: what its two ends share, and the loop that brings each frame to its request.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use super::exchange::{Exchange, Side};
use super::names::check_names;
use super::places::{Place, Places};
use super::standing;
use super::table::{Disposition, Refused, Table};
use super::terminal::fitting;
use crate::account::load::{Load, REQUESTS};
use crate::account::{Counters, StandingRequest, in_line};
use crate::check;
use crate::credit::{CreditRouter, Delivery};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{FlowKey, Frame, FrameType, HARD_MAX_FRAME, Limits, MessageId, Version};
use crate::link::{Alarm, FrameReader, FrameWriter, Lanes, Source, fits};
use crate::model::accounting::fate_of;
use crate::stream::Wire;
use crate::sync::Arc;
use crate::time::{Deadline, now};
use crate::wait::block_on;
use crate::wait::owed::Owed;
use crate::wait::watched::{Watched, until};

/// How long what a peer wrote is still read once nothing can be written to it.
const READ_OUT: Duration = Duration::from_millis(500);

/// What a runtime does with the frames that are not of a live request. Called by the reading thread;
/// must not wait.
pub(crate) trait Role: Send + Sync {
    /// REQ: somebody calls this end.
    fn request(&self, connection: &Arc<Connection>, frame: Frame);
    /// HEARTBEAT: a probe to answer, or the answer to a probe of ours.
    fn heartbeat(
        &self,
        connection: &Arc<Connection>,
        frame: &Frame,
        answer: bool,
    ) -> Result<(), Reason>;
    /// POLICY.
    fn policy(&self, frame: &Frame) -> Result<(), Reason>;
    /// HELLO after the handshake.
    fn hello(&self, connection: &Connection, frame: &Frame) -> Result<(), Reason>;

    /// A frame of a request that is none of this end's own, for a relay to pass on. One that has no
    /// way on is counted as lost.
    fn relay(&self, _connection: &Arc<Connection>, _frame: Frame) -> Result<(), Unroutable> {
        Err(Unroutable { lately_ended: false })
    }

    /// The link is over, and every request of its table has ended.
    fn over(&self, _reason: &Reason) {}

    /// RELAY_NOTIFY or RELAY_STATE.
    fn relay_talk(&self, _connection: &Arc<Connection>, frame: &Frame) -> Result<(), Reason> {
        let name = frame.frame_type.name();
        let message = format!("{name} is for relays, not for this link");
        Err(Error::new(ErrorKind::Protocol, message))
    }
}

/// A frame that no route takes.
pub(crate) struct Unroutable {
    /// Its request ended lately: the frame crossed the terminal in flight. Benign.
    pub(crate) lately_ended: bool,
}

pub(crate) struct Connection {
    wire: Arc<Wire>,
    table: Arc<Table<Exchange>>,
    dead: Watched<Option<Reason>>,
    /// Probes of ours, and the answers that nobody has fetched yet.
    probes: Watched<HashMap<MessageId, Option<Frame>>>,
    places: Places,
}

impl Connection {
    /// Starts the writing half. [`read_all`](Self::read_all) is the reading half. `verdict` says in
    /// the end what it means that writing failed; it may wait.
    pub(crate) fn start<W: Write + Send + 'static>(
        writer: FrameWriter<W>,
        limits: Limits,
        max_item: u64,
        owed: Arc<Owed>,
        counters: Arc<Counters>,
        verdict: impl FnOnce(&Reason) -> Reason + Send + 'static,
    ) -> Result<Arc<Self>, Error> {
        // The writer tells the connection when it fails, which exists only once the writer does.
        let slot: Arc<std::sync::OnceLock<std::sync::Weak<Connection>>> = Arc::default();
        let told = Arc::clone(&slot);
        let lanes =
            Lanes::start(
                writer,
                limits.max_frame,
                Arc::clone(&counters),
                move |reason| match told.get().and_then(std::sync::Weak::upgrade) {
                    Some(connection) => connection.writing_failed(&reason, verdict),
                    None => reason,
                },
            )?;
        let table = Arc::new(Table::default());
        let router = CreditRouter::new();
        let alarm = Alarm::new(look_after(&table));
        let wire = Wire { lanes, router, owed, limits, max_item, counters, alarm };
        let connection = Arc::new(Connection {
            wire: Arc::new(wire),
            table,
            dead: Watched::new(None),
            probes: Watched::new(HashMap::new()),
            places: Places::default(),
        });
        let _ = slot.set(Arc::downgrade(&connection));
        Ok(connection)
    }

    pub(crate) fn wire(&self) -> &Arc<Wire> {
        &self.wire
    }

    pub(crate) fn limits(&self) -> Limits {
        self.wire.limits
    }

    /// What its two ends speak.
    pub(crate) fn version(&self) -> Version {
        self.wire.lanes.version()
    }

    pub(crate) fn live_requests(&self) -> usize {
        self.table.live()
    }

    /// Its requests and losses, as JSON: the live requests with their streams, the last 64 that are
    /// over, the latest at the end, how many were ever let in and how many of them ended in which way; and
    /// the bytes that are held for what is under way, with the most that they may be.
    pub(crate) fn stats(&self) -> serde_json::Value {
        let figures = self.table.figures();
        let limits = self.limits();
        let mut load = Load {
            window: limits.initial_credit,
            max_frame: limits.max_frame.min(HARD_MAX_FRAME),
            max_item: self.wire.max_item,
            ..Load::default()
        };
        let lanes = self.wire.lanes.held(&mut load);
        let held =
            figures.live.iter().fold(lanes, |sum, one| sum.saturating_add(one.held(&mut load)));
        let mut told = standing::figures(&figures, &self.wire.counters.snapshot());
        told["held"] = serde_json::json!({"bytes": held, "bound": load.bound()});
        told
    }

    /// Sends a HEARTBEAT now, and waits for the answer; `None` if the link dies first. An answer is
    /// never behind data: the other end's reading thread gives it (L10).
    ///
    /// `explain`: asks what stands still there too, and for how long the answer is waited for.
    pub(crate) fn probe(
        self: &Arc<Self>,
        explain: Option<Duration>,
    ) -> impl Future<Output = Option<Frame>> + Send + use<> {
        let id = MessageId::new_random();
        let mut probe = Frame::heartbeat(id);
        if let Some(patience) = explain {
            let millis = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
            probe.set_meta(EXPLAIN, millis);
        }
        self.probes.with(|probes| probes.insert(id, None));
        let asked = Asked { connection: Arc::clone(self), id };
        let sent = self.wire.lanes.control(probe);
        async move {
            sent.ok()?;
            let connection = Arc::clone(&asked.connection);
            let answer = until(
                connection,
                |connection| &connection.probes,
                move |probes| match probes.get_mut(&id) {
                    None => Some(None), // the link is over
                    Some(answer) => answer.take().map(Some),
                },
            );
            let answer = answer.await;
            drop(asked);
            answer
        }
    }

    /// A place for a thread that answers a question of the peer, if one is free.
    pub(crate) fn place(&self) -> Option<Place> {
        self.places.take()
    }

    /// Everything of the live requests that stands still; of those in a queue, in which order.
    pub(crate) fn standings(&self) -> Vec<StandingRequest> {
        let at = now();
        let mut all: Vec<_> =
            self.table.all().iter().flat_map(|exchange| exchange.standings(at)).collect();
        in_line(all.iter_mut().map(|told| &mut told.standing));
        all
    }

    /// Makes a request of ours and sends its REQ, which names the request that it is made for. One whose
    /// REQ does not fit a frame is `FrameTooLarge`: nobody would ever answer it.
    pub(crate) fn call(
        &self,
        cap: &str,
        parent: Option<MessageId>,
    ) -> Result<Arc<Exchange>, Error> {
        let id = MessageId::new_random();
        let mut req = Frame::req(id, None, cap, "application/cbor");
        if let Some(parent) = parent {
            req.set_meta("parent_rid", parent);
        }
        fits(&req, self.limits().max_frame)?;
        let exchange = self.register(Side::Caller, FlowKey::new(id, None), cap)?;
        self.wire.send(req).inspect_err(|reason| {
            exchange.end(Err(reason.clone()));
        })?;
        Ok(exchange)
    }

    /// Enters a request in the table.
    pub(crate) fn register(
        &self,
        side: Side,
        flow: FlowKey,
        cap: &str,
    ) -> Result<Arc<Exchange>, Error> {
        let table = Arc::downgrade(&self.table);
        let wire = Arc::clone(&self.wire);
        let exchange = Exchange::new(side, flow, cap.to_owned(), wire, move |flow, summary| {
            if let Some(table) = table.upgrade() {
                table.end(flow, summary);
            }
        });
        match self.table.register(flow, &exchange, REQUESTS) {
            Ok(()) => Ok(exchange),
            Err(Refused::Live) => {
                Err(Error::new(ErrorKind::Protocol, format!("request {} is live already", flow.id)))
            }
            Err(Refused::Full) => Err(Error::new(
                ErrorKind::LimitReached,
                format!("{REQUESTS} requests are open on this connection"),
            )),
            Err(Refused::Closed) => Err(self.reason()),
        }
    }

    /// Why the link is over.
    pub(crate) fn reason(&self) -> Reason {
        self.dead.with(|dead| dead.clone()).unwrap_or_else(|| ErrorKind::Closed.into())
    }

    pub(crate) fn is_dead(&self) -> Option<Reason> {
        self.dead.with(|dead| dead.clone())
    }

    /// Waits until the link is over.
    pub(crate) async fn died(self: Arc<Self>) -> Reason {
        until(self, |connection| &connection.dead, |dead| dead.clone()).await
    }

    /// Nothing more can be written. What the peer wrote before is still read, for a bounded time, so
    /// that a peer that answered and went has answered. Answers why the link is over.
    fn writing_failed(
        self: &Arc<Self>,
        reason: &Reason,
        verdict: impl FnOnce(&Reason) -> Reason,
    ) -> Reason {
        if reason.kind() == ErrorKind::Io {
            // What counts is whether it has died since.
            let _ = block_on(Arc::clone(self).died(), Deadline::after(READ_OUT));
        }
        if self.is_dead().is_none() {
            self.die(&verdict(&peer_gone(reason)));
        }
        self.reason()
    }

    /// Ends the link: every request ends with `reason`, every waiter is released. The first reason
    /// stays. To a peer that only stopped to speak, what is queued is still written.
    pub(crate) fn die(&self, reason: &Reason) {
        let first = self.dead.update(|dead| match dead {
            Some(_) => false,
            None => {
                *dead = Some(reason.clone());
                true
            }
        });
        if !first {
            return;
        }
        for exchange in self.table.close() {
            exchange.end(Err(reason.clone()));
        }
        self.wire.alarm.end();
        drop(self.probes.update(std::mem::take));
        self.wire.router.close_all(reason.clone());
        match reason.kind() {
            ErrorKind::PeerDied => self.wire.lanes.end(reason.clone()),
            _ => self.wire.lanes.kill(reason.clone()),
        }
    }

    /// Reads until the end of the link. The reading half: runs on a thread of its own, never waits
    /// for anything but the wire (L10), and answers why it ended.
    pub(crate) fn read_all<R: Read>(
        self: &Arc<Self>,
        reader: &mut FrameReader<R>,
        role: &dyn Role,
    ) -> Reason {
        loop {
            match reader.read() {
                Ok(Some(frame)) => {
                    if let Err(reason) = self.frame(frame, role) {
                        return reason;
                    }
                    if let Some(reason) = self.is_dead() {
                        return reason; // there is nobody left to read for
                    }
                }
                Ok(None) => {
                    return Error::new(ErrorKind::PeerDied, "the peer closed the connection");
                }
                Err(error) if error.kind() == ErrorKind::Io => return peer_gone(&error),
                Err(error) => return error,
            }
        }
    }

    /// Brings one frame where it belongs. An error ends the link.
    fn frame(self: &Arc<Self>, frame: Frame, role: &dyn Role) -> Result<(), Reason> {
        match frame.frame_type {
            FrameType::Credit => self.credit(frame, role),
            // Never an answer: one with a routing id and the id of a call of ours is that call, which a
            // relay has brought back to us to answer.
            FrameType::Req => match self.table.dispose(frame.flow_key()) {
                Disposition::NoRoute => match check_names(&frame) {
                    Ok(()) => role.request(self, frame),
                    Err(error) => return self.refuse(frame.id, frame.routing_id, &error),
                },
                Disposition::Straggler => {
                    self.unroutable(&Disposition::Straggler, FrameType::Req); // an id is used once
                }
                Disposition::Route(exchange) => {
                    let message = format!("request {} was opened twice", frame.id);
                    exchange.break_off(&Error::new(ErrorKind::Protocol, message));
                }
            },
            FrameType::Heartbeat => {
                let asked = self.probes.with(|probes| probes.contains_key(&frame.id));
                let answered = role.heartbeat(self, &frame, asked);
                if asked {
                    self.probes.update(|probes| probes.insert(frame.id, Some(frame)));
                }
                return answered;
            }
            FrameType::Policy => return role.policy(&frame),
            FrameType::Hello => return role.hello(self, &frame),
            FrameType::RelayNotify | FrameType::RelayState => return role.relay_talk(self, &frame),
            _ => match self.find(frame.flow_key()) {
                Disposition::Route(exchange) => exchange.frame(frame),
                Disposition::Straggler => {
                    self.unroutable(&Disposition::Straggler, frame.frame_type);
                }
                Disposition::NoRoute => self.relay(frame, role),
            },
        }
        Ok(())
    }

    /// The request of a frame. An answer may carry the routing id that a relay gave the request.
    fn find(&self, flow: FlowKey) -> Disposition<Exchange> {
        match self.table.dispose(flow) {
            Disposition::NoRoute if flow.routing_id.is_some() => {
                self.table.dispose(FlowKey::new(flow.id, None))
            }
            found => found,
        }
    }

    fn credit(self: &Arc<Self>, frame: Frame, role: &dyn Role) {
        let n = frame.credit.unwrap_or_default();
        let stream = frame.stream_id.as_deref();
        let flow = frame.flow_key();
        let delivery = match self.wire.router.grant(&flow, stream, n) {
            Delivery::NoRequest if flow.routing_id.is_some() => {
                self.wire.router.grant(&FlowKey::new(flow.id, None), stream, n)
            }
            delivery => delivery,
        };
        if delivery == Delivery::NoRequest {
            match self.find(flow) {
                Disposition::Route(exchange) if exchange.is_over() => {
                    self.unroutable(&Disposition::Straggler, FrameType::Credit);
                }
                Disposition::Route(_) => {} // its streams have ended: moot
                Disposition::NoRoute => self.relay(frame, role),
                straggler => self.unroutable(&straggler, FrameType::Credit),
            }
        }
    }

    /// Hands a frame of a request that is not of this table to the relay, if this end is one.
    fn relay(self: &Arc<Self>, frame: Frame, role: &dyn Role) {
        let kind = frame.frame_type;
        if let Err(Unroutable { lately_ended }) = role.relay(self, frame) {
            let lost = if lately_ended { Disposition::Straggler } else { Disposition::NoRoute };
            self.unroutable(&lost, kind);
        }
    }

    /// Passes on a frame of somebody else's request, in the order in which they are passed. Never
    /// waits: what a relay holds is bounded by the windows at both ends (L11), and by the share that each
    /// `source` has of the places for what costs no credit. A relay's own frame has none.
    ///
    /// A CANCEL whose REQ has not been written yet takes it back: the answer is [`Passed::Undone`],
    /// and nobody at the other end will ever answer it.
    pub(crate) fn pass(&self, frame: Frame, source: Option<Source>) -> Result<Passed, Reason> {
        let lanes = &self.wire.lanes;
        let kind = frame.frame_type;
        if kind == FrameType::Cancel && !lanes.take_back(frame.flow_key()) {
            return Ok(Passed::Undone);
        }
        match (kind, source) {
            (FrameType::Log, _) => lanes.log(frame)?,
            (FrameType::Chunk, _) => lanes.passed_chunk(frame)?,
            (_, Some(source)) => {
                return lanes.passed(frame, source).map(|fits| match fits {
                    true => Passed::On,
                    false => Passed::Crowded,
                });
            }
            (_, None) if kind.is_flow() => lanes.flow(frame)?,
            (_, None) => lanes.control(frame)?,
        }
        Ok(Passed::On)
    }

    /// Counts a frame that belongs to no live request (L6, L8).
    fn unroutable(&self, disposition: &Disposition<Exchange>, frame: FrameType) {
        self.wire.counters.count(fate_of(disposition.became(), None), frame.name());
    }

    /// Answers a request that was not let in; what still comes of it crossed the answer in flight.
    pub(crate) fn refuse(
        &self,
        id: MessageId,
        routing_id: Option<MessageId>,
        error: &Error,
    ) -> Result<(), Reason> {
        self.table.note_ended(FlowKey::new(id, routing_id));
        let err = Frame::err(id, routing_id, error.code(), error.class(), fitting(error.message()));
        self.wire.send(err)
    }
}

/// Ends those requests of `table` whose limit has passed, and answers when the next one will.
fn look_after(table: &Arc<Table<Exchange>>) -> impl Fn(Instant) -> Option<Instant> + use<> {
    let table = Arc::downgrade(table);
    move |at| table.upgrade()?.all().iter().filter_map(|exchange| exchange.expire(at)).min()
}

/// The metadata by which a HEARTBEAT asks what stands still, with the milliseconds that the answer is
/// waited for, and its answer tells it, as JSON in bytes.
pub(crate) const EXPLAIN: &str = "explain";

/// A probe that is waited for; its place goes when nobody waits any more.
struct Asked {
    connection: Arc<Connection>,
    id: MessageId,
}

impl Drop for Asked {
    fn drop(&mut self) {
        drop(self.connection.probes.with(|probes| probes.remove(&self.id)));
    }
}

/// What became of a frame that was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// It is on its way.
    On,
    /// It took back a request that had not been written yet.
    Undone,
    /// It was not let in: too much of its source waits there.
    Crowded,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !check::on() {
            return;
        }
        for exchange in self.table.close() {
            if !exchange.is_over() {
                check::left_behind(&exchange.flow().id); // L7
            }
        }
    }
}

/// A transport error means that the other end is gone.
pub(crate) fn peer_gone(reason: &Reason) -> Reason {
    match reason.kind() {
        ErrorKind::Io => Error::new(ErrorKind::PeerDied, reason.message()),
        _ => reason.clone(),
    }
}
