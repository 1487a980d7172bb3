//! What a host is behind its handles: its cartridges, the requests that go through it, its switch.

use std::collections::BTreeMap;
use std::sync::Weak;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::cartridge::{Run, Slot};
use super::pulse::Behind;
use crate::account::Explanation;
use crate::engine::{EngineOptions, Health, Peer, beat, spawn_for};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::{FlowKey, Frame, Limits, NetworkPolicy};
use crate::link::{spawn_quiet, tell_losses};
use crate::model::accounting::DropReason;
use crate::model::relay::may_join;
use crate::request::{Connection, Role, Unroutable};
use crate::routing::{Destination, LinkId, Router, figures};
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering};
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

pub(super) struct HostCore {
    pub(super) options: HostOptions,
    pub(super) router: Router,
    pub(super) slots: Mutex<Vec<Arc<Slot>>>,
    pub(super) uplink: Mutex<Option<Arc<Connection>>>,
    next_link: AtomicU64,
    pub(super) owed: Arc<Owed>,
    clock: Watched<Clock>,
    pub(super) state: Watched<Option<Bytes>>,
    /// What the switch allows on the network, once it has said so.
    policy: Mutex<Option<NetworkPolicy>>,
    /// The thread that asks the cartridges whether they live is there.
    watched: AtomicBool,
}

/// What the thread that tells the news waits for.
#[derive(Default)]
struct Clock {
    news: bool,
    running: bool,
    over: bool,
}

pub(super) fn was_closed() -> Reason {
    Error::new(ErrorKind::Closed, "the host was closed")
}

impl HostCore {
    /// Without cartridges, and with the thread that tells the switch what they do.
    pub(super) fn new(options: HostOptions) -> Result<Arc<Self>, Error> {
        let core = Arc::new(HostCore {
            options,
            router: Router::default(),
            slots: Mutex::default(),
            uplink: Mutex::new(None),
            next_link: AtomicU64::new(UPLINK + 1),
            owed: Arc::default(),
            clock: Watched::new(Clock::default()),
            state: Watched::new(None),
            policy: Mutex::new(None),
            watched: AtomicBool::new(false),
        });
        tell_losses(&core.router.counters, "host", &core.options.engine.health.on_loss);
        let ticking = Arc::clone(&core);
        spawn_quiet("host", move || ticking.tell_news())
            .map_err(|e| Error::new(ErrorKind::Io, format!("no thread for the host: {e}")))?;
        Ok(core)
    }

    /// The cartridges that run.
    pub(super) fn running(&self) -> Behind {
        let slots: Vec<_> = self.slots.lock().iter().cloned().collect();
        let running = slots.iter().filter_map(|slot| slot.peer());
        running.map(|(_, peer)| (peer.name().to_owned(), Arc::clone(peer.connection()))).collect()
    }

    /// The requests that wait for a cartridge that is being started.
    pub(super) fn queued(&self) -> Explanation {
        let slots: Vec<_> = self.slots.lock().iter().cloned().collect();
        let mut told = Explanation::default();
        for (link, queued) in self.router.queued() {
            let is =
                |slot: &&Arc<Slot>| matches!(slot.state.lock().run, Run::Starting(l) if l == link);
            let label = slots.iter().find(is).map_or("", |slot| slot.label.as_str());
            let party = format!("cartridge `{label}`, which is being started,");
            told.add(Explanation::of(queued.iter(), &party));
        }
        told
    }

    /// Asks the cartridges that run whether they live, again and again until the host is closed. One that
    /// does not answer in time is dead: its requests fail.
    fn watch(self: Arc<Self>, period: Duration, patience: Duration) {
        loop {
            let over =
                until(Arc::clone(&self), |host| &host.clock, |clock| clock.over.then_some(()));
            if block_on(over, Deadline::after(period)).is_ok() {
                return;
            }
            let slots: Vec<_> = self.slots.lock().iter().cloned().collect();
            let running = slots.iter().filter_map(|slot| Some((slot, slot.peer()?)));
            let (places, peers): (Vec<_>, Vec<_>) =
                running.map(|(slot, (link, peer))| ((slot, link), peer)).unzip();
            for (nth, reason) in beat(&peers, patience) {
                let (slot, link) = places[nth];
                self.cartridge_gone(slot, link, &reason); // a transport that stays open tells nobody
            }
        }
    }

    /// Starts the thread that does so, once, if the options ask for it.
    fn watch_over(self: &Arc<Self>) -> Result<(), Error> {
        let Health { heartbeat, patience, .. } = self.options.engine.health;
        let Some(period) = heartbeat else { return Ok(()) };
        if self.watched.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let host = Arc::clone(self);
        spawn_quiet("health", move || host.watch(period, patience))
            .map(drop)
            .map_err(|e| Error::new(ErrorKind::Io, format!("no thread to watch on: {e}")))
    }

    /// How a cartridge is started now: by the host's options, with the policy of the switch once there is one.
    pub(super) fn engine_options(&self) -> EngineOptions {
        let mut options = self.options.engine.clone();
        options.policy = self.policy.lock().unwrap_or(options.policy);
        options
    }

    /// The switch says what may be done on the network: so it is for those who run, and who will.
    pub(super) fn set_policy(&self, policy: NetworkPolicy) {
        *self.policy.lock() = Some(policy);
        let slots: Vec<_> = self.slots.lock().iter().cloned().collect();
        for (_, peer) in slots.iter().filter_map(|slot| slot.peer()) {
            let _gone = peer.set_policy(policy); // told by its reader
        }
    }

