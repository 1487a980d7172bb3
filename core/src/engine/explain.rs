//! Why something stands still: what is known here, and what the cartridges tell.

use std::time::Duration;

use super::Peer;
use crate::account::Explanation;
use crate::request::{Connection, EXPLAIN};
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::block_on;

/// How long a cartridge may take to tell. Its reading thread answers, which waits for nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// What stands still at this end of the connections of `peers`, and at theirs. All are asked at once.
/// Waits on this thread, for a second at most.
pub(super) fn explain(peers: &[Peer]) -> Explanation {
    let mut told = Explanation::default();
    for peer in peers {
        told.add(Explanation::of(peer.connection().standings().iter(), "this process"));
    }
    told.add(ask(peers.iter().map(|peer| (peer.name(), peer.connection())), PATIENCE));
    told
}

/// Asks the other ends of connections. Waits on this thread for their answers, so long at most.
pub(crate) fn ask<'a>(
    connections: impl Iterator<Item = (&'a str, &'a Arc<Connection>)>,
    patience: Duration,
) -> Explanation {
    let mut told = Explanation::default();
    let deadline = Deadline::after(patience);
    let asked: Vec<_> =
        connections.map(|(name, link)| (name, link.probe(Some(patience)))).collect();
    for (nth, (name, answer)) in asked.into_iter().enumerate() {
        let answer = block_on(answer, deadline).ok().flatten();
        if let Some(pools) = answer.as_ref().and_then(|frame| frame.meta_bytes("pools"))
            && let Ok(pools) = serde_json::from_slice(pools)
        {
            told.add(Explanation::of_pools(&pools, name).told_by(nth, name));
        }
        let json = answer.as_ref().and_then(|frame| frame.meta_bytes(EXPLAIN)).cloned();
        match json.and_then(|json| serde_json::from_slice(&json).ok()) {
            Some(json) => told.add(Explanation::from_json(&json).told_by(nth, name)),
            None => told.add_silent(name),
        }
    }
    told
}
