//! The wait/wake contract of docs/waiting.md, sentence by sentence, for Rust: operations with a bell,
//! futures and threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use sluicegate::wait::Bell;
use sluicegate::{CreditGate, Deadline, TryAcquire};

const LIMIT: Duration = Duration::from_secs(180);

fn counting(count: &Arc<AtomicUsize>) -> impl FnOnce() + Send + 'static {
    let count = Arc::clone(count);
    move || {
        count.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn wake_fires_once() {
    let gate = CreditGate::new(0);
    let count = Arc::new(AtomicUsize::new(0));
    let mut op = gate.acquire_op(1);
    assert!(op.poll(counting(&count)).is_none());
    // Wakes from several threads at once: the credit, more of it, and the close.
    let wakers: Vec<_> = (0..4)
        .map(|n| {
            let gate = gate.clone();
            thread::spawn(move || match n {
                0..3 => gate.grant(1),
                _ => assert!(gate.close("DONE"), "closed once"),
            })
        })
        .collect();
    wakers.into_iter().for_each(|waker| waker.join().expect("no panic"));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(op.poll(counting(&count)).is_some(), "a wake means that asking is worth while");
    assert_eq!(count.load(Ordering::SeqCst), 1, "what is answered at once needs no wake");
    assert_eq!(Arc::strong_count(&count), 1, "what the callbacks owned is released");
}

/// The callback may use what it was given until the withdrawal returns, and never afterwards, while another
/// thread wakes as fast as it can.
#[test]
fn withdraw_joins() {
    struct Owned {
        alive: AtomicUsize,
        late: AtomicUsize,
    }
    let owned = Arc::new(Owned { alive: AtomicUsize::new(0), late: AtomicUsize::new(0) });
    let gate = CreditGate::new(0);
    let (next, rounds) = mpsc::sync_channel::<()>(0);
    let granter = gate.clone();
    let granting = thread::spawn(move || rounds.iter().for_each(|()| granter.grant(1)));
    for round in 0..2000 {
        owned.alive.store(1, Ordering::SeqCst);
        let mut op = gate.acquire_op(1);
        let used = Arc::clone(&owned);
        let answered = op.poll(move || {
            for _ in 0..50 {
                let freed = used.alive.load(Ordering::SeqCst) == 0;
                used.late.fetch_add(usize::from(freed), Ordering::SeqCst);
            }
        });
        assert!(answered.is_none());
        next.send(()).expect("the granter listens");
        let kept = match round % 2 {
            0 => {
                op.withdraw();
                Some(op)
            }
            _ => {
                drop(op);
                None
            }
        };
        owned.alive.store(0, Ordering::SeqCst); // freed: nobody may use it now
        drop(kept);
        // The credit is there, whoever it was taken for.
        gate.blocking_acquire_timeout(1, Deadline::after(LIMIT)).expect("in time").expect("open");
    }
    drop(next);
    granting.join().expect("no panic");
    assert_eq!(owned.late.load(Ordering::SeqCst), 0, "a callback ran after its withdrawal");
}

#[test]
fn a_withdrawn_bell_never_rings() {
    let count = Arc::new(AtomicUsize::new(0));
    let bell = Bell::new(counting(&count));
    assert!(bell.withdraw(), "it had not rung");
    bell.ring();
    assert!(!bell.withdraw());
    assert_eq!(count.load(Ordering::SeqCst), 0);
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn leaving_hands_on() {
    // Unserved: the head of the line asks for too much, and what it leaves is enough for the next.
    let gate = CreditGate::new(1);
    let mut head = gate.acquire_op(2);
    assert!(head.poll(|| ()).is_none());
    let (rang, rung) = mpsc::channel();
    let mut behind = gate.acquire_op(1);
    assert!(behind.poll(move || rang.send(()).expect("the test listens")).is_none());
    drop(head);
    rung.recv_timeout(LIMIT).expect("the next one is woken");
    assert_eq!(behind.poll(|| ()), Some(Ok(())));

    // Served, and it goes before it comes for its turn.
    let mut head = gate.acquire_op(1);
    assert!(head.poll(|| ()).is_none());
    let (rang, rung) = mpsc::channel();
    let mut behind = gate.acquire_op(1);
    assert!(behind.poll(move || rang.send(()).expect("the test listens")).is_none());
    gate.grant(1);
    assert!(rung.try_recv().is_err(), "it is the head's");
    drop(head);
    rung.recv_timeout(LIMIT).expect("the turn is handed on");
    assert_eq!(behind.poll(|| ()), Some(Ok(())));

    // By its deadline, on a thread of its own.
    let limited = gate.blocking_acquire_timeout(1, Deadline::after(Duration::ZERO));
    assert!(limited.is_err());
    gate.grant(1);
    assert_eq!(
        gate.try_acquire(1),
        TryAcquire::Taken,
        "who timed out took nothing and is not in line"
    );
}

/// State first, then the wake, with no lock held: a callback may use the very thing that woke it.
#[test]
fn a_waker_may_call_what_woke_it() {
    let gate = CreditGate::new(0);
    let inside = gate.clone();
    let (said, saw) = mpsc::channel();
    let mut op = gate.acquire_op(1);
    let polled = op.poll(move || {
        inside.grant(1);
        said.send((inside.available(), inside.waiting())).expect("the test listens");
    });
    assert!(polled.is_none());
    gate.grant(1);
    assert_eq!(saw.recv_timeout(LIMIT).expect("it ran"), (1, 0));
}
