//! [`Switch`]: what hosts and callers connect to.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Weak;
use std::time::Duration;

use bytes::Bytes;

use super::names::{Name, Names};
use super::offer::{Offer, offered, serving};
use super::options::SwitchOptions;
use super::pulse::{self, Behind};
use super::vigil::{self, Watch};
use crate::account::{Counters, Explanation, Memory};
use crate::cartridge::{IDENTITY, Manifest, serve_identity};
use crate::engine::{Engine, Peer, identify};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{FlowKey, Frame, FrameType, Limits, MessageId};
use crate::link::{
    Address, FrameReader, FrameWriter, Listener, Newcomer, Notice, connect, read_notice,
    socket_pair, spawn_quiet, tell_losses, welcome,
};
use crate::model::relay::may_join;
use crate::request::{Connection, Role, Unroutable, peer_gone};
use crate::routing::{Destination, LinkId, Router, figures};
use crate::stream::MAX_ITEM;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering};
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::owed::Owed;
use crate::wait::watched::{Watched, until};

/// Connections that may be in the middle of joining at once.
const JOINING: usize = 64;

/// A relay between hosts, which offer caps, and callers. Cheap to clone; any thread may use it.
///
/// A caller takes it for one large cartridge: [`Engine::attach`] to a connection of it, and call. Credit
/// is end to end: the switch passes it on, and makes and swallows none (L11). It holds no more than
/// the windows of the streams that go through it.
///
/// Dropping the last handle closes it.
#[derive(Clone)]
pub struct Switch(Arc<Shut>);

/// Closes the switch when the last handle goes; the links hold the inside.
struct Shut(Arc<Inner>);

impl Drop for Shut {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct Inner {
    options: SwitchOptions,
    router: Router,
    /// Requests are numbered from 1.
    numbers: AtomicU64,
    links: Mutex<BTreeMap<LinkId, Arc<Member>>>,
    next_link: AtomicU64,
    joining: Mutex<usize>,
    listeners: Mutex<Vec<Arc<Listener>>>,
    names: Arc<Names>,
    owed: Arc<Owed>,
    /// Its hosts are asked whether they live.
    watched: AtomicBool,
    closed: Watched<bool>,
}

/// One connection.
struct Member {
    name: Name,
    connection: Arc<Connection>,
    limits: Limits,
    /// A host's offer; none for a caller.
    offer: Option<Mutex<Offer>>,
    /// It has answered a heartbeat.
    answers: AtomicBool,
}

impl Switch {
    /// A switch that nobody is connected to.
    #[must_use]
    pub fn new(options: SwitchOptions) -> Self {
        let inner = Inner {
            options,
            router: Router::default(),
            numbers: AtomicU64::new(0),
            links: Mutex::default(),
            next_link: AtomicU64::new(0),
            joining: Mutex::new(0),
            listeners: Mutex::default(),
            names: Arc::default(),
            owed: Arc::default(),
            watched: AtomicBool::new(false),
            closed: Watched::new(false),
        };
        tell_losses(&inner.router.counters, "switch", &inner.options.on_loss);
        Switch(Arc::new(Shut(Arc::new(inner))))
    }

    /// Lets whoever connects to `address` join, until the switch is closed. Answers where it
    /// listens: port 0 takes a free port.
    ///
    /// # Errors
    /// `Io`, naming the address; `Closed` if the switch is.
    pub fn listen(&self, address: &Address) -> Result<Address, Error> {
        let inner = self.inner();
        inner.check_open()?;
        let listener = Arc::new(Listener::bind(address)?);
        let place = listener.address().clone();
        inner.listeners.lock().push(Arc::clone(&listener));
        let accepting = Arc::downgrade(inner);
        spawn_quiet("accept", move || accept_all(&accepting, &listener))
            .map_err(|e| Error::new(ErrorKind::Io, format!("no thread to accept on: {e}")))?;
        if inner.is_closed() {
            inner.close(); // it was closed meanwhile
        }
        Ok(place)
    }

