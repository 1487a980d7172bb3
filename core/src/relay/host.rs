//! [`Host`]: cartridges of one machine, offered to a switch.

use std::io::{Read, Write};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::cartridge::{Link, Run, Slot};
use super::pulse::{self, Behind};
use super::uplink;
use crate::account::Explanation;
use crate::cartridge::Manifest;
use crate::engine::{Command, EngineOptions, Peer, attach_for, spawn_for};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{FlowKey, Frame, Limits};
use crate::link::{Address, connect, spawn_quiet};
use crate::model::relay::may_join;
use crate::request::{Connection, Role};
use crate::routing::{Destination, LinkId, Router};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::time::{Deadline, now};
use crate::wait::block_on;
use crate::wait::owed::Owed;
use crate::wait::watched::{Watched, until};

/// The connection to the switch; cartridges have the numbers from 1.
pub(super) const UPLINK: LinkId = 0;
/// How often the switch is told what the cartridges are doing, while any runs.
const NEWS: Duration = Duration::from_secs(2);

/// How a host runs its cartridges.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// As for an engine. Its `initial_credit` is what the switch is told; a cartridge that takes
    /// smaller windows is refused.
    pub engine: EngineOptions,
    /// A cartridge that has had no request for so long is stopped, and started again when it is
    /// needed. Never, if there is none.
    pub idle: Option<Duration>,
}

/// Cartridges that are offered to a [`Switch`](super::Switch). Cheap to clone; any thread may use it.
///
/// A cartridge runs from the first request for it. If it dies, its requests fail with what it wrote
/// to stderr, and the next request starts it again.
///
/// Dropping the last handle closes it.
#[derive(Clone)]
pub struct Host(Arc<Shut>);

/// Closes the host when the last handle goes; the links hold the inside.
struct Shut(Arc<Inner>);

impl Drop for Shut {
    fn drop(&mut self) {
        self.0.close();
    }
}

pub(super) struct Inner {
    pub(super) options: HostOptions,
    pub(super) router: Router,
    pub(super) slots: Mutex<Vec<Arc<Slot>>>,
    pub(super) uplink: Mutex<Option<Arc<Connection>>>,
    next_link: AtomicU64,
    pub(super) owed: Arc<Owed>,
    clock: Watched<Clock>,
    pub(super) state: Watched<Option<Bytes>>,
}

/// What the thread that tells the news waits for.
#[derive(Default)]
struct Clock {
    news: bool,
    running: bool,
    over: bool,
}

impl Host {
    /// A host without cartridges.
    ///
    /// # Errors
    /// `Io` if there is no thread to be had.
    pub fn new(options: HostOptions) -> Result<Self, Error> {
        let inner = Arc::new(Inner {
            options,
            router: Router::default(),
            slots: Mutex::default(),
            uplink: Mutex::new(None),
            next_link: AtomicU64::new(UPLINK + 1),
            owed: Arc::default(),
            clock: Watched::new(Clock::default()),
            state: Watched::new(None),
        });
        let ticking = Arc::clone(&inner);
        spawn_quiet("host", move || ticking.tell_news())
            .map_err(|e| Error::new(ErrorKind::Io, format!("no thread for the host: {e}")))?;
        Ok(Host(Arc::new(Shut(inner))))
    }

    /// Offers a cartridge, which is started now to learn what it can do.
    ///
    /// # Errors
    /// As [`Engine::spawn`](crate::Engine::spawn); `Handshake` with the code `WINDOW_MISMATCH` if it
    /// takes smaller windows than this host promises.
    pub fn add(&self, command: &Command) -> Result<(), Error> {
        let inner = self.inner();
        let slot =
            Arc::new(Slot::new(command.label(), Some(command.clone()), Json::Null, Run::Idle));
        let link = inner.number();
        inner.router.starting(link);
        slot.state.lock().run = Run::Starting(link);
        inner.start(&slot, link)?;
        inner.slots.lock().push(slot);
        inner.changed();
        Ok(())
    }

    /// Offers a cartridge that is started by the first request for it. `manifest` says what it can do.
    pub fn add_lazy(&self, command: &Command, manifest: &Manifest) {
        let inner = self.inner();
        let slot = Slot::new(command.label(), Some(command.clone()), manifest.json(), Run::Idle);
        inner.slots.lock().push(Arc::new(slot));
        inner.changed();
    }

