//! The figures of what goes through, as JSON. Entries that are zero are left out of the maps.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::end::LinkId;
use super::table::{Route, Routes, Summary, millis};
use super::tally::{StreamTally, Way};
use crate::account::Snapshot;
use crate::frame::MessageId;
use crate::model::phase::Phase;
use crate::time::now;

/// What goes through it now, what ended lately, and what was lost.
pub(crate) fn figures(
    routes: &Routes,
    names: &BTreeMap<LinkId, String>,
    losses: &Snapshot,
) -> Json {
    let mut live: Vec<_> = routes.live().collect();
    live.sort_by_key(|route| route.asker.flow.id.to_string());
    let by_kind: Map<_, _> =
        routes.by_ending().iter().map(|(kind, n)| (kind.name().to_owned(), (*n).into())).collect();
    json!({
        "requests": {
            "active": live.iter().map(|route| request(route, routes, names)).collect::<Vec<_>>(),
            "recent_terminated": routes.ended().map(summary).collect::<Vec<_>>(),
            "total_registered": routes.registered(),
            "terminated_by_kind": by_kind,
        },
        "drops": losses.drops_json(),
        "stragglers": losses.stragglers_json(),
        "overruns_total": losses.overruns,
    })
}

fn request(route: &Route, routes: &Routes, names: &BTreeMap<LinkId, String>) -> Json {
    let name = |link: &LinkId| names.get(link).cloned();
    let mut streams: BTreeMap<Option<&str>, (Option<&StreamTally>, Option<&StreamTally>)> =
        BTreeMap::new();
    for ((way, id), tally) in &route.streams {
        let entry = streams.entry(id.as_deref()).or_default();
        match way {
            Way::ToServer => entry.0 = Some(tally),
            Way::ToAsker => entry.1 = Some(tally),
        }
    }
    let at = now();
    json!({
        "xid": id_text(route.server.flow.routing_id),
        "rid": route.asker.flow.id.to_string(),
        "phase": if route.phase == Phase::Streaming { "streaming" } else { "created" },
        "is_peer": route.is_peer,
        "cap_urn": route.cap,
        "origin_master": name(&route.asker.link),
        "destination_master": name(&route.server.link),
        "age_ms": millis(at.saturating_duration_since(route.opened)),
        "idle_ms": millis(at.saturating_duration_since(route.last)),
        "children": routes.descendants(route.asker).len(),
        "streams": streams.into_iter().map(|(id, ways)| stream(id, ways)).collect::<Vec<_>>(),
    })
}

/// A stream's chunks go one way; frames that name no stream go both.
fn stream(id: Option<&str>, ways: (Option<&StreamTally>, Option<&StreamTally>)) -> Json {
    let of = |tally: Option<&StreamTally>, what: fn(&StreamTally) -> u64| tally.map_or(0, what);
    let data = match ways {
        (Some(tally), None) | (None, Some(tally)) => Some(tally),
        (Some(there), Some(back)) => Some(if there.chunks > 0 { there } else { back }),
        (None, None) => None,
    };
    json!({
        "stream_id": id,
        "frames_in": of(ways.0, |t| t.frames), "frames_out": of(ways.1, |t| t.frames),
        "bytes_in": of(ways.0, |t| t.bytes), "bytes_out": of(ways.1, |t| t.bytes),
        "chunks_in": of(ways.0, |t| t.chunks), "chunks_out": of(ways.1, |t| t.chunks),
        "credit_outstanding": data.map_or(0, StreamTally::outstanding),
        "unbounded": data.is_some_and(|tally| tally.unbounded),
        "ended": data.is_some_and(|tally| tally.ended),
    })
}

fn summary(summary: &Summary) -> Json {
    json!({
        "xid": id_text(summary.server.flow.routing_id),
        "rid": summary.asker.flow.id.to_string(),
        "kind": summary.ending.name(),
        "is_peer": summary.is_peer,
        "cap_urn": summary.cap,
        "lifetime_ms": summary.lifetime_ms,
        "frames_in": summary.frames.0, "frames_out": summary.frames.1,
        "bytes_in": summary.bytes.0, "bytes_out": summary.bytes.1,
    })
}

fn id_text(id: Option<MessageId>) -> Option<String> {
    id.map(|id| id.to_string())
}
