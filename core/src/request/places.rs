//! Threads that answer questions of one peer, of which there may be only so many.

use crate::sync::{Arc, AtomicU64, Ordering};

/// Threads that may answer questions of one peer at once.
const PLACES: u64 = 16;

/// The places of one link.
#[derive(Default)]
pub(super) struct Places(Arc<AtomicU64>);

/// A place that is taken, free again once this is dropped.
pub(crate) struct Place(Arc<AtomicU64>);

impl Places {
    /// `None` if all are taken: who asks without end starts no threads without end.
    pub(super) fn take(&self) -> Option<Place> {
        let one_more = |n: u64| (n < PLACES).then_some(n + 1);
        let taken = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        taken.ok().map(|_| Place(Arc::clone(&self.0)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_once_it_is_left() {
        let places = Places::default();
        let mut taken: Vec<_> = std::iter::from_fn(|| places.take()).collect();
        assert_eq!(taken.len() as u64, PLACES);
        drop(taken.pop());
        assert!(places.take().is_some());
    }
}
