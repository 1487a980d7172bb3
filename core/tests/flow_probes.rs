//! What a test stands on: a schedule that a seed decides, probes that say what they awaited, and a
//! shutdown that releases everyone who waits.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use sluicegate::flow::{EdgeOptions, Flow, Offer, Scope, Sink, Source, SubscriberEvent};
use sluicegate::{Error, ErrorKind};
use support::{PROMPT, tells_waits, until, within};

const SOON: Duration = Duration::from_secs(180);

fn edge(n: u64) -> EdgeOptions {
    EdgeOptions::capacity(n).expect("positive")
}

/// What three pipelines did in a stepped scope, in the order they did it, and in how many turns.
fn schedule(seed: u64) -> (Vec<(u64, u64)>, u64) {
    let scope = Scope::stepped("test", seed);
    let done = Arc::new(Mutex::new(Vec::new()));
    for pipeline in 0..3 {
        let done = Arc::clone(&done);
        let graph = Source::iter(0..20_u64)
            .via(Flow::buffer(edge(2)))
            .via(Flow::tap(move |n: &u64| done.lock().expect("sound").push((pipeline, *n))))
            .via(Flow::buffer(edge(2)))
            .to(Sink::ignore());
        graph.run(&scope).expect("runs");
    }
    let turns = scope.settle();
    assert_eq!(scope.running(), 0, "all of it has run");
    let done = done.lock().expect("sound").clone();
    (done, turns)
}

#[test]
fn a_seed_decides_the_turns_of_a_stepped_scope() {
    let all: Vec<_> = (0..16).map(schedule).collect();
    for (seed, first) in (0..).zip(&all) {
        assert_eq!(&schedule(seed), first, "the same seed {seed} takes the same turns");
        for pipeline in 0..3 {
            let own = first.0.iter().filter(|(of, _)| *of == pipeline).map(|(_, n)| *n);
            assert!(own.eq(0..20), "each in its own order, seed {seed}");
        }
    }
    let mut orders: Vec<_> = all.into_iter().map(|(done, _)| done).collect();
    orders.sort_unstable();
    orders.dedup();
    assert_eq!(orders.len(), 16, "another seed takes other turns");
}

/// What a panic of `assertion` says.
fn message<T>(assertion: impl FnOnce() -> T) -> String {
    let asserts = AssertUnwindSafe(|| {
        assertion();
    });
    let panic = catch_unwind(asserts).expect_err("it does not hold");
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => panic.downcast::<&str>().expect("a message").to_string(),
    }
}

#[test]
fn a_probe_that_fails_says_what_it_awaited_and_what_came() {
    let scope = Scope::stepped("test", 1);
    let graph = Source::strict_probe().to_mat(Sink::probe(), |a, b| (a, b));
    let played = || {
        let (publisher, end) = graph.run(&scope).expect("runs");
        (publisher.with_limit(Duration::ZERO), end.with_limit(Duration::ZERO))
    };
    let (publisher, end) = played();
    let told = message(|| end.expect_next(7_u64));
    assert_eq!(told, "awaited: 7 within 0ns; came: nothing");
    assert_eq!(message(|| end.expect_any()), "awaited: an element within 0ns; came: nothing");
    assert_eq!(message(|| end.expect_complete()), "awaited: complete within 0ns; came: nothing");
    let told = message(|| end.expect_error());
    assert_eq!(told, "awaited: a failure within 0ns; came: nothing");
    let told = message(|| publisher.expect_demand(1));
    assert_eq!(told, "awaited: demand for 1 within 0ns; came: demand for 0");
    end.request(2);
    scope.settle();
    publisher.expect_demand(1).expect_demand(2);
    let told = message(|| publisher.expect_demand(3));
    assert_eq!(told, "awaited: demand for 3 within 0ns; came: demand for 2");
    assert_eq!(message(|| publisher.expect_cancel()), "awaited: cancel within 0ns; came: nothing");
    let sent = |n: u64| {
        end.request(1);
        scope.settle();
        publisher.send_next(n);
        scope.settle();
    };
    sent(1);
    assert_eq!(message(|| end.expect_next(7_u64)), "awaited: 7; came: Next(1)");
    sent(2);
    assert_eq!(message(|| end.expect_complete()), "awaited: complete; came: an element");
    sent(3);
    assert_eq!(message(|| end.expect_error()), "awaited: a failure; came: an element");
    sent(4);
    let told = message(|| end.expect_no_message(Duration::ZERO));
    assert_eq!(told, "awaited: nothing; came: an element");
    publisher.send_complete();
    scope.settle();
    let told = message(|| end.expect_next(7_u64));
    assert_eq!(told, "awaited: 7; came: Complete");
    let told = message(|| end.request(1));
    assert_eq!(told, "awaited: a stream that takes demand; came: its terminal, before");

    let (publisher, end) = played();
    publisher.send_error(Error::new(ErrorKind::Io, "the disk is gone"));
    scope.settle();
    let told = message(|| end.expect_complete());
    assert!(told.starts_with("awaited: complete; came: "), "{told}");
    assert!(told.ends_with("the disk is gone"), "{told}");

    let (publisher, end) = played();
    end.cancel();
    scope.settle();
    publisher.expect_cancel();
    assert_eq!(message(|| publisher.expect_demand(1)), "awaited: demand for 1; came: cancel");
    let told = message(|| publisher.send_next(1));
    assert!(told.starts_with("awaited: an element is taken; came: "), "{told}");
}

