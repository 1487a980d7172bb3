//! Hazards of live feeds, in one process: what is lost is counted once and told in the right place,
//! the source is never held up, and an end is told as what it is.

mod watchdog;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use sluicegate::feed::{
    Captured, Feed, FeedItem, FeedOptions, FeedStats, OverrunPolicy, Synthetic,
};
use sluicegate::wait::{Bell, Op};
use sluicegate::{Deadline, Error, ErrorKind, Value};
use watchdog::{PROMPT, within};

const LIMIT: Duration = Duration::from_secs(180);

fn ring(capacity: u64, policy: OverrunPolicy) -> FeedOptions {
    FeedOptions { capacity, policy, format: None }
}

fn conserved(stats: FeedStats) {
    assert_eq!(stats.captured, stats.delivered + stats.dropped + stats.held, "{stats:?}");
}

/// HZ-V02: next.number - previous.number - 1 == next.gap, from the start on; answers the sum.
fn gaps(items: &[FeedItem]) -> u64 {
    let mut expected = 0;
    let mut sum = 0;
    for item in items {
        let gap = item.meta.gap.map_or(0, |gap| gap.dropped);
        assert_eq!(item.meta.seq - expected, gap, "at item {}", item.meta.seq);
        assert_eq!(item.meta.gap.is_some(), gap > 0, "no marker without a loss");
        expected = item.meta.seq + 1;
        sum += gap;
    }
    sum
}

/// HZ-V01, HZ-V02: full speed into a ring of 8, a consumer that pauses, the oldest makes room.
#[test]
fn hz_v01_every_loss_is_counted_once_and_told_once() {
    const ITEMS: u64 = 10_000;
    within(LIMIT, "a lossy run", || {
        let (feed, capture) = Feed::open(ring(8, OverrunPolicy::DropOldest)).expect("a ring");
        let pushed = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&pushed);
        let source = thread::spawn(move || {
            for n in 0..ITEMS {
                assert!(capture.push(n, n).goes_on());
                seen.store(n + 1, Ordering::Release);
            }
            capture.finish();
        });
        let mut items = Vec::new();
        while let Some(item) = feed.blocking_recv().expect("a clean end") {
            // A pause of a pseudo-random length, counted in items of the source.
            let until = (item.meta.seq + 1 + item.meta.seq * 7919 % 37).min(ITEMS);
            while pushed.load(Ordering::Acquire) < until {
                thread::yield_now();
            }
            items.push(item);
            conserved(feed.stats());
        }
        source.join().expect("no panic");
        let stats = feed.stats();
        assert_eq!(stats.captured, ITEMS);
        assert_eq!(stats.delivered, items.len() as u64);
        assert_eq!((stats.held, stats.dropped), (0, stats.overruns));
        assert!(stats.dropped > 0, "the consumer was meant to be too slow");
        assert_eq!(gaps(&items), stats.dropped);
        conserved(stats);
    });
}

/// HZ-V02: each loss is told by the first item behind it and by no other, whatever is taken in between.
#[test]
fn hz_v02_a_gap_stands_on_the_first_item_behind_the_loss() {
    let (feed, capture) = Feed::open(ring(3, OverrunPolicy::DropOldest)).expect("a ring");
    let mut pushed = 0;
    let mut push = |count: u64| {
        for _ in 0..count {
            assert!(capture.push(pushed, pushed).goes_on());
            pushed += 1;
        }
    };
    let take = |seq: u64, gap: u64| {
        let item = feed.blocking_recv().expect("no error").expect("an item");
        let told = item.meta.gap.map_or(0, |gap| gap.dropped);
        assert_eq!((item.meta.seq, told), (seq, gap));
    };
    push(2);
    take(0, 0);
    push(4); // 1 and 2 make room
    take(3, 2);
    take(4, 0);
    push(2);
    take(5, 0); // nothing is lost in front of it
    push(9); // 6 to 13 make room
    take(14, 8);
    take(15, 0);
    capture.finish();
    take(16, 0);
    assert!(feed.blocking_recv().expect("a clean end").is_none());
    conserved(feed.stats());
}