    /// Lets one newcomer, host or caller, join over any transport. Returns once it has. `name` is for
    /// people; a second one of a name is called `name~2`, so that each has figures of its own.
    ///
    /// # Errors
    /// `Handshake` if it does not agree, is too slow, or fails the identity check; `PeerDied` if it
    /// leaves; `Malformed` or `FrameTooLarge` if it writes something else than frames.
    pub fn attach(
        &self,
        name: &str,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<(), Error> {
        join(self.inner(), name, reader, writer)
    }

    /// A caller in this process: calls go through the switch to whatever host offers the cap.
    ///
    /// # Errors
    /// As [`Engine::attach`].
    pub fn caller(&self, engine: &Engine) -> Result<Peer, Error> {
        let [(reader, writer), (far_reader, far_writer)] = socket_pair()?;
        let inner = Arc::clone(self.inner());
        spawn_quiet("join", move || {
            // What goes wrong is told at the other end.
            let _told = join(&inner, "caller", far_reader, far_writer);
        })
        .map_err(|e| Error::new(ErrorKind::Io, format!("no thread to join on: {e}")))?;
        engine.attach(reader, writer)
    }

    /// The caps that hosts offer now, sorted: of those that have proved who they are, so that requests
    /// for these caps go through.
    #[must_use]
    pub fn caps(&self) -> Vec<String> {
        let mut caps: Vec<String> = Vec::new();
        for member in self.inner().links.lock().values() {
            let Some(offer) = &member.offer else { continue };
            caps.extend(offer.lock().open().iter().map(|cap| cap.urn.clone()));
        }
        caps.sort_unstable();
        caps.dedup();
        caps
    }

    /// Gives every host something to keep, with RELAY_STATE. The switch does not look into it.
    ///
    /// # Errors
    /// Why the last of those that failed is gone; the others have it.
    pub fn set_state(&self, state: &[u8]) -> Result<(), Error> {
        let members: Vec<_> = self.inner().links.lock().values().cloned().collect();
        let mut last = Ok(());
        for member in members.iter().filter(|member| member.offer.is_some()) {
            let frame = Frame::relay_state(Bytes::copy_from_slice(state));
            last = member.connection.wire().lanes.control(frame).and(last);
        }
        last
    }

    /// What goes through it, and what was lost, as JSON: live requests with their streams, the last
    /// 64 that ended, drops, stragglers, overruns, the memory of this process, what each host tells of
    /// itself.
    #[must_use]
    pub fn stats(&self) -> serde_json::Value {
        let inner = self.inner();
        let links = inner.links.lock();
        let names: BTreeMap<_, _> =
            links.iter().map(|(link, member)| (*link, member.name.as_str().to_owned())).collect();
        let hosts = links.values().filter_map(|member| {
            let told = member.offer.as_ref()?.lock().stats.clone();
            Some((member.name.as_str().to_owned(), told))
        });
        let hosts: serde_json::Map<_, _> = hosts.collect();
        drop(links);
        let losses = inner.router.counters.snapshot();
        let mut told = inner.router.with(|routes| figures(routes, &names, &losses));
        told["hosts"] = hosts.into();
        told["memory"] = Memory::of_this().map(|memory| memory.resident).into();
        told
    }

    /// Says who waits for whom in the hosts and their cartridges, and in the callers, which are asked.
    /// Takes a second at most; one that does not answer is named.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        let links = self.inner().links.lock();
        let all: Vec<_> = links
            .values()
            .map(|m| (m.name.as_str().to_owned(), Arc::clone(&m.connection)))
            .collect();
        drop(links);
        pulse::explain(&all, Duration::from_secs(1))
    }

    /// Ends it: every connection ends, every request fails with `Closed`.
    pub fn close(&self) {
        self.inner().close();
    }

    fn inner(&self) -> &Arc<Inner> {
        &self.0.0
    }
}

impl std::fmt::Debug for Switch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Switch({} connections)", self.inner().links.lock().len())
    }
}

