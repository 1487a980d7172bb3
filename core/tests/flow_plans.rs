//! Plans that could lock up are refused with the reason; those that look as if they could do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sluicegate::flow::{
    EdgeOptions, Feedback, Flow, Hub, HubOptions, HubPolicy, Manual, Offer, Ops, Overflow, Scope,
    Sink, Source, Status,
};
use sluicegate::{Error, ErrorKind};

const SOON: Duration = Duration::from_secs(180);

type Body = Flow<u64, Feedback<u64, u64>>;

/// Counts down by rounds: 3 goes round three times.
fn count(n: u64) -> Feedback<u64, u64> {
    n.checked_sub(1).map_or(Feedback::Out(0), Feedback::Again)
}

fn edge(n: u64) -> EdgeOptions {
    EdgeOptions::capacity(n).expect("positive")
}

fn refused<T>(result: Result<T, Error>, why: &str) {
    let Err(error) = result else { panic!("awaited: a refusal because of {why:?}") };
    assert_eq!(error.kind(), ErrorKind::PlanRefused, "{error}");
    assert!(error.message().contains(why), "{error}");
}

#[test]
fn a_cycle_never_waits_for_itself_however_small_its_buffer() -> Result<(), Error> {
    let bodies: [(&str, Body); 5] = [
        ("map", Flow::map(count)),
        ("two stages", Flow::map(|n| n).via(Flow::map(count))),
        ("futures", Flow::map_async_unordered(3, |n| async move { Ok(count(n)) })?),
        ("a thread of its own", Flow::map(|n| n).via(Flow::buffer(edge(1))).via(Flow::map(count))),
        ("reads ahead", Flow::map(count).via(Flow::page(2)?)),
    ];
    for (name, body) in &bodies {
        for capacity in 1..=4 {
            for seed in 0..8 {
                let scope = Scope::stepped("cycle", seed);
                let graph = Source::range(0..12).feedback(capacity, body.clone())?;
                let done = graph.to(Sink::fold(0_u64, |sum, _| sum + 1)).run(&scope)?;
                scope.settle();
                assert_eq!(done.status(), Status::Success, "{name}, {capacity}, seed {seed}");
                assert_eq!(done.blocking_wait()?, 12, "each leaves once");
                assert_eq!(scope.running(), 0, "{name}: nothing runs on");
            }
        }
    }
    // The same by threads.
    let scope = Scope::new("cycle")?;
    let body = Flow::map_parallel(4, |n| Ok(count(n)))?.via(Flow::buffer(edge(1)));
    let graph = Source::range(0..100).feedback(3, body)?;
    let done = graph.to(Sink::fold(0_u64, |sum, _| sum + 1)).run(&scope)?;
    assert_eq!(done.blocking_wait_timeout(SOON)?, 100);
    scope.shutdown(SOON)
}

#[test]
fn a_cycle_asks_for_what_has_a_place_in_it_and_holds_it_until_it_is_wanted() -> Result<(), Error> {
    let scope = Scope::stepped("demand", 1);
    let (above, below) = Source::strict_probe()
        .feedback(3, Flow::map(count))?
        .to_mat(Sink::probe(), |above, below| (above, below))
        .run(&scope)?;
    scope.settle();
    assert_eq!(above.control().demand(), 0, "nothing is asked for of itself");
    below.request(10);
    scope.settle();
    assert_eq!(above.control().demand(), 3, "a place for each, and no more");
    for _ in 0..3 {
        above.send_next(2);
    }
    scope.settle();
    for _ in 0..3 {
        below.expect_next(0);
    }
    assert_eq!(above.control().demand(), 3);
    above.send_next(5);
    above.send_complete();
    scope.settle();
    below.expect_next(0).expect_complete();
    Ok(())
}

