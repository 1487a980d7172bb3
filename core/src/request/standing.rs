//! What a request tells about itself: its streams, and what of it stands still.

use std::time::Instant;

use serde_json::{Value as Json, json};

use super::exchange::{Exchange, Side};
use crate::account::StandingRequest;

impl Exchange {
    /// The request and its streams, as JSON.
    pub(super) fn to_json(&self) -> Json {
        let (inputs, outputs) = self.streams();
        let inputs = inputs.iter().map(|input| {
            let id = input.info().id.clone().unwrap_or_default();
            input.stats().to_json(&id, "in", input.info().unbounded)
        });
        let outputs = outputs
            .iter()
            .map(|output| output.stats().to_json(output.name(), "out", output.is_unbounded()));
        json!({
            "rid": self.flow().id.to_string(),
            "cap_urn": self.cap(),
            "side": if self.side() == Side::Caller { "caller" } else { "handler" },
            "phase": if self.is_queued() { "created" } else { "streaming" },
            "streams": inputs.chain(outputs).collect::<Vec<_>>(),
        })
    }

    /// Everything of this request that stands still.
    pub(super) fn standings(&self, at: Instant) -> Vec<StandingRequest> {
        let (inputs, outputs) = self.streams();
        let standing = inputs.iter().filter_map(|input| input.standing(at));
        let standing = standing.chain(outputs.iter().filter_map(|output| output.standing(at)));
        standing
            .map(|standing| StandingRequest {
                request: self.flow().id.to_string(),
                cap: self.cap().to_owned(),
                calls: self.side() == Side::Caller,
                standing,
            })
            .collect()
    }
}
