//! The subscriber that a test plays.

use std::sync::Arc;

use sluicegate::Error;
use sluicegate::flow::{Subscriber, SubscriberEvent};

use super::element::Element;
use crate::error::Fault;
use crate::guard::quiet;
use crate::op::operation;

/// Core's subscriber probe.
#[derive(uniffi::Object)]
pub struct SubscriberCore(Arc<Subscriber<Element>>);

/// What a subscriber received.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum ProbeEvent {
    /// An element, lent for as long as the operation is held.
    Next {
        /// Its token.
        token: u64,
    },
    /// The end, as it should be.
    Complete,
    /// The end, with its reason.
    Failed {
        /// Why.
        fault: Fault,
    },
}

operation! {
    /// The next event of a subscriber.
    ProbeOp -> SubscriberEvent<Element>
}

#[uniffi::export]
impl ProbeOp {
    /// What came, once the operation has answered.
    pub fn event(&self) -> Option<ProbeEvent> {
        quiet(None, || {
            self.0.look(|event| match event {
                SubscriberEvent::Next(element) => ProbeEvent::Next { token: element.token() },
                SubscriberEvent::Complete => ProbeEvent::Complete,
                SubscriberEvent::Error(error) => ProbeEvent::Failed { fault: Fault::from(error) },
            })
        })
    }
}

impl SubscriberCore {
    pub(super) fn new(probe: &Arc<Subscriber<Element>>) -> Self {
        SubscriberCore(Arc::clone(probe))
    }
}

#[uniffi::export]
impl SubscriberCore {
    /// Asks for `n` more. False once a terminal was taken.
    pub fn request(&self, n: u64) -> bool {
        quiet(false, || self.0.try_request(n))
    }

    /// Wants no more.
    pub fn cancel(&self) {
        quiet((), || self.0.cancel());
    }

    /// The next event.
    pub fn event(&self) -> Arc<ProbeOp> {
        let event = self.0.event();
        ProbeOp::start(async move { Ok::<_, Error>(event.await) })
    }
}