impl Inner {
    fn check_open(&self) -> Result<(), Error> {
        match self.is_closed() {
            true => Err(was_closed()),
            false => Ok(()),
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.with(|closed| *closed)
    }

    fn close(&self) {
        self.closed.update(|closed| *closed = true);
        for listener in std::mem::take(&mut *self.listeners.lock()) {
            listener.close();
        }
        let members: Vec<_> = self.links.lock().values().cloned().collect();
        for member in members {
            member.connection.die(&was_closed());
        }
    }

    fn hosts(&self) -> Behind {
        let links = self.links.lock();
        let hosts = links.values().filter(|member| member.offer.is_some());
        hosts
            .map(|member| (member.name.as_str().to_owned(), Arc::clone(&member.connection)))
            .collect()
    }

    /// The host that a request for `cap` of `link` goes to: of those that offer it, the one with the
    /// fewest requests.
    fn choose(&self, link: LinkId, cap: &str) -> Result<(LinkId, String, u64), Error> {
        let links = self.links.lock();
        let asked_with = links.get(&link).map(|member| member.limits.initial_credit);
        let hosts = links.iter().filter_map(|(id, member)| {
            Some((*id, member.offer.as_ref()?.lock().open(), member.limits.initial_credit))
        });
        let hosts: Vec<_> = hosts.collect();
        drop(links); // the matcher is foreign code
        let mut offers: Vec<_> = hosts
            .iter()
            .filter_map(|(id, caps, window)| {
                Some((*id, serving(caps, cap, &*self.options.matcher)?, *window))
            })
            .collect();
        if offers.is_empty() {
            return Err(Error::new(ErrorKind::NoHandler, format!("no host offers {cap}")));
        }
        let theirs = offers[0].2;
        offers.retain(|(_, _, theirs)| asked_with.is_some_and(|ours| may_join(ours, *theirs)));
        let chosen = offers.into_iter().min_by_key(|(id, _, _)| self.router.load(*id));
        chosen.map(|(id, urn, window)| (id, urn.to_owned(), window)).ok_or_else(|| {
            let ours = asked_with.unwrap_or_default();
            let message = format!(
                "the host that offers {cap} takes windows of {theirs}, the caller's connection has {ours}: they must be equal"
            );
            Error::with_code(ErrorKind::LimitReached, "WINDOW_MISMATCH", ErrorKind::LimitReached.class(), message)
        })
    }
}

impl Watch for Inner {
    type Host = (LinkId, Arc<Member>);

    fn pace(&self) -> Option<(Duration, Duration)> {
        Some((self.options.heartbeat?, self.options.patience))
    }

    fn begins(&self) -> bool {
        !self.watched.swap(true, Ordering::AcqRel)
    }

    fn over(&self) -> &Watched<bool> {
        &self.closed
    }

    fn hosts(&self) -> Vec<Self::Host> {
        let links = self.links.lock();
        let joined =
            |member: &Member| member.offer.as_ref().is_some_and(|offer| offer.lock().verified);
        let hosts = links.iter().filter(|(_, member)| joined(member));
        hosts.map(|(link, member)| (*link, Arc::clone(member))).collect()
    }

    fn parts((_, member): &Self::Host) -> (&str, &Arc<Connection>, &AtomicBool) {
        (member.name.as_str(), &member.connection, &member.answers)
    }

