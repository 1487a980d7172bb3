//! One cartridge of a host: started when it is first needed, stopped when it is not, started again.

use std::time::Instant;

use serde_json::{Value as Json, json};

use crate::cartridge::{CapInfo, caps_of, same_cap};
use crate::engine::{Command, Peer};
use crate::error::Reason;
use crate::routing::LinkId;
use crate::sync::Mutex;

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
