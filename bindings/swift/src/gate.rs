//! The sender's credit.

use std::sync::Arc;

use sluicegate::{CreditGate, TryAcquire};

use crate::error::{Failure, Fault};
use crate::guard::{guard, quiet};
use crate::op::UnitOp;

/// Core's gate.
#[derive(uniffi::Object)]
pub struct GateCore(pub(crate) CreditGate);

#[uniffi::export]
impl GateCore {
    /// An open gate with `window` chunks.
    #[uniffi::constructor]
    pub fn new(window: u64) -> Arc<Self> {
        Arc::new(GateCore(CreditGate::new(window)))
    }

    /// Takes `n` chunks if that needs no waiting. False: it would wait.
    ///
    /// # Errors
    /// The reason, if the gate is closed.
    pub fn try_acquire(&self, n: u64) -> Result<bool, Failure> {
        guard(|| match self.0.try_acquire(n) {
            TryAcquire::Taken => Ok(true),
            TryAcquire::Wait => Ok(false),
            TryAcquire::Closed(reason) => Err(reason),
        })
    }

    /// Takes `n` chunks in turn.
    pub fn acquire(&self, n: u64) -> Arc<UnitOp> {
        UnitOp::start(self.0.acquire(n))
    }

    /// Adds `n` chunks.
    pub fn grant(&self, n: u64) {
        quiet((), || self.0.grant(n));
    }

    /// Closes with a reason. True if this call closed it.
    pub fn close(&self, reason: Fault) -> bool {
        quiet(false, || self.0.close(sluicegate::Error::from(reason)))
    }

    /// Closes with a text as the reason's code. True if this call closed it.
    pub fn close_with_text(&self, reason: &str) -> bool {
        quiet(false, || self.0.close(reason))
    }

    /// Chunks that could be taken now.
    pub fn available(&self) -> u64 {
        quiet(0, || self.0.available())
    }

    /// Why it was closed, if it is.
    pub fn reason(&self) -> Option<Fault> {
        quiet(None, || self.0.reason().map(|reason| Fault::from(&reason)))
    }

    /// True once closed.
    pub fn is_closed(&self) -> bool {
        quiet(false, || self.0.is_closed())
    }

    /// How many stand in line.
    pub fn waiting(&self) -> u64 {
        quiet(0, || self.0.waiting() as u64)
    }
}
