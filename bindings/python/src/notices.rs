//! Notices of an engine, a relay or a cartridge, for whoever waits for them. JSON texts go across the
//! border.

use pyo3::prelude::*;
use sluicegate::account::OnLoss;
use sluicegate::engine::{Health, Losses as CoreLosses, Stalls};

use crate::fork::Owned;
use crate::op::Op;
use crate::report;

/// What collects the notices of an engine.
#[derive(Default)]
pub(crate) struct Notices {
    pub(crate) stalls: Stalls,
    pub(crate) losses: CoreLosses,
}

/// Collects what was lost; warnings go to stderr as well, unless that is to stay `quiet`.
pub(crate) fn on_loss(losses: &CoreLosses, quiet: bool) -> OnLoss {
    match quiet {
        true => losses.hears(),
        false => losses.hears_beside(Health::default().on_loss),
    }
}

/// Answers the next stall notice, as JSON.
pub(crate) fn next_stall(stalls: &Stalls) -> Op {
    let next = stalls.next();
    report::text(async move { Ok(next.await.to_json().to_string()) })
}

/// Answers the next notice of what was lost, as JSON.
pub(crate) fn next_loss(losses: &CoreLosses) -> Op {
    let next = losses.next();
    report::text(async move { Ok(next.await.to_json().to_string()) })
}

/// Collects what a cartridge loses, over all of its sessions.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Losses(Owned<CoreLosses>);

#[pymethods]
impl Losses {
    #[new]
    fn new() -> Self {
        Losses(Owned::new(CoreLosses::default()))
    }

    /// Answers the next notice of what was lost, as JSON.
    fn next(&self) -> PyResult<Op> {
        Ok(next_loss(self.0.get()?))
    }
}

impl Losses {
    pub(crate) fn on_loss(&self, quiet: bool) -> PyResult<OnLoss> {
        Ok(on_loss(self.0.get()?, quiet))
    }
}
