//! Hubs: one source and many who listen, many who produce and one consumer.

use std::time::Duration;

use sluicegate::flow::testkit;
use sluicegate::flow::{
    EdgeOptions, Flow, Hub, HubOptions, HubPolicy, Manual, Offer, Overflow, Scope, Sink, Source,
    Subscriber,
};
use sluicegate::{Error, ErrorKind};

const SOON: Duration = Duration::from_secs(180);

fn edge(n: u64) -> EdgeOptions {
    EdgeOptions::capacity(n).expect("positive")
}

fn room(n: u64) -> HubOptions {
    HubOptions::capacity(n).expect("positive")
}

/// A hub of numbers that a test offers, on a scope that runs step by step.
fn open(scope: &Scope, options: HubOptions) -> (Manual<u64>, Hub<u64>) {
    let graph = Source::manual(edge(1_000_000))
        .to_mat(Sink::broadcast_hub(options), |source, hub| (source, hub));
    graph.run(scope).expect("runs")
}

fn listen(scope: &Scope, hub: &Hub<u64>, policy: HubPolicy, capacity: u64) -> Subscriber<u64> {
    let source = hub.subscribe_with(policy, capacity).expect("positive");
    source.to(Sink::probe()).run(scope).expect("runs")
}

fn take(scope: &Scope, end: &Subscriber<u64>, numbers: std::ops::Range<u64>) {
    for n in numbers {
        end.request(1);
        scope.settle();
        end.expect_next(n);
    }
}

#[test]
fn with_nobody_listening_the_hub_holds_the_source() {
    // HZ-S09
    let scope = Scope::stepped("test", 1);
    let (source, hub) = open(&scope, room(16));
    for n in 0..5 {
        source.try_offer(n).expect("room");
    }
    source.complete();
    scope.settle();
    assert_eq!(source.held(), 5, "nothing was asked for");
    let end = listen(&scope, &hub, HubPolicy::Wait, 4);
    scope.settle();
    assert_eq!(source.held(), 5, "who listens has not asked");
    take(&scope, &end, 0..5);
    scope.settle();
    end.expect_complete();
    assert!(hub.is_over());
    let late = listen(&scope, &hub, HubPolicy::Wait, 4);
    scope.settle();
    late.expect_complete();
}

#[test]
fn a_cancelled_subscriber_never_holds_up_the_hub() {
    // HZ-S08
    let scope = Scope::new("test").expect("a scope");
    let graph = Source::iter(0..1_000_u64).to(Sink::broadcast_hub(room(4)));
    let hub = graph.run(&scope).expect("runs");
    let idle = hub.subscribe_with(HubPolicy::Wait, 4).expect("positive");
    let idle = idle.to(Sink::probe()).run(&scope).expect("runs");
    let all = hub.subscribe_with(HubPolicy::Wait, 4).expect("positive");
    let all = all.to(Sink::collect()).run(&scope).expect("runs");
    idle.cancel();
    let all = all.blocking_wait_timeout(SOON).expect("ends");
    assert_eq!(all, (0..1_000).collect::<Vec<_>>());
    scope.shutdown(SOON).expect("stops");
}

#[test]
fn one_who_waits_sets_the_pace_and_bounds_the_memory() {
    // HZ-S10
    let scope = Scope::stepped("test", 2);
    let (source, hub) = open(&scope, room(4));
    for n in 0..10_000 {
        source.try_offer(n).expect("room");
    }
    let slow = listen(&scope, &hub, HubPolicy::Wait, 3);
    let fast = listen(&scope, &hub, HubPolicy::Wait, 4);
    for n in 0..3 {
        fast.request(1);
        scope.settle();
        fast.expect_next(n);
    }
    fast.request(100);
    scope.settle();
    assert!(fast.event_within(Duration::ZERO).is_none(), "the slow one holds three, and is full");
    assert!(source.held() >= 10_000 - 3 - 4, "the hub has no more than its room");
    let seen = hub.subscribers();
    assert_eq!((seen[0].held, seen[0].demand, seen[0].lost), (3, 0, 0));
    take(&scope, &slow, 0..1);
    fast.expect_next(3);
    slow.cancel();
    scope.settle();
    fast.expect_next(4);
    assert_eq!(hub.subscribers().len(), 1);
}

