//! Grants on their way to gates.

use std::sync::Arc;

use sluicegate::{CreditRouter, Delivery, Error};

use crate::error::Fault;
use crate::gate::GateCore;
use crate::guard::quiet;

/// Core's router, its requests named by texts.
#[derive(uniffi::Object)]
pub struct RouterCore(CreditRouter<String>);

/// What became of a grant.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum GrantDelivery {
    /// It credited a gate.
    Granted,
    /// The request has no stream that it names.
    NoStream,
    /// The request is not known.
    NoRequest,
}

#[uniffi::export]
impl RouterCore {
    /// A router that knows no request.
    #[uniffi::constructor]
    pub fn new() -> Arc<Self> {
        Arc::new(RouterCore(CreditRouter::new()))
    }

    /// Enters a stream that is open for sending.
    pub fn register(&self, request: String, stream: Option<String>, gate: Arc<GateCore>) {
        quiet((), || self.0.register(request, stream.as_deref(), &gate.0));
    }

    /// Takes a stream out.
    pub fn unregister(&self, request: &str, stream: Option<String>) {
        quiet((), || self.0.unregister(request, stream.as_deref()));
    }

    /// Credits the stream that a grant names.
    pub fn grant(&self, request: &str, stream: Option<String>, n: u64) -> GrantDelivery {
        quiet(GrantDelivery::NoRequest, || match self.0.grant(request, stream.as_deref(), n) {
            Delivery::Granted => GrantDelivery::Granted,
            Delivery::NoStream => GrantDelivery::NoStream,
            Delivery::NoRequest => GrantDelivery::NoRequest,
        })
    }

    /// Ends a request.
    pub fn close_request(&self, request: &str, reason: Fault) {
        quiet((), || self.0.close_request(request, Error::from(reason)));
    }

    /// Ends every request.
    pub fn close_all(&self, reason: Fault) {
        quiet((), || self.0.close_all(Error::from(reason)));
    }

    /// How many requests have streams open for sending.
    pub fn count(&self) -> u64 {
        quiet(0, || self.0.len() as u64)
    }
}
