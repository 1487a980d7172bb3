//! The second count of a receiving window: where the credit of each chunk is.

use super::{Breach, hold, on, report};
use crate::sync::{Arc, Mutex};

/// A ledger if the process is checked, shared by those who move a stream's chunks.
#[derive(Clone, Default)]
pub(crate) struct WindowLedger(Option<Arc<Mutex<Places>>>);

/// A window's counters, in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) remaining: u64,
    pub(crate) pending: u64,
}

/// How many accepted chunks are where.
#[derive(Debug, Default)]
struct Places {
    name: String,
    size: u64,
    /// Let in, not laid into the queue yet.
    arriving: u64,
    queued: u64,
    /// Taken by a consumer, not given back yet.
    out: u64,
    /// Thrown away because the stream ended: never given back.
    forgotten: u64,
}

/// What happened to one chunk's credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// It came and was let in.
    Arrived,
    /// It came and no credit was left for it.
    Refused,
    /// It is in the queue.
    Queued,
    /// It only continued an item and was given back on arrival.
    Continued,
    /// A consumer has it.
    Taken,
    /// The consumer gave it back.
    Consumed,
    /// What was pending was granted.
    Flushed,
}

impl WindowLedger {
    /// The ledger of a window of `size` chunks.
    pub(crate) fn open(size: u64, name: impl FnOnce() -> String) -> Self {
        let places = || Places { name: name(), size, ..Places::default() };
        WindowLedger(on().then(|| Arc::new(Mutex::new(places()))))
    }

    /// Takes a step of the window, `then` says which way it went and reads the counters.
    pub(crate) fn step<R>(
        &self,
        step: impl FnOnce() -> R,
        then: impl FnOnce(&R) -> (Move, Counters),
    ) -> R {
        let Some(places) = &self.0 else { return step() };
        let mut places = places.lock();
        let answer = step();
        let (moved, counters) = then(&answer);
        places.note(moved);
        hold(places.compare(counters));
        if moved == Move::Refused {
            hold(places.compare_refusal(counters));
            report("L12", format_args!("overran {}, a window of {}", places.name, places.size));
        }
        answer
    }

    /// A move that leaves the window as it is.
    pub(crate) fn moved(&self, moved: Move) {
        if let Some(places) = &self.0 {
            places.lock().note(moved);
        }
    }

    /// The chunk that was arriving is thrown away.
    pub(crate) fn forget_arriving(&self) {
        if let Some(places) = &self.0 {
            let mut places = places.lock();
            places.arriving = places.arriving.wrapping_sub(1);
            places.forgotten += 1;
        }
    }

    /// All that is queued is thrown away.
    pub(crate) fn forget_queued(&self) {
        if let Some(places) = &self.0 {
            let mut places = places.lock();
            places.forgotten += std::mem::take(&mut places.queued);
        }
    }

    /// The queue is empty, and who asks is about to wait.
    pub(crate) fn quiet(&self) {
        if let Some(places) = &self.0 {
            hold(places.lock().compare_empty());
        }
    }
}

impl Places {
    fn note(&mut self, moved: Move) {
        let step = |from: &mut u64, to: Option<&mut u64>| {
            *from = from.wrapping_sub(1); // below 0 it is too large for any window, and found
            if let Some(to) = to {
                *to += 1;
            }
        };
        match moved {
            Move::Arrived => self.arriving += 1,
            Move::Refused | Move::Flushed => {}
            Move::Queued => step(&mut self.arriving, Some(&mut self.queued)),
            Move::Continued => step(&mut self.arriving, None),
            Move::Taken => step(&mut self.queued, Some(&mut self.out)),
            Move::Consumed => step(&mut self.out, None),
        }
    }

    fn compare(&self, counters: Counters) -> Result<(), Breach> {
        let Counters { remaining, pending } = counters;
        let Places { arriving, queued, out, forgotten, .. } = *self;
        let sum: u128 =
            [remaining, pending, arriving, queued, out, forgotten].map(u128::from).iter().sum();
        if sum == u128::from(self.size) {
            return Ok(());
        }
        let what = format!(
            "{}: remaining {remaining} + pending {pending} + arriving {arriving} + queued {queued} + \
             with consumers {out} + forgotten {forgotten} is not the window of {}",
            self.name, self.size
        );
        Err(Breach::new("L10", what))
    }

    fn compare_refusal(&self, counters: Counters) -> Result<(), Breach> {
        if counters.remaining == 0 {
            return Ok(());
        }
        let what = format!("{}: a chunk was refused with {} left", self.name, counters.remaining);
        Err(Breach::new("L12", what))
    }

    fn compare_empty(&self) -> Result<(), Breach> {
        if self.queued == 0 {
            return Ok(());
        }
        let what =
            format!("{}: the queue is empty and {} chunks should be in it", self.name, self.queued);
        Err(Breach::new("L10", what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(remaining: u64, pending: u64) -> Counters {
        Counters { remaining, pending }
    }

    #[test]
    fn l10_every_chunk_is_somewhere() {
        let mut places = Places { size: 4, ..Places::default() };
        for (moved, after) in [
            (Move::Arrived, counters(3, 0)),
            (Move::Queued, counters(3, 0)),
            (Move::Arrived, counters(2, 0)),
            (Move::Continued, counters(3, 0)),
            (Move::Taken, counters(3, 0)),
            (Move::Consumed, counters(3, 1)),
            (Move::Flushed, counters(4, 0)),
        ] {
            places.note(moved);
            assert_eq!(places.compare(after), Ok(()), "{moved:?}");
        }
        assert_eq!(places.compare_empty(), Ok(()));
    }

    #[test]
    fn l10_a_chunk_given_back_twice_or_never_is_found() {
        let mut places = Places { size: 2, ..Places::default() };
        places.note(Move::Consumed);
        assert!(places.compare(counters(2, 1)).is_err(), "given back without having come");
        let mut places = Places { size: 2, ..Places::default() };
        places.note(Move::Arrived);
        assert!(places.compare(counters(2, 0)).is_err(), "granted while it is held");
        assert!(places.compare(counters(0, 0)).is_err(), "a credit is lost");
    }

    #[test]
    fn l12_a_refusal_with_credit_left_is_ours() {
        let places = Places { size: 2, ..Places::default() };
        assert!(places.compare_refusal(counters(1, 0)).is_err());
        assert_eq!(places.compare_refusal(counters(0, 2)), Ok(()));
    }
}
