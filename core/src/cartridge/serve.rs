//! [`Session`]: a cartridge's link, live.

use std::collections::VecDeque;
use std::io::{Read, Write};

use bytes::Bytes;

use super::manifest::{CapInfo, IDENTITY, Manifest, same_cap};
use super::request::Request;
use crate::account::{Counters, Explanation, Memory, OnLoss, Snapshot};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{FlowKey, Frame, Limits, NetworkPolicy, Version};
use crate::link::{FrameReader, FrameWriter, accept, fits, spawn_quiet, tell_losses};
use crate::request::{Connection, EXPLAIN, Role, Side};
use crate::stream::MAX_ITEM;
use crate::sync::{Arc, Mutex};
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::owed::Owed;
use crate::wait::watched::{Watched, until};

/// Requests that came and that nobody has taken yet.
const WAITING: usize = 256;

/// A cartridge's connection to its host. Cheap to clone.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    connection: Arc<Connection>,
    owed: Arc<Owed>,
    service: Arc<Service>,
}

/// What the reading thread needs to take requests in.
struct Service {
    name: String,
    caps: Vec<CapInfo>,
    pools: Bytes,
    policy: Mutex<Option<NetworkPolicy>>,
    arrived: Watched<Arrivals>,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Arrivals {
    queue: VecDeque<Request>,
    over: Option<Reason>,
}

impl Arrivals {
    fn next(&mut self) -> Option<Result<Option<Request>, Error>> {
        match (self.queue.pop_front(), &self.over) {
            (Some(request), _) => Some(Ok(Some(request))),
            (None, Some(reason)) => Some(clean(reason).map(|()| None)),
            (None, None) => None,
        }
    }
}

impl Session {
    pub(super) fn open(
        manifest: &Manifest,
        limits: Limits,
        on_loss: &OnLoss,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<Self, Error> {
        let json = Bytes::from(manifest.to_json());
        let pools = Bytes::from(manifest.pools());
        let (mut reader, writer, limits) =
            shake_hands(reader, writer, limits, json, pools.clone())?;
        let (owed, counters) = (Arc::<Owed>::default(), Arc::<Counters>::default());
        tell_losses(&counters, manifest.name(), on_loss);
        let (owing, counting) = (Arc::clone(&owed), Arc::clone(&counters));
        let connection =
            Connection::start(writer, limits, MAX_ITEM, owing, counting, Reason::clone)?;
        let service = Arc::new(Service {
            name: manifest.name().to_owned(),
            caps: manifest.caps(),
            pools,
            policy: Mutex::new(None),
            arrived: Watched::new(Arrivals::default()),
            counters,
        });
        let (reading, role) = (Arc::clone(&connection), Arc::clone(&service));
        spawn_quiet("reader", move || {
            let reason = reading.read_all(&mut reader, &*role);
            reading.die(&reason);
            role.end(&reason);
        })
        .map_err(|e| Error::new(ErrorKind::Io, format!("no reader thread: {e}")))?;
        Ok(Session(Arc::new(Inner { connection, owed, service })))
    }

    /// The next request; `None` when the host has closed the connection.
    ///
    /// Fails with what the host did if it broke the protocol.
    pub fn next_request(
        &self,
    ) -> impl Future<Output = Result<Option<Request>, Error>> + Send + use<> {
        let service = Arc::clone(&self.0.service);
        self.0.owed.before_wait(async move {
            loop {
                let service = Arc::clone(&service);
                match until(service, |s| &s.arrived, Arrivals::next).await? {
                    Some(request) if !request.begin() => {} // cancelled while it waited
                    next => return Ok(next),
                }
            }
        })
    }

    /// The agreed limits.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.0.connection.limits()
    }

    /// The version of the protocol that the host declared, and that this cartridge answers in. Of 4 it is
    /// the early form: a host does not tell which it speaks.
    #[must_use]
    pub fn version(&self) -> Version {
        self.0.connection.version()
    }