    pub(super) fn number(&self) -> LinkId {
        self.next_link.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn changed(&self) {
        let running = self.slots.lock().iter().any(|slot| slot.peer().is_some());
        self.clock.update(|clock| {
            clock.news = true;
            clock.running = running;
        });
    }

    /// Offers a cartridge. One that comes after the host was closed is closed too.
    pub(super) fn offer(&self, slot: Arc<Slot>) {
        self.slots.lock().push(slot);
        match self.clock.with(|clock| clock.over) {
            true => self.close(),
            false => self.changed(),
        }
    }

    pub(super) fn role(self: &Arc<Self>, slot: &Arc<Slot>, link: LinkId) -> Box<dyn Role> {
        Box::new(Link { host: Arc::downgrade(self), slot: Arc::clone(slot), link })
    }

    /// Starts a cartridge that is marked as starting. Waits for it.
    pub(super) fn start(self: &Arc<Self>, slot: &Arc<Slot>, link: LinkId) -> Result<(), Error> {
        let Some(command) = &slot.command else { return Err(was_closed()) };
        let role = self.role(slot, link);
        let peer = spawn_for(command, &self.engine_options(), &self.owed, role);
        self.started(slot, link, peer)
    }

    /// What comes of starting a cartridge.
    pub(super) fn started(
        self: &Arc<Self>,
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
                if let Run::Gone(reason) = &state.run {
                    let reason = reason.clone(); // the host was closed meanwhile
                    drop(state);
                    drop(peer); // closes it
                    self.router.gone(link, &reason);
                    return Err(reason);
                }
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
                let policy = *self.policy.lock();
                if let Some(policy) = policy {
                    let _gone = peer.set_policy(policy); // it may have changed while this one was started
                }
                self.router.add(link, peer.connection());
                if let Some(reason) = peer.dead() {
                    self.cartridge_gone(slot, link, &reason); // it died before it was entered
                    return Err(reason);
                }
                self.changed();
                self.watch_over()
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
            let asked = |link| self.router.with(|routes| routes.asked(link));
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

    pub(super) fn stats(&self) -> Json {
        let losses = self.router.counters.snapshot();
        let (peer, own) = self.router.with(|routes| {
            let peer = routes.calls();
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

    /// The requests that go through it now, and the last that ended.
    pub(super) fn requests(&self) -> Json {
        let slots: Vec<_> = self.slots.lock().iter().cloned().collect();
        let running = slots.iter().filter_map(|slot| Some((slot.peer()?.0, slot.label.clone())));
        let mut names: BTreeMap<_, _> = running.collect();
        names.insert(UPLINK, "switch".to_owned());
        let losses = self.router.counters.snapshot();
        self.router.with(|routes| figures(routes, &names, &losses))["requests"].take()
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
            let slots: Vec<_> = self.slots.lock().iter().cloned().collect();
            slots.iter().for_each(|slot| self.settle(slot)); // its last request may have been taken back
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

    pub(super) fn close(&self) {
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

/// What a host does with the frames of one run of a cartridge.
pub(super) struct Link {
    pub(super) host: Weak<HostCore>,
    pub(super) slot: Arc<Slot>,
    pub(super) link: LinkId,
}

impl Role for Link {
    /// The cartridge calls a cap: a peer call, which goes up to the switch.
    fn request(&self, connection: &Arc<Connection>, frame: Frame) {
        let window = connection.limits().initial_credit;
        let (id, routing_id) = (frame.id, frame.routing_id);
        let called = match self.host.upgrade() {
            Some(host) => host.call_up(self.link, frame, window),
            None => Err(was_closed()),
        };
        if let Err(error) = called {
            // A dead link has nobody to tell.
            let _ = connection.refuse(id, routing_id, &error);
        }
    }

    fn relay(&self, _connection: &Arc<Connection>, frame: Frame) -> Result<(), Unroutable> {
        let Some(host) = self.host.upgrade() else {
            return Err(Unroutable { lately_ended: true });
        };
        let terminal = frame.is_terminal();
        let relayed = host.router.relay(self.link, frame);
        if terminal {
            host.settle(&self.slot);
        }
        relayed
    }

    fn over(&self, reason: &Reason) {
        if let Some(host) = self.host.upgrade() {
            host.cartridge_gone(&self.slot, self.link, reason);
        }
    }

    fn heartbeat(
        &self,
        connection: &Arc<Connection>,
        frame: &Frame,
        answer: bool,
    ) -> Result<(), Reason> {
        if !answer {
            return connection.wire().lanes.control(Frame::heartbeat(frame.id));
        }
        let mut state = self.slot.state.lock();
        state.drops = frame.meta_u64("drops_total").unwrap_or(state.drops);
        let pools = frame.meta_bytes("pools").and_then(|p| serde_json::from_slice(p).ok());
        state.pools = pools.unwrap_or_else(|| state.pools.clone());
        Ok(())
    }

    fn policy(&self, _frame: &Frame) -> Result<(), Reason> {
        Err(Error::new(
            ErrorKind::Protocol,
            "a policy came from the cartridge; it is the host's to send",
        ))
    }

    fn hello(&self, connection: &Connection, frame: &Frame) -> Result<(), Reason> {
        connection.wire().counters.drop_frame(DropReason::NoRoute, frame.frame_type.name());
        Ok(())
    }
}
