//! [`Bell`] and [`Op`]: a wake fires once, and once a withdrawal has returned it never fires.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Check;
use crate::credit::CreditGate;
use crate::explore::{every, go};
use crate::sync::{Arc, Condvar, Mutex};
use crate::wait::Bell;

pub const CHECKS: &[Check] = &[
    ("bell_rings_once", rings_once),
    ("bell_never_rings_after_withdrawal", withdrawal_joins),
    ("bell_two_withdrawals_join", two_withdrawals),
    ("bell_of_an_op_never_rings_after_it_is_gone", op_joins),
    ("bell_a_foreign_wait_loop_loses_no_wake", foreign_wait),
];

/// Something that a callback must not touch once it was withdrawn. Its lock is the checker's, so that a
/// ring may be caught in its middle.
#[derive(Default)]
struct Owned(Mutex<Use>);

#[derive(Default)]
struct Use {
    inside: bool,
    rings: u32,
    freed: bool,
    after: bool,
}

impl Owned {
    fn callback(self: &Arc<Self>) -> impl FnOnce() + Send + 'static {
        let this = Arc::clone(self);
        move || {
            this.0.lock().inside = true;
            let mut used = this.0.lock();
            used.after |= used.freed;
            used.rings += 1;
            used.inside = false;
        }
    }

    /// What an owner does once nobody may use it any more. Answers how often it was used.
    fn free(&self) -> u32 {
        let mut used = self.0.lock();
        assert!(!used.inside, "a ring is in progress");
        used.freed = true;
        used.rings
    }

    fn settled(&self, rings: u32) {
        let used = self.0.lock();
        assert!(!used.after && used.rings == rings, "it rang after the withdrawal");
    }
}

fn rings_once() {
    every(3, || {
        let owned = Arc::new(Owned::default());
        let bell = Bell::new(owned.callback());
        let rings = [Arc::clone(&bell), Arc::clone(&bell)].map(|bell| go(move || bell.ring()));
        rings.into_iter().for_each(|ring| ring.end());
        assert_eq!(owned.free(), 1);
        assert!(!bell.withdraw());
        owned.settled(1);
    });
}

fn withdrawal_joins() {
    every(4, || {
        let owned = Arc::new(Owned::default());
        let bell = Bell::new(owned.callback());
        let ring = Arc::clone(&bell);
        let ring = go(move || ring.ring());
        let never = bell.withdraw();
        let rings = owned.free();
        assert_eq!(never, rings == 0);
        ring.end();
        owned.settled(rings);
    });
}

fn two_withdrawals() {
    every(3, || {
        let owned = Arc::new(Owned::default());
        let bell = Bell::new(owned.callback());
        let (ring, other) = (Arc::clone(&bell), Arc::clone(&bell));
        let ring = go(move || ring.ring());
        let other = go(move || other.withdraw());
        bell.withdraw();
        let rings = owned.free();
        other.end();
        ring.end();
        owned.settled(rings);
    });
}

fn op_joins() {
    every(3, || {
        let gate = CreditGate::new(0);
        let owned = Arc::new(Owned::default());
        let mut op = gate.acquire_op(1);
        assert!(op.poll(owned.callback()).is_none());
        let giver = gate.clone();
        let giving = go(move || giver.grant(1));
        drop(op);
        let rings = owned.free();
        giving.end();
        owned.settled(rings);
        assert_eq!(gate.available(), 1, "what was taken for the waiter is back");
    });
}

/// What a binding does: poll with a callback that signals its own condition, wait, poll again.
fn foreign_wait() {
    every(3, || {
        let gate = CreditGate::new(0);
        let giver = gate.clone();
        let giving = go(move || {
            giver.grant(1);
            giver.grant(1);
        });
        let mut op = gate.acquire_op(2);
        let polls = AtomicUsize::new(0);
        loop {
            polls.fetch_add(1, Ordering::Relaxed);
            let signal = Arc::new((Mutex::new(false), Condvar::default()));
            let rung = Arc::clone(&signal);
            let answer = op.poll(move || {
                *rung.0.lock() = true;
                rung.1.notify_all();
            });
            if let Some(answer) = answer {
                assert_eq!(answer, Ok(()));
                break;
            }
            let mut rung = signal.0.lock();
            while !*rung {
                signal.1.wait(&mut rung);
            }
        }
        assert!(
            polls.load(Ordering::Relaxed) <= 2,
            "one wake is enough: the credit is taken for it"
        );
        giving.end();
        assert_eq!(gate.available(), 0);
    });
}