#[test]
fn a_shutdown_does_not_wait_longer_than_its_limit_and_names_who_is_stuck() {
    within(SOON * 3, "a stuck function", || {
        let scope = Scope::new("library").expect("a scope");
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let may_go_on = Mutex::new(may_go_on);
        let stuck = Source::iter(0..9_u64)
            .via(Flow::map(move |n| {
                begun.send(()).expect("the test listens");
                let _gone = may_go_on.lock().expect("sound").recv();
                n
            }))
            .to(Sink::probe());
        let end = stuck.run(&scope).expect("runs").with_limit(SOON);
        let idle = Source::<u64, _>::strict_probe().to(Sink::probe()).run(&scope).expect("runs");
        end.request(1);
        has_begun.recv().expect("it is in the function");
        let names: Vec<_> = scope.stages().iter().map(|stage| stage.name().to_owned()).collect();
        let began = Instant::now();
        let error = scope.shutdown(Duration::from_millis(50)).expect_err("one is stuck");
        assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        until("the other has stopped", || scope.running() == 1); // it may take longer than the limit
        let error = scope.shutdown(Duration::from_millis(50)).expect_err("one is still stuck");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(scope.running(), 1);
        drop(idle);
        let told = error.message();
        assert!(told.contains("\"library\"") && told.contains("50ms"), "{error}");
        assert!(told.ends_with("still in a user's function: probe"), "{error}; of {names:?}");
        drop(go_on);
        scope.shutdown(SOON).expect("it stops once its function returns");
        assert_eq!(scope.running(), 0);
        end.expect_next(0); // what the function made of it
        assert_eq!(end.expect_error().kind(), ErrorKind::ScopeShutDown);
    });
}

#[test]
fn a_shutdown_releases_who_waits_to_offer_and_who_waits_for_an_event() {
    within(SOON * 3, "a shutdown", || {
        let scope = Scope::new("test").expect("a scope");
        let graph = Source::manual(edge(1)).to_mat(Sink::probe(), |a, b| (a, b));
        let (source, end) = graph.run(&scope).expect("runs");
        let (waits, is_waiting) = mpsc::channel();
        let tells = waits.clone();
        let producer = thread::spawn(move || {
            let told = || tells.send("producer").expect("the test listens");
            loop {
                match tells_waits(source.offer(7_u64), told) {
                    Offer::Enqueued => {}
                    other => return other,
                }
            }
        });
        let reader = thread::spawn(move || {
            tells_waits(end.event(), || waits.send("reader").expect("the test listens"))
        });
        let mut first = is_waiting.recv().expect("one waits");
        while is_waiting.recv().expect("and the other") == first {
            first = "both";
        }
        scope.shutdown(SOON).expect("stops");
        let offered = producer.join().expect("no panic");
        assert!(matches!(&offered, Offer::QueueClosed), "{offered:?}");
        match reader.join().expect("no panic") {
            SubscriberEvent::Error(error) => assert_eq!(error.kind(), ErrorKind::ScopeShutDown),
            other => panic!("{other:?}"),
        }
        assert_eq!(scope.running(), 0);
    });
}
