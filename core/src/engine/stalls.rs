//! [`Stalls`]: notices of what stands still, for whoever would rather wait for them than be called.

use std::collections::VecDeque;

use super::OnStall;
use crate::account::Explanation;
use crate::sync::Arc;
use crate::wait::watched::{Watched, until};

/// Notices that wait to be taken. The oldest makes room.
const KEPT: usize = 16;

/// Collects stall notices. Cheap to clone; any thread may use it.
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Engine, EngineOptions, engine::{Health, Stalls}};
///
/// let stalls = Stalls::default();
/// let stall = Some(Duration::from_secs(5));
/// let health = Health { stall, on_stall: stalls.hears(), ..Health::default() };
/// let engine = Engine::new(EngineOptions { health, ..EngineOptions::default() });
/// let next = stalls.next(); // a future: the next notice
/// # drop((engine, next));
/// ```
#[derive(Clone, Default)]
pub struct Stalls(Arc<Inner>);

struct Inner(Watched<Notices>);

#[derive(Default)]
struct Notices {
    kept: VecDeque<Explanation>,
    missed: u64,
}

impl Default for Inner {
    fn default() -> Self {
        Inner(Watched::new(Notices::default()))
    }
}

impl Stalls {
    /// For [`Health::on_stall`](super::Health): keeps each notice until it is taken, 16 at most.
    #[must_use]
    pub fn hears(&self) -> OnStall {
        let inner = Arc::clone(&self.0);
        Arc::new(move |told| {
            let oldest = inner.0.update(|notices| {
                notices.kept.push_back(told.clone());
                let oldest = (notices.kept.len() > KEPT).then(|| notices.kept.pop_front());
                notices.missed = notices.missed.saturating_add(u64::from(oldest.is_some()));
                oldest
            });
            drop(oldest); // with the lock released
        })
    }

    /// The next notice, once there is one. A future that is dropped takes none.
    pub fn next(&self) -> impl Future<Output = Explanation> + Send + use<> {
        until(Arc::clone(&self.0), |inner| &inner.0, |notices| notices.kept.pop_front())
    }

    /// How many notices made room for later ones, because nobody took them.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.0.0.with(|notices| notices.missed)
    }
}

impl std::fmt::Debug for Stalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stalls").field("missed", &self.missed()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Deadline;
    use crate::wait::block_on;

    #[test]
    fn the_oldest_notice_makes_room_and_is_counted() {
        let stalls = Stalls::default();
        let hears = stalls.hears();
        for n in 0..=KEPT {
            let json = serde_json::json!({"silent": [n.to_string()]});
            hears(&Explanation::from_json(&json));
        }
        assert_eq!(stalls.missed(), 1);
        let next = block_on(stalls.next(), Deadline::NEVER).expect("no limit");
        assert_eq!(next.to_json()["silent"][0], "1");
    }
}
