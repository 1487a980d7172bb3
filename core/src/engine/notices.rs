//! [`Stalls`] and [`Losses`]: notices for whoever would rather wait for them than be called.

use std::collections::VecDeque;

use crate::account::{Explanation, Loss};
use crate::sync::Arc;
use crate::wait::watched::{Watched, until};

/// What a notice tells.
pub trait Notice: Clone + Send + Sync + 'static {
    /// How many wait to be taken. The oldest makes room.
    const KEPT: usize;
}

impl Notice for Explanation {
    const KEPT: usize = 16;
}

impl Notice for Loss {
    const KEPT: usize = 64;
}

/// Hears of notices, on a thread of the library. Must not wait for long.
type Hears<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// Collects notices of what stands still, for [`Health::on_stall`](super::Health).
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
pub type Stalls = Notices<Explanation>;

/// Collects notices of what was lost, for [`Health::on_loss`](super::Health).
pub type Losses = Notices<Loss>;

/// Collects notices. Cheap to clone; any thread may use it.
#[derive(Clone)]
pub struct Notices<T>(Arc<Inner<T>>);

struct Inner<T>(Watched<Kept<T>>);

struct Kept<T> {
    notices: VecDeque<T>,
    missed: u64,
}

impl<T> Default for Notices<T> {
    fn default() -> Self {
        Notices(Arc::new(Inner(Watched::new(Kept { notices: VecDeque::new(), missed: 0 }))))
    }
}

impl<T: Notice> Notices<T> {
    /// Keeps each notice until it is taken, [`Notice::KEPT`] at most.
    #[must_use]
    pub fn hears(&self) -> Hears<T> {
        let inner = Arc::clone(&self.0);
        Arc::new(move |told| {
            let oldest = inner.0.update(|kept| {
                kept.notices.push_back(told.clone());
                let oldest = (kept.notices.len() > T::KEPT).then(|| kept.notices.pop_front());
                kept.missed = kept.missed.saturating_add(u64::from(oldest.is_some()));
                oldest
            });
            drop(oldest); // with the lock released
        })
    }

    /// The same, and has `other` hear of each notice first.
    #[must_use]
    pub fn hears_beside(&self, other: Hears<T>) -> Hears<T> {
        let hears = self.hears();
        Arc::new(move |told| {
            other(told);
            hears(told);
        })
    }

    /// The next notice, once there is one. A future that is dropped takes none.
    pub fn next(&self) -> impl Future<Output = T> + Send + use<T> {
        until(Arc::clone(&self.0), |inner| &inner.0, |kept| kept.notices.pop_front())
    }

    /// How many notices made room for later ones, because nobody took them.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.0.0.with(|kept| kept.missed)
    }
}

impl<T: Notice> std::fmt::Debug for Notices<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notices").field("missed", &self.missed()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Deadline;
    use crate::wait::block_on;

    #[test]
    fn the_oldest_notice_makes_room_and_is_counted() {
        let (stalls, beside) = (Stalls::default(), Stalls::default());
        let hears = stalls.hears_beside(beside.hears());
        for n in 0..=Explanation::KEPT {
            let json = serde_json::json!({"silent": [n.to_string()]});
            hears(&Explanation::from_json(&json));
        }
        for stalls in [stalls, beside] {
            assert_eq!(stalls.missed(), 1);
            let next = block_on(stalls.next(), Deadline::NEVER).expect("no limit");
            assert_eq!(next.to_json()["silent"][0], "1");
        }
    }
}
