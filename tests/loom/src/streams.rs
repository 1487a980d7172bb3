//! Flows: no wake is lost between a hub and those who come and go, nor between an edge, its island and
//! who waits at its ends; a promise is settled once.
//!
//! Most checks run two scopes step by step, each on a thread of its own, and then in turn until neither
//! has anything to do: an island that has work and was not woken shows as an element that is missing.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::Check;
use crate::error::{Error, ErrorKind};
use crate::explore::{every, go};
use crate::flow::{
    Completion, EdgeOptions, Hub, HubOptions, HubPolicy, Promise, Scope, Sink, Source, Status,
};
use crate::sync::Arc;

pub const CHECKS: &[Check] = &[
    ("streams_a_promise_is_settled_once_and_calls_back_once", promise),
    ("streams_an_edge_wakes_its_producer_and_its_consumer", edge),
    ("streams_a_hub_shares_while_one_takes", hub_takes),
    ("streams_a_hub_shares_while_one_leaves", hub_leaves),
    ("streams_a_hub_shares_while_one_comes", hub_comes),
    ("streams_a_hub_ends_while_its_handle_goes", hub_abandoned),
    ("streams_a_merge_hub_takes_over_a_producer", merge_hub),
];

fn capacity(n: u64) -> EdgeOptions {
    EdgeOptions::capacity(n).expect("positive")
}

/// Runs the scopes in turn until none has anything to do.
fn quiet(scopes: &[&Scope]) {
    while scopes.iter().map(|scope| scope.settle()).sum::<u64>() != 0 {}
}

fn got<T: Clone + Send + Sync + 'static>(completion: &Completion<T>) -> T {
    completion.result().expect("stuck: somebody was not woken").expect("ends well")
}

/// HZ-S17.
fn promise() {
    every(3, || {
        let promise = Arc::new(Promise::new());
        let (kept, failed) = (Arc::clone(&promise), Arc::clone(&promise));
        let kept = go(move || kept.try_success(7));
        let failed = go(move || failed.try_failure(Error::new(ErrorKind::Io, "gone")));
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let completion = promise.completion();
        completion.on_settled(move |settled| {
            assert_ne!(settled.status(), Status::Pending);
            counted.fetch_add(1, Relaxed);
        });
        let answer = completion.blocking_wait();
        let (kept, failed) = (kept.end(), failed.end());
        assert!(kept != failed, "one transition wins");
        assert_eq!(answer.is_ok(), kept);
        assert_eq!(calls.load(Relaxed), 1);
    });
}

/// A producer offers more than fits, the island takes it; both sleep when they must.
fn edge() {
    every(2, || {
        let scope = Scope::new("check").expect("a scope");
        let graph =
            Source::manual(capacity(1)).to_mat(Sink::collect(), |source, all| (source, all));
        let (source, all) = graph.run(&scope).expect("runs");
        source.blocking_offer(1);
        source.blocking_offer(2);
        source.complete();
        assert_eq!(all.blocking_wait().expect("ends"), [1, 2]);
    });
}

/// A hub over the numbers below `n`, with room for one.
fn hub(scope: &Scope, n: u64) -> Hub<u64> {
    let options = HubOptions::capacity(1).expect("positive");
    Source::iter(0..n).to(Sink::broadcast_hub(options)).run(scope).expect("runs")
}

fn listen(hub: &Hub<u64>, scope: &Scope) -> Completion<Vec<u64>> {
    let source = hub.subscribe_with(HubPolicy::Wait, 1).expect("positive");
    source.to(Sink::collect()).run(scope).expect("runs")
}

fn hub_takes() {
    every(4, || {
        let (near, far) = (Scope::stepped("near", 1), Scope::stepped("far", 1));
        let hub = hub(&near, 2);
        let all = listen(&hub, &far);
        let taking = go(move || {
            far.settle();
            far
        });
        near.settle();
        let far = taking.end();
        quiet(&[&near, &far]);
        assert_eq!(got(&all), [0, 1]);
    });
}

/// One holds up the hub and leaves: the other gets everything (HZ-S08).
fn hub_leaves() {
    every(4, || {
        let (near, far) = (Scope::stepped("near", 1), Scope::stepped("far", 1));
        let hub = hub(&near, 2);
        let all = listen(&hub, &near);
        let idle = hub.subscribe_with(HubPolicy::Wait, 1).expect("positive");
        let idle = idle.to(Sink::probe()).run(&far).expect("runs");
        idle.cancel();
        let leaving = go(move || {
            far.settle();
            far
        });
        near.settle();
        let far = leaving.end();
        quiet(&[&near, &far]);
        assert_eq!(got(&all), [0, 1]);
    });
}

/// Nobody listens, and the hub holds the source until somebody comes (HZ-S09).
fn hub_comes() {
    every(4, || {
        let near = Scope::stepped("near", 1);
        let hub = hub(&near, 1);
        let coming = go(move || {
            let far = Scope::stepped("far", 1);
            let all = listen(&hub, &far);
            far.settle();
            (far, all, hub)
        });
        near.settle();
        let (far, all, _hub) = coming.end();
        quiet(&[&near, &far]);
        assert_eq!(got(&all), [0]);
    });
}

/// The last handle goes while nobody listens: the island ends, and with it the source.
fn hub_abandoned() {
    every(3, || {
        let near = Scope::stepped("near", 1);
        let hub = hub(&near, 1);
        let going = go(move || drop(hub));
        near.settle();
        going.end();
        near.settle();
        assert_eq!(near.running(), 0, "the hub was not woken");
    });
}

fn merge_hub() {
    every(3, || {
        let near = Scope::stepped("near", 1);
        let graph = Source::merge_hub(capacity(1)).to_mat(Sink::collect(), |hub, all| (hub, all));
        let (hub, all) = graph.run(&near).expect("runs");
        let producing = go(move || {
            let far = Scope::stepped("far", 1);
            Source::single(7).to(hub.sink()).run(&far).expect("runs");
            drop(hub);
            far.settle();
            far
        });
        near.settle();
        let far = producing.end();
        quiet(&[&near, &far]);
        assert_eq!(got(&all), [7]);
    });
}