    /// What the host allows on the network, once it has said so. One of version 4 or 5 never does.
    #[must_use]
    pub fn policy(&self) -> Option<NetworkPolicy> {
        *self.0.service.policy.lock()
    }

    /// What this cartridge has lost, by family.
    #[must_use]
    pub fn counters(&self) -> Snapshot {
        self.0.service.counters.snapshot()
    }

    /// Its requests and losses, as JSON: as [`Peer::stats`](crate::Peer::stats), with the memory of this
    /// process.
    #[must_use]
    pub fn stats(&self) -> serde_json::Value {
        let mut told = self.0.connection.stats();
        told["name"] = self.0.service.name.as_str().into();
        told["memory"] = Memory::of_this().map(|memory| memory.resident).into();
        told
    }

    /// Says what stands still in this cartridge. Asks nobody and waits for nothing.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        Explanation::of(self.0.connection.standings().iter(), &self.0.service.name)
    }

    /// Ends the connection: requests stop, waiters are released.
    pub fn close(&self) {
        let reason = Error::new(ErrorKind::PeerDied, "the cartridge closed the connection");
        self.0.connection.die(&reason);
        self.0.service.end(&reason);
    }

    /// Waits until what was queued has been written, or the connection has failed.
    pub(super) fn written(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.connection.wire().lanes.finished()
    }

    /// How the session ended, after [`next_request`](Self::next_request) answered `None`.
    pub(super) fn result(&self) -> Result<(), Error> {
        self.0.connection.is_dead().map_or(Ok(()), |reason| clean(&reason))
    }
}

/// The handshake, on a thread that takes no signal: a host that is gone already is an error and not
/// the end of the process.
fn shake_hands<R: Read + Send + 'static, W: Write + Send + 'static>(
    reader: R,
    writer: W,
    limits: Limits,
    manifest: Bytes,
    pools: Bytes,
) -> Result<(FrameReader<R>, FrameWriter<W>, Limits), Error> {
    let (tell, told) = crossbeam_channel::bounded(1);
    spawn_quiet("handshake", move || {
        let mut reader = FrameReader::new(reader);
        let mut writer = FrameWriter::new(writer);
        let agreed = accept(&mut reader, &mut writer, limits, manifest, pools);
        let _ = tell.send(agreed.map(|limits| (reader, writer, limits))); // it is awaited below
    })
    .map_err(|e| Error::new(ErrorKind::Io, format!("no thread for the handshake: {e}")))?;
    told.recv().unwrap_or_else(|_| Err(ErrorKind::Panic.into()))
}

/// A host that goes away is the ordinary end.
fn clean(reason: &Reason) -> Result<(), Error> {
    match reason.kind() {
        ErrorKind::PeerDied | ErrorKind::Closed => Ok(()),
        _ => Err(reason.clone()),
    }
}

impl Service {
    fn end(&self, reason: &Reason) {
        let dropped = self.arrived.update(|arrived| {
            arrived.over.get_or_insert_with(|| reason.clone());
            std::mem::take(&mut arrived.queue)
        });
        drop(dropped);
    }