/// HZ-V01: the same under the policy that fails: what was held comes, then the reason.
#[test]
fn hz_v01_a_feed_that_must_be_complete_ends_with_the_reason() {
    within(LIMIT, "an overrun", || {
        let (feed, capture) = Feed::open(ring(8, OverrunPolicy::Fail)).expect("a ring");
        let answers: Vec<_> = (0..10_000_u64).map(|n| capture.push(n, n)).collect();
        assert_eq!(answers[7..10], [Captured::Stored(7), Captured::Overflowed(8), Captured::Over]);
        let mut items = Vec::new();
        let error = loop {
            match feed.blocking_recv() {
                Ok(item) => items.push(item.expect("not a clean end")),
                Err(error) => break error,
            }
        };
        assert_eq!((items.len(), gaps(&items)), (8, 0));
        assert_eq!((error.kind(), error.code()), (ErrorKind::FeedOverrun, "FEED_OVERRUN"));
        assert_eq!(error.class().as_str(), "resource");
        assert_eq!(feed.blocking_recv().expect_err("it stays over"), error);
        let stats = feed.stats();
        assert_eq!((stats.captured, stats.delivered, stats.dropped), (9, 8, 1));
        assert_eq!(stats.overruns, 1);
        conserved(stats);
    });
}

/// HZ-V04: a source that fails is not one that finishes.
#[test]
fn hz_v04_a_failure_is_not_a_clean_end() {
    let run = |end: fn(&sluicegate::feed::FeedSender)| {
        let (feed, capture) = Feed::open(FeedOptions::default()).expect("a ring");
        (0..3_u64).for_each(|n| assert!(capture.push(n, n).goes_on()));
        end(&capture);
        drop(capture);
        let items: Vec<_> = feed.iter().collect();
        assert_eq!(items.iter().filter(|item| item.is_ok()).count(), 3);
        items.into_iter().nth(3).map(|last| last.expect_err("an error behind the items"))
    };
    assert_eq!(run(|capture| capture.finish()), None);
    let failed = run(|capture| capture.fail(Error::new(ErrorKind::Io, "unplugged")));
    assert_eq!(failed.map(|error| error.message().to_owned()).as_deref(), Some("unplugged"));
    let died = run(|_| ()).expect("a sender that is dropped without a word has failed");
    assert_eq!((died.kind(), died.code()), (ErrorKind::Closed, "CAPTURE_LOST"));
}

/// HZ-S13, HZ-S04: a ring of nothing is refused, a huge one reserves nothing.
#[test]
fn hz_s13_capacities_at_the_edges() {
    let refused = Feed::open(ring(0, OverrunPolicy::DropOldest)).expect_err("holds nothing");
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    for capacity in [1, u64::from(u32::MAX), 1 << 62, u64::MAX] {
        let (feed, capture) = Feed::open(ring(capacity, OverrunPolicy::Fail)).expect("a ring");
        assert_eq!(capture.push("x", 0), Captured::Stored(0));
        assert_eq!(feed.blocking_recv().expect("held").expect("held").meta.seq, 0);
    }
}

/// The source is never held up: with a consumer that never takes anything, ten thousand items go in,
/// and a stop is told at once to everybody.
#[test]
fn a_stalled_consumer_holds_up_neither_source_nor_stop() {
    within(LIMIT, "a stop", || {
        let (feed, capture) = Feed::open(ring(4, OverrunPolicy::DropOldest)).expect("a ring");
        let (went, goes) = channel();
        let source = thread::spawn(move || {
            let mut pushed = 0_u64;
            while capture.push(pushed, pushed).goes_on() {
                pushed += 1;
                if pushed == 10_000 {
                    went.send(()).expect("the test listens");
                }
            }
            pushed
        });
        goes.recv().expect("the source runs on");
        let begun = Instant::now();
        feed.stop();
        let pushed = source.join().expect("no panic");
        assert!(begun.elapsed() < PROMPT, "a stop is prompt");
        assert_eq!((feed.stats().captured, feed.stats().held), (pushed, 4));
        let items: Vec<_> = feed.iter().collect::<Result<_, _>>().expect("a clean end");
        assert_eq!((items.len(), gaps(&items)), (4, pushed - 4));
        conserved(feed.stats());
    });
}

/// Giving a feed up drops what it holds, stops the source, and releases who waits.
#[test]
fn dropping_the_feed_stops_its_source() {
    within(LIMIT, "a source", || {
        let (feed, capture) = Feed::open(ring(4, OverrunPolicy::DropOldest)).expect("a ring");
        assert_eq!(capture.push(1_u64, 1), Captured::Stored(0));
        let (rang, rings) = channel();
        let mut over = Op::new(capture.over());
        assert!(over.poll(move || rang.send(()).expect("the test listens")).is_none());
        drop(feed.clone());
        assert!(!capture.is_over(), "one handle is left");
        drop(feed);
        rings.recv().expect("the source is told");
        assert_eq!(capture.push(2_u64, 2), Captured::Over);
    });
}

