//! What goes wrong at the seams of a flow: offers given up half-way, cancels nobody waits for, calls back
//! into the scope, values that throw when they go.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicegate::flow::{
    EdgeOptions, Hub, HubOptions, HubPolicy, Manual, Offer, Ops, Outlet, Overflow, Scope, Sink,
    Source,
};
use sluicegate::{Error, ErrorKind};

const SHORT: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_secs(20);

fn both<A, B>(a: A, b: B) -> (A, B) {
    (a, b)
}

#[test]
fn an_offer_that_gives_up_waiting_for_bytes_gives_its_room_back() -> Result<(), Error> {
    let scope = Scope::stepped("offers", 1);
    let edge = EdgeOptions::capacity(2)?.bytes(1)?;
    let (manual, outlet): (Manual<u64>, Outlet<u64>) =
        Source::manual_sized(edge, |_| 1).to_mat(Sink::outlet(edge), both).run(&scope)?;
    assert_eq!(manual.try_offer(1), Ok(Offer::Enqueued));
    for _ in 0..3 {
        let late = manual.blocking_offer_timeout(2, SHORT).expect_err("the bytes are used up");
        assert_eq!(late.kind(), ErrorKind::TimedOut);
    }
    assert_eq!(manual.demand(), 1, "one of two is held");
    scope.settle();
    assert_eq!(outlet.blocking_recv_timeout(LONG)?, Some(1));
    assert_eq!(manual.demand(), 2);
    Ok(())
}

#[test]
fn an_offer_whose_size_cannot_be_told_gives_its_room_back() -> Result<(), Error> {
    let scope = Scope::stepped("offers", 1);
    let edge = EdgeOptions::capacity(2)?.bytes(8)?;
    let size = |n: &u64| {
        assert!(*n != 0, "no size");
        1
    };
    let graph = Source::manual_sized(edge, size).to_mat(Sink::ignore(), both);
    let (manual, _done) = graph.run(&scope)?;
    for _ in 0..3 {
        let offer = std::panic::AssertUnwindSafe(|| manual.try_offer(0));
        assert!(std::panic::catch_unwind(offer).is_err());
        let offer = std::panic::AssertUnwindSafe(|| manual.blocking_offer_timeout(0, SHORT));
        assert!(std::panic::catch_unwind(offer).is_err());
    }
    assert_eq!(manual.demand(), 2);
    Ok(())
}

/// What is larger than the edge counts as all of it, at the gate and in the queue alike.
#[test]
fn elements_without_bytes_go_beside_one_larger_than_the_edge() -> Result<(), Error> {
    for sizes in [[6, 0, 0], [0, 6, 0]] {
        let scope = Scope::stepped("bytes", 1);
        let edge = EdgeOptions::capacity(3)?.bytes(4)?;
        let graph = Source::manual_sized(edge, |n: &u64| *n).to_mat(Sink::collect(), both);
        let (manual, done) = graph.run(&scope)?;
        for size in sizes {
            assert_eq!(manual.try_offer(size), Ok(Offer::Enqueued));
        }
        assert!(manual.complete());
        scope.settle();
        assert_eq!(done.blocking_wait_timeout(LONG)?, sizes);
    }
    Ok(())
}

/// Every strategy: a producer that is silent hears of the cancel all the same.
#[test]
fn a_cancel_goes_up_through_an_edge_of_any_strategy_at_once() -> Result<(), Error> {
    let strategies = [
        Overflow::Backpressure,
        Overflow::DropHead,
        Overflow::DropTail,
        Overflow::DropNew,
        Overflow::DropBuffer,
        Overflow::Fail,
    ];
    for strategy in strategies {
        for seed in 0..8 {
            let scope = Scope::stepped("cancel", seed);
            let edge = EdgeOptions::capacity(2)?.overflow(strategy);
            let (manual, outlet): (Manual<u64>, Outlet<u64>) =
                Source::manual(EdgeOptions::default())
                    .buffer(edge)
                    .to_mat(Sink::outlet(edge), both)
                    .run(&scope)?;
            scope.settle();
            drop(outlet);
            scope.settle();
            assert!(manual.is_over(), "{strategy:?}, seed {seed}");
            assert_eq!(scope.running(), 0, "{strategy:?}, seed {seed}");
        }
    }
    Ok(())
}

