//! A host's connection to its switch.

use std::io::{Read, Write};
use std::sync::Weak;

use super::host_core::{HostCore, UPLINK, was_closed};
use super::pulse;
use crate::account::Counters;
use crate::cartridge::{IDENTITY, serve_identity};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{Frame, FrameType};
use crate::link::{FrameReader, FrameWriter, spawn_quiet};
use crate::request::{Connection, Role, Unroutable, peer_gone};
use crate::stream::MAX_ITEM;
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::watched::{Watched, until};

const GONE: &str = "the switch is gone";

/// Joins a switch; returns once it has taken the host in.
pub(super) fn join(
    host: &Arc<HostCore>,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> Result<(), Error> {
    let limits = host.options.engine.limits;
    let counters: Arc<Counters> = Arc::clone(&host.router.counters);
    let mut writer = FrameWriter::new(writer);
    writer.set_max_frame(limits.max_frame);
    writer.write(&host.notice())?;
    let owed = Arc::clone(&host.owed);
    let verdict = |reason: &Reason| peer_gone(reason).context(GONE);
    let connection = Connection::start(writer, limits, MAX_ITEM, owed, counters, verdict)?;
    {
        let mut uplink = host.uplink.lock();
        if uplink.as_ref().is_some_and(|uplink| uplink.is_dead().is_none()) {
            drop(uplink);
            connection.die(&was_closed());
            let message = "this host has joined a switch already";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        *uplink = Some(Arc::clone(&connection));
    }
    host.router.add(UPLINK, &connection);
    let joining = Arc::new(Joining { outcome: Watched::new(None) });
    let role = Uplink { host: Arc::downgrade(host), joining: Arc::clone(&joining) };
    let (left, reading) = (Arc::clone(host), Arc::clone(&connection));
    spawn_quiet("reader", move || {
        let mut reader = FrameReader::new(reader);
        reader.set_max_frame(limits.max_frame);
        let reason = reading.read_all(&mut reader, &role).context(GONE);
        reading.die(&reason);
        role.joining.tell(Err(reading.reason()));
        left.router.gone(UPLINK, &reading.reason());
    })
    .map_err(|e| Error::new(ErrorKind::Io, format!("no reader thread: {e}")))?;
    let limit = host.options.engine.handshake_timeout;
    let joined = until(joining, |joining| &joining.outcome, |outcome| outcome.clone());
    block_on(joined, Deadline::after(limit)).unwrap_or_else(|_| {
        let message = format!("the switch did not take the host in within {limit:?}");
        let error = Error::new(ErrorKind::Handshake, message);
        connection.die(&error);
        Err(error)
    })
}

/// How far the host has come with its switch.
struct Joining {
    outcome: Watched<Option<Result<(), Error>>>,
}

impl Joining {
    fn tell(&self, outcome: Result<(), Error>) {
        self.outcome.update(|told| {
            told.get_or_insert(outcome);
        });
    }
}

/// What a host does with the frames of its switch.
struct Uplink {
    host: Weak<HostCore>,
    joining: Arc<Joining>,
}

impl Role for Uplink {
    fn request(&self, connection: &Arc<Connection>, frame: Frame) {
        let (id, routing_id) = (frame.id, frame.routing_id);
        let admitted = match (self.host.upgrade(), frame.cap.as_deref()) {
            (_, Some(IDENTITY)) => serve_identity(connection, &frame),
            (Some(host), _) => host.admit(frame),
            (None, _) => Err(was_closed()),
        };
        if let Err(error) = admitted {
            // A dead link has nobody to tell.
            let _ = connection.refuse(id, routing_id, &error);
        }
    }

    fn relay(&self, _connection: &Arc<Connection>, frame: Frame) -> Result<(), Unroutable> {
        match self.host.upgrade() {
            Some(host) => host.router.relay(UPLINK, frame),
            None => Err(Unroutable { lately_ended: true }),
        }
    }

    fn relay_talk(&self, _connection: &Arc<Connection>, frame: &Frame) -> Result<(), Reason> {
        if frame.frame_type != FrameType::RelayState {
            return Err(Error::new(
                ErrorKind::Protocol,
                "relay_notify came from the switch; it is a host's to send",
            ));
        }
        if let Some(host) = self.host.upgrade() {
            host.state.update(|state| *state = frame.payload.clone());
        }
        Ok(())
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
        let losses = connection.wire().counters.snapshot();
        pulse::answer(connection, frame, &losses, || {
            self.host.upgrade().map(|host| (host.running(), host.queued())).unwrap_or_default()
        })
    }

    fn policy(&self, frame: &Frame) -> Result<(), Reason> {
        let (Some(host), Some(policy)) = (self.host.upgrade(), frame.network_policy()) else {
            return Ok(());
        };
        if frame.routable() != Some(false) {
            // Requests are routed here, or the switch is of a make that does not tell.
            self.joining.tell(Ok(()));
        }
        host.set_policy(policy);
        Ok(())
    }

    fn hello(&self, connection: &Connection, frame: &Frame) -> Result<(), Reason> {
        let error = Error::new(ErrorKind::Protocol, "hello came after the handshake");
        connection.refuse(frame.id, None, &error)
    }
}
