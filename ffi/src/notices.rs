//! What collects notices, for whoever waits for them.

use sluicegate::account::OnLoss;
use sluicegate::engine::{Health, Losses, Stalls};

/// What collects the notices of an engine or a host.
#[derive(Default)]
pub(crate) struct Notices {
    pub(crate) stalls: Stalls,
    pub(crate) losses: Losses,
}

/// Has `losses` keep what is lost; warnings go to stderr as well, unless that is to stay `quiet`.
pub(crate) fn on_loss(losses: &Losses, quiet: bool) -> OnLoss {
    if quiet { losses.hears() } else { losses.hears_beside(Health::default().on_loss) }
}