#[test]
fn one_who_drops_holds_nobody_up_and_its_losses_are_counted() {
    // HZ-S10
    let policies: [(Overflow, &[u64]); 4] = [
        (Overflow::DropHead, &[97, 98, 99]),
        (Overflow::DropNew, &[0, 1, 2]),
        (Overflow::DropTail, &[0, 1, 99]),
        (Overflow::DropBuffer, &[99]), // all three of them went for it
    ];
    for (how, left) in policies {
        let held = u64::try_from(left.len()).expect("small");
        let scope = Scope::stepped("test", 3);
        let (source, hub) = open(&scope, room(4));
        let slow = listen(&scope, &hub, HubPolicy::Drop(how), 3);
        let fast = listen(&scope, &hub, HubPolicy::Wait, 4);
        for n in 0..100 {
            source.try_offer(n).expect("room");
        }
        source.complete();
        take(&scope, &fast, 0..100);
        scope.settle();
        fast.expect_complete();
        let seen = hub.subscribers();
        assert_eq!((seen[0].held, seen[0].lost), (held, 100 - held), "{how:?}");
        slow.request(9);
        scope.settle();
        for n in left {
            slow.expect_next(*n);
        }
        slow.expect_complete();
    }
}

#[test]
fn one_who_is_too_slow_is_told_and_ends_alone() {
    // HZ-S10
    let scope = Scope::stepped("test", 4);
    let (source, hub) = open(&scope, room(4));
    let slow = listen(&scope, &hub, HubPolicy::Disconnect, 3);
    let fast = listen(&scope, &hub, HubPolicy::Wait, 4);
    for n in 0..50 {
        source.try_offer(n).expect("room");
    }
    take(&scope, &fast, 0..50);
    slow.request(9);
    scope.settle();
    slow.expect_next(0).expect_next(1).expect_next(2);
    let error = slow.expect_error();
    assert_eq!(error.kind(), ErrorKind::BufferOverflow);
    assert!(error.message().contains("3 elements"), "{error}");
    source.try_offer(50).expect("room");
    take(&scope, &fast, 50..51);
}

#[test]
fn one_may_hold_up_the_hub_for_a_while_and_no_longer() {
    let scope = Scope::stepped("test", 5);
    let (source, hub) = open(&scope, room(4));
    let limit = Duration::from_secs(5);
    let slow = listen(&scope, &hub, HubPolicy::WaitAtMost(limit), 2);
    let fast = listen(&scope, &hub, HubPolicy::Wait, 4);
    for n in 0..10 {
        source.try_offer(n).expect("room");
    }
    take(&scope, &fast, 0..2);
    fast.request(1);
    scope.settle();
    scope.advance(limit / 2);
    take(&scope, &slow, 0..1);
    fast.expect_next(2);
    fast.request(1);
    scope.settle();
    scope.advance(limit / 2);
    assert!(fast.event_within(Duration::ZERO).is_none(), "its time began anew");
    scope.advance(limit / 2);
    fast.expect_next(3);
    slow.request(9);
    scope.settle();
    slow.expect_next(1).expect_next(2);
    assert_eq!(slow.expect_error().kind(), ErrorKind::BufferOverflow);
}

#[test]
fn a_newcomer_gets_the_last_elements_if_the_hub_keeps_them() {
    let scope = Scope::stepped("test", 6);
    let (source, hub) = open(&scope, room(4).replay(3));
    let first = listen(&scope, &hub, HubPolicy::Wait, 4);
    for n in 0..10 {
        source.try_offer(n).expect("room");
    }
    take(&scope, &first, 0..10);
    let second = listen(&scope, &hub, HubPolicy::Wait, 8);
    let small = listen(&scope, &hub, HubPolicy::Drop(Overflow::DropNew), 2);
    source.try_offer(10).expect("room");
    take(&scope, &second, 7..11);
    take(&scope, &first, 10..11);
    take(&scope, &small, 8..10);
    assert_eq!(hub.subscribers().iter().map(|seen| seen.lost).collect::<Vec<_>>(), [0, 0, 1]);
}

#[test]
fn a_subscription_runs_once_and_a_failure_reaches_everybody() {
    let scope = Scope::stepped("test", 7);
    let (source, hub) = open(&scope, room(4));
    let graph = hub.subscribe(HubPolicy::Wait).to(Sink::probe());
    let first = graph.run(&scope).expect("runs");
    let error = graph.run(&scope).expect_err("once");
    assert_eq!(error.kind(), ErrorKind::AlreadySubscribed);
    let second = listen(&scope, &hub, HubPolicy::Disconnect, 4);
    source.try_offer(1).expect("room");
    source.fail(Error::new(ErrorKind::Io, "gone"));
    take(&scope, &first, 1..2);
    take(&scope, &second, 1..2);
    for end in [first, second, listen(&scope, &hub, HubPolicy::Wait, 1)] {
        scope.settle();
        assert_eq!(end.expect_error().message(), "gone");
    }
    assert_eq!(HubOptions::capacity(0).expect_err("refused").kind(), ErrorKind::InvalidArgument);
    assert!(hub.subscribe_with(HubPolicy::Wait, 0).is_err()); // HZ-S13
}

