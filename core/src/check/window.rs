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
    /// All that ever came and were let in.
    arrived: u64,
    /// All that the window said is to be granted.
    due: u64,
    /// Of that, what the link took.
    handed: u64,
    /// And what it has written.
    written: u64,
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

    /// Takes a step of the window that gives credit back, and `send`s what is due now, if anything; that
    /// answers whether the link took it. No other step of the stream comes between.
    pub(crate) fn give(
        &self,
        step: impl FnOnce() -> u64,
        then: impl FnOnce() -> (Move, Counters),
        send: impl FnOnce(u64) -> bool,
    ) -> u64 {
        let Some(places) = &self.0 else {
            let due = step();
            if due != 0 {
                let _gone_with_the_link = !send(due);
            }
            return due;
        };
        let mut places = places.lock();
        let due = step();
        let (moved, counters) = then();
        places.note(moved);
        places.due = places.due.saturating_add(due);
        hold(places.compare(counters));
        if due != 0 && send(due) {
            places.handed = places.handed.saturating_add(due);
        }
        due
    }

    /// Grants of `n` chunks are on the wire; `waits` says whether another one waits to be written.
    pub(crate) fn written(&self, n: u64, waits: impl FnOnce() -> bool) {
        if let Some(places) = &self.0 {
            let mut places = places.lock();
            places.written = places.written.saturating_add(n);
            hold(places.compare_written(waits()));
        }
    }

    /// True if nobody else has this ledger any more, and all that the link was given is written.
    pub(crate) fn is_settled(&self) -> bool {
        let settled = |places: &Mutex<Places>| places.lock().compare_written(false).is_ok();
        self.0.as_ref().is_none_or(|places| Arc::strong_count(places) == 1 && settled(places))
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
            Move::Arrived => {
                self.arriving += 1;
                self.arrived += 1;
            }
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
            return self.compare_due(remaining);
        }
        let what = format!(
            "{}: remaining {remaining} + pending {pending} + arriving {arriving} + queued {queued} + \
             with consumers {out} + forgotten {forgotten} is not the window of {}",
            self.name, self.size
        );
        Err(Breach::new("L10", what))
    }

    /// A window rises by what it says is to be granted, and by nothing else.
    fn compare_due(&self, remaining: u64) -> Result<(), Breach> {
        let Places { size, arrived, due, .. } = *self;
        let [has, had] =
            [[remaining, arrived], [size, due]].map(|[a, b]| u128::from(a) + u128::from(b));
        if has == had {
            return Ok(());
        }
        let what = format!(
            "{}: a window of {size} granted {due}, {arrived} arrived, and {remaining} remain",
            self.name
        );
        Err(Breach::new("L10", what))
    }

    /// What is on the wire is what the link was given, or less while some of that waits.
    fn compare_written(&self, waits: bool) -> Result<(), Breach> {
        let Places { handed, written, .. } = *self;
        if written == handed || (waits && written < handed) {
            return Ok(());
        }
        let what = format!(
            "{}: CREDIT frames grant {written} where the link was given grants of {handed}{}",
            self.name,
            if waits { ", of which some wait" } else { "" }
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
impl WindowLedger {
    /// Of a window whose link was given a grant of 2 that is not written.
    pub(super) fn of_a_test() -> Self {
        WindowLedger(Some(Arc::new(Mutex::new(Places { handed: 2, ..Places::default() }))))
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
        for (moved, due, after) in [
            (Move::Arrived, 0, counters(3, 0)),
            (Move::Queued, 0, counters(3, 0)),
            (Move::Arrived, 0, counters(2, 0)),
            (Move::Continued, 1, counters(3, 0)),
            (Move::Taken, 0, counters(3, 0)),
            (Move::Consumed, 0, counters(3, 1)),
            (Move::Flushed, 1, counters(4, 0)),
        ] {
            places.note(moved);
            places.due += due;
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
    fn l10_a_window_that_rises_by_something_else_than_it_says_is_found() {
        let mut places = Places { size: 4, arrived: 3, due: 2, ..Places::default() };
        assert_eq!(places.compare_due(3), Ok(()));
        assert!(places.compare_due(4).is_err() && places.compare_due(2).is_err());
        places.due = 0;
        assert!(places.compare_due(3).is_err(), "it has risen and nothing is granted");
    }

    #[test]
    fn l10_a_grant_lost_or_made_on_its_way_to_the_wire_is_found() {
        let mut places = Places { handed: 4, written: 4, ..Places::default() };
        assert_eq!(places.compare_written(false), Ok(()));
        places.written = 3;
        assert_eq!(places.compare_written(true), Ok(()), "the rest waits");
        let lost = places.compare_written(false).expect_err("nothing waits");
        assert!(
            lost.to_string().contains("grant 3 where the link was given grants of 4"),
            "{lost}"
        );
        places.written = 5;
        assert!(places.compare_written(true).is_err() && places.compare_written(false).is_err());
    }

    #[test]
    fn what_is_sent_is_what_is_due() {
        let ledger = WindowLedger(Some(Arc::new(Mutex::new(Places {
            size: 4,
            out: 2,
            arrived: 2,
            ..Places::default()
        }))));
        let given = ledger.give(|| 0, || (Move::Consumed, counters(2, 1)), |_| unreachable!("0"));
        assert_eq!(given, 0);
        let mut sent = 0;
        let send = |n| {
            sent = n;
            true
        };
        assert_eq!(ledger.give(|| 2, || (Move::Consumed, counters(4, 0)), send), 2);
        assert_eq!(sent, 2);
        ledger.written(1, || true);
        assert!(!ledger.is_settled());
        ledger.written(1, || false);
        assert!(ledger.is_settled() && !ledger.clone().is_settled());
    }

    #[test]
    fn l12_a_refusal_with_credit_left_is_ours() {
        let places = Places { size: 2, ..Places::default() };
        assert!(places.compare_refusal(counters(1, 0)).is_err());
        assert_eq!(places.compare_refusal(counters(0, 2)), Ok(()));
    }
}
