//! What one link wrote of each flow.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Display;
use std::hash::Hash;

use super::{Breach, hold, on};

/// Ended flows that are remembered, the oldest forgotten first: as many as a writer remembers.
const ENDED: usize = 1024;

/// Numbers and terminals on the wire (L4). `K` is a flow.
pub(crate) struct FlowLedger<K>(Option<Written<K>>);

struct Written<K> {
    next: HashMap<K, u64>,
    ended: HashSet<K>,
    order: VecDeque<K>,
}

impl<K> Default for FlowLedger<K> {
    fn default() -> Self {
        let written =
            || Written { next: HashMap::new(), ended: HashSet::new(), order: VecDeque::new() };
        FlowLedger(on().then(written))
    }
}

impl<K: Copy + Eq + Hash> FlowLedger<K> {
    /// A frame of a flow goes onto the wire. `named` says which flow, for a breach.
    pub(crate) fn written<D: Display>(
        &mut self,
        flow: K,
        seq: u64,
        terminal: bool,
        named: impl FnOnce() -> D,
    ) {
        if let Some(written) = &mut self.0 {
            hold(written.frame(flow, seq, terminal, named));
        }
    }

    /// The flow is over without a terminal of ours.
    pub(crate) fn over(&mut self, flow: K) {
        if let Some(written) = &mut self.0 {
            written.over(flow);
        }
    }
}

impl<K: Copy + Eq + Hash> Written<K> {
    fn over(&mut self, flow: K) {
        self.next.remove(&flow);
        if self.ended.insert(flow) {
            self.order.push_back(flow);
        }
        if self.order.len() > ENDED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ended.remove(&oldest);
        }
    }

    fn frame<D: Display>(
        &mut self,
        flow: K,
        seq: u64,
        terminal: bool,
        named: impl FnOnce() -> D,
    ) -> Result<(), Breach> {
        if self.ended.contains(&flow) {
            let what = format!("{}: a frame, number {seq}, goes out after the end", named());
            return Err(Breach::new("L4", what));
        }
        let next = self.next.entry(flow).or_insert(0);
        if *next != seq {
            let what = format!("{}: number {seq} goes out where {next} is due", named());
            return Err(Breach::new("L4", what));
        }
        *next = next.saturating_add(1);
        if terminal {
            self.over(flow);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Written<u8> {
        Written { next: HashMap::new(), ended: HashSet::new(), order: VecDeque::new() }
    }

    #[test]
    fn l4_a_second_terminal_and_what_follows_one_are_found() {
        let mut link = written();
        assert_eq!(link.frame(1, 0, false, || "flow"), Ok(()));
        assert_eq!(link.frame(1, 1, true, || "flow"), Ok(()));
        assert!(link.frame(1, 2, true, || "flow").is_err());
        assert!(link.frame(1, 0, false, || "flow").is_err());
        assert_eq!(link.frame(2, 0, true, || "flow"), Ok(()));
    }

    #[test]
    fn l4_a_gap_and_a_repeat_are_found() {
        let mut link = written();
        assert!(link.frame(1, 1, false, || "flow").is_err());
        assert_eq!(link.frame(1, 0, false, || "flow"), Ok(()));
        assert!(link.frame(1, 0, false, || "flow").is_err());
    }

    #[test]
    fn old_ends_are_forgotten() {
        let mut link = Written::<usize> {
            next: HashMap::new(),
            ended: HashSet::new(),
            order: VecDeque::new(),
        };
        (0..=ENDED).for_each(|flow| link.over(flow));
        assert!(!link.ended.contains(&0) && link.ended.contains(&1));
    }
}