#[test]
fn a_cycle_without_a_buffer_or_through_stages_that_lose_or_make_elements_is_refused()
-> Result<(), Error> {
    refused(Flow::feedback(0, Flow::map(count)), "a cycle without a buffer");
    let bodies: [Body; 6] = [
        Flow::filter(|n| n % 2 == 0).via(Flow::map(count)),
        Flow::expand(|n| vec![n, n]).via(Flow::map(count)),
        Flow::batch(2)?.via(Flow::map(|all: Vec<u64>| count(all[0]))),
        Flow::map(count).via(Flow::drop(1)),
        Flow::map(count).via(Flow::buffer(edge(2).overflow(Overflow::DropHead))),
        Flow::map(count).via(Flow::debounce(SOON)),
    ];
    for body in bodies {
        refused(Flow::feedback(4, body), "more or fewer elements");
    }
    Ok(())
}

/// An element that is counted while it lives.
struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn what_goes_round_for_ever_is_released_once_when_the_run_ends() -> Result<(), Error> {
    for throws in [false, true] {
        let scope = Scope::new("round and round")?;
        let (released, rounds) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (mine, seen) = (Arc::clone(&released), Arc::clone(&rounds));
        let body: Flow<Counted, Feedback<Counted, ()>> = Flow::map(move |element| {
            assert!(seen.fetch_add(1, Ordering::SeqCst) < 10_000 || !throws, "enough of it");
            Feedback::Again(element)
        });
        let (manual, done) = Source::manual(edge(8))
            .feedback(4, body)?
            .to_mat(Sink::collect(), |manual, done| (manual, done))
            .run(&scope)?;
        for _ in 0..8 {
            let offer = manual.blocking_offer(Counted(Arc::clone(&mine)));
            assert!(matches!(offer, Offer::Enqueued | Offer::QueueClosed));
        }
        if throws {
            let error = done.blocking_wait_timeout(SOON).expect_err("it throws");
            assert_eq!(error.kind(), ErrorKind::StageFailed, "{error}");
            while matches!(manual.blocking_offer(Counted(Arc::clone(&mine))), Offer::Enqueued) {}
        }
        let end = Instant::now() + SOON;
        while rounds.load(Ordering::SeqCst) <= 8 {
            assert!(Instant::now() < end, "it does not go round");
            std::thread::yield_now();
        }
        scope.shutdown(SOON)?;
        drop((manual, done));
        assert_eq!(Arc::strong_count(&mine), 2, "none is left: {throws}");
    }
    Ok(())
}

fn hub(scope: &Scope) -> Result<Hub<u64>, Error> {
    Source::range(0..1000).to(Sink::broadcast_hub(HubOptions::default())).run(scope)
}

#[test]
fn two_subscriptions_paired_again_are_refused_if_one_can_run_ahead() -> Result<(), Error> {
    let scope = Scope::stepped("diamond", 1);
    let hub = hub(&scope)?;
    let one = || hub.subscribe(HubPolicy::Wait);
    let sum = |all: Vec<u64>| all.iter().sum::<u64>();
    let stuck: Vec<(&str, Source<u64>)> = vec![
        ("a batch", one().batch(100)?.map(sum)),
        ("a filter", one().filter(|n| n % 64 == 0)),
        ("an expansion", one().expand(|n| vec![n; 3])),
        ("a window", one().sliding(100, 1)?.map(sum)),
        ("a batch behind an edge", one().buffer(edge(8)).map(|n| n + 1).batch(9)?.map(sum)),
        ("a mixture", one().merge(Source::empty())),
        ("a gap", one().drop(64)),
        ("a pair of a pair", one().zip(Source::repeat(1_u64)).map(|(a, _)| a).batch(2)?.map(sum)),
    ];
    for (name, other) in stuck {
        let pairs = [
            one().zip(other.clone()).map(|_| ()),
            other.zip(one()).map(|_| ()),
            Source::combine(vec![one(), other.clone()])
                .map(|_| ())
                .map_mat(|_| sluicegate::flow::NotUsed),
            one().via(Flow::map(|n: u64| n).zip(other.clone())).map(|_| ()),
            one().zip(other.clone()).map(|_| ()).buffer(edge(2)).named("named"),
        ];
        for pair in pairs {
            let Err(error) = pair.to(Sink::ignore()).run(&scope) else { panic!("{name} runs") };
            assert_eq!(error.kind(), ErrorKind::PlanRefused, "{name}: {error}");
            assert!(error.message().contains("paired again"), "{error}");
        }
    }
    let ends = Flow::map(|n: u64| n).zip(one().batch(2)?).to(Sink::ignore());
    refused(one().to(ends).run(&scope), "paired again");
    assert_eq!(hub.subscribers(), [], "a refused plan subscribes nobody");
    Ok(())
}

