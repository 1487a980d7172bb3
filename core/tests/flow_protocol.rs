//! The streams protocol: demand, terminals, cancel, failure, rollback, shutdown.

mod watchdog;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluicegate::flow::{
    EdgeOptions, Flow, Offer, Overflow, Scope, Sink, Source, Status, SubscriberEvent,
};
use sluicegate::{Error, ErrorKind};
use watchdog::until;

fn scope() -> Scope {
    Scope::new("test").expect("a scope")
}

const SOON: Duration = Duration::from_secs(180);

#[test]
fn a_blueprint_runs_as_often_as_one_likes_each_time_afresh() {
    let scope = scope();
    let stringify = Flow::map(|n: i32| format!("value={n}"));
    let length = Flow::map(|s: String| s.len());
    let graph = Source::manual(EdgeOptions::default())
        .via(stringify.via(length))
        .to_mat(Sink::collect(), |control, result| (control, result));
    for _ in 0..3 {
        let (control, result) = graph.run(&scope).expect("runs");
        assert_eq!(control.blocking_offer(7), Offer::Enqueued);
        assert!(control.complete());
        assert!(!control.complete(), "one terminal");
        assert_eq!(result.blocking_wait_timeout(SOON).expect("collected"), [7]);
    }
    scope.shutdown(SOON).expect("stops");
}

#[test]
fn the_probes_of_the_seed() {
    let scope = scope();
    let graph = Source::probe(EdgeOptions::capacity(1).expect("positive"))
        .via(Flow::map(|n: i32| format!("value={n}")))
        .to_mat(Sink::probe(), |publisher, subscriber| (publisher, subscriber));
    let (publisher, subscriber) = graph.run(&scope).expect("runs");
    let (publisher, subscriber) = (publisher.with_limit(SOON), subscriber.with_limit(SOON));
    publisher.send_next(7);
    subscriber.expect_no_message(Duration::from_millis(25));
    subscriber.request(1).expect_next("value=7");
    publisher.send_complete();
    subscriber.expect_complete();
    assert!(!subscriber.try_request(1), "a terminal that was taken rejects later demand");
}

#[test]
fn demand_is_a_grant_and_goes_all_the_way_up() {
    let scope = Scope::stepped("test", 1);
    let graph = Source::strict_probe()
        .via(Flow::filter(|n: &u64| n.is_multiple_of(2)))
        .via(Flow::take(3))
        .to_mat(Sink::probe(), |publisher, subscriber| (publisher, subscriber));
    let (publisher, subscriber) = graph.run(&scope).expect("runs");
    scope.settle();
    let source = publisher.control();
    assert_eq!(source.demand(), 0);
    assert!(source.try_offer(0).is_err(), "nothing without demand");
    subscriber.request(0);
    scope.settle();
    assert_eq!(source.demand(), 0, "a request for nothing is ignored");
    subscriber.request(2);
    scope.settle();
    assert_eq!(source.demand(), 2);
    for n in 0..5 {
        assert_eq!(source.try_offer(n), Ok(Offer::Enqueued), "element {n}");
        scope.settle();
        // Each that is filtered away is replaced by a request for another, until two have passed.
        assert_eq!(source.demand(), [1, 1, 0, 1, 0][usize::try_from(n).expect("small")]);
        if n == 2 {
            subscriber.request(u64::MAX);
            scope.settle();
            assert_eq!(source.demand(), 1, "take(3) has passed on 3 and asks for no fourth");
        }
    }
    let views = scope.stages();
    assert!(views.is_empty(), "the third element ended it: {views:?}");
    for n in [0, 2, 4] {
        subscriber.expect_next(n);
    }
    subscriber.expect_complete();
    assert_eq!(source.try_offer(9), Ok(Offer::QueueClosed));
}

#[test]
fn every_strategy_holds_three_and_no_more() {
    let full: &[(Overflow, &[u64], u64)] = &[
        (Overflow::DropHead, &[8, 9, 10], 7),
        (Overflow::DropNew, &[1, 2, 3], 7),
        (Overflow::DropTail, &[1, 2, 10], 7),
        (Overflow::DropBuffer, &[10], 9),
    ];
    for (overflow, left, lost) in full {
        let scope = Scope::stepped("test", 3);
        let edge = EdgeOptions::capacity(3).expect("positive").overflow(*overflow);
        let graph = Source::manual(edge).to_mat(Sink::probe(), |control, end| (control, end));
        let (control, end) = graph.run(&scope).expect("runs");
        for n in 1..=10_u64 {
            control.try_offer(n).expect("no strategy but one waits");
            scope.settle();
            assert!(control.held() <= 3, "{overflow:?}");
        }
        assert_eq!(control.lost(), *lost, "{overflow:?}");
        control.complete();
        end.request(10);
        scope.settle();
        for n in *left {
            end.expect_next(*n);
        }
        end.expect_complete();
    }
}

