//! [`SwitchOptions`]: how a switch works.

use std::time::Duration;

use super::offer::{Matcher, SameTags};
use crate::account::OnLoss;
use crate::frame::{Limits, NetworkPolicy};
use crate::link::losses_to_stderr;
use crate::sync::Arc;

/// How a switch works.
#[derive(Clone)]
pub struct SwitchOptions {
    /// What is proposed to callers. A request goes to a host only if the windows at both of its ends
    /// are equal: a relay that let one side start with more than the other takes would break the
    /// promise that credit is a buffer (L10, L11).
    pub limits: Limits,
    /// How long a newcomer may take until it has proved who it is.
    pub join_timeout: Duration,
    /// How often hosts are asked whether they live; none: never. A frozen process, or a machine that lost its
    /// power, may leave its connection open and tell nobody.
    pub heartbeat: Option<Duration>,
    /// How long a host may take to answer. One that takes longer, and has answered before, is dead: its requests
    /// fail with `PeerDied`. One that never answers is taken not to know heartbeats, and is left alone.
    pub patience: Duration,
    /// What hosts and their cartridges may do on the network.
    pub policy: NetworkPolicy,
    /// Which offered cap serves a cap that is asked for.
    pub matcher: Arc<dyn Matcher>,
    /// Hears of what was lost, as [`Health::on_loss`](crate::engine::Health::on_loss).
    pub on_loss: OnLoss,
}

impl Default for SwitchOptions {
    /// The protocol's limits, 10 s to join, hosts asked every 30 s with 10 s to answer, the whole network, caps with
    /// the same tags, losses to stderr.
    fn default() -> Self {
        SwitchOptions {
            limits: Limits::default(),
            join_timeout: Duration::from_secs(10),
            heartbeat: Some(Duration::from_secs(30)),
            patience: Duration::from_secs(10),
            policy: NetworkPolicy::Full,
            matcher: Arc::new(SameTags),
            on_loss: losses_to_stderr(),
        }
    }
}

impl std::fmt::Debug for SwitchOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SwitchOptions").field("limits", &self.limits).finish_non_exhaustive()
    }
}
