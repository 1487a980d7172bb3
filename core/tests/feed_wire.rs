//! Live feeds over a link: credit holds up the delivery and never the source, gaps add up to the
//! drops, and every end is told as what it is.

#[path = "support/raw.rs"]
mod raw;
mod support;

use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use raw::Raw;
use sluicegate::feed::{Feed, FeedMeta, FeedOptions, FeedSender, FeedStats, OverrunPolicy};
use sluicegate::frame::{Frame, FrameType};
use sluicegate::wait::block_on;
use sluicegate::{
    Cap, Cartridge, Deadline, Engine, Error, ErrorKind, InputStream, Limits, Manifest, MessageId,
    Mode, Peer, Request, Session, Value,
};
use support::{PROMPT, engine, limits, until, within};

const LIMIT: Duration = Duration::from_secs(180);
const FEED: &str = "cap:feed;in=media:void;out=media:frames";

/// A cartridge over two pipes of the system, and its session, for its counters.
fn over_pipes(
    engine: &Engine,
    handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
) -> (Peer, Session) {
    let (plugin_in, host_out) = std::io::pipe().expect("a pipe");
    let (host_in, plugin_out) = std::io::pipe().expect("a pipe");
    let manifest = Manifest::new("test", "1").cap(Cap::new(FEED).output_sequence(true));
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let session = Cartridge::new(manifest).serve(plugin_in, plugin_out).expect("a handshake");
        tell.send(session.clone()).expect("the test listens");
        while let Ok(Ok(Some(request))) = block_on(session.next_request(), Deadline::NEVER) {
            match handler(&request) {
                Ok(()) => drop(block_on(request.finish(None, None), Deadline::NEVER)),
                Err(error) => request.fail(&error),
            }
        }
    });
    let peer = engine.attach(host_in, host_out).expect("the handshake passes");
    (peer, told.recv().expect("a session"))
}

/// A handler that serves one feed and keeps it where the test can see it.
struct Stage {
    feed: Feed,
    capture: FeedSender,
    ended: Mutex<Option<Result<(), Error>>>,
}

impl Stage {
    fn open(capacity: u64, policy: OverrunPolicy) -> Arc<Self> {
        let format = Some(Value::text_map([("rate", Value::from(1000_u64))]));
        let (feed, capture) = Feed::open(FeedOptions { capacity, policy, format }).expect("a ring");
        Arc::new(Stage { feed, capture, ended: Mutex::new(None) })
    }

    fn cartridge(self: &Arc<Self>, limits: Limits) -> (Engine, Peer, Session) {
        let engine = engine(limits);
        let stage = Arc::clone(self);
        let (peer, session) = over_pipes(&engine, move |request| {
            let ended = stage.feed.blocking_serve(&request.output());
            *stage.ended.lock().expect("no panic") = Some(ended.clone());
            ended
        });
        (engine, peer, session)
    }

    fn push(&self, n: u64) -> bool {
        self.capture.push(n, n * 1_000).goes_on()
    }
}

fn meta(item: &sluicegate::Item) -> FeedMeta {
    FeedMeta::read(item.meta.as_ref().expect("metadata")).expect("a feed's metadata")
}

fn conserved(stats: FeedStats) {
    assert_eq!(stats.captured, stats.delivered + stats.dropped + stats.held, "{stats:?}");
}

/// Reads to the end, checking each gap against the numbers (HZ-V02); answers how many came and how
/// many are missing.
fn drain(input: &InputStream, mut pause: impl FnMut(u64)) -> Result<(u64, u64), Error> {
    let (mut count, mut missing, mut expected) = (0, 0, 0);
    while let Some(item) = input.blocking_recv()? {
        let meta = meta(&item);
        let gap = meta.gap.map_or(0, |gap| gap.dropped);
        assert_eq!(meta.seq - expected, gap, "at item {}", meta.seq);
        assert_eq!(item.value.as_u64(), Some(meta.seq), "the item itself");
        assert_eq!(meta.pts_us, meta.seq * 1_000);
        (count, missing, expected) = (count + 1, missing + gap, meta.seq + 1);
        pause(meta.seq);
    }
    Ok((count, missing))
}