    /// Offers a cartridge that runs already, over any transport.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn attach(
        &self,
        label: &str,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<(), Error> {
        let inner = self.inner();
        let link = inner.number();
        inner.router.starting(link);
        let slot = Arc::new(Slot::new(label.to_owned(), None, Json::Null, Run::Starting(link)));
        let role = inner.role(&slot, link);
        let options = &inner.options.engine;
        let peer = attach_for(label, reader, writer, options, &inner.owed, role);
        inner.started(&slot, link, peer)?;
        inner.slots.lock().push(slot);
        inner.changed();
        Ok(())
    }

    /// Joins a switch over any transport. Returns once the switch routes requests to this host; one of
    /// another make, which does not tell, once it has taken the host in.
    ///
    /// # Errors
    /// `PeerDied` with what the switch did if it turns the host away; `InvalidArgument` if the host
    /// has joined one already.
    pub fn join(
        &self,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<(), Error> {
        uplink::join(self.inner(), reader, writer)
    }

    /// Joins the switch that listens at `address`.
    ///
    /// # Errors
    /// `Io` naming the address, or as [`join`](Self::join).
    pub fn join_at(&self, address: &Address) -> Result<(), Error> {
        let (reader, writer) = connect(address)?;
        self.join(reader, writer)
    }

    /// Takes no new requests for the cartridge of this label, and stops it once it has answered the
    /// old ones. False if there is none.
    #[must_use = "no cartridge may have this label"]
    pub fn retire(&self, label: &str) -> bool {
        let inner = self.inner();
        let slots: Vec<_> = inner.slots.lock().iter().cloned().collect();
        let mut found = false;
        for slot in slots.iter().filter(|slot| slot.label == label) {
            slot.state.lock().retiring = true;
            found = true;
            inner.settle(slot);
        }
        inner.changed();
        found
    }

    /// What the switch gave this host to keep, if it has.
    #[must_use]
    pub fn state(&self) -> Option<Bytes> {
        self.inner().state.with(|state| state.clone())
    }

    /// What goes through it, and what was lost, as JSON.
    #[must_use]
    pub fn stats(&self) -> Json {
        self.inner().stats()
    }

    /// The processes of the cartridges that run now.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        let slots: Vec<_> = self.inner().slots.lock().iter().cloned().collect();
        slots.iter().filter_map(|slot| slot.peer()?.1.pid()).collect()
    }

    /// Says who waits for whom in the cartridges, which are asked. Takes a second at most; one that
    /// does not answer is named.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        pulse::explain(&self.inner().running(), Duration::from_secs(1))
    }

    /// Why it is no longer connected to its switch, if it is not.
    #[must_use]
    pub fn dead(&self) -> Option<Reason> {
        self.inner().uplink.lock().as_ref().and_then(|uplink| uplink.is_dead())
    }

    /// Waits until it is no longer connected to its switch, and says why; at once if it never was.
    pub fn left(&self) -> impl Future<Output = Reason> + Send + use<> {
        let uplink = self.inner().uplink.lock().clone();
        async move {
            match uplink {
                Some(uplink) => uplink.died().await,
                None => Error::new(ErrorKind::Closed, "this host has joined no switch"),
            }
        }
    }

    /// Leaves the switch and closes every cartridge.
    pub fn close(&self) {
        self.inner().close();
    }

    fn inner(&self) -> &Arc<Inner> {
        &self.0.0
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Host({} cartridges)", self.inner().slots.lock().len())
    }
}

pub(super) fn was_closed() -> Reason {
    Error::new(ErrorKind::Closed, "the host was closed")
}

impl Inner {
    /// The cartridges that run.
    pub(super) fn running(&self) -> Behind {
        let slots: Vec<_> = self.slots.lock().iter().cloned().collect();
        let running = slots.iter().filter_map(|slot| slot.peer());
        running.map(|(_, peer)| (peer.name().to_owned(), Arc::clone(peer.connection()))).collect()
    }

    fn number(&self) -> LinkId {
        self.next_link.fetch_add(1, Ordering::Relaxed)
    }

    fn changed(&self) {
        let running = self.slots.lock().iter().any(|slot| slot.peer().is_some());
        self.clock.update(|clock| {
            clock.news = true;
            clock.running = running;
        });
    }

    fn role(self: &Arc<Self>, slot: &Arc<Slot>, link: LinkId) -> Box<dyn Role> {
        Box::new(Link { host: Arc::downgrade(self), slot: Arc::clone(slot), link })
    }

    /// Starts a cartridge that is marked as starting. Waits for it.
    fn start(self: &Arc<Self>, slot: &Arc<Slot>, link: LinkId) -> Result<(), Error> {
        let Some(command) = &slot.command else { return Err(was_closed()) };
        let role = self.role(slot, link);
        let peer = spawn_for(command, &self.options.engine, &self.owed, role);
        self.started(slot, link, peer)
    }

