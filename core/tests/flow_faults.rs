//! What goes wrong at the seams of a flow: offers given up half-way, cancels nobody waits for, calls back
//! into the scope, values that throw when they go.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicegate::flow::{
    Completion, EdgeOptions, Flow, Hub, HubOptions, HubPolicy, Manual, Offer, Ops, Outlet,
    Overflow, Promise, Scope, Sink, Source,
};
use sluicegate::{Error, ErrorKind};

const SHORT: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_secs(180);

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

/// A size is asked for once, and goes with the element: at the gates, in the queue and out of it.
#[test]
fn an_element_has_one_size_though_its_function_answers_anew_each_time() -> Result<(), Error> {
    let strategies = [Overflow::Backpressure, Overflow::DropHead, Overflow::DropNew];
    for strategy in strategies {
        let scope = Scope::stepped("sizes", 1);
        let edge = EdgeOptions::capacity(8)?.bytes(8)?.overflow(strategy);
        let asked = Arc::new(AtomicU64::new(0));
        // 1, 8, 1, 8, ...: what was let in as small would be put in as large.
        let size = |asked: &Arc<AtomicU64>| {
            let asked = Arc::clone(asked);
            move |_: &u64| 1 + asked.fetch_add(1, Ordering::SeqCst) % 2 * 7
        };
        let graph = Source::manual_sized(edge, size(&asked))
            .via(Flow::buffer_sized(edge, size(&asked)))
            .to_mat(Sink::collect(), both);
        let (manual, done) = graph.run(&scope)?;
        let mut enqueued = Vec::new();
        for n in 0..32 {
            if manual.try_offer(n) == Ok(Offer::Enqueued) {
                enqueued.push(n);
            }
            scope.settle();
        }
        assert_eq!(manual.held(), 0, "{strategy:?}");
        assert!(manual.complete());
        scope.settle();
        let all = done.blocking_wait_timeout(LONG)?;
        assert!(!all.is_empty(), "{strategy:?}");
        if strategy == Overflow::Backpressure {
            assert_eq!(all, enqueued, "what was accepted arrives");
            assert_eq!(asked.load(Ordering::SeqCst), 32 + all.len() as u64, "once at each edge");
        }
        assert_eq!(scope.running(), 0, "{strategy:?}");
    }
    Ok(())
}

/// A value whose clone asks the completion that it comes from.
struct Curious {
    from: Arc<Mutex<Option<Completion<Curious>>>>,
    settled: bool,
}

impl Clone for Curious {
    fn clone(&self) -> Self {
        let from = self.from.lock().expect("no panic").take();
        let settled = from.is_some_and(|completion| {
            let again = completion.result().is_some_and(|again| again.is_ok());
            again && completion.blocking_wait_timeout(LONG).is_ok() && completion.is_success()
        });
        Curious { from: Arc::clone(&self.from), settled }
    }
}

#[test]
fn the_clone_of_a_value_may_ask_its_own_completion() -> Result<(), Error> {
    let promise = Promise::new();
    let completion = promise.completion();
    let from = Arc::new(Mutex::new(Some(completion.clone())));
    assert!(promise.try_success(Curious { from: Arc::clone(&from), settled: false }));
    // On a thread of its own, so that a lock that is held shows as a limit that passes.
    let (tell, told) = std::sync::mpsc::channel();
    let asking = completion.clone();
    std::thread::spawn(move || tell.send(asking.blocking_wait().map(|value| value.settled)));
    let settled = told.recv_timeout(LONG).expect("no lock is held while a value is cloned")?;
    assert!(settled, "it was answered from within");
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

/// An element that throws when it goes; how many have gone.
struct Mine(Arc<AtomicU64>);

impl Drop for Mine {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("thrown when it went");
    }
}

