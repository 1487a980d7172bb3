//! [`Peer`]: one cartridge, live.

use std::io::{Read, Write};
use std::sync::Weak;
use std::time::Duration;

use bytes::Bytes;

use super::process::{Memory, Process};
use super::{CapInfo, EngineOptions};
use crate::account::{Counters, Snapshot};
use crate::cartridge::{IDENTITY, parse_caps};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{Frame, Limits, MessageId, NetworkPolicy};
use crate::link::{CartridgeHello, FrameReader, FrameWriter, propose, spawn_quiet};
use crate::request::{Call, Connection, Role};
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::owed::Owed;
use crate::wait::watched::{Watched, until};

/// How long a cartridge gets to exit once its stdin is closed.
const EXIT_GRACE: Duration = Duration::from_secs(2);
/// How long one that broke the protocol gets to exit by itself, so that its own status is told.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A cartridge that an engine can call. Cheap to clone; any thread may use it.
///
/// Dropping the last handle, its calls included, closes it.
#[derive(Clone)]
pub struct Peer(Arc<Inner>);

pub(super) struct Inner {
    label: String,
    hello: CartridgeHello,
    caps: Vec<CapInfo>,
    connection: Arc<Connection>,
    process: Option<Arc<Process>>,
    closing: Arc<AtomicBool>,
    counters: Arc<Counters>,
}

/// Where the start of a cartridge stands.
struct Starting {
    outcome: Watched<Option<Result<Started, Error>>>,
}

struct Started {
    hello: CartridgeHello,
    connection: Arc<Connection>,
}

pub(super) fn connect(
    label: String,
    process: Option<Arc<Process>>,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    options: &EngineOptions,
    owed: &Arc<Owed>,
) -> Result<Peer, Error> {
    let deadline = Deadline::after(options.handshake_timeout);
    let starting = Arc::new(Starting { outcome: Watched::new(None) });
    let closing = Arc::new(AtomicBool::new(false));
    let counters = Arc::<Counters>::default();
    let reading = Reading {
        label: label.clone(),
        process: process.clone(),
        closing: Arc::clone(&closing),
        starting: Arc::clone(&starting),
        options: options.clone(),
        owed: Arc::clone(owed),
        counters: Arc::clone(&counters),
    };
    spawn_quiet("reader", move || reading.run(reader, writer))
        .map_err(|e| Error::new(ErrorKind::Io, format!("no reader thread: {e}")))?;
    let outcome = until(starting, |s| &s.outcome, Option::take);
    let started = match block_on(outcome, deadline) {
        Ok(outcome) => outcome?,
        Err(_) => return Err(too_slow(&label, process.as_ref(), options, "say hello")),
    };
    let caps = parse_caps(&started.hello.manifest).map_err(|e| e.context(format!("cartridge `{label}`")))?;
    let Started { hello, connection } = started;
    let peer = Peer(Arc::new(Inner { label, hello, caps, connection, process, closing, counters }));
    match block_on(identify(&peer)?, deadline) {
        Ok(identified) => identified.map_err(|e| {
            e.context(format!("cartridge `{}` does not pass the identity check", peer.0.label))
        })?,
        Err(_) => {
            let process = peer.0.process.as_ref();
            return Err(too_slow(&peer.0.label, process, options, "answer the identity check"));
        }
    }
    peer.0.connection.wire().lanes.control(Frame::policy(options.policy))?;
    Ok(peer)
}

fn too_slow(
    label: &str,
    process: Option<&Arc<Process>>,
    options: &EngineOptions,
    what: &str,
) -> Error {
    let limit = options.handshake_timeout;
    let mut message = format!("cartridge `{label}` did not {what} within {limit:?}");
    if let Some(process) = process {
        process.kill();
        message = format!("{message}; {}", process.obituary());
    }
    Error::new(ErrorKind::Handshake, message)
}

