//! The second count of a gate.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Instant;

use super::monitor::{self, Look};
use super::{Breach, hold, on, patience};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::time::now;

/// What a gate's callers were told, added up. Sums wrap around as one, so they compare at any size.
pub(crate) struct GateLedger {
    name: OnceLock<String>,
    opened: u64,
    granted: AtomicU64,
    returned: AtomicU64,
    taken: AtomicU64,
    /// All that anybody came to grant, counted before it can be taken.
    offered: AtomicU64,
    /// Of that, what takers put back.
    unspent: AtomicU64,
    /// Steps on the word that have begun and are not counted yet.
    in_flight: AtomicU64,
    /// Waiters whose turn has come and who have not fetched it, since when.
    served: Mutex<BTreeMap<u64, Instant>>,
}

/// A step on the word; counted as over when it is dropped.
pub(crate) struct Step<'a>(&'a GateLedger);

impl Drop for Step<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Release);
    }
}

impl GateLedger {
    /// The ledger of a gate that opens with `window` chunks, if the process is checked.
    pub(crate) fn open(window: u64) -> Option<Arc<Self>> {
        on().then(|| {
            let ledger = Arc::new(GateLedger {
                name: OnceLock::new(),
                opened: window,
                granted: AtomicU64::new(0),
                returned: AtomicU64::new(0),
                taken: AtomicU64::new(0),
                offered: AtomicU64::new(0),
                unspent: AtomicU64::new(0),
                in_flight: AtomicU64::new(0),
                served: Mutex::new(BTreeMap::new()),
            });
            monitor::watch(&ledger);
            ledger
        })
    }

    /// What breaches call the gate. The first name stays.
    pub(crate) fn name(&self, name: impl FnOnce() -> String) {
        self.name.get_or_init(name);
    }

    fn who(&self) -> &str {
        self.name.get().map_or("a gate of its own", String::as_str)
    }

    /// A step on the word begins. While any is under way, what is behind the lock is not compared.
    pub(crate) fn begin(&self) -> Step<'_> {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        Step(self)
    }

    /// Somebody was told that `n` chunks are his.
    pub(crate) fn taken(&self, n: u64) {
        self.taken.fetch_add(n, Ordering::Relaxed);
    }

    /// `n` chunks were granted to a gate with `available`: those beyond 2^64 − 1 are nobody's.
    pub(crate) fn granted(&self, n: u64, available: u64) {
        self.granted.fetch_add(n.min(u64::MAX - available), Ordering::Relaxed);
    }

    /// `n` chunks that were taken for somebody who went away came back to a gate with `available`.
    pub(crate) fn returned(&self, n: u64, available: u64) {
        self.returned.fetch_add(n.min(u64::MAX - available), Ordering::Relaxed);
    }

    /// Somebody is about to grant `n` chunks.
    pub(crate) fn offered(&self, n: u64) {
        let more = |offered: u64| Some(offered.saturating_add(n));
        let _always = self.offered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Of what comes next as a grant, `n` chunks are a taker's own, put back.
    pub(crate) fn unspent(&self, n: u64) {
        self.unspent.fetch_add(n, Ordering::Relaxed);
    }

    /// All that the gate ever had to give, in chunks: opened with and granted by the receiver.
    pub(crate) fn given(&self) -> u128 {
        let [offered, unspent] =
            [&self.offered, &self.unspent].map(|sum| u128::from(sum.load(Ordering::Relaxed)));
        (u128::from(self.opened) + offered).saturating_sub(unspent)
    }

    /// The turn of the waiter with this ticket has come.
    pub(crate) fn served(&self, ticket: u64) {
        self.served.lock().insert(ticket, now());
    }

    /// That waiter has fetched it, or given it up.
    pub(crate) fn fetched(&self, ticket: u64) {
        self.served.lock().remove(&ticket);
    }

    /// Compares the count with the state behind the lock, whose line begins with a request for `head`.
    pub(crate) fn verify(&self, available: u64, closed: bool, head: Option<u64>) {
        hold(self.compare(available, closed, head));
    }

    fn compare(&self, available: u64, closed: bool, head: Option<u64>) -> Result<(), Breach> {
        if let Some(n) = head.filter(|&n| closed || n <= available) {
            let what = format!(
                "{}: the first in line waits for {n} while {available} are there{}",
                self.who(),
                if closed { " and the gate is closed" } else { "" }
            );
            return Err(Breach::new("L13 (a wake was lost)", what));
        }
        if self.in_flight.load(Ordering::SeqCst) != 0 {
            return Ok(());
        }
        let [granted, returned, taken] =
            [&self.granted, &self.returned, &self.taken].map(|sum| sum.load(Ordering::Acquire));
        let left = self.opened.wrapping_add(granted).wrapping_add(returned).wrapping_sub(taken);
        if left == available {
            return Ok(());
        }
        let what = format!(
            "{}: opened with {} + granted {granted} + given back {returned} − taken {taken} = {left}, \
             but {available} are available",
            self.who(),
            self.opened
        );
        Err(Breach::new("L9", what))
    }
}

impl Look for GateLedger {
    /// Nobody leaves a turn unfetched for longer than is allowed.
    fn look(&self) -> Result<(), Breach> {
        let limit = patience();
        let late = self.served.lock().iter().find_map(|(ticket, since)| {
            let age = now().saturating_duration_since(*since);
            (age > limit).then_some((*ticket, age))
        });
        let Some((ticket, age)) = late else { return Ok(()) };
        let what = format!(
            "{}: waiter {ticket} was woken {} ms ago and has not come for its turn",
            self.who(),
            age.as_millis()
        );
        Err(Breach::new("L13", what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(window: u64) -> GateLedger {
        GateLedger {
            name: OnceLock::new(),
            opened: window,
            granted: AtomicU64::new(0),
            returned: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            offered: AtomicU64::new(0),
            unspent: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            served: Mutex::new(BTreeMap::new()),
        }
    }

    #[test]
    fn l9_credit_from_nothing_and_credit_lost_are_found() {
        let ledger = ledger(4);
        ledger.taken(3);
        ledger.granted(2, 1);
        assert_eq!(ledger.compare(3, false, None), Ok(()));
        for wrong in [2, 4] {
            let breach = ledger.compare(wrong, false, None).expect_err("not what was told");
            assert!(breach.to_string().contains("opened with 4 + granted 2"), "{breach}");
        }
        let step = ledger.begin();
        assert_eq!(ledger.compare(2, false, None), Ok(()), "a step is under way");
        drop(step);
        assert!(ledger.compare(2, false, None).is_err());
    }

    #[test]
    fn what_saturates_is_nobody_s() {
        let ledger = ledger(u64::MAX - 1);
        ledger.granted(u64::MAX, u64::MAX - 1);
        assert_eq!(ledger.compare(u64::MAX, false, None), Ok(()));
        ledger.taken(u64::MAX);
        assert_eq!(ledger.compare(0, false, None), Ok(()));
        ledger.returned(5, 0);
        assert_eq!(ledger.compare(5, true, None), Ok(()));
    }

    #[test]
    fn l13_a_waiter_who_could_be_served_is_found() {
        let ledger = ledger(1);
        assert_eq!(ledger.compare(1, false, Some(2)), Ok(()));
        assert!(ledger.compare(1, false, Some(1)).is_err());
        assert!(ledger.compare(1, true, Some(2)).is_err());
    }
}