/// HZ-V01, HZ-V02, HZ-V03: a consumer at a third of the source's speed, over pipes.
#[test]
fn hz_v01_gaps_on_the_wire_add_up_to_the_drops() {
    const ITEMS: u64 = 3_000;
    within(LIMIT, "a lossy run", || {
        let stage = Stage::open(8, OverrunPolicy::DropOldest);
        let (_engine, peer, session) = stage.cartridge(limits(2, 64));
        let call = peer.call(FEED).expect("live");
        let output = call.blocking_output().expect("a stream");
        let info = output.info();
        assert!(info.unbounded && info.mode == Mode::Sequence, "a live stream promises no end");
        assert!(info.meta.as_ref().is_some_and(|meta| meta.get("rate").is_some()), "the format");
        // Three items of the source for one of the consumer, hand in hand: no clock, no luck.
        let mut next = 0;
        let mut three = || {
            for _ in 0..3 {
                if next < ITEMS {
                    assert!(stage.push(next), "the source is never held up");
                    next += 1;
                    if next == ITEMS {
                        stage.capture.finish();
                    }
                }
            }
        };
        three();
        let told = session.stats();
        let live = told["requests"].as_array().expect("a list");
        let request = live.iter().find(|request| request["cap_urn"] == FEED).expect("it is live");
        let figure = |name: &str| request["streams"][0]["feed"][name].as_u64().expect("a number");
        assert_eq!((figure("captured"), figure("capacity")), (3, 8), "{told}");
        assert_eq!(3, figure("delivered") + figure("dropped") + figure("held"), "{told}");
        let (count, missing) = drain(&output, |_| three()).expect("a clean end");
        block_on(call.wait(), Deadline::NEVER).expect("no limit").expect("the call succeeds");
        let stats = stage.feed.stats();
        assert_eq!((stats.captured, stats.held), (ITEMS, 0));
        assert_eq!((stats.delivered, stats.dropped), (count, missing));
        assert!(missing > ITEMS / 3, "most of it was too fast: {stats:?}");
        assert_eq!(session.counters().overruns, missing, "per feed and in the runtime");
        assert_eq!(session.counters().drops_total(), 0, "an overrun is no drop of a frame");
        conserved(stats);
    });
}

/// HZ-V01, HZ-V02: five seconds of 1000 items a second into a consumer that takes 300 a second, both
/// by a clock that is moved by hand. `cargo run --example feed_live` does it by a real one.
#[test]
fn hz_v01_a_thousand_items_a_second_into_three_hundred() {
    const ITEMS: u64 = 5_000;
    const RING: u64 = 16;
    within(LIMIT, "five seconds", || {
        let stage = Stage::open(RING, OverrunPolicy::DropOldest);
        let (_engine, peer, session) = stage.cartridge(limits(4, 64));
        let call = peer.call(FEED).expect("live");
        let output = call.blocking_output().expect("a stream");
        let (mut captured, mut taken) = (0, 0_u64);
        let mut at = || {
            // When the consumer has taken n items, n / 300 s have passed.
            let due = (taken * 1000 / 300).min(ITEMS);
            taken += 1;
            while captured < due {
                assert!(stage.push(captured), "the source is never held up");
                captured += 1;
                if captured == ITEMS {
                    stage.capture.finish();
                }
                let stats = stage.feed.stats();
                conserved(stats);
                assert!(stats.held <= RING + 1, "the ring and what is being delivered: {stats:?}");
            }
        };
        (0..4).for_each(|_| at());
        let (count, missing) = drain(&output, |_| at()).expect("a clean end");
        block_on(call.wait(), Deadline::NEVER).expect("no limit").expect("the call succeeds");
        let stats = stage.feed.stats();
        assert_eq!((stats.captured, stats.held), (ITEMS, 0));
        assert_eq!((stats.delivered, stats.dropped), (count, missing));
        assert!((1_500..1_600).contains(&count), "300 a second and what was under way: {count}");
        assert_eq!(session.counters().overruns, missing, "per feed and in the runtime");
    });
}

/// HZ-V03: the heartbeat tells the same number, and mixes it with no other, while no data moves.
#[test]
fn hz_v03_the_heartbeat_tells_the_overruns() {
    within(LIMIT, "a heartbeat", || {
        let stage = Stage::open(4, OverrunPolicy::DropOldest);
        (0..10).for_each(|n| assert!(stage.push(n)));
        let served = Arc::clone(&stage);
        let cap = Cap::new(FEED).output_sequence(true);
        let (mut raw, running) = Raw::host(cap, FEED, limits(1, 64), move |request| {
            served.feed.blocking_serve(&request.output())
        });
        raw.req(1, FEED);
        raw.until(FrameType::StreamStart);
        raw.send(&Frame::heartbeat(MessageId::Uint(7)));
        let meta = raw.until(FrameType::Heartbeat).meta.expect("the totals");
        let total = |name| meta.get(name).and_then(Value::as_u64);
        assert_eq!(total("overruns_total"), Some(stage.feed.stats().overruns));
        assert_eq!(total("overruns_total"), Some(6));
        assert_eq!((total("drops_total"), total("stragglers_total")), (Some(0), Some(0)));
        stage.capture.finish();
        raw.grant(1, None, 4);
        raw.until(FrameType::End);
        drop(raw);
        running.join().expect("no panic").expect("a clean end");
    });
}

/// A consumer that reads nothing holds up the delivery and nothing else: the source runs on, a stop
/// is told at once, and what was held still comes.
#[test]
fn a_stalled_consumer_on_the_wire_holds_up_nobody_but_the_delivery() {
    within(LIMIT, "a stop", || {
        let stage = Stage::open(8, OverrunPolicy::DropOldest);
        let (_engine, peer, _session) = stage.cartridge(limits(1, 64));
        let call = peer.call(FEED).expect("live");
        let output = call.blocking_output().expect("a stream");
        let begun = Instant::now();
        (0..10_000).for_each(|n| assert!(stage.push(n)));
        stage.feed.stop();
        assert!(begun.elapsed() < PROMPT, "no push waited for the consumer");
        assert!(!stage.push(10_000), "it is over for the source although nothing was read");
        let (count, missing) = drain(&output, |_| ()).expect("a clean end");
        assert_eq!(count + missing, 10_000);
        block_on(call.wait(), Deadline::NEVER).expect("no limit").expect("the call succeeds");
        conserved(stage.feed.stats());
    });
}

