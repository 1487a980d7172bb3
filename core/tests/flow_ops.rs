//! Controls and probes as operations that are polled by hand: what they answer, and that one which is
//! dropped has taken nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluicegate::flow::{
    EdgeOptions, Manual, Offer, Scope, Sink, Source, Subscriber, SubscriberEvent,
};
use sluicegate::wait::Op;

/// A source's edge of `n`, straight into a probe.
fn line(n: u64) -> (Scope, Manual<u64>, Subscriber<u64>) {
    let scope = Scope::stepped("test", 1);
    let options = EdgeOptions::capacity(n).expect("positive");
    let graph = Source::manual(options).to_mat(Sink::probe(), |source, end| (source, end));
    let (source, end) = graph.run(&scope).expect("runs");
    scope.settle();
    (scope, source, end)
}

/// Counts how often it is rung.
fn bell() -> (Arc<AtomicU64>, impl FnOnce() + Send + 'static) {
    let rung = Arc::new(AtomicU64::new(0));
    let ring = Arc::clone(&rung);
    (rung, move || _ = ring.fetch_add(1, Ordering::SeqCst))
}

#[test]
fn an_offer_waits_in_its_operation_and_one_that_is_dropped_has_offered_nothing() {
    let (scope, source, end) = line(2);
    assert_eq!(source.offer_op(1).try_now(), Some(Offer::Enqueued));
    assert_eq!(source.offer_op(2).try_now(), Some(Offer::Enqueued));
    let (never, ring) = bell();
    let mut given_up = source.offer_op(3);
    assert_eq!(given_up.poll(ring), None);
    let (rung, ring) = bell();
    let mut offer = source.offer_op(4);
    assert_eq!(offer.poll(ring), None);
    drop(given_up);
    end.request(1);
    scope.settle();
    assert_eq!((rung.load(Ordering::SeqCst), never.load(Ordering::SeqCst)), (1, 0));
    assert_eq!(offer.try_now(), Some(Offer::Enqueued));
    end.request(9);
    scope.settle();
    end.expect_next(1).expect_next(2).expect_next(4);

    // An end tells whoever waits.
    (5..7).for_each(|n| assert_eq!(source.try_offer(n), Ok(Offer::Enqueued)));
    while source.try_offer(9).is_ok() {}
    let (rung, ring) = bell();
    let mut late = source.offer_op(9);
    assert_eq!(late.poll(ring), None);
    end.cancel();
    scope.settle();
    assert_eq!(rung.load(Ordering::SeqCst), 1);
    assert_eq!(late.try_now(), Some(Offer::QueueClosed));
    assert!(late.is_done());
}

#[test]
fn an_event_is_told_to_its_operation_and_one_that_is_dropped_has_taken_none() {
    let (scope, source, end) = line(4);
    end.request(2);
    let (rung, ring) = bell();
    let mut event = end.event_op();
    assert!(event.poll(ring).is_none());
    let (_, ring) = bell();
    let mut given_up = end.event_op();
    assert!(given_up.poll(ring).is_none());
    drop(given_up);
    assert_eq!(source.try_offer(7), Ok(Offer::Enqueued));
    assert_eq!(source.try_offer(8), Ok(Offer::Enqueued));
    source.complete();
    scope.settle();
    assert_eq!(rung.load(Ordering::SeqCst), 1);
    assert!(matches!(event.try_now(), Some(SubscriberEvent::Next(7))));
    assert!(matches!(end.event_op().try_now(), Some(SubscriberEvent::Next(8))));
    assert!(matches!(end.event_op().try_now(), Some(SubscriberEvent::Complete)));
    assert!(end.event_op().try_now().is_none(), "one terminal, taken once");
}

#[test]
fn ready_answers_when_so_many_can_be_offered_and_offers_none() {
    let (scope, source, end) = line(4);
    assert_eq!(Op::new(source.ready(4)).try_now(), Some(true));
    assert_eq!((source.demand(), source.held()), (4, 0), "nothing is taken");
    assert_eq!(source.try_offer(1), Ok(Offer::Enqueued));
    let (rung, ring) = bell();
    let mut ready = Op::new(source.ready(4));
    assert_eq!(ready.poll(ring), None, "3 of 4");
    end.request(1);
    scope.settle();
    assert_eq!(rung.load(Ordering::SeqCst), 1);
    assert_eq!(ready.try_now(), Some(true));
    assert_eq!((source.demand(), source.held()), (4, 0));
    // One that waits and is dropped holds up nobody.
    let mut given_up = Op::new(source.ready(5));
    assert_eq!(given_up.try_now(), None, "more than there will ever be");
    drop(given_up);
    assert_eq!(source.try_offer(2), Ok(Offer::Enqueued));
    end.request(1);
    scope.settle();
    end.expect_next(1).expect_next(2);

    let mut over = Op::new(source.ready(5));
    assert_eq!(over.try_now(), None);
    end.cancel();
    scope.settle();
    assert_eq!(over.try_now(), Some(false), "the source is over");
    assert_eq!(Op::new(source.ready(1)).try_now(), Some(false));
    scope.shutdown(Duration::from_secs(60)).expect("stops");
}
