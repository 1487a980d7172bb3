//! The hazards of a credit gate, one test each, named by the hazard.

mod watchdog;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use sluicegate::wait::{Op, block_on};
use sluicegate::{Closed, CreditGate, Deadline, TimedOut, TryAcquire};
use watchdog::{PROMPT, until, within};

const LIMIT: Duration = Duration::from_secs(180);

type AcquireOp = Op<Result<(), Closed>>;

/// A different short while each time, in which the processor is busy: jitter without a sleep.
struct Jitter(u64);

impl Jitter {
    fn pause(&mut self) {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        for _ in 0..(self.0 >> 53) {
            std::hint::spin_loop();
        }
        if self.0 >> 62 == 0 {
            thread::yield_now();
        }
    }
}

#[test]
fn hz_g01_two_grants_without_a_pause_serve_two_waiters() {
    const ROUNDS: usize = 10_000;
    within(LIMIT * 2, "HZ-G01", || {
        let gate = CreditGate::new(0);
        let barrier = Arc::new(Barrier::new(3));
        let acquirers: Vec<_> = (0..2)
            .map(|seed| {
                let (gate, barrier) = (gate.clone(), Arc::clone(&barrier));
                thread::spawn(move || {
                    let mut jitter = Jitter(seed);
                    for round in 0..ROUNDS {
                        barrier.wait();
                        jitter.pause();
                        let answer = gate.blocking_acquire_timeout(1, Deadline::after(LIMIT * 4));
                        assert_eq!(answer, Ok(Ok(())), "round {round}");
                        barrier.wait();
                    }
                })
            })
            .collect();
        let mut jitter = Jitter(7);
        for round in 0..ROUNDS {
            barrier.wait();
            jitter.pause();
            gate.grant(1);
            gate.grant(1);
            barrier.wait();
            assert_eq!((gate.available(), gate.waiting()), (0, 0), "round {round}");
        }
        for acquirer in acquirers {
            acquirer.join().expect("an acquirer is served every time");
        }
    });
}

#[test]
fn hz_g02_close_wakes_everybody_with_the_reason() {
    within(LIMIT, "HZ-G02", || {
        let gate = CreditGate::new(0);
        let waiters: Vec<_> = (0..8)
            .map(|_| {
                let gate = gate.clone();
                thread::spawn(move || gate.blocking_acquire(1))
            })
            .collect();
        until("eight stand in line", || gate.waiting() == 8);
        let closed = Instant::now();
        assert!(gate.close("CANCELLED"));
        for waiter in waiters {
            let answer = waiter.join().expect("no panic");
            assert_eq!(answer.expect_err("closed").reason.code(), "CANCELLED");
        }
        assert!(closed.elapsed() < PROMPT);
        let ninth = gate.blocking_acquire(1).expect_err("closed");
        assert_eq!(ninth.reason.code(), "CANCELLED");
    });
}

#[test]
fn hz_g03_no_wake_is_used_up_by_a_waiter_that_cannot_act_on_it() {
    within(LIMIT, "HZ-G03", || {
        let gate = CreditGate::new(0);
        let (rings, rung) = channel();
        let ring = rings.clone();
        let mut credit = gate.on_ready(1, move || ring.send("credit").expect("heard"));
        // Nothing but the end of the gate ever answers this one.
        let mut end = gate.on_ready(u64::MAX, move || rings.send("end").expect("heard"));
        gate.grant(1);
        assert_eq!(rung.recv(), Ok("credit"));
        assert_eq!(credit.try_now(), Some(Ok(())));
        assert!(rung.try_recv().is_err(), "the grant woke nobody else");
        assert_eq!(gate.waiting(), 1);
        gate.close("END");
        assert_eq!(rung.recv(), Ok("end"));
        assert_eq!(end.try_now().expect("ready").expect_err("closed").reason.code(), "END");
    });
}

#[test]
fn hz_g04_when_the_head_gives_up_the_next_is_served() {
    within(LIMIT, "HZ-G04", || {
        let gate = CreditGate::new(3);
        let limit = Deadline::after(Duration::from_millis(50));
        let head = gate.clone();
        let head = thread::spawn(move || head.blocking_acquire_timeout(5, limit));
        // On a busy machine it may have left again before anybody sees it there.
        until("the head stands in line", || gate.waiting() == 1 || head.is_finished());
        assert_eq!(gate.blocking_acquire(1), Ok(()), "served once the head is gone");
        assert!(limit.passed(), "not before");
        assert_eq!(head.join().expect("no panic"), Err(TimedOut));
        assert_eq!(gate.available(), 2);
    });
}

