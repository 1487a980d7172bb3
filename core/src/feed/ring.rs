//! The capture ring: the decisions of the model, made under one lock, on real items.

use std::collections::VecDeque;

use super::{FeedItem, FeedMeta, FeedStats, Gap};
use crate::account::Counters;
use crate::error::{Error, ErrorKind};
use crate::frame::Value;
use crate::model::feed::{CaptureAnswer, Delivery, Feed as Machine, FeedEnd, FeedPhase};
use crate::stream::LiveSource;
use crate::sync::Arc;
use crate::wait::watched::{Watched, until};

/// Places that are there from the start, so that a push into a ring of ordinary size never allocates.
const PLACES: u64 = 1024;

/// What the two ends of a feed share.
pub(super) struct Core {
    /// Waited on by the consumer.
    ring: Watched<Ring>,
    /// Nothing is captured any more. Waited on by sources; not touched by a push.
    ended: Watched<bool>,
    pub(super) format: Option<Value>,
}

struct Ring {
    machine: Machine,
    items: VecDeque<Entry>,
    /// Why the source failed.
    failure: Option<Error>,
    /// A delivery to a stream is going on.
    served: bool,
    /// Where overruns count beside the feed's own figures, and how many were counted there or in one
    /// before it.
    counters: Option<Arc<Counters>>,
    counted: u64,
}

struct Entry {
    value: Value,
    seq: u64,
    pts_us: u64,
    capture_ts_us: u64,
}

/// What the consumer gets without waiting.
pub(super) enum Taken {
    Item(FeedItem),
    Over(Result<(), Error>),
}

impl Core {
    pub(super) fn new(machine: Machine, format: Option<Value>) -> Arc<Self> {
        let places = usize::try_from(machine.capacity.min(PLACES)).expect("a small number");
        let ring = Ring {
            machine,
            items: VecDeque::with_capacity(places),
            failure: None,
            served: false,
            counters: None,
            counted: 0,
        };
        Arc::new(Core { ring: Watched::new(ring), ended: Watched::new(false), format })
    }

    /// An item was captured. The lock is held for a bounded number of steps; what is thrown away is
    /// thrown away outside of it.
    pub(super) fn capture(&self, value: Value, pts_us: u64, capture_ts_us: u64) -> CaptureAnswer {
        let (answer, lost) = self.ring.update(|ring| {
            let (machine, answer) = ring.machine.capture();
            ring.machine = machine;
            ring.count_overruns();
            let lost = match answer {
                CaptureAnswer::Stored(_) => None,
                CaptureAnswer::Evicted(_) => ring.items.pop_front().map(|entry| entry.value),
                CaptureAnswer::Overflowed(_) | CaptureAnswer::Refused => {
                    return (answer, Some(value));
                }
            };
            if let CaptureAnswer::Stored(seq) | CaptureAnswer::Evicted(seq) = answer {
                ring.items.push_back(Entry { value, seq, pts_us, capture_ts_us });
            }
            (answer, lost)
        });
        drop(lost);
        if let CaptureAnswer::Overflowed(_) = answer {
            self.ended.update(|ended| *ended = true);
        }
        answer
    }

    /// Ends the capture; the first end stays.
    pub(super) fn end(&self, why: FeedEnd, failure: Option<Error>) {
        self.ring.update(|ring| {
            let (machine, first) = ring.machine.end_capture(why);
            ring.machine = machine;
            if first {
                ring.failure = failure;
            }
        });
        self.ended.update(|ended| *ended = true);
    }

    /// Nobody wants the items any more.
    pub(super) fn abandon(&self) {
        let lost = self.ring.update(|ring| {
            let (machine, held) = ring.machine.abandon();
            ring.machine = machine;
            let lost = std::mem::take(&mut ring.items);
            debug_assert_eq!(u64::try_from(lost.len()), Ok(held));
            lost
        });
        drop(lost);
        self.ended.update(|ended| *ended = true);
    }

    /// The next item, waiting for it; `None` at a clean end.
    pub(super) async fn next(self: Arc<Self>) -> Result<Option<FeedItem>, Error> {
        match until(self, |core| &core.ring, Ring::take).await {
            Taken::Item(item) => Ok(Some(item)),
            Taken::Over(over) => over.map(|()| None),
        }
    }

    pub(super) fn try_next(&self) -> Option<Taken> {
        self.ring.with(Ring::take)
    }

    /// Waits until the feed has ended and nothing is held, and answers how; takes nothing.
    pub(super) async fn drained(self: Arc<Self>) -> Result<(), Error> {
        let empty = |ring: &mut Ring| if ring.items.is_empty() { ring.take() } else { None };
        match until(self, |core| &core.ring, empty).await {
            Taken::Item(_) => Ok(()), // there was none
            Taken::Over(over) => over,
        }
    }

    /// Waits until nothing is captured any more.
    pub(super) async fn has_ended(self: Arc<Self>) {
        until(self, |core| &core.ended, |ended| ended.then_some(())).await;
    }

    /// Why nothing is captured any more, if so; inner `None` for a clean end.
    pub(super) fn end_reason(&self) -> Option<Result<(), Error>> {
        self.ring.with(|ring| match ring.machine.phase {
            FeedPhase::Capturing => None,
            FeedPhase::Ending(why) => Some(ring.verdict(why)),
        })
    }

    /// A delivery to a stream begins; refused while another one goes on.
    pub(super) fn begin_serving(&self) -> Result<(), Error> {
        self.ring.with(|ring| match std::mem::replace(&mut ring.served, true) {
            true => Err(served()),
            false => Ok(()),
        })
    }

    pub(super) fn end_serving(&self) {
        self.ring.with(|ring| ring.served = false);
    }

