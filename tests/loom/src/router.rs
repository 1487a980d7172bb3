//! [`CreditRouter`]: an end of the request reaches every gate, also one that is entered meanwhile.

use crate::Check;
use crate::credit::{CreditGate, CreditRouter, Delivery};
use crate::explore::{every, go};
use crate::sync::Arc;

pub const CHECKS: &[Check] = &[
    ("router_an_end_releases_who_acquires", end_releases),
    ("router_a_gate_entered_during_the_end_is_closed", entered_meanwhile),
    ("router_a_replaced_gate_releases_its_waiter", replaced),
];

fn end_releases() {
    every(2, || {
        let router = Arc::new(CreditRouter::<u64>::new());
        let gate = CreditGate::new(0);
        router.register(1, Some("a"), &gate);
        let waiter = gate.clone();
        let waiting = go(move || waiter.blocking_acquire(1));
        let granter = Arc::clone(&router);
        let granting = go(move || granter.grant(&1, None, 1));
        router.close_request(&1, "END");
        let delivery = granting.end();
        let taken = waiting.end();
        assert!(taken.is_err() || delivery == Delivery::Granted);
        assert!(gate.is_closed() && router.is_empty() && gate.waiting() == 0);
    });
}

/// As a stream opens while its request ends: the gate is closed, then the request; who enters the gate
/// asks whether it is closed, and takes it out again.
fn entered_meanwhile() {
    every(4, || {
        let router = Arc::new(CreditRouter::<u64>::new());
        let gate = CreditGate::new(0);
        let (opening, opened) = (Arc::clone(&router), gate.clone());
        let opening = go(move || {
            opening.register(1, Some("a"), &opened);
            if opened.reason().is_some() {
                opening.unregister(&1, Some("a"));
                return false;
            }
            opened.blocking_acquire(1).is_ok()
        });
        gate.close("END");
        router.close_request(&1, "END");
        assert!(!opening.end());
        assert!(router.is_empty());
    });
}

fn replaced() {
    every(3, || {
        let router = Arc::new(CreditRouter::<u64>::new());
        let (old, new) = (CreditGate::new(0), CreditGate::new(0));
        router.register(1, None, &old);
        let waiter = old.clone();
        let waiting = go(move || waiter.blocking_acquire(1).is_ok());
        let granter = Arc::clone(&router);
        let granting = go(move || granter.grant(&1, None, 1));
        router.register(1, None, &new);
        assert_eq!(granting.end(), Delivery::Granted);
        let served = waiting.end();
        assert!(old.is_closed());
        // The grant reached one of the two, and after the close it does nothing.
        let on_old = old.available() + u64::from(served);
        assert!(on_old + new.available() <= 1, "credit from nothing");
    });
}