#[test]
fn hz_g04_a_dropped_future_or_operation_at_the_head_lets_the_next_through() {
    let gate = CreditGate::new(3);
    let mut head = gate.acquire_op(5);
    assert!(head.try_now().is_none());
    let (ring, rung) = channel();
    let mut next = gate.on_ready(1, move || ring.send(()).expect("heard"));
    assert!(rung.try_recv().is_err());
    drop(head);
    rung.try_recv().expect("rung by the one who left");
    assert_eq!(next.try_now(), Some(Ok(())));
    assert_eq!(gate.available(), 2);
}

#[test]
fn hz_g04_credit_taken_for_one_who_left_is_handed_on() {
    let gate = CreditGate::new(0);
    let mut first = gate.acquire_op(2);
    let mut second = gate.acquire_op(2);
    assert!(first.try_now().is_none());
    assert!(second.try_now().is_none());
    gate.grant(2);
    assert_eq!((gate.available(), gate.waiting()), (0, 1), "taken for the first");
    drop(first); // woken, and never came to fetch it
    assert_eq!(second.try_now(), Some(Ok(())));
    gate.grant(1);
    assert_eq!(gate.available(), 1);
}

#[test]
fn hz_g04_whoever_gives_up_has_taken_nothing_also_when_ready_at_once() {
    let gate = CreditGate::new(3);
    drop(gate.on_ready(2, || ()));
    assert_eq!(gate.available(), 3, "on_ready was never asked for its answer");
    drop(gate.acquire(2));
    drop(gate.acquire_op(2));
    assert_eq!(gate.available(), 3);
}

#[test]
fn hz_g04_whoever_gives_up_has_taken_nothing_also_after_close() {
    let gate = CreditGate::new(0);
    let mut op = gate.acquire_op(2);
    assert!(op.try_now().is_none());
    gate.grant(2);
    gate.close("END");
    drop(op); // served before the close, and never came to fetch it
    assert_eq!(gate.available(), 2, "granted = used + available");
}