/// Sends random bytes through the identity cap and wants them back.
fn identify(peer: &Peer) -> Result<impl Future<Output = Result<(), Error>> + use<>, Error> {
    let nonce: Vec<u8> = (0..2).flat_map(|_| uuid::Uuid::new_v4().into_bytes()).collect();
    let call = peer.call(IDENTITY)?;
    let input = call.input("media:")?;
    Ok(async move {
        input.write(Bytes::from(nonce.clone())).await?;
        call.finish_input().await?;
        let echoed = call.output().await?.collect_bytes().await?;
        call.wait().await.or_else(|error| match error.kind() {
            ErrorKind::Remote if error.message().starts_with("no exit code") => {
                Ok(crate::request::Terminal { exit_code: 0, progress: 1.0, message: None })
            }
            _ => Err(error),
        })?;
        if echoed != nonce {
            let message = format!("it echoed {} other bytes than the {} sent", echoed.len(), nonce.len());
            return Err(Error::new(ErrorKind::Handshake, message));
        }
        Ok(())
    })
}

/// The reading thread of one cartridge: handshake, then frames, then how it ended.
struct Reading {
    label: String,
    process: Option<Arc<Process>>,
    closing: Arc<AtomicBool>,
    starting: Arc<Starting>,
    options: EngineOptions,
    owed: Arc<Owed>,
    counters: Arc<Counters>,
}

impl Reading {
    fn run(self, reader: impl Read, writer: impl Write + Send + 'static) {
        let mut reader = FrameReader::new(reader);
        let mut writer = FrameWriter::new(writer);
        let started = propose(&mut reader, &mut writer, self.options.limits).and_then(|hello| {
            let owed = Arc::clone(&self.owed);
            let counters = Arc::clone(&self.counters);
            let limits = hello.limits;
            let connection =
                Connection::start(writer, limits, self.options.max_item, owed, counters)?;
            Ok(Started { hello, connection })
        });
        let connection = match started {
            Err(error) => {
                let error = self.explain(&error);
                self.starting.outcome.update(|outcome| *outcome = Some(Err(error)));
                return;
            }
            Ok(started) => {
                let connection = Arc::clone(&started.connection);
                self.starting.outcome.update(|outcome| *outcome = Some(Ok(started)));
                connection
            }
        };
        let reason = connection.read_all(&mut reader, &Host);
        let reason = if self.closing.load(Ordering::Acquire) {
            Error::new(ErrorKind::Closed, format!("cartridge `{}` was closed", self.label))
        } else {
            self.explain(&reason)
        };
        connection.die(&reason);
    }

    /// Names the cartridge and tells how its process ended.
    fn explain(&self, reason: &Reason) -> Reason {
        let what = match reason.kind() {
            ErrorKind::PeerDied => format!("cartridge `{}` is gone", self.label),
            _ => format!("cartridge `{}` failed: {}", self.label, reason.message()),
        };
        let message = match &self.process {
            Some(process) => {
                if reason.kind() != ErrorKind::PeerDied && reason.kind() != ErrorKind::Handshake {
                    process.reap(LAST_WORDS); // it breaks the protocol: there is no way on
                }
                format!("{what}; {}", process.obituary())
            }
            None => format!("{what}: {}", reason.message()),
        };
        Error::with_code(reason.kind(), reason.code(), reason.class(), message)
    }
}

/// What an engine does with what is not an answer to one of its calls.
struct Host;

impl Role for Host {
    fn request(&self, connection: &Arc<Connection>, frame: Frame) {
        let cap = frame.cap.as_deref().unwrap_or("a request without a cap");
        let message = format!("this engine routes no calls of cartridges: {cap}");
        // A dead link has nobody to tell.
        let _ = connection.refuse(frame.id, None, &Error::new(ErrorKind::NoHandler, message));
    }

    fn heartbeat(&self, connection: &Connection, frame: &Frame) -> Result<(), Reason> {
        match frame.meta {
            Some(_) => Ok(()), // an answer
            None => connection.wire().lanes.control(Frame::heartbeat(frame.id)),
        }
    }

    fn policy(&self, _frame: &Frame) -> Result<(), Reason> {
        Err(Error::new(ErrorKind::Protocol, "a policy came from the cartridge; it is the host's to send"))
    }
}

impl Peer {
    pub(super) fn downgrade(&self) -> Weak<Inner> {
        Arc::downgrade(&self.0)
    }

