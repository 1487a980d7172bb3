//! The grants that one link wrote, stream by stream.

use std::collections::HashMap;
use std::hash::Hash;

use super::{WindowLedger, on};
use crate::sync::Mutex;

/// Something of each stream, found by its flow and its name.
type OfStreams<K, T> = HashMap<(K, Option<String>), T>;

/// The receiving windows whose grants go out on one link, if the process is checked. `K` is a flow. What
/// a relay passes on belongs to none of them.
pub(crate) struct GrantLedger<K>(Option<Mutex<OfStreams<K, WindowLedger>>>);

impl<K> Default for GrantLedger<K> {
    fn default() -> Self {
        GrantLedger(on().then(|| Mutex::new(HashMap::new())))
    }
}

impl<K: Copy + Eq + Hash> GrantLedger<K> {
    /// The grants of `window` go out here from now on, as those of this stream. A name that a peer uses
    /// again while older grants may be on their way is left alone.
    pub(crate) fn watch(&self, flow: K, stream: Option<&str>, window: &WindowLedger) {
        if let Some(windows) = &self.0 {
            let mut windows = windows.lock();
            if windows.len() == windows.capacity() {
                windows.retain(|_, window| !window.is_settled());
            }
            windows
                .entry((flow, stream.map(str::to_owned)))
                .and_modify(|mixed| *mixed = WindowLedger::default())
                .or_insert_with(|| window.clone());
        }
    }

    /// Begins a batch in which grants of these streams go out; empty while nothing is checked.
    pub(crate) fn batch<'a>(
        &self,
        streams: impl Iterator<Item = (K, &'a Option<String>)>,
    ) -> GrantBatch<K> {
        let all =
            |_: &Mutex<_>| streams.map(|(flow, stream)| ((flow, stream.clone()), 0)).collect();
        GrantBatch(self.0.as_ref().map_or_else(HashMap::new, all))
    }

    /// The batch is on the wire. `waits` says whether a later grant of a stream waits in the lane.
    pub(crate) fn written(&self, batch: GrantBatch<K>, waits: impl Fn(K, &Option<String>) -> bool) {
        let Some(windows) = &self.0 else { return };
        for (of, n) in batch.0 {
            let window = windows.lock().get(&of).cloned();
            if let Some(window) = window {
                window.written(n, || waits(of.0, &of.1));
            }
        }
    }
}

/// The grants of one batch, added up stream by stream.
pub(crate) struct GrantBatch<K>(OfStreams<K, u64>);

impl<K: Copy + Eq + Hash> GrantBatch<K> {
    /// A grant of `n` chunks is laid into what is written.
    pub(crate) fn laid(&mut self, flow: K, stream: &Option<String>, n: u64) {
        if !self.0.is_empty() {
            let sum = self.0.entry((flow, stream.clone())).or_default();
            *sum = sum.saturating_add(n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_used_again_is_left_alone() {
        let ledger = GrantLedger::<u8>(Some(Mutex::new(HashMap::new())));
        let window = WindowLedger::of_a_test();
        let name = Some("in".to_owned());
        ledger.watch(1, Some("in"), &window);
        let mut batch = ledger.batch([(1, &name), (1, &name)].into_iter());
        batch.laid(1, &name, 2);
        ledger.written(batch, |_, _| false);
        assert!(!window.is_settled(), "the link knows it");
        ledger.watch(1, Some("in"), &window);
        let mut batch = ledger.batch([(1, &name)].into_iter());
        batch.laid(1, &name, 9);
        ledger.written(batch, |_, _| unreachable!("whose it is, nobody knows"));
        assert!(window.is_settled(), "the link has let go of it");
    }
}