/// Two elements that throw, one after the other, would be a panic within a panic: the end of the process.
#[test]
fn however_many_elements_throw_as_they_go_each_goes_and_nothing_else() -> Result<(), Error> {
    let edge = EdgeOptions::capacity(4)?;
    let nobody = || Sink::outlet(EdgeOptions::capacity(1).expect("positive"));
    type Through = fn() -> Result<Flow<Mine, Vec<Mine>>, Error>;
    let stages: [(&str, Through); 5] = [
        ("batch", || Flow::batch(8)),
        ("page", || Ok(Flow::page(4)?.map(|mine| vec![mine]))),
        ("delay", || Ok(Flow::delay(LONG, 4)?.map(|mine| vec![mine]))),
        ("async", || Flow::map_async(4, |mine| async { Ok(vec![mine]) })),
        ("buffer", || Ok(Flow::buffer(EdgeOptions::capacity(2)?).map(|mine| vec![mine]))),
    ];
    for (name, stage) in stages {
        let scope = Scope::stepped(name, 1);
        let gone = Arc::new(AtomicU64::new(0));
        let (manual, outlet) =
            Source::manual(edge).via(stage()?).to_mat(nobody(), both).run(&scope)?;
        for _ in 0..4 {
            assert!(
                matches!(manual.try_offer(Mine(Arc::clone(&gone))), Ok(Offer::Enqueued)),
                "{name}"
            );
        }
        scope.settle();
        for _ in 0..2 {
            let offer = manual.try_offer(Mine(Arc::clone(&gone))).map_err(std::mem::forget);
            assert!(matches!(offer, Ok(Offer::Enqueued) | Err(())), "{name}");
        }
        scope.shutdown(LONG)?;
        assert!(gone.load(Ordering::SeqCst) >= 3, "{name}: {gone:?}");
        assert_eq!(scope.running(), 0, "{name}");
        // What one read by hand holds is its own: here it is one element at most.
        let left = std::panic::AssertUnwindSafe(|| drop(outlet));
        let _it_may_throw = std::panic::catch_unwind(left);
    }
    let scope = Scope::stepped("collect", 1);
    let gone = Arc::new(AtomicU64::new(0));
    let (manual, done) = Source::manual(edge).to_mat(Sink::collect(), both).run(&scope)?;
    for _ in 0..3 {
        assert!(manual.try_offer(Mine(Arc::clone(&gone))).is_ok());
    }
    scope.settle();
    scope.shutdown(LONG)?;
    assert!(done.is_cancelled());
    assert_eq!(gone.load(Ordering::SeqCst), 3);
    Ok(())
}

/// What throws as it makes room for another is lost like any other.
#[test]
fn elements_that_throw_as_they_make_room_leave_the_edge_as_it_should_be() -> Result<(), Error> {
    let scope = Scope::stepped("room", 1);
    let gone = Arc::new(AtomicU64::new(0));
    let edge = EdgeOptions::capacity(3)?.overflow(Overflow::DropBuffer);
    let (manual, _outlet) =
        Source::manual(edge).to_mat(Sink::outlet(EdgeOptions::capacity(1)?), both).run(&scope)?;
    for _ in 0..4 {
        let offer = manual.try_offer(Mine(Arc::clone(&gone)));
        assert!(matches!(offer, Ok(Offer::Enqueued)));
    }
    assert_eq!((gone.load(Ordering::SeqCst), manual.lost(), manual.held()), (3, 3, 1));
    scope.shutdown(LONG)?;
    Ok(())
}

/// A run that is refused after a hub knew of it was none: for the hub, and for whoever tries again.
#[test]
fn a_refused_run_leaves_nothing_at_a_hub() -> Result<(), Error> {
    let scope = Scope::stepped("refused", 1);
    let hub: Hub<u64> =
        Source::iter(0..3).to(Sink::broadcast_hub(HubOptions::default())).run(&scope)?;
    let refuse = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&refuse);
    let look = move || assert!(!asked.load(Ordering::SeqCst), "not now");
    let mine = look.clone();
    let graph = hub.subscribe(HubPolicy::Wait).to_mat(Sink::collect(), move |_, done| {
        mine();
        done
    });
    assert_eq!(graph.run(&scope).expect_err("refused").kind(), ErrorKind::StageFailed);
    scope.settle();
    assert_eq!(hub.subscribers(), [], "nobody listens");
    assert_eq!(scope.running(), 1, "the hub lives on");
    refuse.store(false, Ordering::SeqCst);
    let done = graph.run(&scope)?;
    scope.settle();
    assert_eq!(done.blocking_wait_timeout(LONG)?, [0, 1, 2]);
    assert_eq!(graph.run(&scope).expect_err("twice").kind(), ErrorKind::AlreadySubscribed);

    let (merged, all) =
        Source::merge_hub(EdgeOptions::default()).to_mat(Sink::collect(), both).run(&scope)?;
    refuse.store(true, Ordering::SeqCst);
    let graph = Source::iter(0..3_u64).to_mat(merged.sink(), move |_, _| look());
    for _ in 0..3 {
        assert_eq!(graph.run(&scope).expect_err("refused").kind(), ErrorKind::StageFailed);
        scope.settle();
    }
    assert_eq!((merged.failures(), merged.last_failure()), (0, None), "it never was a producer");
    assert_eq!(scope.stages().len(), 2, "the source's stage and the sink's");
    refuse.store(false, Ordering::SeqCst);
    graph.run(&scope)?;
    merged.complete();
    scope.settle();
    assert_eq!(all.blocking_wait_timeout(LONG)?, [0, 1, 2]);
    assert_eq!(scope.running(), 0);
    Ok(())
}