    /// A transport that stays open tells nobody, so this does what the end of its reader would do.
    fn dead(&self, (link, member): &Self::Host, reason: &Reason) {
        member.connection.die(reason);
        self.links.lock().remove(link);
        self.router.gone(*link, reason);
    }
}

fn was_closed() -> Reason {
    Error::new(ErrorKind::Closed, "the switch was closed")
}

fn accept_all(switch: &Weak<Inner>, listener: &Listener) {
    let mut count = 0_u64;
    loop {
        let (reader, writer) = match listener.accept() {
            Ok(Some(ends)) => ends,
            Ok(None) => return,
            Err(_) if switch.strong_count() > 0 => {
                listener.rest(); // out of sockets: a later one may do
                continue;
            }
            Err(_) => return,
        };
        let Some(inner) = switch.upgrade() else { return };
        count += 1;
        let name = format!("{}#{count}", listener.address());
        {
            let mut joining = inner.joining.lock();
            if *joining >= JOINING {
                continue; // dropping the writer turns it away
            }
            *joining += 1;
        }
        let newcomer = Arc::clone(&inner);
        let spawned = spawn_quiet("join", move || {
            // Whoever does not get in is told by the end of its connection, which also ends the
            // thread that reads from a newcomer that says nothing.
            if let Ok(shutter) = reader.shutter()
                && join(&newcomer, &name, reader, writer).is_err()
            {
                shutter.shut();
            }
            *newcomer.joining.lock() -= 1;
        });
        if spawned.is_err() {
            *inner.joining.lock() -= 1;
        }
    }
}

/// How far a newcomer has come.
struct Joining {
    outcome: Watched<Option<Result<Joined, Error>>>,
}

type Joined = (LinkId, Arc<Member>);

fn join(
    inner: &Arc<Inner>,
    name: &str,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> Result<(), Error> {
    inner.check_open()?;
    let deadline = Deadline::after(inner.options.join_timeout);
    let joining = Arc::new(Joining { outcome: Watched::new(None) });
    let telling = Arc::clone(&joining);
    let (switch, label) = (Arc::clone(inner), name.to_owned());
    let too_late = Arc::new(AtomicBool::new(false));
    let late = Arc::clone(&too_late);
    spawn_quiet("reader", move || serve(&switch, &label, reader, writer, &telling, &late))
        .map_err(|e| Error::new(ErrorKind::Io, format!("no reader thread: {e}")))?;
    let slow = |what: &str| {
        let limit = inner.options.join_timeout;
        Error::new(ErrorKind::Handshake, format!("`{name}` did not {what} within {limit:?}"))
    };
    let joined = until(joining, |joining| &joining.outcome, Option::take);
    let (link, member) = match block_on(joined, deadline) {
        Ok(joined) => joined?,
        Err(_) => {
            too_late.store(true, Ordering::Release);
            return Err(slow("say who it is"));
        }
    };
    let Some(offer) = &member.offer else { return Ok(()) };
    let policy = |routable: bool| {
        let mut policy = Frame::policy(inner.options.policy);
        policy.set_meta("routable", routable);
        member.connection.wire().lanes.control(policy)
    };
    policy(false)?;
    let identified = match block_on(identify(&member.connection), deadline) {
        Ok(identified) => identified,
        Err(_) => Err(slow("answer the identity check")),
    };
    match identified {
        Ok(()) => {
            offer.lock().verified = true;
            vigil::keep(inner)?;
            policy(true)
        }
        Err(error) => {
            let error = error.context(format!("`{name}` does not pass the identity check"));
            inner.links.lock().remove(&link);
            member.connection.die(&error);
            Err(error)
        }
    }
}

/// The reading thread of one connection.
fn serve<R: Read, W: Write + Send + 'static>(
    inner: &Arc<Inner>,
    name: &str,
    reader: R,
    writer: W,
    joining: &Arc<Joining>,
    too_late: &AtomicBool,
) {
    let tell = |outcome| joining.outcome.update(|told| *told = Some(outcome));
    let mut reader = FrameReader::new(reader);
    let mut writer = FrameWriter::new(writer);
    let manifest = Bytes::from(Manifest::new("switch", env!("CARGO_PKG_VERSION")).to_json());
    let ours = inner.options.limits;
    let welcomed = welcome(&mut reader, &mut writer, ours, manifest, Bytes::from_static(b"{}"));
    let (limits, offer) = match welcomed {
        Ok(Newcomer::Caller(limits)) => (limits, None),
        Ok(Newcomer::Host(Notice { limits, manifest })) => match offered(&manifest) {
            Ok(offer) => (limits, Some(Mutex::new(offer))),
            Err(error) => return tell(Err(error)),
        },
        Err(error) => return tell(Err(peer_gone(&error))),
    };
    let counters: Arc<Counters> = Arc::clone(&inner.router.counters);
    let owed = Arc::clone(&inner.owed);
    let name = inner.names.take(name);
    let left = format!("`{}` left the switch", name.as_str());
    let context = left.clone();
    let verdict = move |reason: &Reason| peer_gone(reason).context(context);
    let started = Connection::start(writer, limits, MAX_ITEM, owed, counters, verdict);
    let connection = match started {
        Ok(connection) => connection,
        Err(error) => return tell(Err(error)),
    };
    let member = Arc::new(Member {
        name,
        connection: Arc::clone(&connection),
        limits,
        offer,
        answers: AtomicBool::new(false),
    });
    let link = inner.next_link.fetch_add(1, Ordering::Relaxed);
    inner.router.add(link, &connection);
    inner.links.lock().insert(link, Arc::clone(&member));
    tell(Ok((link, Arc::clone(&member))));
    if inner.is_closed() || too_late.load(Ordering::Acquire) {
        connection.die(&was_closed());
    }
    let role = Link { inner: Arc::downgrade(inner), link, member: Arc::clone(&member) };
    let reason = connection.read_all(&mut reader, &role);
    let reason = reason.context(left);
    connection.die(&reason);
    inner.links.lock().remove(&link);
    inner.router.gone(link, &connection.reason());
}

/// What a switch does with the frames of one connection.
struct Link {
    inner: Weak<Inner>,
    link: LinkId,
    member: Arc<Member>,
}

impl Link {
    fn is_host(&self) -> bool {
        self.member.offer.is_some()
    }