    /// What comes of starting a cartridge.
    fn started(
        &self,
        slot: &Arc<Slot>,
        link: LinkId,
        peer: Result<Peer, Error>,
    ) -> Result<(), Error> {
        let promised = self.options.engine.limits.initial_credit;
        let fits = peer.and_then(|peer| match peer.limits().initial_credit {
            taken if may_join(promised, taken) => Ok(peer),
            taken => Err(mismatch(&slot.label, taken, promised)),
        });
        match fits {
            Ok(peer) => {
                let manifest = serde_json::from_str(&peer.manifest_json()).unwrap_or(Json::Null);
                let mut state = slot.state.lock();
                state.caps = peer.caps().to_vec();
                state.manifest = manifest;
                // A switch routes to a running cartridge only with its pools.
                state.pools = serde_json::from_slice(peer.pools()).unwrap_or_else(|_| json!({}));
                if state.started_once {
                    state.restarts = state.restarts.saturating_add(1);
                }
                state.started_once = true;
                state.run = Run::Running(link, peer.clone());
                drop(state);
                self.router.add(link, peer.connection());
                if let Some(reason) = peer.dead() {
                    self.cartridge_gone(slot, link, &reason); // it died before it was entered
                    return Err(reason);
                }
                self.changed();
                Ok(())
            }
            Err(error) => {
                self.cartridge_gone(slot, link, &error);
                Err(error)
            }
        }
    }

    /// A run of a cartridge is over: its requests fail.
    pub(super) fn cartridge_gone(&self, slot: &Slot, link: LinkId, reason: &Reason) {
        let mut state = slot.state.lock();
        let this = match &state.run {
            Run::Starting(now) | Run::Running(now, _) => *now == link,
            Run::Idle | Run::Gone(_) => false,
        };
        let mut last = None;
        if this {
            let next = match slot.command {
                Some(_) => Run::Idle,
                None => Run::Gone(reason.clone()),
            };
            last = Some(std::mem::replace(&mut state.run, next));
            state.idle_since = None;
        }
        drop(state);
        drop(last); // a peer closes its process when it goes: not under the lock
        self.router.gone(link, reason);
        self.changed();
    }

    /// Stops a retiring cartridge that has nothing left to answer.
    pub(super) fn settle(&self, slot: &Slot) {
        let mut state = slot.state.lock();
        let Run::Running(link, _) = &state.run else { return };
        if !state.retiring || self.router.load(*link) > 0 {
            return;
        }
        let last = std::mem::replace(&mut state.run, Run::Gone(was_retired()));
        drop(state);
        drop(last); // closes it
        self.changed();
    }

    /// The switch sent a REQ: to the cartridge that serves it, which is started if need be.
    pub(super) fn admit(self: &Arc<Self>, frame: Frame) -> Result<(), Error> {
        let asked = frame.cap.clone().unwrap_or_default();
        let slots: Vec<_> = self.slots.lock().iter().cloned().collect();
        let serving = slots.iter().find_map(|slot| Some((slot, slot.serving(&asked)?)));
        let Some((slot, cap)) = serving else {
            let message = format!("no cartridge of this host serves {asked}");
            return Err(Error::new(ErrorKind::NoHandler, message));
        };
        // Under the slot's lock, so that it is not stopped in between.
        let mut state = slot.state.lock();
        state.idle_since = None;
        let (link, start) = match &state.run {
            Run::Running(link, _) | Run::Starting(link) => (*link, false),
            Run::Idle => (self.number(), true),
            Run::Gone(reason) => return Err(reason.clone()),
        };
        if start {
            state.run = Run::Starting(link);
            self.router.starting(link);
        }
        let flow = frame.flow_key();
        let window = self.options.engine.limits.initial_credit;
        let to = Destination { link, flow, cap, is_peer: false, window };
        self.router.open(UPLINK, frame, to);
        drop(state);
        if start {
            let (host, starting) = (Arc::clone(self), Arc::clone(slot));
            let spawned = spawn_quiet("start", move || {
                // What goes wrong is told to the requests that wait for it.
                let _told = host.start(&starting, link);
            });
            if let Err(e) = spawned {
                let reason = Error::new(ErrorKind::Io, format!("no thread to start it: {e}"));
                self.cartridge_gone(slot, link, &reason);
            }
        }
        Ok(())
    }