    pub(super) fn refuse_if_served(&self) -> Result<(), Error> {
        if self.ring.with(|ring| ring.served) { Err(served()) } else { Ok(()) }
    }

    /// Overruns count in `counters` from here on, those that were counted nowhere yet at once.
    pub(super) fn count_in(&self, counters: Arc<Counters>) {
        let before = self.ring.with(|ring| {
            let before = ring.counters.replace(counters);
            ring.count_overruns();
            before
        });
        drop(before);
    }

    pub(super) fn stats(&self) -> FeedStats {
        self.ring.with(|ring| FeedStats {
            captured: ring.machine.captured,
            delivered: ring.machine.delivered,
            dropped: ring.machine.dropped,
            overruns: ring.machine.overruns,
            held: ring.machine.held,
            capacity: ring.machine.capacity,
            ended: ring.machine.phase != FeedPhase::Capturing,
        })
    }
}

impl Ring {
    /// The oldest item, stamped with what was lost in front of it, or how the feed ended; `None` while
    /// there is nothing and the source runs.
    fn take(&mut self) -> Option<Taken> {
        let oldest_pts = self.items.front().map_or(0, |entry| entry.pts_us);
        let (machine, delivery) = self.machine.deliver(oldest_pts);
        self.machine = machine;
        match delivery {
            Delivery::Empty => None,
            Delivery::Over(why, _) => Some(Taken::Over(self.verdict(why))),
            Delivery::Item(gap) => {
                let Entry { value, seq, pts_us, capture_ts_us } =
                    self.items.pop_front().expect("the model counts what the ring holds");
                let gap = gap.map(Gap::from);
                let meta = FeedMeta { seq, pts_us, capture_ts_us, gap };
                Some(Taken::Item(FeedItem { value, meta }))
            }
        }
    }

    /// How a feed that ended so is told.
    fn verdict(&self, why: FeedEnd) -> Result<(), Error> {
        match why {
            FeedEnd::Finished => Ok(()),
            FeedEnd::Overrun => Err(Error::new(
                ErrorKind::FeedOverrun,
                format!(
                    "the consumer was slower than the source: item {} found the ring of {} full",
                    self.machine.captured.saturating_sub(1),
                    self.machine.capacity
                ),
            )),
            FeedEnd::Broken => Err(self.failure.clone().unwrap_or_else(|| ErrorKind::Io.into())),
            FeedEnd::Abandoned => Err(Error::new(ErrorKind::Closed, "the feed was given up")),
        }
    }

    fn count_overruns(&mut self) {
        let Some(counters) = &self.counters else { return };
        let fresh = self.machine.overruns.saturating_sub(self.counted);
        if fresh > 0 {
            counters.overrun(fresh);
            self.counted = self.machine.overruns;
        }
    }
}

fn served() -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "the feed is being served: it has one consumer at a time",
    )
}

impl LiveSource for Core {
    fn figures(&self) -> serde_json::Value {
        self.stats().to_json()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::feed::OverrunPolicy::{self, DropOldest, Fail};

    fn core(capacity: u64, policy: OverrunPolicy) -> Arc<Core> {
        Core::new(Machine::opened(capacity, policy).expect("a ring that holds something"), None)
    }

    fn take(core: &Core) -> Option<FeedItem> {
        match core.try_next() {
            Some(Taken::Item(item)) => Some(item),
            _ => None,
        }
    }

    #[test]
    fn a_loss_is_told_with_the_next_item_and_not_with_one_before_it() {
        let core = core(2, DropOldest);
        let push = |n: u64| core.capture(n.into(), n * 10, n);
        push(0);
        assert_eq!(take(&core).expect("stored").meta.gap, None);
        (1..=4).for_each(|n| assert_ne!(push(n), CaptureAnswer::Refused)); // 1 and 2 go
        let third = take(&core).expect("held").meta;
        assert_eq!((third.seq, third.gap), (3, Some(Gap { dropped: 2, duration_us: 30 })));
        let fourth = take(&core).expect("held").meta;
        assert_eq!((fourth.seq, fourth.gap), (4, None));
        assert!(core.try_next().is_none());
    }

    #[test]
    fn a_ring_that_fails_delivers_what_it_holds_and_then_says_why() {
        let core = core(2, Fail);
        (0..2).for_each(|n| assert_eq!(core.capture(n.into(), n, n), CaptureAnswer::Stored(n)));
        assert_eq!(core.capture(2u64.into(), 2, 2), CaptureAnswer::Overflowed(2));
        assert_eq!(core.capture(3u64.into(), 3, 3), CaptureAnswer::Refused);
        let seqs: Vec<_> = std::iter::from_fn(|| take(&core)).map(|item| item.meta.seq).collect();
        assert_eq!(seqs, [0, 1]);
        let Some(Taken::Over(Err(error))) = core.try_next() else { panic!("it ended") };
        assert_eq!((error.kind(), error.code()), (ErrorKind::FeedOverrun, "FEED_OVERRUN"));
        assert_eq!(error.class(), crate::error::AttributionClass::Resource);
        assert!(error.message().contains("item 2") && error.message().contains("ring of 2"));
    }

    #[test]
    fn overruns_count_in_the_runtime_once_however_late_it_comes() {
        let core = core(1, DropOldest);
        let push = |n: u64| assert_ne!(core.capture(n.into(), n, n), CaptureAnswer::Refused);
        (0..3).for_each(push);
        let (first, second) = (Arc::<Counters>::default(), Arc::<Counters>::default());
        core.count_in(Arc::clone(&first));
        (3..5).for_each(push);
        core.count_in(Arc::clone(&second));
        push(5);
        let totals = [&first, &second].map(|counters| counters.snapshot().overruns);
        assert_eq!(totals, [4, 1]);
        assert_eq!(core.stats().overruns, 5);
    }
}
