//! What happens to a request whose handles are dropped before it has ended.

use std::sync::Weak;

use super::exchange::{Exchange, Side};
use crate::error::{Error, ErrorKind};
use crate::stream::Abandon;
use crate::sync::Arc;

/// A handle that fails or cancels its request when the last clone of it is dropped unfinished.
pub(crate) struct Keeper {
    exchange: Arc<Exchange>,
    reason: &'static str,
}

impl Keeper {
    pub(crate) fn new(exchange: Arc<Exchange>, reason: &'static str) -> Arc<Self> {
        Arc::new(Keeper { exchange, reason })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if self.exchange.outcome().is_some() {
            return;
        }
        let reason = match (self.exchange.side(), self.exchange.stopped()) {
            (_, Some(reason)) => reason,
            (Side::Handler, None) => Error::with_code(
                ErrorKind::Remote,
                "HANDLER_ERROR",
                crate::error::AttributionClass::Internal,
                self.reason,
            ),
            (Side::Caller, None) => Error::new(ErrorKind::Cancelled, self.reason),
        };
        self.exchange.fail(&reason);
    }
}

/// Cancels `exchange` when a stream of it is given up; does not keep it alive.
pub(crate) fn abandon(exchange: &Arc<Exchange>) -> Abandon {
    let exchange: Weak<Exchange> = Arc::downgrade(exchange);
    Box::new(move |reason| {
        if let Some(exchange) = exchange.upgrade() {
            exchange.fail(&reason);
        }
    })
}