    /// Lets a request in, or says why not.
    fn admit(&self, connection: &Arc<Connection>, frame: &Frame) -> Result<(), Error> {
        let refused = |kind: ErrorKind, code: &str, message: String| {
            Err(Error::with_code(kind, code, kind.class(), message))
        };
        let Some(cap) = frame.cap.as_deref() else {
            return refused(
                ErrorKind::Protocol,
                "INVALID_REQUEST",
                "the request names no cap".into(),
            );
        };
        if !frame.payload_bytes().is_empty() {
            let message = "the request carries a payload; arguments are streams".into();
            return refused(ErrorKind::Protocol, "PROTOCOL_ERROR", message);
        }
        let needs_policy = connection.version().has_policy() && cap != IDENTITY;
        if needs_policy && self.policy.lock().is_none() {
            let message = "the host sent a request before its policy".into();
            return refused(ErrorKind::Protocol, "PROTOCOL_VIOLATION", message);
        }
        let Some(info) = self.caps.iter().find(|info| same_cap(&info.urn, cap)) else {
            return refused(ErrorKind::NoHandler, "NO_HANDLER", format!("no handler for {cap}"));
        };
        let flow = FlowKey::new(frame.id, frame.routing_id);
        let exchange = connection.register(Side::Handler, flow, &info.urn)?;
        let request = Request::new(Arc::clone(connection), exchange, info.outputs.clone());
        if info.urn == IDENTITY {
            return echo(request);
        }
        let (over, turned_away) = self.arrived.update(|arrived| {
            let mut over = VecDeque::new();
            if arrived.queue.len() >= WAITING {
                let queued = std::mem::take(&mut arrived.queue);
                (over, arrived.queue) = queued.into_iter().partition(Request::is_over);
            }
            if arrived.queue.len() >= WAITING || arrived.over.is_some() {
                return (over, Some(request));
            }
            arrived.queue.push_back(request);
            (over, None)
        });
        drop(over); // with the lock released
        if let Some(request) = turned_away {
            let message = format!("{WAITING} requests wait to be taken");
            request.fail(&Error::new(ErrorKind::LimitReached, message));
        }
        Ok(())
    }
}

impl Role for Service {
    fn request(&self, connection: &Arc<Connection>, frame: Frame) {
        if let Err(error) = self.admit(connection, &frame) {
            // A dead link has nobody to tell.
            let _ = connection.refuse(frame.id, frame.routing_id, &error);
        }
    }

    fn heartbeat(
        &self,
        connection: &Arc<Connection>,
        frame: &Frame,
        answer: bool,
    ) -> Result<(), Reason> {
        if answer {
            return Ok(());
        }
        let totals = self.counters.snapshot();
        let mut reply = Frame::heartbeat_reply(
            frame.id,
            totals.drops_total(),
            totals.stragglers_total(),
            totals.overruns,
            self.pools.clone(),
        );
        let max_frame = connection.limits().max_frame;
        if fits(&reply, max_frame).is_err() {
            reply.set_meta("pools", Bytes::from_static(b"{}")); // an answer that is not sent is none at all
        }
        if frame.meta_get(EXPLAIN).is_some() {
            let told = Explanation::of(connection.standings().iter(), &self.name);
            let mut told_too = reply.clone();
            told_too.set_meta(EXPLAIN, Bytes::from(told.to_json().to_string()));
            if fits(&told_too, max_frame).is_ok() {
                reply = told_too;
            }
        }
        connection.wire().lanes.control(reply)
    }

    fn hello(&self, connection: &Connection, frame: &Frame) -> Result<(), Reason> {
        let error = Error::new(ErrorKind::Protocol, "hello came after the handshake");
        connection.refuse(frame.id, None, &error)
    }

    fn policy(&self, frame: &Frame) -> Result<(), Reason> {
        *self.policy.lock() = frame.network_policy();
        Ok(())
    }
}

/// Serves an identity request that came to this end of a link.
pub(crate) fn serve_identity(connection: &Arc<Connection>, frame: &Frame) -> Result<(), Error> {
    let flow = FlowKey::new(frame.id, frame.routing_id);
    let exchange = connection.register(Side::Handler, flow, IDENTITY)?;
    echo(Request::new(Arc::clone(connection), exchange, vec!["media:".to_owned()]))
}

fn echo(request: Request) -> Result<(), Error> {
    request.begin();
    spawn_quiet("identity", move || echo_values(&request)).map(drop).map_err(|e| {
        Error::new(ErrorKind::LimitReached, format!("no thread for the identity: {e}"))
    })
}

/// The identity: each value back as it came.
fn echo_values(request: &Request) {
    let echoed = (|| {
        let input = request.blocking_input()?;
        let output = request.output();
        for item in &input {
            output.blocking_emit(item?.value)?;
        }
        block_on(request.finish(None, None), Deadline::NEVER)?
    })();
    if let Err(error) = echoed {
        request.fail(&error);
    }
}