/// The policy that fails: what was held comes, then FEED_OVERRUN, class resource.
#[test]
fn an_overrun_ends_the_call_as_what_it_is() {
    within(LIMIT, "an overrun", || {
        let stage = Stage::open(4, OverrunPolicy::Fail);
        let (_engine, peer, session) = stage.cartridge(limits(1, 64));
        let call = peer.call(FEED).expect("live");
        let output = call.blocking_output().expect("a stream");
        let stored = (0..1_000).take_while(|n| stage.push(*n)).count() as u64;
        let mut seqs = Vec::new();
        let error = loop {
            match output.blocking_recv() {
                Ok(item) => seqs.push(meta(&item.expect("not a clean end")).seq),
                Err(error) => break error,
            }
        };
        assert!(seqs.iter().copied().eq(0..stored), "{seqs:?} of {stored}");
        assert_eq!((error.code(), error.class().as_str()), ("FEED_OVERRUN", "resource"));
        assert_eq!(session.counters().overruns, 1);
        conserved(stage.feed.stats());
    });
}

/// HZ-V04 and L16: a device that fails ends the call with its error, and no collector takes a feed.
#[test]
fn hz_v04_a_device_failure_crosses_the_wire() {
    within(LIMIT, "a failure", || {
        let stage = Stage::open(8, OverrunPolicy::DropOldest);
        let (_engine, peer, _session) = stage.cartridge(limits(8, 64));
        let call = peer.call(FEED).expect("live");
        let output = call.blocking_output().expect("a stream");
        let refused = output.blocking_collect_items().expect_err("a feed has no end");
        assert_eq!(refused.kind(), ErrorKind::Unbounded);
        (0..3).for_each(|n| assert!(stage.push(n)));
        stage.capture.fail(Error::new(ErrorKind::Io, "unplugged"));
        let mut seqs = Vec::new();
        let error = loop {
            match output.blocking_recv() {
                Ok(item) => seqs.push(meta(&item.expect("not a clean end")).seq),
                Err(error) => break error,
            }
        };
        assert_eq!(seqs, [0, 1, 2]);
        assert_eq!((error.code(), error.message()), ("IO_ERROR", "unplugged"));
    });
}

/// HZ-L06: the caller gives up while the device is silent; the delivery ends at once.
#[test]
fn hz_l06_a_silent_feed_notices_a_cancel() {
    within(LIMIT, "a cancel", || {
        let stage = Stage::open(8, OverrunPolicy::DropOldest);
        let (_engine, peer, _session) = stage.cartridge(limits(8, 64));
        let call = peer.call(FEED).expect("live");
        assert!(call.blocking_output().is_ok());
        call.cancel(&Error::new(ErrorKind::Cancelled, "enough"));
        until("the handler is told", || stage.ended.lock().expect("no panic").is_some());
        let ended = stage.ended.lock().expect("no panic").clone();
        assert_eq!(ended.expect("told").expect_err("cancelled").kind(), ErrorKind::Cancelled);
        assert!(stage.push(0), "the feed is the handler's to drop");
        let error = stage.feed.blocking_recv().expect("it can be read again").expect("held");
        assert_eq!(error.meta.seq, 0);
    });
}

/// CLOSE_STREAM: the capture stops, also while an item waits for credit; what is held drains.
#[test]
fn a_close_stream_stops_the_capture_and_lets_it_drain() {
    within(LIMIT, "a close", || {
        for named in [false, true] {
            let stage = Stage::open(4, OverrunPolicy::DropOldest);
            let (_engine, peer, _session) = stage.cartridge(limits(1, 64));
            let call = peer.call(FEED).expect("live");
            let output = call.blocking_output().expect("a stream");
            (0..100).for_each(|n| assert!(stage.push(n)));
            let name = output.info().id.clone();
            call.close_stream(name.as_deref().filter(|_| named));
            block_on(stage.capture.over(), Deadline::NEVER).expect("told while nothing is read");
            let (count, missing) = drain(&output, |_| ()).expect("a clean end");
            assert_eq!(count + missing, 100);
            assert!(block_on(call.wait(), Deadline::NEVER).expect("no limit").is_ok());
        }
    });
}

/// One consumer at a time.
#[test]
fn a_feed_that_is_served_is_not_read_beside() {
    within(LIMIT, "a second consumer", || {
        let stage = Stage::open(8, OverrunPolicy::DropOldest);
        let (_engine, peer, _session) = stage.cartridge(limits(8, 64));
        let call = peer.call(FEED).expect("live");
        let output = call.blocking_output().expect("a stream");
        let refused = stage.feed.blocking_recv().expect_err("it is being served");
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        assert!(stage.push(0));
        stage.capture.finish();
        assert_eq!(drain(&output, |_| ()).expect("a clean end"), (1, 0));
    });
}
