//! Notices of an engine, a relay or a cartridge, for whoever waits for them, JSON.

use std::sync::Arc;

use sluicegate::Error;
use sluicegate::account::OnLoss;
use sluicegate::engine::{Health, Losses, Stalls};

use crate::report::TextOp;

/// What collects the notices of an engine.
#[derive(Default)]
pub(crate) struct Notices {
    pub(crate) stalls: Stalls,
    pub(crate) losses: Losses,
}

/// Collects what was lost; warnings go to stderr as well, unless that is to stay `quiet`.
pub(crate) fn on_loss(losses: &Losses, quiet: bool) -> OnLoss {
    match quiet {
        true => losses.hears(),
        false => losses.hears_beside(Health::default().on_loss),
    }
}

/// The next stall notice.
pub(crate) fn next_stall(stalls: &Stalls) -> Arc<TextOp> {
    let next = stalls.next();
    TextOp::start(async move { Ok::<_, Error>(next.await.to_json().to_string()) })
}

/// The next notice of what was lost.
pub(crate) fn next_loss(losses: &Losses) -> Arc<TextOp> {
    let next = losses.next();
    TextOp::start(async move { Ok::<_, Error>(next.await.to_json().to_string()) })
}

/// Collects what a cartridge loses, over all of its sessions.
#[derive(uniffi::Object)]
pub struct LossesCore(pub(crate) Losses);

#[uniffi::export]
impl LossesCore {
    /// One that has heard of nothing.
    #[uniffi::constructor]
    pub fn new() -> Arc<Self> {
        Arc::new(LossesCore(Losses::default()))
    }

    /// The next notice of what was lost, JSON.
    pub fn next(&self) -> Arc<TextOp> {
        next_loss(&self.0)
    }
}
