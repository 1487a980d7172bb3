//! What a request tells about itself: its streams, what of it stands still, and how it ended; and the
//! figures of all requests of a link.

use std::time::Instant;

use serde_json::{Value as Json, json};

use super::exchange::{Exchange, Side};
use super::table::{Ended, Figures, Summary};
use super::terminal::Terminal;
use crate::account::{Cause, Ending, Snapshot, Standing, StandingRequest};
use crate::error::{ErrorKind, Reason};
use crate::time::now;

impl Exchange {
    /// The request and its streams, as JSON.
    pub(super) fn to_json(&self) -> Json {
        let (inputs, outputs) = self.streams();
        let inputs = inputs.iter().map(|input| {
            let id = input.info().id.clone().unwrap_or_default();
            input.stats().to_json(&id, "in", input.info().unbounded)
        });
        let outputs = outputs.iter().map(|output| {
            let mut told = output.stats().to_json(output.name(), "out", output.is_unbounded());
            if let Some(source) = output.source_json() {
                told["feed"] = source;
            }
            told
        });
        json!({
            "rid": self.flow().id.to_string(),
            "cap_urn": self.cap(),
            "side": side_name(self.side()),
            "phase": if self.is_queued() { "created" } else { "streaming" },
            "streams": inputs.chain(outputs).collect::<Vec<_>>(),
        })
    }

    /// What is kept of it, which has ended now.
    pub(super) fn summary(&self, outcome: &Result<Terminal, Reason>) -> Summary {
        let lived = now().saturating_duration_since(self.opened).as_millis();
        Summary {
            ending: ending(outcome),
            side: self.side(),
            cap: self.cap().to_owned(),
            lifetime_ms: u64::try_from(lived).unwrap_or(u64::MAX),
        }
    }

    /// Everything of this request that stands still.
    pub(super) fn standings(&self, at: Instant) -> Vec<StandingRequest> {
        let whole = |cause, since| Standing::whole(cause, at.saturating_duration_since(since));
        let standing: Vec<_> = if self.is_queued() {
            // That is why nobody reads what came of it.
            (!self.is_over()).then(|| whole(Cause::Queue, self.opened)).into_iter().collect()
        } else {
            let (inputs, outputs) = self.streams();
            let standing = inputs.iter().filter_map(|input| input.standing(at));
            let standing = standing.chain(outputs.iter().filter_map(|output| output.standing(at)));
            standing.chain(self.pooled().map(|since| whole(Cause::Pool, since))).collect()
        };
        standing
            .into_iter()
            .map(|standing| StandingRequest {
                request: self.flow().id.to_string(),
                cap: self.cap().to_owned(),
                calls: self.side() == Side::Caller,
                standing,
            })
            .collect()
    }
}

/// What a snapshot calls such an end.
fn ending(outcome: &Result<Terminal, Reason>) -> Ending {
    match outcome.as_ref().map_err(|reason| reason.kind()) {
        Ok(_) => Ending::End,
        Err(ErrorKind::Cancelled | ErrorKind::TimedOut) => Ending::Cancelled,
        Err(ErrorKind::PeerDied | ErrorKind::Closed) => Ending::MasterDied,
        Err(ErrorKind::CreditViolation) => Ending::CreditViolation,
        Err(_) => Ending::Err,
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Caller => "caller",
        Side::Handler => "handler",
    }
}

/// The requests of a link and what it has lost, as JSON. Entries that are zero are left out of the maps.
pub(super) fn figures(requests: &Figures<Exchange>, losses: &Snapshot) -> Json {
    let by_kind = requests.by_ending.iter().map(|(kind, n)| (kind.name().to_owned(), (*n).into()));
    json!({
        "requests": requests.live.iter().map(|exchange| exchange.to_json()).collect::<Vec<_>>(),
        "recent_terminated": requests.ended.iter().map(ended_json).collect::<Vec<_>>(),
        "total_registered": requests.registered,
        "terminated_by_kind": by_kind.collect::<serde_json::Map<_, _>>(),
        "drops": losses.drops_json(),
        "stragglers": losses.stragglers_json(),
        "overruns_total": losses.overruns,
    })
}

/// One that was not let in has no cap, no side and no lifetime, and is in no total.
fn ended_json(ended: &Ended) -> Json {
    let summary = ended.summary.as_ref();
    json!({
        "xid": ended.flow.routing_id.map(|id| id.to_string()),
        "rid": ended.flow.id.to_string(),
        "kind": summary.map_or("refused", |summary| summary.ending.name()),
        "cap_urn": summary.map(|summary| &summary.cap),
        "side": summary.map(|summary| side_name(summary.side)),
        "lifetime_ms": summary.map(|summary| summary.lifetime_ms),
    })
}