    /// A cartridge calls a cap: up to the switch.
    pub(super) fn call_up(&self, link: LinkId, frame: Frame, window: u64) -> Result<(), Error> {
        if self.uplink.lock().is_none() {
            let cap = frame.cap.as_deref().unwrap_or("a request without a cap");
            let message = format!("this host has joined no switch to route a call of {cap}");
            return Err(Error::new(ErrorKind::NoHandler, message));
        }
        let flow = FlowKey::new(frame.id, None);
        let cap = frame.cap.clone().unwrap_or_default();
        let to = Destination { link: UPLINK, flow, cap, is_peer: true, window };
        self.router.open(link, frame, to);
        Ok(())
    }

    /// RELAY_NOTIFY as it would be now.
    pub(super) fn notice(&self) -> Frame {
        let slots: Vec<_> = self.slots.lock().iter().cloned().collect();
        let installed = slots.iter().filter_map(|slot| {
            let link = slot.peer().map(|(link, _)| link);
            let asked = |link| {
                self.router.with(|routes| routes.live().filter(|r| r.asker.link == link).count())
            };
            slot.installed(link.map_or(0, |link| self.router.load(link)), link.map_or(0, asked))
        });
        let installed: Vec<_> = installed.collect();
        let manifest = json!({
            "installed_cartridges": installed,
            "host_protocol_stats": self.stats(),
        });
        let limits: Limits = self.options.engine.limits;
        Frame::relay_notify(Bytes::from(manifest.to_string()), &limits)
    }

    fn stats(&self) -> Json {
        let losses = self.router.counters.snapshot();
        let (peer, own) = self.router.with(|routes| {
            let peer = routes.live().filter(|route| route.is_peer).count();
            (peer, routes.len() - peer)
        });
        json!({
            "drops": losses.drops_json(),
            "stragglers": losses.stragglers_json(),
            "overruns_total": losses.overruns,
            "incoming_rxids": own,
            "outgoing_rids": peer,
        })
    }

    /// Tells the switch what changes, and every two seconds what the cartridges are doing, while any
    /// runs; stops those that are idle.
    fn tell_news(self: Arc<Self>) {
        let mut told = now();
        loop {
            let running = self.clock.with(|clock| clock.running);
            let tick = self.options.idle.map_or(NEWS, |idle| NEWS.min(idle));
            let deadline = if running { Deadline::after(tick) } else { Deadline::NEVER };
            let news = until(
                Arc::clone(&self),
                |host| &host.clock,
                |clock| {
                    let news = std::mem::take(&mut clock.news);
                    (clock.over || news).then_some(clock.over)
                },
            );
            let due = match block_on(news, deadline) {
                Ok(true) => return,
                Ok(false) => true,
                Err(_) => now().saturating_duration_since(told) >= NEWS,
            };
            self.stop_idle();
            let uplink = self.uplink.lock().clone();
            if let (true, Some(uplink)) = (due, uplink) {
                told = now();
                // A connection that is gone is told by its reader.
                let _gone = uplink.wire().lanes.control(self.notice());
            }
        }
    }

    fn stop_idle(&self) {
        let Some(limit) = self.options.idle else { return };
        let slots: Vec<_> = self.slots.lock().iter().cloned().collect();
        let mut stopped = Vec::new();
        for slot in slots.iter().filter(|slot| slot.command.is_some()) {
            let mut state = slot.state.lock();
            let Run::Running(link, _) = &state.run else { continue };
            if self.router.load(*link) > 0 {
                state.idle_since = None;
                continue;
            }
            let since = *state.idle_since.get_or_insert_with(now);
            if now().saturating_duration_since(since) >= limit {
                stopped.push(std::mem::replace(&mut state.run, Run::Idle));
            }
        }
        if !stopped.is_empty() {
            drop(stopped); // closes them
            self.changed();
        }
    }

    fn close(&self) {
        self.clock.update(|clock| clock.over = true);
        if let Some(uplink) = self.uplink.lock().clone() {
            uplink.die(&was_closed());
        }
        let slots = std::mem::take(&mut *self.slots.lock());
        for slot in slots {
            let run = std::mem::replace(&mut slot.state.lock().run, Run::Gone(was_closed()));
            drop(run);
        }
    }
}

fn was_retired() -> Reason {
    Error::new(ErrorKind::Closed, "the cartridge was retired")
}

fn mismatch(label: &str, taken: u64, promised: u64) -> Error {
    let message = format!(
        "cartridge `{label}` takes windows of {taken}, this host promises {promised}: set the host's initial_credit"
    );
    Error::with_code(ErrorKind::Handshake, "WINDOW_MISMATCH", ErrorKind::Handshake.class(), message)
}
