//! The one table of requests of a link: registered once, ended once, nothing left behind (L7).

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::account::Ending;
use crate::frame::FlowKey;
use crate::model::direction::Side;
use crate::model::disposition::{self, Registration, Remembered};
use crate::sync::{Arc, Mutex};

/// Live requests and the ring of the last ended ones.
pub(crate) struct Table<T> {
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    live: HashMap<FlowKey, Arc<T>>,
    ended: VecDeque<Ended>,
    ended_set: HashSet<FlowKey>,
    registered: u64,
    by_ending: BTreeMap<Ending, u64>,
    closed: bool,
}

/// What is kept of a request that is over.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) flow: FlowKey,
    /// None if it was not let in.
    pub(crate) summary: Option<Summary>,
}

/// What is kept of a request that was let in and has ended.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    pub(crate) ending: Ending,
    pub(crate) side: Side,
    pub(crate) cap: String,
    pub(crate) lifetime_ms: u64,
}

/// The requests of a link at one moment.
pub(crate) struct Figures<T> {
    pub(crate) live: Vec<Arc<T>>,
    /// The last ones that are over, the latest at the end.
    pub(crate) ended: Vec<Ended>,
    /// All that were ever let in: those that live and those that ended.
    pub(crate) registered: u64,
    pub(crate) by_ending: BTreeMap<Ending, u64>,
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
                registered: 0,
                by_ending: BTreeMap::new(),
                closed: false,
            }),
        }
    }
}

impl<T> Inner<T> {
    fn note_ended(&mut self, ended: Ended) {
        let key = ended.flow;
        let known = self.ended_set.contains(&key);
        match disposition::remember(known, self.ended.len() as u64) {
            Remembered::Renew => self.ended.retain(|ended| ended.flow != key),
            Remembered::Enter => {}
            Remembered::EnterForgetOldest => {
                if let Some(oldest) = self.ended.pop_front() {
                    self.ended_set.remove(&oldest.flow);
                }
            }
        }
        self.ended_set.insert(key);
        self.ended.push_back(ended);
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
                inner.registered = inner.registered.saturating_add(1);
                Ok(())
            }
            Registration::AlreadyLive => Err(Refused::Live),
            Registration::Full => Err(Refused::Full),
            Registration::LinkClosed => Err(Refused::Closed),
        }
    }

    /// Ends a request: its id enters the ring. False if it was not live.
    pub(crate) fn end(&self, key: FlowKey, summary: Summary) -> bool {
        let mut inner = self.inner.lock();
        let ended = inner.live.remove(&key);
        if ended.is_some() {
            let count = inner.by_ending.entry(summary.ending).or_default();
            *count = count.saturating_add(1);
            inner.note_ended(Ended { flow: key, summary: Some(summary) });
        }
        drop(inner);
        ended.is_some()
    }

    /// Enters the id of a request that was refused into the ring.
    pub(crate) fn note_ended(&self, key: FlowKey) {
        self.inner.lock().note_ended(Ended { flow: key, summary: None });
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

    /// Its requests now.
    pub(crate) fn figures(&self) -> Figures<T> {
        let inner = self.inner.lock();
        Figures {
            live: inner.live.values().cloned().collect(),
            ended: inner.ended.iter().cloned().collect(),
            registered: inner.registered,
            by_ending: inner.by_ending.clone(),
        }
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

    fn summary() -> Summary {
        let (cap, side) = (String::new(), Side::Caller);
        Summary { ending: Ending::End, side, cap, lifetime_ms: 0 }
    }

    #[test]
    fn an_id_is_live_then_lately_ended_then_unknown() {
        let table = Table::default();
        let request = Arc::new(());
        for n in 0..=64 {
            assert_eq!(table.register(key(n), &request, 10), Ok(()));
            assert_eq!(table.register(key(n), &request, 10), Err(Refused::Live));
            assert!(matches!(table.dispose(key(n)), Disposition::Route(_)));
            assert!(table.end(key(n), summary()));
            assert!(!table.end(key(n), summary()), "ended once");
        }
        assert!(matches!(table.dispose(key(0)), Disposition::NoRoute), "the 65th end forgets it");
        assert!(matches!(table.dispose(key(1)), Disposition::Straggler));
        assert_eq!(table.live(), 0);
        table.note_ended(key(99));
        let figures = table.figures();
        assert_eq!((figures.live.len(), figures.ended.len(), figures.registered), (0, 64, 65));
        assert_eq!(figures.by_ending, BTreeMap::from([(Ending::End, 65)]), "none was refused");
        let last = figures.ended.last().expect("64");
        assert!(last.flow == key(99) && last.summary.is_none(), "it was never let in");
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
