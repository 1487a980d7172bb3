//! The one table of requests of a link: registered once, ended once, nothing left behind (L7).

use std::collections::{HashMap, HashSet, VecDeque};

use crate::frame::FlowKey;
use crate::model::disposition::{self, Registration, Remembered};
use crate::sync::{Arc, Mutex};

/// Live requests and the ring of the last ended ones.
pub(crate) struct Table<T> {
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    live: HashMap<FlowKey, Arc<T>>,
    ended: VecDeque<FlowKey>,
    ended_set: HashSet<FlowKey>,
    closed: bool,
}

/// What becomes of a frame of a flow.
pub(crate) enum Disposition<T> {
    /// The request is live.
    Route(Arc<T>),
    /// It ended lately: the frame crossed its terminal in flight. Benign.
    Straggler,
    /// It was never known.
    NoRoute,
}

impl<T> Disposition<T> {
    /// What the model calls it.
    pub(crate) fn became(&self) -> disposition::Disposition {
        match self {
            Disposition::Route(_) => disposition::Disposition::Route,
            Disposition::Straggler => disposition::Disposition::Straggler,
            Disposition::NoRoute => disposition::Disposition::NoRoute,
        }
    }
}

/// Why a request was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A live request has this id.
    Live,
    /// As many are live as may be.
    Full,
    /// The link is over.
    Closed,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table {
            inner: Mutex::new(Inner {
                live: HashMap::new(),
                ended: VecDeque::new(),
                ended_set: HashSet::new(),
                closed: false,
            }),
        }
    }
}

impl<T> Inner<T> {
    fn note_ended(&mut self, key: FlowKey) {
        let known = self.ended_set.contains(&key);
        match disposition::remember(known, self.ended.len() as u64) {
            Remembered::Renew => self.ended.retain(|ended| *ended != key),
            Remembered::Enter => {}
            Remembered::EnterForgetOldest => {
                if let Some(oldest) = self.ended.pop_front() {
                    self.ended_set.remove(&oldest);
                }
            }
        }
        self.ended_set.insert(key);
        self.ended.push_back(key);
    }
}

impl<T> Table<T> {
    /// Registers a request, at most `limit` at once.
    pub(crate) fn register(
        &self,
        key: FlowKey,
        request: &Arc<T>,
        limit: usize,
    ) -> Result<(), Refused> {
        let mut inner = self.inner.lock();
        let (live, count) = (inner.live.contains_key(&key), inner.live.len() as u64);
        match disposition::register(inner.closed, live, count, limit as u64) {
            Registration::Registered => {
                inner.live.insert(key, Arc::clone(request));
                Ok(())
            }
            Registration::AlreadyLive => Err(Refused::Live),
            Registration::Full => Err(Refused::Full),
            Registration::LinkClosed => Err(Refused::Closed),
        }
    }

    /// Ends a request: its id enters the ring. False if it was not live.
    pub(crate) fn end(&self, key: FlowKey) -> bool {
        let mut inner = self.inner.lock();
        let ended = inner.live.remove(&key);
        if ended.is_some() {
            inner.note_ended(key);
        }
        drop(inner);
        ended.is_some()
    }

    /// Enters the id of a request that was refused into the ring.
    pub(crate) fn note_ended(&self, key: FlowKey) {
        self.inner.lock().note_ended(key);
    }

    /// What becomes of a frame of `key`.
    pub(crate) fn dispose(&self, key: FlowKey) -> Disposition<T> {
        let inner = self.inner.lock();
        let request = inner.live.get(&key);
        match (disposition::dispose(request.is_some(), inner.ended_set.contains(&key)), request) {
            (disposition::Disposition::Route, Some(request)) => {
                Disposition::Route(Arc::clone(request))
            }
            (disposition::Disposition::Straggler, _) => Disposition::Straggler,
            (disposition::Disposition::Route | disposition::Disposition::NoRoute, _) => {
                Disposition::NoRoute
            }
        }
    }

    /// Takes no more requests, and answers those that are live, for a link that is over.
    pub(crate) fn close(&self) -> Vec<Arc<T>> {
        let mut inner = self.inner.lock();
        inner.closed = true;
        inner.live.values().cloned().collect()
    }

    /// The live requests.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.inner.lock().live.values().cloned().collect()
    }

    /// How many requests are live.
    pub(crate) fn live(&self) -> usize {
        self.inner.lock().live.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::MessageId;

    fn key(n: u64) -> FlowKey {
        FlowKey::new(MessageId::Uint(n), None)
    }

    #[test]
    fn an_id_is_live_then_lately_ended_then_unknown() {
        let table = Table::default();
        let request = Arc::new(());
        for n in 0..=64 {
            assert_eq!(table.register(key(n), &request, 10), Ok(()));
            assert_eq!(table.register(key(n), &request, 10), Err(Refused::Live));
            assert!(matches!(table.dispose(key(n)), Disposition::Route(_)));
            assert!(table.end(key(n)));
            assert!(!table.end(key(n)), "ended once");
        }
        assert!(matches!(table.dispose(key(0)), Disposition::NoRoute), "the 65th end forgets it");
        assert!(matches!(table.dispose(key(1)), Disposition::Straggler));
        assert_eq!(table.live(), 0);
    }

    #[test]
    fn the_table_is_bounded_and_closes() {
        let table = Table::default();
        let request = Arc::new(());
        assert_eq!(table.register(key(1), &request, 1), Ok(()));
        assert_eq!(table.register(key(2), &request, 1), Err(Refused::Full));
        assert_eq!(table.close().len(), 1);
        assert_eq!(table.register(key(3), &request, 9), Err(Refused::Closed));
    }
}
