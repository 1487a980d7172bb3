//! `group_by`: a stream for each key, side by side; and the plan that is refused.

use std::time::Duration;

use sluicegate::flow::{EdgeOptions, Flow, NotUsed, Offer, Ops, Scope, Sink, Source};
use sluicegate::{Error, ErrorKind};

fn collected<T>(source: &Source<T>, seed: u64) -> Result<Vec<T>, Error>
where
    T: Clone + Send + Sync + 'static,
{
    let scope = Scope::stepped("test", seed);
    let result = source.to(Sink::collect()).run(&scope).expect("runs");
    scope.settle();
    assert_eq!(scope.running(), 0, "nothing runs on");
    result.result().expect("settled")
}

#[test]
fn each_group_keeps_its_order_and_none_is_lost() {
    let through: Vec<Flow<u64, u64>> = vec![
        Flow::map(|n| n),
        Flow::buffer(EdgeOptions::capacity(1).expect("positive")),
        Flow::page(5).expect("positive"),
    ];
    for (kind, flow) in through.into_iter().enumerate() {
        for seed in 0..10 {
            let source = Source::range(0..300).group_by(7, 7, |n| n % 7, flow.clone());
            let all = collected(&source.expect("slots enough"), seed).expect("all of them");
            for group in 0..7 {
                let came: Vec<u64> = all.iter().copied().filter(|n| n % 7 == group).collect();
                let sent: Vec<u64> = (0..300).filter(|n| n % 7 == group).collect();
                assert_eq!(came, sent, "kind {kind}, seed {seed}, group {group}");
            }
        }
    }
}

#[test]
fn groups_larger_than_an_edge_come_together() {
    let flow = Flow::batch(100).expect("positive");
    let source = Source::range(0..400).group_by(2, 2, |n| n % 2, flow).expect("slots enough");
    let groups = collected(&source, 3).expect("all of them");
    assert_eq!(groups.len(), 4);
    assert!(groups.iter().all(|group| group.len() == 100));
}

#[test]
fn a_group_that_has_ended_takes_no_more_and_holds_nobody_up() {
    let source = Source::range(0..1000).group_by(3, 3, |n| n % 3, Flow::take(2));
    let mut all = collected(&source.expect("slots enough"), 3).expect("six");
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn nothing_leaves_without_demand_and_little_is_read_ahead() {
    let scope = Scope::stepped("test", 3);
    let flow = Flow::map(|n: u64| n);
    let graph = Source::strict_probe()
        .group_by(2, 2, |n| n % 2, flow)
        .expect("slots enough")
        .to_mat(Sink::probe(), |source, end| (source, end));
    let (source, end) = graph.run(&scope).expect("runs");
    scope.settle();
    assert_eq!(source.control().demand(), 0);
    for n in 0..100 {
        end.request(1);
        scope.settle();
        assert!(source.control().demand() <= 1, "one at a time");
        assert_eq!(source.control().try_offer(n), Ok(Offer::Enqueued));
        scope.settle();
        end.expect_next(n).expect_no_message(Duration::ZERO);
    }
    source.send_error(Error::new(ErrorKind::Io, "gone"));
    scope.settle();
    assert_eq!(end.expect_error().kind(), ErrorKind::Io);
    assert_eq!(scope.running(), 0);
}

#[test]
fn a_key_too_many_and_a_key_that_throws_fail_the_stream() {
    let source = Source::range(0..9).group_by(3, 3, |n| *n, Flow::<u64, u64>::map(|n| n));
    let error = collected(&source.expect("slots enough"), 3).expect_err("a fourth key");
    assert_eq!(error.kind(), ErrorKind::LimitReached);
    assert!(error.message().contains("3 groups"));
    // HZ-S16
    let thrown = Source::range(0..9).group_by(9, 9, |n| 1 / (2 - n), Flow::<u64, u64>::map(|n| n));
    let error = collected(&thrown.expect("slots enough"), 3).expect_err("divided by 0");
    assert_eq!(error.kind(), ErrorKind::StageFailed);
}

#[test]
fn a_plan_that_can_lock_up_is_refused_with_its_reason() {
    let flow: Flow<u64, u64, NotUsed> = Flow::map(|n| n);
    let refused = Flow::group_by(8, 7, |n: &u64| *n, flow.clone()).expect_err("7 slots");
    assert_eq!(refused.kind(), ErrorKind::PlanRefused);
    for part in ["8 groups", "7 slots", "lock up"] {
        assert!(refused.message().contains(part), "{refused}");
    }
    let refused = Flow::group_by(0, 7, |n: &u64| *n, flow).expect_err("no groups");
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
}

/// An element that waits for its group holds up those behind it, and not what stands above.
#[test]
fn a_page_above_a_group_that_is_full_fills_itself() {
    let scope = Scope::stepped("test", 4);
    let page = Flow::page_with_mark(4, 1).expect("some");
    let slow = Flow::delay(Duration::from_secs(1), 1).expect("some");
    let groups = Flow::group_by(1, 1, |_: &u64| 0, slow).expect("slots enough");
    let graph = Source::<u64, _>::strict_probe().via_mat(page, |publisher, _| publisher);
    let graph = graph.via_mat(groups, |publisher, _| publisher);
    let (publisher, end) =
        graph.to_mat(Sink::probe(), |p, end| (p, end)).run(&scope).expect("runs");
    let source = publisher.control();
    end.request(1);
    let sent = (0..).take_while(|n| {
        scope.settle();
        source.try_offer(*n) == Ok(Offer::Enqueued)
    });
    assert_eq!(sent.count(), 1 + 16 + 1 + 4, "at work, before the group, waiting for it, above it");
    let page = scope.stages().into_iter().find(|stage| stage.name() == "page").expect("it runs");
    assert_eq!(page.demand().held, 4, "{}", scope.explain());
}