#[test]
fn hz_g05_a_large_acquire_is_served_in_its_turn() {
    within(LIMIT, "HZ-G05", || {
        let gate = CreditGate::new(0);
        let small = Arc::new(AtomicU64::new(0));
        let loops: Vec<_> = (0..5)
            .map(|_| {
                let (gate, small) = (gate.clone(), Arc::clone(&small));
                thread::spawn(move || {
                    while gate.blocking_acquire(1).is_ok() {
                        small.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        until("five stand in line", || gate.waiting() == 5);
        let (ring, rung) = channel();
        let mut large = gate.on_ready(10, move || ring.send(()).expect("heard"));
        for granted in 1..=1000_u64 {
            gate.grant(1);
            let served = rung.try_recv().is_ok();
            // Five stood before it, and then every grant is set towards its ten.
            assert_eq!(served, granted == 15, "grant {granted}");
            if served {
                assert_eq!(large.try_now(), Some(Ok(())));
            }
        }
        until("the small ones took the rest", || small.load(Ordering::Relaxed) == 990);
        until("all five wait again", || gate.waiting() == 5);
        assert_eq!(gate.available(), 0);
        gate.close("END");
        for small in loops {
            small.join().expect("no panic");
        }
    });
}

#[test]
fn hz_g05_try_does_not_overtake_the_line() {
    let gate = CreditGate::new(2);
    let mut large = gate.acquire_op(3);
    assert!(large.try_now().is_none());
    assert_eq!(gate.try_acquire(1), TryAcquire::Wait);
    assert_eq!(gate.try_acquire(0), TryAcquire::Taken, "nothing is taken from nobody");
    gate.grant(1);
    assert_eq!(large.try_now(), Some(Ok(())));
}

#[test]
fn hz_g06_the_counter_saturates() {
    const MAX: u64 = i64::MAX as u64;
    let gate = CreditGate::new(0);
    gate.grant(MAX);
    gate.grant(MAX);
    gate.grant(1);
    assert_eq!(gate.available(), u64::MAX);
    gate.grant(1);
    assert_eq!(gate.available(), u64::MAX);
    assert_eq!(gate.blocking_acquire(1), Ok(()));
    assert_eq!(gate.blocking_acquire(MAX), Ok(()));
    assert_eq!(gate.available(), MAX);
}

#[test]
fn hz_g06_the_largest_number_of_all_keeps_to_the_rule() {
    let gate = CreditGate::new(0);
    gate.grant(u64::MAX);
    gate.grant(u64::MAX);
    gate.grant(1);
    assert_eq!(gate.blocking_acquire(1), Ok(()));
    assert_eq!(gate.available(), u64::MAX - 1);
    // One is missing (G2), so this waits for exactly that one.
    let mut all = gate.acquire_op(u64::MAX);
    assert!(all.try_now().is_none());
    gate.grant(1);
    assert_eq!(all.try_now(), Some(Ok(())));
    assert_eq!(gate.available(), 0);
}

#[test]
fn hz_g07_no_number_is_narrowed() {
    for n in [(1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, u64::MAX] {
        let gate = CreditGate::new(0);
        gate.grant(n);
        assert_eq!(gate.available(), n);
        assert_eq!(gate.try_acquire(n), TryAcquire::Taken);
        assert_eq!(gate.available(), 0);
        assert_eq!(CreditGate::new(n).available(), n);
        if n < u64::MAX {
            assert_eq!(CreditGate::new(n).try_acquire(n + 1), TryAcquire::Wait);
        }
    }
}

#[test]
fn hz_g08_a_limit_of_nothing_is_a_try() {
    let gate = CreditGate::new(1);
    for limit in [Duration::ZERO, Duration::from_nanos(1)] {
        let deadline = Deadline::after(limit);
        assert_eq!(gate.blocking_acquire_timeout(2, deadline), Err(TimedOut));
        assert_eq!((gate.available(), gate.waiting()), (1, 0));
        assert_eq!(
            gate.blocking_acquire_timeout(1, deadline),
            Ok(Ok(())),
            "what is there is given"
        );
        gate.grant(1);
    }
}

#[test]
fn hz_g08_the_largest_limit_waits_and_is_woken() {
    within(LIMIT, "HZ-G08", || {
        for deadline in [
            Deadline::after(Duration::MAX),
            Deadline::NEVER,
            Deadline::after_millis(i64::MAX),
            Deadline::after_millis(-1),
        ] {
            let gate = CreditGate::new(0);
            let waiting = gate.clone();
            let waiter = thread::spawn(move || waiting.blocking_acquire_timeout(1, deadline));
            until("it stands in line", || gate.waiting() == 1);
            gate.grant(1);
            assert_eq!(waiter.join().expect("no panic"), Ok(Ok(())), "{deadline:?}");
        }
    });
}

#[test]
fn hz_g09_a_callback_may_use_the_gate() {
    within(LIMIT, "HZ-G09", || {
        let gate = CreditGate::new(0);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let later: Arc<Mutex<Vec<AcquireOp>>> = Arc::default();
        let (inside, noted, kept) = (gate.clone(), Arc::clone(&seen), Arc::clone(&later));
        let mut op = gate.on_ready(1, move || {
            let note = |what: String| noted.lock().expect("whole").push(what);
            note(format!("available {}", inside.available()));
            inside.grant(2);
            note(format!("granted {}", inside.available()));
            note(format!("taken {:?}", inside.try_acquire(1)));
            let again = Arc::clone(&noted);
            let another =
                inside.on_ready(5, move || again.lock().expect("whole").push("closed".into()));
            kept.lock().expect("whole").push(another);
            note(format!("waiting {}", inside.waiting()));
            assert!(inside.close("from inside"));
            note(format!("reason {:?}", inside.reason().map(|r| r.code().to_owned())));
        });
        gate.grant(1);
        assert_eq!(op.try_now(), Some(Ok(())), "paid for before the close");
        let seen = seen.lock().expect("whole").clone();
        assert_eq!(
            seen,
            [
                "available 0",
                "granted 2",
                "taken Taken",
                "waiting 1",
                "closed",
                "reason Some(\"from inside\")"
            ]
        );
        let mut another = later.lock().expect("whole").pop().expect("registered inside");
        let closed = another.try_now().expect("ready").expect_err("closed");
        assert_eq!(closed.reason.code(), "from inside");
    });
}

/// A waker that uses the gate when it is fired and when it goes.
struct Meddler {
    gate: CreditGate,
    calls: Arc<AtomicUsize>,
}

impl Wake for Meddler {
    fn wake(self: Arc<Self>) {
        self.gate.grant(0);
        self.calls.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.gate.grant(self.gate.available());
        self.calls.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn hz_g09_a_waker_of_an_executor_may_use_the_gate() {
    within(LIMIT, "HZ-G09", || {
        let gate = CreditGate::new(0);
        let calls = Arc::new(AtomicUsize::new(0));
        let waker =
            || Waker::from(Arc::new(Meddler { gate: gate.clone(), calls: Arc::clone(&calls) }));
        let mut served = Box::pin(gate.acquire(1));
        let mut dropped = Box::pin(gate.acquire(1));
        let first = served.as_mut().poll(&mut Context::from_waker(&waker()));
        assert!(first.is_pending());
        // The second poll replaces the first waker, which goes.
        let second = served.as_mut().poll(&mut Context::from_waker(&waker()));
        assert!(second.is_pending());
        assert_eq!(calls.load(Ordering::SeqCst), 1, "one replaced");
        assert!(dropped.as_mut().poll(&mut Context::from_waker(&waker())).is_pending());
        drop(dropped);
        assert_eq!(calls.load(Ordering::SeqCst), 2, "one gone with its future");
        gate.grant(1);
        assert_eq!(calls.load(Ordering::SeqCst), 4, "fired, then gone");
        let last = served.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(last, Poll::Ready(Ok(())));
    });
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("on purpose");
    }
}

#[test]
fn hz_g09_a_waker_that_panics_takes_no_wake_from_others() {
    within(LIMIT, "HZ-G09", || {
        let gate = CreditGate::new(0);
        let mut bad = Box::pin(gate.acquire(1));
        assert!(
            bad.as_mut()
                .poll(&mut Context::from_waker(&Waker::from(Arc::new(Panics))))
                .is_pending()
        );
        let rung = Arc::new(AtomicBool::new(false));
        let ring = Arc::clone(&rung);
        let mut good = gate.on_ready(1, move || ring.store(true, Ordering::SeqCst));
        let granting = gate.clone();
        let _whatever = thread::spawn(move || granting.grant(2)).join();
        assert!(rung.load(Ordering::SeqCst), "the one behind was woken");
        assert_eq!(good.try_now(), Some(Ok(())));
        let first = bad.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(first, Poll::Ready(Ok(())));
    });
}

#[test]
fn hz_g09_using_a_gate_while_a_panic_unwinds_does_not_break_it() {
    struct AtTheEnd(CreditGate, Option<AcquireOp>);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            drop(self.1.take());
            self.0.grant(1);
        }
    }
    let gate = CreditGate::new(0);
    let mut op = gate.acquire_op(1);
    assert!(op.try_now().is_none());
    let end = AtTheEnd(gate.clone(), Some(op));
    let panicked = thread::spawn(move || {
        let _end = end;
        panic!("somewhere else, on purpose");
    });
    assert!(panicked.join().is_err());
    assert_eq!(gate.available(), 1, "no panic happened under the gate's lock");
    assert_eq!(gate.try_acquire(1), TryAcquire::Taken);
    assert_eq!(gate.waiting(), 0);
}

#[test]
fn hz_g10_a_grant_of_nothing_wakes_nobody() {
    let gate = CreditGate::new(2);
    let rung = Arc::new(AtomicBool::new(false));
    let ring = Arc::clone(&rung);
    let mut op = gate.on_ready(3, move || ring.store(true, Ordering::SeqCst));
    gate.grant(0);
    assert!(!rung.load(Ordering::SeqCst));
    assert_eq!((gate.available(), gate.waiting()), (2, 1));
    gate.grant(1);
    assert!(rung.load(Ordering::SeqCst));
    assert_eq!(op.try_now(), Some(Ok(())));
}

#[test]
fn hz_g11_more_than_the_window_is_served_once_grants_add_up() {
    within(LIMIT, "HZ-G11", || {
        let gate = CreditGate::new(3);
        let waiting = gate.clone();
        let waiter = thread::spawn(move || block_on(waiting.acquire(5), Deadline::NEVER));
        until("it stands in line", || gate.waiting() == 1);
        gate.grant(1);
        assert_eq!(
            (gate.available(), gate.waiting()),
            (4, 1),
            "nothing is taken before all is there"
        );
        gate.grant(1);
        assert_eq!(waiter.join().expect("no panic"), Ok(Ok(())));
        assert_eq!(gate.available(), 0);
    });
}
