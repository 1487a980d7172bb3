//! A feed's ring against a naive one: a list of everything that was captured, and what became of it.

use proptest::prelude::*;
use sluicegate::feed::{Captured, Feed, FeedMeta, FeedOptions, FeedSender, OverrunPolicy};
use sluicegate::{Error, ErrorKind};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many items, this much presentation time apart.
    Push(u8, u16),
    Recv,
    Stop,
    Finish,
    Fail,
    Abandon,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (1_u8..6, 0_u16..500).prop_map(|(n, apart)| Step::Push(n, apart)),
        20 => Just(Step::Recv),
        1 => prop_oneof![Just(Step::Stop), Just(Step::Finish), Just(Step::Fail), Just(Step::Abandon)],
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Held,
    Delivered,
    Overrun,
    GivenUp,
}

/// Number, presentation time, and what was lost in front: how many, and over how long.
type Stamp = (u64, u64, Option<(u64, u64)>);

/// Every item that was captured, by its number: its presentation time and its fate.
struct Naive {
    capacity: usize,
    fails: bool,
    items: Vec<(u64, Fate)>,
    ended: Option<Result<(), ErrorKind>>,
}

impl Naive {
    fn held(&self) -> Vec<usize> {
        (0..self.items.len()).filter(|n| self.items[*n].1 == Fate::Held).collect()
    }

    fn count(&self, fate: Fate) -> u64 {
        self.items.iter().filter(|item| item.1 == fate).count() as u64
    }

    fn push(&mut self, pts: u64) -> Captured {
        if self.ended.is_some() {
            return Captured::Over;
        }
        let number = self.items.len() as u64;
        let held = self.held();
        if held.len() < self.capacity {
            self.items.push((pts, Fate::Held));
            return Captured::Stored(number);
        }
        if self.fails {
            self.items.push((pts, Fate::Overrun));
            self.ended = Some(Err(ErrorKind::FeedOverrun));
            return Captured::Overflowed(number);
        }
        self.items[held[0]].1 = Fate::Overrun;
        self.items.push((pts, Fate::Held));
        Captured::Evicted(number)
    }

    /// The oldest item that is held, with everything lost since the one delivered before it.
    fn recv(&mut self) -> Option<Stamp> {
        let oldest = *self.held().first()?;
        let before = (0..oldest).rev().find(|n| self.items[*n].1 == Fate::Delivered);
        let lost = (oldest - before.map_or(0, |n| n + 1)) as u64;
        let pts = self.items[oldest].0;
        let distance = before.map_or(0, |n| pts - self.items[n].0);
        self.items[oldest].1 = Fate::Delivered;
        Some((oldest as u64, pts, (lost > 0).then_some((lost, distance))))
    }

    fn end(&mut self, how: Result<(), ErrorKind>) {
        self.ended.get_or_insert(how);
    }
}

fn stamp(meta: FeedMeta) -> Stamp {
    (meta.seq, meta.pts_us, meta.gap.map(|gap| (gap.dropped, gap.duration_us)))
}

fn take_step(
    step: Step,
    pts: &mut u64,
    feed: &Feed,
    sender: &FeedSender,
    naive: &mut Naive,
) -> Result<(), TestCaseError> {
    match step {
        Step::Push(n, apart) => {
            for _ in 0..n {
                *pts += u64::from(apart);
                prop_assert_eq!(sender.push(*pts, *pts), naive.push(*pts));
            }
        }
        Step::Recv => match (feed.try_recv(), naive.recv()) {
            (Ok(Some(Some(item))), Some(expected)) => {
                prop_assert_eq!(stamp(item.meta), expected);
                prop_assert_eq!(item.value.as_u64(), Some(expected.1), "the item itself");
            }
            (Ok(None), None) => prop_assert_eq!(naive.ended, None),
            (Ok(Some(None)), None) => prop_assert_eq!(naive.ended, Some(Ok(()))),
            (Err(error), None) => prop_assert_eq!(naive.ended, Some(Err(error.kind()))),
            (told, expected) => prop_assert!(false, "{told:?} instead of {expected:?}"),
        },
        Step::Stop => {
            feed.stop();
            naive.end(Ok(()));
        }
        Step::Finish => {
            sender.finish();
            naive.end(Ok(()));
        }
        Step::Fail => {
            sender.fail(Error::new(ErrorKind::Io, "the lens fell off"));
            naive.end(Err(ErrorKind::Io));
        }
        Step::Abandon => {
            feed.abandon();
            naive.end(Err(ErrorKind::Closed));
            for item in naive.items.iter_mut().filter(|item| item.1 == Fate::Held) {
                item.1 = Fate::GivenUp;
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_ring_is_the_naive_one(
        capacity in 1_usize..6,
        fails: bool,
        steps in proptest::collection::vec(step(), 0..80),
    ) {
        let policy = if fails { OverrunPolicy::Fail } else { OverrunPolicy::DropOldest };
        let options = FeedOptions { capacity: capacity as u64, policy, format: None };
        let (feed, sender) = Feed::open(options).expect("a ring that holds something");
        let mut naive = Naive { capacity, fails, items: Vec::new(), ended: None };
        let mut pts = 0;
        for step in steps {
            take_step(step, &mut pts, &feed, &sender, &mut naive)?;
            let stats = feed.stats();
            prop_assert_eq!(stats.captured, stats.delivered + stats.dropped + stats.held);
            prop_assert_eq!(stats.captured, naive.items.len() as u64);
            prop_assert_eq!(stats.delivered, naive.count(Fate::Delivered));
            prop_assert_eq!(stats.held, naive.count(Fate::Held));
            prop_assert_eq!(stats.overruns, naive.count(Fate::Overrun));
            prop_assert_eq!(stats.dropped, stats.overruns + naive.count(Fate::GivenUp));
            prop_assert_eq!(stats.ended, naive.ended.is_some());
        }
    }
}
