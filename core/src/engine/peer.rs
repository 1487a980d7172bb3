//! [`Peer`]: one cartridge, live.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::sync::Weak;
use std::time::Duration;

use bytes::Bytes;

use super::process::Process;
use super::{CapInfo, EngineOptions};
use crate::account::{Counters, Explanation, Memory, Snapshot};
use crate::cartridge::{IDENTITY, parse_caps, pools_of};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{Frame, Limits, MessageId, NetworkPolicy, Version};
use crate::link::{
    CartridgeHello, FrameReader, FrameWriter, TRUNCATED, propose, spawn_quiet, tell_losses,
};
use crate::model::accounting::DropReason;
use crate::request::{Call, Connection, EXPLAIN, Role, peer_gone};
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::owed::Owed;
use crate::wait::watched::{Watched, until};

/// How long a cartridge gets to exit once its stdin is closed.
const EXIT_GRACE: Duration = Duration::from_millis(1500);
/// How long its pipes may outlive it, in the hands of a process of its own.
const PIPE_GRACE: Duration = Duration::from_millis(250);
/// How long one that broke the protocol gets to exit by itself, so that its own status is told.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// How long one that stopped in the middle of a frame gets to turn out to have been killed.
const CUT_OFF: Duration = Duration::from_secs(1);

/// A cartridge that an engine can call. Cheap to clone; any thread may use it.
///
/// Dropping the last handle, its calls and their streams included, closes it.
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

/// What is left of a cartridge until it is gone, without keeping it.
pub(super) struct Going {
    connection: Weak<Connection>,
    process: Option<Weak<Process>>,
}

impl Going {
    /// Its link is over and its process was reaped.
    pub(super) fn is_gone(&self) -> bool {
        let runs = self.process.as_ref().and_then(Weak::upgrade).is_some_and(|p| !p.has_exited());
        let open = self.connection.upgrade().is_some_and(|link| link.is_dead().is_none());
        !runs && !open
    }

    /// Waits for that. Whoever holds the link or the process has still to end it.
    pub(super) async fn gone(self) {
        if let Some(process) = self.process.as_ref().and_then(Weak::upgrade) {
            process.exited().await;
        }
        if let Some(connection) = self.connection.upgrade() {
            connection.died().await;
        }
    }
}

/// Where the start of a cartridge stands.
struct Starting {
    outcome: Watched<Outcome>,
}

enum Outcome {
    Open,
    Told(Result<Started, Error>),
    /// Told and heard, or nobody waits for it any more.
    Over,
}

struct Started {
    hello: CartridgeHello,
    caps: Vec<CapInfo>,
    connection: Arc<Connection>,
}

impl Starting {
    fn take(outcome: &mut Outcome) -> Option<Result<Started, Error>> {
        if let Outcome::Open = outcome {
            return None;
        }
        match std::mem::replace(outcome, Outcome::Over) {
            Outcome::Told(told) => Some(told),
            Outcome::Open | Outcome::Over => None,
        }
    }

    /// Tells how it went; answers it back if nobody waits for it any more.
    fn tell(&self, told: Result<Started, Error>) -> Option<Result<Started, Error>> {
        self.outcome.update(|outcome| match outcome {
            Outcome::Open => {
                *outcome = Outcome::Told(told);
                None
            }
            Outcome::Told(_) | Outcome::Over => Some(told),
        })
    }

    /// Nobody waits for it any more: what was started is ended.
    fn give_up(&self, error: &Error) {
        let told = self.outcome.update(|outcome| std::mem::replace(outcome, Outcome::Over));
        if let Outcome::Told(Ok(started)) = told {
            started.connection.die(error);
        }
    }
}