#[test]
fn two_subscriptions_paired_again_run_if_neither_can_be_ahead_or_need_not_wait() -> Result<(), Error>
{
    type Of = fn(&Hub<u64>) -> Result<Source<u64>, Error>;
    let drops = HubPolicy::Drop(Overflow::DropHead);
    assert_ne!(drops, HubPolicy::Wait);
    let live: [(&str, Of, Of); 4] = [
        (
            "one for one",
            |hub| Ok(hub.subscribe(HubPolicy::Wait).map(|n| n + 1)),
            |hub| Ok(hub.subscribe(HubPolicy::Wait).buffer(edge(4)).scan(0, |sum, n| sum + n)),
        ),
        (
            "ten for one on both sides",
            |hub| Ok(hub.subscribe(HubPolicy::Wait).batch(10)?.map(|all| all[0])),
            |hub| Ok(hub.subscribe(HubPolicy::Wait).batch(5)?.batch(2)?.map(|all| all[0][0])),
        ),
        (
            "who is ahead drops",
            |hub| Ok(hub.subscribe(HubPolicy::Drop(Overflow::DropHead))),
            |hub| Ok(hub.subscribe(HubPolicy::Wait).batch(100)?.map(|all| all[0])),
        ),
        (
            "who is ahead loses elements at its own edge",
            |hub| {
                let loses = edge(1).overflow(Overflow::DropNew);
                Ok(hub.subscribe(HubPolicy::Wait).buffer(loses))
            },
            |hub| Ok(hub.subscribe(HubPolicy::Drop(Overflow::DropNew)).filter(|n| n % 64 == 0)),
        ),
    ];
    for (name, left, right) in live {
        for seed in 0..8 {
            let scope = Scope::stepped(name, seed);
            let graph = Source::manual(edge(1000))
                .to_mat(Sink::broadcast_hub(HubOptions::default()), |manual, hub| (manual, hub));
            let (manual, hub): (Manual<u64>, Hub<u64>) = graph.run(&scope)?;
            let pairs = left(&hub)?.zip(right(&hub)?).to(Sink::collect()).run(&scope)?;
            for n in 0..1000 {
                manual.try_offer(n).expect("room");
            }
            manual.complete();
            scope.settle();
            assert!(!pairs.blocking_wait_timeout(SOON)?.is_empty(), "{name}, seed {seed}");
            assert_eq!(scope.running(), 0, "{name}, seed {seed}: everything went through");
        }
    }
    Ok(())
}

/// A whole item never has to lie in an edge: an expansion hands on one by one, and a batch gathers in
/// itself. So no edge is too small for either.
#[test]
fn no_edge_is_too_small_for_an_expansion_or_a_batch() -> Result<(), Error> {
    let large = |n: u64| (0..n).collect::<Vec<_>>();
    for capacity in 1..=3 {
        for seed in 0..8 {
            let scope = Scope::stepped("small", seed);
            let small = edge(capacity);
            let bytes = edge(capacity).bytes(4)?;
            let whole = Source::single(1000_u64)
                .expand(large)
                .buffer(small)
                .batch(100)?
                .via(Flow::buffer_sized(bytes, |all: &Vec<u64>| all.len() as u64))
                .flatten()
                .via(Flow::buffer_sized(bytes, |n| *n)) // nearly all are larger than the edge
                .batch_bytes(5000, |n| *n)?
                .buffer(small)
                .flatten();
            let branches = vec![
                Flow::batch(100)?.flatten(),
                Flow::filter(|n| n % 500 == 0),
                Flow::expand(|n| vec![n; 2]),
            ];
            let all = whole.via(Flow::broadcast(branches)).to(Sink::collect()).run(&scope)?;
            scope.settle();
            assert_eq!(all.status(), Status::Success, "capacity {capacity}, seed {seed}");
            assert_eq!(all.blocking_wait()?.len(), 1000 + 2 + 2000);
        }
    }
    Ok(())
}
