//! [`CreditGate`]: no wake is lost between the word and the line, nobody is overtaken, and a waiter who
//! leaves hands on what was his.

use std::time::Duration;

use crate::Check;
use crate::credit::{Closed, CreditGate, TryAcquire};
use crate::explore::{every, go};
use crate::time::Deadline;

pub const CHECKS: &[Check] = &[
    ("gate_a_grant_meets_a_waiter", grant_meets_waiter),
    ("gate_two_grants_serve_two_waiters", two_grants),
    ("gate_word_and_line_agree", word_and_line),
    ("gate_a_large_request_is_not_overtaken", not_overtaken),
    ("gate_a_close_releases_everybody", close_releases),
    ("gate_a_grant_races_a_close", grant_or_close),
    ("gate_a_waiter_who_leaves_lets_the_next_through", leaves_unserved),
    ("gate_a_served_waiter_who_leaves_hands_on", leaves_served),
    ("gate_a_deadline_takes_all_or_nothing", deadline),
    ("gate_on_ready_rings_once_and_holds_the_turn", on_ready),
];

fn grant_meets_waiter() {
    every(4, || {
        let gate = CreditGate::new(0);
        let waiter = gate.clone();
        let waiting = go(move || waiter.blocking_acquire(2));
        gate.grant(1);
        gate.grant(1);
        assert_eq!(waiting.end(), Ok(()));
        assert_eq!((gate.available(), gate.waiting()), (0, 0));
    });
}

fn two_grants() {
    every(2, || {
        let gate = CreditGate::new(0);
        let waiting = [gate.clone(), gate.clone()].map(|gate| go(move || gate.blocking_acquire(1)));
        gate.grant(1);
        gate.grant(1);
        assert!(waiting.map(|waiting| waiting.end()).iter().all(Result::is_ok));
        assert_eq!((gate.available(), gate.waiting()), (0, 0));
    });
}

/// Two take by the word or in line while a third gives: three units in, three out, whoever comes first.
fn word_and_line() {
    every(2, || {
        let gate = CreditGate::new(1);
        let (large, small) = (gate.clone(), gate.clone());
        let large = go(move || large.blocking_acquire(2));
        let small = go(move || match small.try_acquire(1) {
            TryAcquire::Taken => small.grant(1),
            TryAcquire::Wait => {}
            TryAcquire::Closed(reason) => panic!("closed: {reason}"),
        });
        gate.grant(1);
        assert_eq!(large.end(), Ok(()));
        small.end();
        assert_eq!((gate.available(), gate.waiting()), (0, 0));
    });
}

fn not_overtaken() {
    every(2, || {
        let gate = CreditGate::new(0);
        let mut first = gate.acquire_op(2);
        assert!(first.poll(|| ()).is_none());
        let (later, giver) = (gate.clone(), gate.clone());
        let later = go(move || {
            let mut second = later.acquire_op(1);
            assert!(second.poll(|| ()).is_none(), "a later request overtook the first");
            assert_eq!(later.try_acquire(1), TryAcquire::Wait);
            second
        });
        let giver = go(move || {
            giver.grant(1);
            giver.grant(1);
        });
        let mut second = later.end();
        giver.end();
        assert_eq!(first.poll(|| ()), Some(Ok(())));
        assert!(second.poll(|| ()).is_none());
        gate.grant(1);
        assert_eq!(second.poll(|| ()), Some(Ok(())));
        assert_eq!((gate.available(), gate.waiting()), (0, 0));
    });
}

fn close_releases() {
    every(2, || {
        let gate = CreditGate::new(0);
        let waiting = [gate.clone(), gate.clone()].map(|gate| go(move || gate.blocking_acquire(1)));
        assert!(gate.close("GONE"));
        for waiting in waiting {
            let Closed { reason } = waiting.end().expect_err("nothing was ever granted");
            assert_eq!(reason.code(), "GONE");
        }
        assert_eq!(gate.waiting(), 0);
    });
}

/// Credit that was taken before the close is the taker's; credit that was not is still there.
fn grant_or_close() {
    every(3, || {
        let gate = CreditGate::new(0);
        let (waiter, closer) = (gate.clone(), gate.clone());
        let waiting = go(move || waiter.blocking_acquire(1));
        let closing = go(move || closer.close("GONE"));
        gate.grant(1);
        assert!(closing.end());
        let taken = waiting.end();
        let left = gate.available();
        // A grant that came after the close did nothing.
        assert!(
            matches!((&taken, left), (Ok(()), 0) | (Err(_), 0 | 1)),
            "{taken:?} with {left} left"
        );
        assert_eq!((gate.waiting(), gate.is_closed()), (0, true));
    });
}

fn leaves_unserved() {
    every(2, || {
        let gate = CreditGate::new(1);
        let mut head = gate.acquire_op(2);
        assert!(head.poll(|| ()).is_none());
        let behind = gate.clone();
        let behind = go(move || behind.blocking_acquire(1));
        let leaving = go(move || drop(head));
        assert_eq!(behind.end(), Ok(()));
        leaving.end();
        assert_eq!((gate.available(), gate.waiting()), (0, 0));
    });
}

fn leaves_served() {
    every(2, || {
        let gate = CreditGate::new(0);
        let mut head = gate.acquire_op(1);
        assert!(head.poll(|| ()).is_none());
        let behind = gate.clone();
        let behind = go(move || behind.blocking_acquire(1));
        let leaving = go(move || drop(head));
        gate.grant(1); // before or after the head of the line has left
        assert_eq!(behind.end(), Ok(()));
        leaving.end();
        assert_eq!((gate.available(), gate.waiting()), (0, 0));
    });
}

fn deadline() {
    every(3, || {
        let gate = CreditGate::new(0);
        let limited = gate.clone();
        let at_once = Deadline::after(Duration::ZERO);
        let limited = go(move || limited.blocking_acquire_timeout(1, at_once));
        let behind = gate.clone();
        let behind = go(move || behind.blocking_acquire(1));
        gate.grant(1);
        if limited.end().is_ok() {
            gate.grant(1);
        }
        assert_eq!(behind.end(), Ok(()));
        assert_eq!((gate.available(), gate.waiting()), (0, 0));
    });
}

fn on_ready() {
    every(3, || {
        let gate = CreditGate::new(0);
        let giver = gate.clone();
        let giving = go(move || giver.grant(1));
        let rung = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = std::sync::Arc::clone(&rung);
        let mut op = gate.on_ready(1, move || {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
        giving.end();
        assert_eq!(gate.try_acquire(1), TryAcquire::Wait, "the turn is taken");
        assert_eq!(op.try_now(), Some(Ok(())));
        assert_eq!(rung.load(std::sync::atomic::Ordering::Relaxed), 1);
    });
}