#[test]
fn a_function_may_step_its_own_scope() -> Result<(), Error> {
    for seed in 0..8 {
        let scope = Arc::new(Scope::stepped("nested", seed));
        let (seen, inner) = (Arc::new(Mutex::new(Vec::new())), Arc::downgrade(&scope));
        let hand: Arc<Mutex<Vec<Manual<u64>>>> = Arc::default();
        let (log, mine) = (Arc::clone(&seen), Arc::clone(&hand));
        let sink = Sink::foreach(move |n: u64| {
            log.lock().expect("no panic").push(n);
            if n == 1 {
                let other = mine.lock().expect("no panic")[1].clone();
                assert_eq!(other.try_offer(2), Ok(Offer::Enqueued)); // wakes this very island
            }
            inner.upgrade().expect("it runs").settle();
        });
        let source = || Source::manual(EdgeOptions::default());
        let graph = Source::merge_all(vec![source(), source()]).to_mat(sink, both);
        let (manuals, done) = graph.run(&scope)?;
        hand.lock().expect("no panic").clone_from(&manuals);
        scope.settle();
        assert_eq!(manuals[0].try_offer(1), Ok(Offer::Enqueued));
        scope.settle();
        assert_eq!(scope.running(), 1, "it waits for more");
        assert_eq!(manuals[0].try_offer(3), Ok(Offer::Enqueued));
        scope.settle();
        assert_eq!(*seen.lock().expect("no panic"), [1, 2, 3], "seed {seed}");
        assert!(manuals.iter().all(Manual::complete));
        scope.settle();
        assert!(done.is_success());
    }
    Ok(())
}

/// A value whose ticks are numbered: the sixth cannot be made, the fifth throws when it goes.
struct Grenade {
    made: Arc<AtomicU64>,
    /// 0 for a value that ticks are made of.
    number: u64,
    armed: bool,
}

impl Clone for Grenade {
    fn clone(&self) -> Self {
        let mut next = Grenade { made: Arc::clone(&self.made), number: self.number, armed: false };
        if self.number == 0 {
            let made = self.made.fetch_add(1, Ordering::SeqCst);
            assert!(made != 6, "no sixth");
            next.number = made; // the first is the run's own value
            next.armed = made == 5;
        }
        next
    }
}

impl Drop for Grenade {
    fn drop(&mut self) {
        assert!(!self.armed || std::thread::panicking(), "thrown when it went");
    }
}

#[test]
fn an_island_that_fails_ends_though_what_it_holds_throws() -> Result<(), Error> {
    let scope = Scope::stepped("grenade", 3);
    let every = Duration::from_secs(1);
    let value = Grenade { made: Arc::default(), number: 0, armed: false };
    let made = Arc::clone(&value.made);
    let hub: Hub<Grenade> =
        Source::tick(every, value)?.to(Sink::broadcast_hub(HubOptions::default())).run(&scope)?;
    let edge = EdgeOptions::capacity(1)?;
    let _fast = hub.subscribe(HubPolicy::Wait).to(Sink::ignore()).run(&scope)?;
    let stuck = hub.subscribe_with(HubPolicy::Wait, 1)?.to(Sink::outlet(edge)).run(&scope)?;
    scope.settle();
    for _ in 0..7 {
        scope.advance(every);
    }
    assert_eq!(made.load(Ordering::SeqCst), 7, "the sixth tick was tried");
    assert!(hub.is_over());
    drop(stuck);
    scope.settle();
    assert_eq!(scope.running(), 0);
    Ok(())
}