/// What a function has captured: it throws when it goes; how many have gone.
struct Throws(Arc<AtomicU64>);

impl Throws {
    fn pass<T>(&self, value: T) -> T {
        assert!(self.0.load(Ordering::SeqCst) < 7, "this one is still there");
        value
    }
}

impl Drop for Throws {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("a function that throws when it goes");
    }
}

/// Several of one run, so that one throws while another one's throw is on its way: that must not end
/// the process.
#[test]
fn functions_that_throw_when_they_go_take_nothing_along() {
    for run_ends_first in [true, false] {
        let gone = Arc::new(AtomicU64::new(0));
        let [a, b, c, d, e, f, g] = [(); 7].map(|()| Throws(Arc::clone(&gone)));
        let scope = Scope::stepped("test", 1);
        let graph = Source::unfold(0_u64, move |n| Ok(Some(a.pass((n + 1, n)))))
            .map(move |n| b.pass(n))
            .filter(move |_| c.pass(true))
            .take(3)
            .conflate(move |n| d.pass(n), move |sum, n| e.pass(sum + n))
            .to_mat(Sink::fold(0, move |sum, n| f.pass(sum + n)), move |_, done| g.pass(done));
        let done = graph.run(&scope).expect("runs");
        if run_ends_first {
            scope.settle();
            assert_eq!(gone.load(Ordering::SeqCst), 0, "the blueprint has them");
            drop(graph);
        } else {
            drop(graph);
            scope.settle();
        }
        assert_eq!(done.blocking_wait_timeout(Duration::from_secs(60)).expect("ends"), 3);
        assert_eq!(scope.running(), 0);
        assert_eq!(gone.load(Ordering::SeqCst), 7, "each once, run first: {run_ends_first}");
    }
}

/// What a panic carries: it throws in its turn when it goes.
struct Carried(Arc<AtomicU64>);

impl Drop for Carried {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("what was thrown throws when it goes");
    }
}

#[test]
fn what_is_thrown_may_throw_when_it_goes_and_is_the_failure_of_its_own_stage() -> Result<(), Error>
{
    let gone = Arc::new(AtomicU64::new(0));
    let throw = |gone: &Arc<AtomicU64>| {
        let gone = Arc::clone(gone);
        move || -> u64 { std::panic::panic_any(Carried(Arc::clone(&gone))) }
    };
    let scope = Scope::stepped("test", 1);
    let thrower = throw(&gone);
    let map = Flow::map(move |_: u64| thrower()).named("mine");
    let done = Source::range(0..3).via(map).to(Sink::ignore()).run(&scope)?;
    scope.settle();
    let error = done.blocking_wait_timeout(LONG).expect_err("failed");
    assert_eq!(error.kind(), ErrorKind::StageFailed);
    assert!(error.message().contains("\"mine\""), "{error}");
    assert_eq!(scope.running(), 0);

    let promise = Promise::<u64>::new();
    promise.completion().on_settled({
        let thrower = throw(&gone);
        move |_| _ = thrower()
    });
    assert!(promise.try_success(1));
    assert_eq!(gone.load(Ordering::SeqCst), 2, "each once");
    Ok(())
}
