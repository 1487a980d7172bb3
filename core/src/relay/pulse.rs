//! How a relay answers a HEARTBEAT: with its losses, and, when it is asked what stands still, with
//! what those behind it tell.

use std::time::Duration;

use bytes::Bytes;

use crate::account::{Explanation, Snapshot};
use crate::engine::ask;
use crate::error::Reason;
use crate::frame::Frame;
use crate::link::spawn_quiet;
use crate::request::{Connection, EXPLAIN};
use crate::sync::Arc;

/// Those who are asked, by name.
pub(super) type Behind = Vec<(String, Arc<Connection>)>;

/// The longest that those behind are asked for: the asker says how long it waits, and may say anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Answers a probe. Who asks what stands still is answered by a thread of its own, since those behind
/// are asked first; they get three quarters of the time that the asker has. One who asks again and again,
/// and does not wait for the answers, is told of its losses alone. `behind` says who they are, and what is
/// known here.
pub(super) fn answer(
    connection: &Arc<Connection>,
    probe: &Frame,
    losses: &Snapshot,
    behind: impl FnOnce() -> (Behind, Explanation),
) -> Result<(), Reason> {
    let mut reply = Frame::heartbeat_reply(
        probe.id,
        losses.drops_total(),
        losses.stragglers_total(),
        losses.overruns,
        Bytes::from_static(b"{}"),
    );
    let asked = probe.meta_u64(EXPLAIN);
    let (Some(patience), Some(place)) = (asked, asked.and_then(|_| connection.place())) else {
        return connection.wire().lanes.control(reply);
    };
    let ((behind, mut told), connection) = (behind(), Arc::clone(connection));
    let patience = PATIENCE.min(Duration::from_millis(patience / 4 * 3));
    let spawned = spawn_quiet("explain", move || {
        told.add(explain(&behind, patience));
        reply.set_meta(EXPLAIN, Bytes::from(told.to_json().to_string()));
        drop(place); // before the answer: who has it may ask again
        let _gone = connection.wire().lanes.control(reply); // a dead link has nobody to tell
    });
    drop(spawned); // without a thread the asker hears nothing, and says so
    Ok(())
}

/// What those behind tell.
pub(super) fn explain(behind: &Behind, patience: Duration) -> Explanation {
    ask(behind.iter().map(|(name, connection)| (name.as_str(), connection)), patience)
}
