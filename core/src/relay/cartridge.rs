//! One cartridge of a host: started when it is first needed, stopped when it is not, started again.

use std::sync::Weak;
use std::time::Instant;

use serde_json::{Value as Json, json};

use super::host::Inner;
use crate::cartridge::{CapInfo, caps_of, same_cap};
use crate::engine::{Command, Peer};
use crate::error::{Error, ErrorKind, Reason};
use crate::frame::Frame;
use crate::model::accounting::DropReason;
use crate::request::{Connection, Role, Unroutable};
use crate::routing::LinkId;
use crate::sync::{Arc, Mutex};

/// A cartridge that a host offers.
pub(super) struct Slot {
    pub(super) label: String,
    /// How to start it; none for one that was attached.
    pub(super) command: Option<Command>,
    pub(super) state: Mutex<State>,
}

pub(super) struct State {
    pub(super) manifest: Json,
    pub(super) caps: Vec<CapInfo>,
    pub(super) run: Run,
    /// Takes no new requests, and is gone once it has answered the old ones.
    pub(super) retiring: bool,
    /// When it was first seen without a request.
    pub(super) idle_since: Option<Instant>,
    /// How often it was started after the first time.
    pub(super) restarts: u64,
    pub(super) started_once: bool,
    /// What it said of itself in its last heartbeat.
    pub(super) drops: u64,
    pub(super) pools: Json,
}

pub(super) enum Run {
    /// Not running; the next request starts it.
    Idle,
    Starting(LinkId),
    Running(LinkId, Peer),
    /// It will not run again.
    Gone(Reason),
}

impl Slot {
    pub(super) fn new(label: String, command: Option<Command>, manifest: Json, run: Run) -> Self {
        let state = State {
            caps: caps_of(&manifest),
            manifest,
            started_once: matches!(run, Run::Running(..)),
            run,
            retiring: false,
            idle_since: None,
            restarts: 0,
            drops: 0,
            pools: json!({}),
        };
        Slot { label, command, state: Mutex::new(state) }
    }

    /// Its cap that serves `asked`, if it takes requests.
    pub(super) fn serving(&self, asked: &str) -> Option<String> {
        let state = self.state.lock();
        let open = !state.retiring && !matches!(state.run, Run::Gone(_));
        let mut caps = state.caps.iter().filter(|_| open);
        caps.find(|cap| same_cap(&cap.urn, asked)).map(|cap| cap.urn.clone())
    }

    /// What RELAY_NOTIFY says of it.
    pub(super) fn installed(&self, active: usize, asked: usize) -> Option<Json> {
        let state = self.state.lock();
        if state.retiring || matches!(state.run, Run::Gone(_)) {
            return None;
        }
        let (running, peer) = match &state.run {
            Run::Running(_, peer) => (true, Some(peer)),
            _ => (false, None),
        };
        let mib = |bytes: u64| bytes / (1024 * 1024);
        let memory = peer.and_then(Peer::memory).map_or(0, |memory| mib(memory.resident));
        let text = |name: &str| state.manifest[name].clone();
        Some(json!({
            "registry_url": text("registry_url"), "id": text("name"), "channel": text("channel"),
            "version": text("version"), "sha256": "", "cap_groups": state.manifest["cap_groups"],
            "runtime_stats": {
                "running": running,
                "pid": peer.and_then(Peer::pid),
                "active_request_count": active,
                "peer_request_count": asked,
                "memory_footprint_mb": memory,
                "memory_rss_mb": memory,
                "restart_count": state.restarts,
                "protocol_drops_total": state.drops,
                "pools": state.pools,
            },
        }))
    }

    /// Its process, while it runs.
    pub(super) fn peer(&self) -> Option<(LinkId, Peer)> {
        match &self.state.lock().run {
            Run::Running(link, peer) => Some((*link, peer.clone())),
            _ => None,
        }
    }
}

/// What a host does with the frames of one run of a cartridge.
pub(super) struct Link {
    pub(super) host: Weak<Inner>,
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
            None => Err(super::host::was_closed()),
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