    fn admit(&self, connection: &Arc<Connection>, frame: Frame) -> Result<(), Error> {
        let inner = self.inner.upgrade().ok_or_else(was_closed)?;
        let cap = frame.cap.clone().unwrap_or_default();
        if cap == IDENTITY && !self.is_host() {
            // The switch's own, toward a caller.
            return serve_identity(connection, &frame);
        }
        let (link, cap, window) = inner.choose(self.link, &cap)?;
        let number = inner.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let flow = FlowKey::new(frame.id, Some(MessageId::Uint(number)));
        let to = Destination { link, flow, cap, is_peer: self.is_host(), window };
        inner.router.open(self.link, frame, to);
        Ok(())
    }
}

impl Role for Link {
    fn request(&self, connection: &Arc<Connection>, frame: Frame) {
        let (id, routing_id) = (frame.id, frame.routing_id);
        if let Err(error) = self.admit(connection, frame) {
            // A dead link has nobody to tell.
            let _ = connection.refuse(id, routing_id, &error);
        }
    }

    fn relay(&self, _connection: &Arc<Connection>, frame: Frame) -> Result<(), Unroutable> {
        let Some(inner) = self.inner.upgrade() else {
            return Err(Unroutable { lately_ended: true });
        };
        let direct = !self.is_host() && frame.is_flow();
        let (id, lost) = (frame.id, inner.router.relay(self.link, frame));
        if let Err(Unroutable { lately_ended: false }) = &lost
            && direct
        {
            // A direct caller has to learn that there is no such request; a grant is moot.
            let message = format!("there is no request {id}");
            let unknown = Error::with_code(
                ErrorKind::Protocol,
                "UNKNOWN_REQUEST",
                ErrorKind::Protocol.class(),
                message,
            );
            let _ = self.member.connection.refuse(id, None, &unknown);
        }
        lost
    }

    fn relay_talk(&self, _connection: &Arc<Connection>, frame: &Frame) -> Result<(), Reason> {
        let (FrameType::RelayNotify, Some(offer)) = (frame.frame_type, &self.member.offer) else {
            let name = frame.frame_type.name();
            let message = format!("{name} is not for this connection to send");
            return Err(Error::new(ErrorKind::Protocol, message));
        };
        let notice = read_notice(frame)?;
        let fresh = offered(&notice.manifest)?;
        let mut offer = offer.lock();
        *offer = Offer { verified: offer.verified, ..fresh };
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
        let Some(inner) = self.inner.upgrade() else { return Ok(()) };
        let losses = inner.router.counters.snapshot();
        pulse::answer(connection, frame, &losses, || (inner.hosts(), Explanation::default()))
    }

    fn policy(&self, _frame: &Frame) -> Result<(), Reason> {
        match self.is_host() {
            true => Err(Error::new(
                ErrorKind::Protocol,
                "a policy came from a host; it is the switch's",
            )),
            false => Ok(()), // hosts have the switch's own
        }
    }

    fn hello(&self, connection: &Connection, frame: &Frame) -> Result<(), Reason> {
        let error = Error::new(ErrorKind::Protocol, "hello came after the handshake");
        connection.refuse(frame.id, None, &error)
    }
}

/// Connects to the switch that listens at `address`, as a caller.
///
/// # Errors
/// `Io` naming the address, or as [`Engine::attach`].
pub fn call_through(engine: &Engine, address: &Address) -> Result<Peer, Error> {
    let (reader, writer) = connect(address)?;
    engine.attach(reader, writer)
}