/// Dropping a receive that waits takes nothing, and a wake that crosses it is not lost (HZ-S14).
#[test]
fn hz_s14_a_receive_that_gives_up_loses_no_item() {
    const ITEMS: u64 = 20_000;
    within(LIMIT, "all items", || {
        let (feed, capture) = Feed::open(ring(u64::MAX, OverrunPolicy::Fail)).expect("a ring");
        let source = thread::spawn(move || {
            (0..ITEMS).for_each(|n| assert!(capture.push(n, n).goes_on()));
            capture.finish();
        });
        let mut seqs = Vec::new();
        loop {
            match feed.blocking_recv_timeout(Deadline::after(Duration::from_micros(1))) {
                Ok(Some(item)) => seqs.push(item.meta.seq),
                Ok(None) => break,
                Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
            }
        }
        source.join().expect("no panic");
        assert!(seqs.iter().copied().eq(0..ITEMS));
    });
}

/// A waiter is woken outside of the lock: from its bell it may push, look and stop.
#[test]
fn hz_g09_a_bell_may_use_the_feed() {
    let (feed, capture) = Feed::open(ring(4, OverrunPolicy::DropOldest)).expect("a ring");
    let mut recv = Op::new(feed.recv());
    let (inside, again) = (feed.clone(), capture.clone());
    let bell = Bell::new(move || {
        assert_eq!(inside.stats().held, 1);
        assert_eq!(again.push("from the bell", 2), Captured::Stored(1));
        inside.stop();
    });
    assert!(recv.poll(move || bell.ring()).is_none());
    assert_eq!(capture.push("first", 1), Captured::Stored(0));
    assert!(recv.poll(|| ()).is_some_and(|item| item.expect("held").is_some()));
    assert_eq!(feed.stats().captured, 2, "the bell got through");
}

/// The clocked source makes what its clock says, no more and no less, and never later.
#[test]
fn a_synthetic_source_keeps_to_the_clock_it_is_given() {
    let (feed, capture) = Feed::open(FeedOptions::default()).expect("a ring");
    let interval = Duration::from_millis(40);
    let source = Synthetic { items: Some(5), interval, item_bytes: 12 };
    let mut next = 0;
    let mut at = |ms| source.advance(&mut next, Duration::from_millis(ms), 1_000, &capture);
    assert_eq!(at(0), Some(Duration::from_millis(40)));
    assert_eq!(at(39), Some(Duration::from_millis(40)));
    assert_eq!(at(125), Some(Duration::from_millis(160)), "what is late is caught up");
    assert_eq!(feed.stats().captured, 4);
    assert_eq!(at(160), None);
    let items: Vec<_> = feed.iter().collect::<Result<_, _>>().expect("a clean end");
    let times: Vec<_> = items.iter().map(|i| (i.meta.pts_us, i.meta.capture_ts_us)).collect();
    let expected: Vec<_> = (0..5).map(|n| (n * 40_000, 1_000 + n * 40_000)).collect();
    assert_eq!(times, expected);
    let content: Vec<u8> = vec![0, 0, 0, 0, 0, 0, 0, 3, 4, 5, 6, 7];
    assert_eq!(items[3].value, Value::Bytes(content.into()));
}

/// The same source by this machine's clock, on its own thread; a stop wakes it out of a long wait.
#[test]
fn a_synthetic_source_runs_by_itself_and_stops_at_once() {
    within(LIMIT, "a synthetic feed", || {
        let quick = Synthetic { items: Some(3), interval: Duration::ZERO, item_bytes: 1 };
        let feed = Feed::synthetic(FeedOptions::default(), quick).expect("a thread");
        let items: Result<Vec<_>, _> = feed.iter().collect();
        assert_eq!(items.expect("no error").len(), 3);
        let slow = Synthetic { items: None, interval: Duration::from_secs(3600), item_bytes: 1 };
        let feed = Feed::synthetic(FeedOptions::default(), slow).expect("a thread");
        assert_eq!(feed.blocking_recv().expect("the first").expect("at once").meta.seq, 0);
        feed.stop();
        assert_eq!(feed.blocking_recv().expect("a clean end"), None);
    });
}
