//! Cycles.

use std::sync::Arc;

use sluicegate::Error;
use sluicegate::flow::{Feedback, Flow as CoreFlow, NotUsed};

use super::blueprint::FlowCore;
use super::element::{Element, own};
use super::stage::flow;
use crate::error::Failure;
use crate::guard::guard;

/// Where an element of a loop goes. The token in it is handed over.
#[derive(Debug, uniffi::Enum)]
pub enum RoundReply {
    /// Through the loop again.
    Again {
        /// Its token.
        token: u64,
    },
    /// Out of the loop.
    Out {
        /// Its token.
        token: u64,
    },
}

/// Says where the elements of a loop go.
#[uniffi::export(with_foreign)]
pub trait Rounds: Send + Sync {
    /// What is in an element that the body of the loop has made, whose token is lent for the length of
    /// the call.
    fn round(&self, token: u64) -> RoundReply;
}

/// Each element through `body`, again and again until `rounds` says that it is out.
///
/// # Errors
/// `PlanRefused`, with the reason, for a capacity of 0 and for a `body` that may make more or fewer
/// elements than it is given.
#[uniffi::export]
pub fn flow_feedback(
    capacity: u64,
    body: &FlowCore,
    rounds: Arc<dyn Rounds>,
) -> Result<Arc<FlowCore>, Failure> {
    guard(|| {
        let round = CoreFlow::map(move |made: Element| match rounds.round(made.token()) {
            RoundReply::Again { token } => Feedback::Again(own(token)),
            RoundReply::Out { token } => Feedback::Out(own(token)),
        });
        let body = body.0.map_mat(|_| NotUsed).via(round.called("feedback"));
        Ok::<_, Error>(flow(CoreFlow::feedback(capacity, body)?))
    })
}
