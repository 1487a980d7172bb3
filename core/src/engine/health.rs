//! Watching over cartridges: heartbeats, and notices of what stands still.

use std::io::Write;
use std::sync::Weak;
use std::time::Duration;

use super::{Inner, Peer};
use crate::account::{Cause, Explanation, OnLoss};
use crate::error::{Error, ErrorKind};
use crate::link::{losses_to_stderr, spawn_quiet};
use crate::sync::Arc;
use crate::time::{Deadline, now};
use crate::wait::block_on;
use crate::wait::watched::{Watched, until};

/// Hears that something has stood still for longer than was allowed.
pub type OnStall = Arc<dyn Fn(&Explanation) + Send + Sync>;

/// How an engine watches over its cartridges.
#[derive(Clone)]
pub struct Health {
    /// How often each cartridge is asked whether it lives. Never, if there is none.
    pub heartbeat: Option<Duration>,
    /// How long it may take to answer, before it is taken for dead and killed.
    pub patience: Duration,
    /// After how long a stream that stands still is reported to `on_stall`: a sender without credit or
    /// room, or values that nobody reads. A reader without data is idle, and never reported.
    pub stall: Option<Duration>,
    /// Hears of it, once until the stream has moved, on a thread of the engine. Must not wait for
    /// long. By default it is written to stderr.
    pub on_stall: OnStall,
    /// Hears of what was lost, by reason and type of frame, soon after it was and at most once a second for
    /// each: a drop is a warning, a straggler is benign. Runs on a thread of its own for each cartridge;
    /// must not wait for long. By default warnings are written to stderr; with `SLUICEGATE_LOG=debug` in
    /// the environment also what is benign, with `off` nothing.
    pub on_loss: OnLoss,
}

impl Default for Health {
    /// A heartbeat every 30 s with 10 s to answer, no notices of stalls, losses to stderr.
    fn default() -> Self {
        Health {
            heartbeat: Some(Duration::from_secs(30)),
            patience: Duration::from_secs(10),
            stall: None,
            on_stall: Arc::new(|told| {
                // Who has closed stderr does not want to know.
                let _ = write!(std::io::stderr(), "sluicegate: {told}");
            }),
            on_loss: losses_to_stderr(),
        }
    }
}

impl std::fmt::Debug for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Health")
            .field("heartbeat", &self.heartbeat)
            .field("patience", &self.patience)
            .field("stall", &self.stall)
            .finish_non_exhaustive()
    }
}

/// What the watching thread waits on.
pub(super) struct Watch {
    over: Watched<bool>,
}

impl Default for Watch {
    fn default() -> Self {
        Watch { over: Watched::new(false) }
    }
}

impl Watch {
    pub(super) fn end(&self) {
        self.over.update(|over| *over = true);
    }

    /// Waits until `at`; false once it is over.
    fn rest(self: &Arc<Self>, at: Deadline) -> bool {
        let over = until(Arc::clone(self), |watch| &watch.over, |over| over.then_some(()));
        block_on(over, at).is_err()
    }
}

/// Starts the watching thread of an engine, if there is anything to watch for.
pub(super) fn start(engine: &Arc<Inner>) -> Result<(), Error> {
    let health = engine.options.health.clone();
    if health.heartbeat.is_none() && health.stall.is_none() {
        return Ok(());
    }
    let (weak, watch) = (Arc::downgrade(engine), Arc::clone(&engine.watch));
    spawn_quiet("health", move || run(&weak, &watch, &health))
        .map(drop)
        .map_err(|e| Error::new(ErrorKind::Io, format!("no thread to watch on: {e}")))
}

fn run(engine: &Weak<Inner>, watch: &Arc<Watch>, health: &Health) {
    let started = now();
    let mut next_beat = health.heartbeat.map(|period| started + period);
    let mut next_look = health.stall.map(|limit| started + limit / 2);
    let mut told = Told::default();
    loop {
        let next = next_beat.into_iter().chain(next_look).min();
        if !watch.rest(next.map_or(Deadline::NEVER, Deadline::at)) {
            return;
        }
        let Some(inner) = engine.upgrade() else { return };
        let peers = inner.live_peers();
        drop(inner);
        if let (Some(at), Some(period)) = (next_beat, health.heartbeat)
            && now() >= at
        {
            beat(&peers, health.patience);
            next_beat = Some(now() + period);
        }
        if let (Some(at), Some(limit)) = (next_look, health.stall)
            && now() >= at
        {
            told.look(&peers, limit, &health.on_stall);
            next_look = Some(now() + limit / 2);
        }
    }
}

/// Asks every cartridge at once; who does not answer in time is dead. Answers whom it took for dead.
/// Waits on this thread, so long at most.
pub(crate) fn beat(peers: &[Peer], patience: Duration) -> Vec<(usize, Error)> {
    let answers: Vec<_> = peers.iter().map(|peer| (peer, peer.answers())).collect();
    let deadline = Deadline::after(patience);
    let mut dead = Vec::new();
    for (nth, (peer, answer)) in answers.into_iter().enumerate() {
        if block_on(answer, deadline).is_err() {
            let message = format!("cartridge `{}` did not answer within {patience:?}", peer.name());
            let reason = Error::new(ErrorKind::PeerDied, message);
            peer.give_up(&reason);
            dead.push((nth, reason));
        }
    }
    dead
}

/// What was reported already, and how far each stream had come then.
#[derive(Default)]
struct Told(Vec<(String, String, u64)>);

impl Told {
    fn look(&mut self, peers: &[Peer], limit: Duration, on_stall: &OnStall) {
        let standing = peers.iter().flat_map(|peer| peer.connection().standings());
        let late: Vec<_> = standing
            .filter(|s| s.standing.since >= limit && s.standing.cause != Cause::Data)
            .collect();
        let key = |s: &crate::account::StandingRequest| {
            (s.request.clone(), s.standing.stream.clone(), s.standing.chunks)
        };
        let fresh = late.iter().any(|standing| !self.0.contains(&key(standing)));
        self.0 = late.iter().map(key).collect();
        if fresh {
            on_stall(&super::explain::explain(peers));
        }
    }
}