#[test]
fn under_backpressure_the_fourth_offer_waits_and_fail_ends_the_stream() {
    let scope = Scope::stepped("test", 3);
    let edge = EdgeOptions::capacity(3).expect("positive");
    let graph = Source::manual(edge).to_mat(Sink::probe(), |control, end| (control, end));
    let (control, end) = graph.run(&scope).expect("runs");
    for n in 1..=3 {
        assert_eq!(control.try_offer(n), Ok(Offer::Enqueued));
    }
    assert_eq!(control.try_offer(4), Err(4));
    end.request(1);
    scope.settle();
    end.expect_next(1);
    assert_eq!(control.try_offer(4), Ok(Offer::Enqueued), "one left, one may come");

    let graph = Source::manual(edge.overflow(Overflow::Fail))
        .to_mat(Sink::probe(), |control, end| (control, end));
    let (control, end) = graph.run(&scope).expect("runs");
    for n in 1..=3 {
        assert_eq!(control.try_offer(n), Ok(Offer::Enqueued));
    }
    let Ok(Offer::Failure(error)) = control.try_offer(4) else { panic!("the fourth fails") };
    assert_eq!(error.kind(), ErrorKind::BufferOverflow);
    assert_eq!(control.try_offer(5), Ok(Offer::Failure(error.clone())), "the same for everybody");
    end.request(10);
    scope.settle();
    for n in 1..=3 {
        end.expect_next(n);
    }
    assert_eq!(end.expect_error(), error);
}

#[test]
fn sizes_of_nothing_are_refused_when_the_blueprint_is_made_and_the_largest_cost_nothing() {
    let refused = EdgeOptions::capacity(0).expect_err("nothing could pass");
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    let scope = scope();
    for capacity in [1, (1 << 31) - 1, 1 << 62, u64::MAX] {
        let edge = EdgeOptions::capacity(capacity).expect("positive");
        let graph = Source::iter(0..100_u64).via(Flow::buffer(edge)).to(Sink::collect());
        let result = graph.run(&scope).expect("runs").blocking_wait_timeout(SOON);
        assert_eq!(result.expect("all of it"), (0..100).collect::<Vec<_>>());
    }
}

#[test]
fn a_function_that_panics_fails_the_stream_at_both_ends() {
    let scope = scope();
    let graph = Source::manual(EdgeOptions::default())
        .via(Flow::map(|n: u64| if n == 3 { panic!("three is too many") } else { n }))
        .to_mat(Sink::collect(), |control, result| (control, result));
    let (control, result) = graph.run(&scope).expect("runs");
    for n in 0..4 {
        control.blocking_offer(n);
    }
    let error = result.blocking_wait_timeout(SOON).expect_err("failed");
    assert_eq!(error.kind(), ErrorKind::StageFailed);
    assert!(error.message().contains("map") && error.message().contains("three is too many"));
    while control.blocking_offer(9) == Offer::Enqueued {}
    scope.shutdown(SOON).expect("no thread is left");
    assert_eq!(scope.running(), 0);
}

/// Counts how many of its kind are alive.
struct Counted(Arc<AtomicU64>);