    /// The command or transport it runs on, for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.label
    }

    /// Its manifest, JSON.
    #[must_use]
    pub fn manifest_json(&self) -> String {
        String::from_utf8_lossy(&self.0.hello.manifest).into_owned()
    }

    /// The caps that it serves.
    #[must_use]
    pub fn caps(&self) -> &[CapInfo] {
        &self.0.caps
    }

    /// The agreed limits.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.0.connection.limits()
    }

    /// Calls a cap.
    ///
    /// # Errors
    /// Why the cartridge is gone, or `LimitReached`. An unknown cap fails the call, not this.
    pub fn call(&self, cap: &str) -> Result<Call, Error> {
        Call::start(&self.0.connection, cap, Some(self.0.clone()))
    }

    /// How many calls are live.
    #[must_use]
    pub fn live_calls(&self) -> usize {
        self.0.connection.live_requests()
    }

    /// Its process id, if it was spawned.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.0.process.as_ref().map(|process| process.pid())
    }

    /// The end of what it wrote to stderr, at most 64 KiB; empty if it was not spawned.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        self.0.process.as_ref().map(|process| process.stderr_tail()).unwrap_or_default()
    }

    /// Its memory, if it was spawned and lives, where the system tells it.
    #[must_use]
    pub fn memory(&self) -> Option<Memory> {
        self.0.process.as_ref()?.memory()
    }

    /// Why it is gone, if it is.
    #[must_use]
    pub fn dead(&self) -> Option<Reason> {
        self.0.connection.is_dead()
    }

    /// What was lost on this connection, by family.
    #[must_use]
    pub fn counters(&self) -> Snapshot {
        self.0.counters.snapshot()
    }

    /// Waits until it is gone, and answers why.
    pub fn died(&self) -> impl Future<Output = Reason> + Send + use<> {
        Arc::clone(&self.0.connection).died()
    }

    /// Closes it: what is queued is written, its stdin is closed, its calls end with `Closed` when
    /// it has exited. It gets 2 s, then it is killed. Returns when it is gone.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.begin_close();
        let connection = Arc::clone(&self.0.connection);
        let process = self.0.process.clone();
        async move {
            match process {
                Some(process) => drop(process.exited().await),
                None => drop(connection.died().await),
            }
        }
    }

    /// Kills its process at once; an attached one is closed. Its calls end with the reason.
    pub fn kill(&self) {
        match &self.0.process {
            Some(process) => process.kill(),
            None => {
                let message = format!("cartridge `{}` was cut off", self.0.label);
                self.0.connection.die(&Error::new(ErrorKind::Closed, message));
            }
        }
    }

    /// What cartridges may do on the network, said anew.
    ///
    /// # Errors
    /// Why it is gone.
    pub fn set_policy(&self, policy: NetworkPolicy) -> Result<(), Error> {
        self.0.connection.wire().lanes.control(Frame::policy(policy))
    }

    /// Sends a heartbeat probe; a cartridge answers it even while all its data stands still.
    ///
    /// # Errors
    /// Why it is gone.
    pub fn probe(&self) -> Result<(), Error> {
        self.0.connection.wire().lanes.control(Frame::heartbeat(MessageId::new_random()))
    }
}

impl From<Arc<Inner>> for Peer {
    fn from(inner: Arc<Inner>) -> Self {
        Peer(inner)
    }
}

impl Inner {
    /// Starts the end, once. Never waits.
    fn begin_close(&self) {
        if self.closing.swap(true, Ordering::AcqRel) {
            return;
        }
        self.connection.wire().lanes.close();
        match &self.process {
            Some(process) => {
                let process = Arc::clone(process);
                let unhurried = Arc::clone(&process);
                let reaper = spawn_quiet("reaper", move || {
                    unhurried.reap(EXIT_GRACE);
                });
                if reaper.is_err() {
                    process.kill();
                }
            }
            None => {
                let message = format!("cartridge `{}` was closed", self.label);
                let reason = Error::new(ErrorKind::Closed, message);
                let connection = Arc::clone(&self.connection);
                let last = reason.clone();
                let closer = spawn_quiet("closer", move || {
                    let written = connection.wire().lanes.finished();
                    let _ = block_on(written, Deadline::after(EXIT_GRACE));
                    connection.die(&last);
                });
                if closer.is_err() {
                    self.connection.die(&reason);
                }
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.begin_close();
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Peer({})", self.0.label)
    }
}