#[test]
fn the_source_is_cancelled_once_nobody_can_listen_any_more() {
    let scope = Scope::stepped("test", 8);
    let (source, hub) = open(&scope, room(4));
    let end = listen(&scope, &hub, HubPolicy::Wait, 4);
    drop(hub);
    source.try_offer(0).expect("room");
    take(&scope, &end, 0..1);
    assert!(!source.is_over());
    end.cancel();
    scope.settle();
    assert!(source.is_over());
    assert_eq!(scope.running(), 0);
}

#[test]
fn every_schedule_of_a_hub_gives_everything_to_those_who_wait() {
    let first = testkit::seed();
    for seed in (0..300).map(|n| first.value().wrapping_add(n)) {
        let scope = Scope::stepped("test", seed);
        let hub = Source::iter(0..40_u64).to(Sink::broadcast_hub(room(1 + seed % 5)));
        let hub = hub.run(&scope).expect("runs");
        let sinks: Vec<_> = (1..=4)
            .map(|capacity| {
                let source = hub.subscribe_with(HubPolicy::Wait, capacity).expect("positive");
                let buffered = source.via(Flow::buffer(edge(capacity)));
                buffered.to(Sink::collect()).run(&scope).expect("runs")
            })
            .collect();
        let cancelled = listen(&scope, &hub, HubPolicy::Wait, 1);
        cancelled.request(seed % 3);
        cancelled.cancel();
        scope.settle();
        for sink in sinks {
            let all = sink.result().unwrap_or_else(|| panic!("seed {seed}: stuck"));
            assert_eq!(all.expect("completed"), (0..40).collect::<Vec<_>>(), "seed {seed}");
        }
    }
}

#[test]
fn producers_of_a_merge_hub_take_turns_and_come_and_go() {
    // HZ-S18
    let scope = Scope::stepped("test", 9);
    let graph = Source::merge_hub(edge(2)).to_mat(Sink::probe(), |hub, end| (hub, end));
    let (hub, end) = graph.run(&scope).expect("runs");
    let sink = hub.sink();
    for n in 0..3_u64 {
        Source::iter(std::iter::repeat_n(n, 100)).to(sink.clone()).run(&scope).expect("runs");
    }
    scope.settle();
    let mut shares = [0; 3];
    for _ in 0..60 {
        end.request(1);
        scope.settle();
        shares[usize::try_from(end.expect_any()).expect("small")] += 1;
    }
    assert_eq!(shares, [20; 3]);
    hub.complete();
    let error = Source::single(7).to(sink).run(&scope).expect_err("complete");
    assert_eq!(error.kind(), ErrorKind::Closed);
    for _ in 0..240 {
        end.request(1);
        scope.settle();
        end.expect_any();
    }
    scope.settle();
    end.expect_complete();
}

#[test]
fn a_producer_that_fails_leaves_a_merge_hub_running_and_is_counted() {
    let scope = Scope::stepped("test", 10);
    let graph = Source::<u64, _>::merge_hub(edge(2)).to_mat(Sink::probe(), |hub, end| (hub, end));
    let (hub, end) = graph.run(&scope).expect("runs");
    end.request(10);
    scope.settle();
    let gone = Error::new(ErrorKind::Io, "gone");
    Source::failed(gone.clone()).to(hub.sink()).run(&scope).expect("runs");
    let probe = Source::strict_probe().to_mat(hub.sink(), |publisher, _| publisher);
    let publisher = probe.run(&scope).expect("runs");
    scope.settle();
    assert_eq!((hub.failures(), hub.last_failure()), (1, Some(gone)));
    publisher.send_next(1);
    scope.settle();
    end.expect_next(1);
    end.cancel();
    scope.settle();
    assert!(publisher.control().is_over(), "the consumer's cancel reaches every producer");
    assert!(Source::single(1).to(hub.sink()).run(&scope).is_err());
}

#[test]
fn threads_feed_a_merge_hub_and_nothing_is_lost() {
    let scope = Scope::new("test").expect("a scope");
    let graph = Source::merge_hub(edge(8)).to_mat(Sink::collect(), |hub, all| (hub, all));
    let (hub, all) = graph.run(&scope).expect("runs");
    for n in 0..8_u64 {
        Source::iter(n * 1_000..(n + 1) * 1_000).to(hub.sink()).run(&scope).expect("runs");
    }
    let manual = {
        let graph = Source::manual(edge(4)).to_mat(hub.sink(), |source, _| source);
        graph.run(&scope).expect("runs")
    };
    drop(hub);
    assert_eq!(manual.blocking_offer(8_000), Offer::Enqueued);
    manual.complete();
    let mut all = all.blocking_wait_timeout(SOON).expect("ends with its last producer");
    all.sort_unstable();
    assert_eq!(all, (0..=8_000).collect::<Vec<_>>());
}