impl Counted {
    fn new(alive: &Arc<AtomicU64>) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Counted(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_cancel_releases_every_element_once_and_wakes_the_producer() {
    let scope = scope();
    let alive = Arc::new(AtomicU64::new(0));
    let graph = Source::manual(EdgeOptions::capacity(4).expect("positive"))
        .via(Flow::buffer(EdgeOptions::capacity(4).expect("positive")))
        .to_mat(Sink::probe(), |control, end| (control, end));
    let (control, end) = graph.run(&scope).expect("runs");
    let producer = {
        let (alive, control) = (Arc::clone(&alive), control.clone());
        std::thread::spawn(move || {
            let mut accepted = 0;
            while control.blocking_offer(Counted::new(&alive)) == Offer::Enqueued {
                accepted += 1;
            }
            accepted
        })
    };
    let end = end.with_limit(SOON);
    drop(end.request(1).expect_any());
    until("the edge above is full", || control.held() == 4);
    end.cancel();
    assert!(producer.join().expect("no panic") >= 4);
    scope.shutdown(SOON).expect("stops");
    drop(control);
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[test]
fn a_scope_that_is_shut_down_cancels_what_runs_and_refuses_what_comes() {
    let scope = scope();
    let graph = Source::manual(EdgeOptions::capacity(1).expect("positive"))
        .to_mat(Sink::probe(), |control, end| (control, end));
    let (control, end) = graph.run(&scope).expect("runs");
    let never = Source::<u64, _>::manual(EdgeOptions::default())
        .to_mat(Sink::collect(), |control, result| (control, result));
    let (kept, result) = never.run(&scope).expect("runs");
    control.blocking_offer(1);
    let blocked = {
        let control = control.clone();
        std::thread::spawn(move || control.blocking_offer(2))
    };
    scope.shutdown(SOON).expect("within the bound");
    assert_eq!(blocked.join().expect("no panic"), Offer::QueueClosed);
    assert_eq!(result.status(), Status::Cancelled);
    assert!(result.result().expect("settled").expect_err("cancelled").message().contains("test"));
    assert!(matches!(end.event_within(SOON), Some(SubscriberEvent::Error(_))));
    assert!(kept.is_over());
    assert_eq!(graph.run(&scope).expect_err("dead").kind(), ErrorKind::ScopeShutDown);
    scope.shutdown(SOON).expect("twice is as good as once");
}

#[test]
fn a_combiner_that_panics_takes_everything_back() {
    let scope = scope();
    let kept = Arc::new(std::sync::Mutex::new(None));
    let keep = Arc::clone(&kept);
    let graph = Source::<u64, _>::manual(EdgeOptions::default())
        .via(Flow::buffer(EdgeOptions::default()))
        .map_mat(move |control| *keep.lock().expect("sound") = Some(control))
        .to_mat(Sink::collect(), |(), _| -> () { panic!("no value of these two") });
    let error = graph.run(&scope).expect_err("rolled back");
    assert_eq!(error.kind(), ErrorKind::StageFailed);
    assert!(error.message().contains("no value of these two"));
    let control = kept.lock().expect("sound").take().expect("was made");
    assert!(control.is_over(), "its edge was taken back");
    assert_eq!(scope.running(), 0);
}

#[test]
fn a_filter_of_one_in_a_million_never_starves_and_asking_in_a_delivery_grows_no_stack() {
    let scope = scope();
    let graph = Source::iter(1..=3_000_000_u64)
        .via(Flow::filter(|n: &u64| n.is_multiple_of(1_000_000)))
        .to(Sink::collect());
    let result = graph.run(&scope).expect("runs").blocking_wait_timeout(Duration::from_secs(60));
    assert_eq!(result.expect("all three"), [1_000_000, 2_000_000, 3_000_000]);
}

#[test]
fn a_failure_of_the_source_arrives_behind_what_was_accepted() {
    let scope = scope();
    let graph = Source::manual(EdgeOptions::default())
        .via(Flow::buffer(EdgeOptions::default()))
        .to_mat(Sink::probe(), |control, end| (control, end));
    let (control, end) = graph.run(&scope).expect("runs");
    let end = end.with_limit(SOON);
    control.blocking_offer(1);
    control.blocking_offer(2);
    control.fail(Error::new(ErrorKind::Io, "the disk is gone"));
    end.request(9).expect_next(1).expect_next(2);
    assert_eq!(end.expect_error().message(), "the disk is gone");
}

#[test]
fn an_outlet_is_an_iterator_and_dropping_it_cancels() {
    let scope = scope();
    let source = Source::iter(0_u64..).via(Flow::map(|n: u64| n * n));
    let outlet = source.run_outlet(&scope).expect("runs");
    let squares: Result<Vec<_>, _> = outlet.into_iter().take(4).collect();
    assert_eq!(squares.expect("no failure"), [0, 1, 4, 9]);
    scope.shutdown(SOON).expect("the endless source was cancelled");
}

/// A stage made of others has a name of its own, and the one that its user gives replaces it.
#[test]
fn a_given_name_replaces_a_stages_own() {
    let scope = Scope::stepped("test", 1);
    let names = |source: Source<u64>, sink: Sink<u64, ()>| {
        source.to(sink).run(&scope).expect("runs");
        let names: Vec<_> = scope.stages().iter().map(|stage| stage.name().to_owned()).collect();
        scope.settle();
        names
    };
    let plain = || Sink::ignore().map_mat(drop);
    assert_eq!(names(Source::single(1), plain()), ["single", "ignore"]);
    let given = Source::single(1).named("one");
    assert_eq!(names(given, plain().named("nowhere")), ["one", "nowhere"]);
    let inner = Source::single(1).named("one").called("more").named("all");
    assert_eq!(names(inner, plain()), ["one", "ignore"], "what is within keeps its name");
    let twice = Source::range(0..3).called("three");
    assert_eq!(names(twice, plain()), ["three", "ignore"]);
}