pub(crate) fn connect(
    label: String,
    process: Option<Arc<Process>>,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    options: &EngineOptions,
    owed: &Arc<Owed>,
    role: Box<dyn Role>,
) -> Result<Peer, Error> {
    let deadline = Deadline::after(options.handshake_timeout);
    let starting = Arc::new(Starting { outcome: Watched::new(Outcome::Open) });
    let closing = Arc::new(AtomicBool::new(false));
    let counters = Arc::<Counters>::default();
    tell_losses(&counters, &*label, &options.health.on_loss);
    let subject =
        Subject { label: label.clone(), process: process.clone(), closing: Arc::clone(&closing) };
    let reading = Reading {
        subject,
        starting: Arc::clone(&starting),
        options: options.clone(),
        owed: Arc::clone(owed),
        counters: Arc::clone(&counters),
        role,
    };
    spawn_quiet("reader", move || reading.run(reader, writer))
        .map_err(|e| Error::new(ErrorKind::Io, format!("no reader thread: {e}")))?;
    let outcome = until(Arc::clone(&starting), |s| &s.outcome, Starting::take);
    let Started { hello, caps, connection } = match block_on(outcome, deadline) {
        Ok(outcome) => outcome?,
        Err(_) => {
            let error = too_slow(&label, process.as_ref(), options, "say hello");
            starting.give_up(&error);
            return Err(error);
        }
    };
    let peer = Peer(Arc::new(Inner { label, hello, caps, connection, process, closing, counters }));
    match block_on(identify(&peer.0.connection), deadline) {
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
pub(crate) fn identify(
    connection: &Arc<Connection>,
) -> impl Future<Output = Result<(), Error>> + use<> {
    let connection = Arc::clone(connection);
    let nonce: Vec<u8> = (0..2).flat_map(|_| uuid::Uuid::new_v4().into_bytes()).collect();
    async move {
        let call = Call::start(&connection, IDENTITY, None, None)?;
        let input = call.input("media:")?;
        input.write(Bytes::from(nonce.clone())).await?;
        call.finish_input().await?;
        let output = call.output().await?;
        let mut echoed = Vec::new();
        while let Some(item) = output.recv().await? {
            match item.value.as_bytes() {
                Some(bytes) if echoed.len() + bytes.len() <= nonce.len() => {
                    echoed.extend_from_slice(bytes)
                }
                _ => {
                    return Err(Error::new(
                        ErrorKind::Handshake,
                        "it echoed something else than it was sent",
                    ));
                }
            }
        }
        call.wait().await.or_else(|error| match error.kind() {
            ErrorKind::Remote if error.message().starts_with("no exit code") => {
                Ok(crate::request::Terminal { exit_code: 0, progress: 1.0, message: None })
            }
            _ => Err(error),
        })?;
        if echoed != nonce {
            return Err(Error::new(
                ErrorKind::Handshake,
                "it echoed something else than it was sent",
            ));
        }
        Ok(())
    }
}

/// The reading thread of one cartridge: handshake, then frames, then how it ended.
struct Reading {
    subject: Subject,
    starting: Arc<Starting>,
    options: EngineOptions,
    owed: Arc<Owed>,
    counters: Arc<Counters>,
    role: Box<dyn Role>,
}

impl Reading {
    fn run(self, reader: impl Read, writer: impl Write + Send + 'static) {
        let mut reader = FrameReader::new(reader);
        let mut writer = FrameWriter::new(writer);
        let EngineOptions { limits, version, .. } = self.options;
        let hello = propose(&mut reader, &mut writer, limits, version);
        let started = hello.and_then(|mut hello| {
            let owed = Arc::clone(&self.owed);
            let counters = Arc::clone(&self.counters);
            let limits = hello.limits;
            let caps = parse_caps(&hello.manifest)?;
            if let Some(capacity) = hello.handler_capacity {
                hello.pools = pools_of(&caps, capacity).into();
            }
            let subject = self.subject.clone();
            let verdict = move |reason: &Reason| subject.verdict(reason);
            let connection =
                Connection::start(writer, limits, self.options.max_item, owed, counters, verdict)?;
            Ok(Started { hello, caps, connection })
        });
        let connection = match started {
            Err(error) => {
                let error = self.subject.explain(&peer_gone(&error));
                let _unheard = self.starting.tell(Err(error));
                return;
            }
            Ok(started) => {
                let connection = Arc::clone(&started.connection);
                if self.starting.tell(Ok(started)).is_some() {
                    let late = "the handshake came too late";
                    return connection.die(&Error::new(ErrorKind::Handshake, late));
                }
                connection
            }
        };
        let reason = connection.read_all(&mut reader, &*self.role);
        let verdict = self.subject.verdict(&reason);
        connection.die(&verdict);
        self.role.over(&connection.reason());
    }
}

/// Whom an error is about.
#[derive(Clone)]
struct Subject {
    label: String,
    process: Option<Arc<Process>>,
    closing: Arc<AtomicBool>,
}

impl Subject {
    /// A signal that was not ours ended the process.
    fn was_killed(&self) -> bool {
        let ended = self.process.as_ref().and_then(|process| process.reap(CUT_OFF));
        ended.is_some_and(|status| status.signal().is_some())
    }

    /// What everybody is told about the end of the link.
    fn verdict(&self, reason: &Reason) -> Reason {
        match self.closing.load(Ordering::Acquire) {
            true => was_closed(&self.label),
            false => self.explain(reason),
        }
    }

    /// Names the cartridge and tells how its process ended.
    fn explain(&self, reason: &Reason) -> Reason {
        if reason.code() == TRUNCATED && self.was_killed() {
            let message = "it was killed while it wrote a frame";
            return self.explain(&Error::new(ErrorKind::PeerDied, message));
        }
        let what = match reason.kind() {
            ErrorKind::PeerDied => {
                format!("cartridge `{}` is gone: {}", self.label, reason.message())
            }
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

fn was_closed(label: &str) -> Reason {
    Error::new(ErrorKind::Closed, format!("cartridge `{label}` was closed"))
}

/// What an engine does with what is not an answer to one of its calls.
pub(super) struct Host;

impl Role for Host {
    fn request(&self, connection: &Arc<Connection>, frame: Frame) {
        let cap = frame.cap.as_deref().unwrap_or("a request without a cap");
        let message = format!("this engine routes no calls of cartridges (see peer_calls): {cap}");
        // A dead link has nobody to tell.
        let error = Error::new(ErrorKind::NoHandler, message);
        let _ = connection.refuse(frame.id, frame.routing_id, &error);
    }

    fn hello(&self, connection: &Connection, frame: &Frame) -> Result<(), Reason> {
        connection.wire().counters.drop_frame(DropReason::NoRoute, frame.frame_type.name());
        Ok(())
    }

    fn heartbeat(
        &self,
        connection: &Arc<Connection>,
        frame: &Frame,
        answer: bool,
    ) -> Result<(), Reason> {
        if !answer && frame.meta_u64(EXPLAIN).is_some() {
            let told = Explanation::of(connection.standings().iter(), "caller");
            let mut reply = Frame::heartbeat(frame.id);
            reply.set_meta(EXPLAIN, Bytes::from(told.to_json().to_string()));
            return connection.wire().lanes.control(reply);
        }
        // What carries metadata and answers no probe that is waited for answers one that is not.
        match answer || frame.meta.is_some() {
            true => Ok(()),
            false => connection.wire().lanes.control(Frame::heartbeat(frame.id)),
        }
    }

    fn policy(&self, _frame: &Frame) -> Result<(), Reason> {
        Err(Error::new(
            ErrorKind::Protocol,
            "a policy came from the cartridge; it is the host's to send",
        ))
    }
}

impl Peer {
    pub(super) fn downgrade(&self) -> Weak<Inner> {
        Arc::downgrade(&self.0)
    }

    pub(super) fn going(&self) -> Going {
        let connection = Arc::downgrade(&self.0.connection);
        Going { connection, process: self.0.process.as_ref().map(Arc::downgrade) }
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.0.connection
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

    /// The pools of its HELLO, JSON.
    pub(crate) fn pools(&self) -> &[u8] {
        &self.0.hello.pools
    }

    /// The version of the protocol that it is spoken to in: the engine's, and of 4 its form.
    #[must_use]
    pub fn version(&self) -> Version {
        self.0.connection.version()
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
        Call::start(&self.0.connection, cap, Some(self.0.clone()), None)
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
    /// it has exited. It gets 1.5 s, then it is killed. Returns when it is gone, within 2 s.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.begin_close();
        self.going().gone()
    }

    /// It is taken for dead.
    pub(super) fn give_up(&self, reason: &Error) {
        if let Some(process) = &self.0.process {
            process.kill();
        }
        self.0.connection.die(reason);
        self.0.connection.wire().lanes.kill(reason.clone()); // it reads nothing either
    }

    /// Its requests and losses, as JSON: live requests with their streams, the last 64 that are over,
    /// totals of requests, drops, stragglers and overruns, and the memory of its process.
    #[must_use]
    pub fn stats(&self) -> serde_json::Value {
        let mut told = self.0.connection.stats();
        told["name"] = self.name().into();
        told["pid"] = self.pid().into();
        told["memory"] = self.memory().map(|memory| memory.resident).into();
        told
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

    /// Sends a heartbeat probe and waits for the answer. False if it dies first.
    pub fn answers(&self) -> impl Future<Output = bool> + Send + use<> {
        let answer = self.0.connection.probe(None);
        async move { answer.await.is_some() }
    }
}

impl From<Arc<Inner>> for Peer {
    fn from(inner: Arc<Inner>) -> Self {
        Peer(inner)
    }
}

impl Inner {
    /// Starts the end, once. Never waits.
    pub(super) fn begin_close(&self) {
        if self.closing.swap(true, Ordering::AcqRel) {
            return;
        }
        self.connection.wire().lanes.close();
        match &self.process {
            Some(process) => {
                let process = Arc::clone(process);
                let unhurried = Arc::clone(&process);
                let connection = Arc::clone(&self.connection);
                let reason = was_closed(&self.label);
                let reaper = spawn_quiet("reaper", move || {
                    unhurried.reap(EXIT_GRACE);
                    let read_out = Arc::clone(&connection).died();
                    let _ = block_on(read_out, Deadline::after(PIPE_GRACE));
                    connection.die(&reason);
                });
                if reaper.is_err() {
                    process.kill();
                }
            }
            None => {
                let reason = was_closed(&self.label);
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
