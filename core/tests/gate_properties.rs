//! A gate against a naive one: a number, a list, first come first served.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use sluicegate::wait::Op;
use sluicegate::{Closed, CreditGate, TryAcquire};

/// What happens to a gate. Waiters are meant by their place among all that are not done, modulo
/// their number.
#[derive(Clone, Debug)]
enum Step {
    Try(u64),
    /// Polls a new acquire.
    Start(u64),
    /// Registers a callback and asks for nothing.
    Ready(u64),
    /// Asks a waiter again, served or not.
    Poll(usize),
    /// Drops a waiter, served or not.
    Leave(usize),
    Grant(u64),
    Close(&'static str),
}

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![
        12 => 0_u64..6,
        2 => 0_u64..40,
        1 => prop_oneof![Just(u64::MAX), Just(u64::MAX - 1), Just(1 << 63), Just(1 << 32)],
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => amount().prop_map(Step::Try),
        6 => amount().prop_map(Step::Start),
        2 => amount().prop_map(Step::Ready),
        4 => any::<usize>().prop_map(Step::Poll),
        3 => any::<usize>().prop_map(Step::Leave),
        8 => amount().prop_map(Step::Grant),
        1 => prop_oneof![Just("END"), Just("CANCELLED"), Just("")].prop_map(Step::Close),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    InLine,
    Served,
    Closed,
}

/// The naive gate. Waiters have numbers.
struct Naive {
    available: u64,
    closed: Option<&'static str>,
    line: VecDeque<(usize, u64)>,
    fates: Vec<(u64, Fate)>,
}

impl Naive {
    fn try_acquire(&mut self, n: u64) -> Option<Fate> {
        if self.closed.is_some() {
            Some(Fate::Closed)
        } else if n == 0 || (self.line.is_empty() && n <= self.available) {
            self.available -= n;
            Some(Fate::Served)
        } else {
            None
        }
    }

    fn arrive(&mut self, n: u64) -> usize {
        let number = self.fates.len();
        let fate = self.try_acquire(n).unwrap_or(Fate::InLine);
        if fate == Fate::InLine {
            self.line.push_back((number, n));
        }
        self.fates.push((n, fate));
        number
    }

    fn leave(&mut self, number: usize) {
        self.line.retain(|&(other, _)| other != number);
        let (n, fate) = self.fates[number];
        if fate == Fate::Served {
            self.available = self.available.saturating_add(n);
        }
        self.serve();
    }

    fn grant(&mut self, n: u64) {
        if self.closed.is_none() {
            self.available = self.available.saturating_add(n);
        }
        self.serve();
    }

    fn close(&mut self, reason: &'static str) {
        self.closed.get_or_insert(reason);
        for (number, _) in self.line.drain(..) {
            self.fates[number].1 = Fate::Closed;
        }
    }

    fn serve(&mut self) {
        while let Some(&(number, n)) = self.line.front() {
            if n > self.available {
                break;
            }
            self.available -= n;
            self.fates[number].1 = Fate::Served;
            self.line.pop_front();
        }
    }
}

/// A waiter of the real gate.
struct Waiter {
    number: usize,
    op: Op<Result<(), Closed>>,
    rings: Arc<AtomicUsize>,
}

struct Pair {
    gate: CreditGate,
    naive: Naive,
    waiters: Vec<Waiter>,
}

impl Pair {
    fn new(window: u64) -> Self {
        let naive =
            Naive { available: window, closed: None, line: VecDeque::new(), fates: Vec::new() };
        Pair { gate: CreditGate::new(window), naive, waiters: Vec::new() }
    }

    fn check_answer(&self, number: usize, answer: Option<Result<(), Closed>>) {
        let came = answer.map(|a| a.map_err(|closed| closed.reason.code().to_owned()));
        let expected = match self.naive.fates[number].1 {
            Fate::InLine => None,
            Fate::Served => Some(Ok(())),
            Fate::Closed => Some(Err(self.naive.closed.expect("closed").to_owned())),
        };
        assert_eq!(came, expected, "waiter {number}");
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Try(n) => {
                let answer = self.gate.try_acquire(n);
                match self.naive.try_acquire(n) {
                    Some(Fate::Served) => assert_eq!(answer, TryAcquire::Taken),
                    Some(_) => {
                        let TryAcquire::Closed(reason) = answer else {
                            panic!("not closed: {answer:?}")
                        };
                        assert_eq!(Some(reason.code()), self.naive.closed);
                    }
                    None => assert_eq!(answer, TryAcquire::Wait),
                }
            }
            Step::Start(n) => {
                let rings = Arc::new(AtomicUsize::new(0));
                let mut op = self.gate.acquire_op(n);
                let number = self.naive.arrive(n);
                let answer = op.poll(bell(&rings));
                let waits = answer.is_none();
                self.check_answer(number, answer);
                if waits {
                    self.waiters.push(Waiter { number, op, rings });
                }
            }
            Step::Ready(n) => {
                let rings = Arc::new(AtomicUsize::new(0));
                let op = self.gate.on_ready(n, bell(&rings));
                let number = self.naive.arrive(n);
                self.waiters.push(Waiter { number, op, rings });
            }
            Step::Poll(which) if !self.waiters.is_empty() => {
                let which = which % self.waiters.len();
                let waiter = &mut self.waiters[which];
                waiter.rings = Arc::new(AtomicUsize::new(0));
                let (number, answer) = (waiter.number, waiter.op.poll(bell(&waiter.rings)));
                if answer.is_some() {
                    self.waiters.remove(which);
                }
                self.check_answer(number, answer);
            }
            Step::Leave(which) if !self.waiters.is_empty() => {
                let waiter = self.waiters.remove(which % self.waiters.len());
                self.naive.leave(waiter.number);
                let (rings, before) =
                    (Arc::clone(&waiter.rings), waiter.rings.load(Ordering::SeqCst));
                drop(waiter);
                assert_eq!(rings.load(Ordering::SeqCst), before, "nothing rings for one who left");
                assert_eq!(Arc::strong_count(&rings), 1, "its callback is gone");
            }
            Step::Poll(_) | Step::Leave(_) => {}
            Step::Grant(n) => {
                self.gate.grant(n);
                self.naive.grant(n);
            }
            Step::Close(reason) => {
                assert_eq!(self.gate.close(reason), self.naive.closed.is_none());
                self.naive.close(reason);
            }
        }
    }

    fn check(&self) {
        assert_eq!(self.gate.available(), self.naive.available, "available");
        assert_eq!(self.gate.waiting(), self.naive.line.len(), "in line");
        assert_eq!(self.gate.is_closed(), self.naive.closed.is_some());
        assert_eq!(self.gate.reason().as_ref().map(|r| r.code()), self.naive.closed);
        for waiter in &self.waiters {
            let due = usize::from(self.naive.fates[waiter.number].1 != Fate::InLine);
            let rings = waiter.rings.load(Ordering::SeqCst);
            assert_eq!(rings, due, "waiter {} is rung once, when its turn has come", waiter.number);
        }
    }
}

fn bell(rings: &Arc<AtomicUsize>) -> impl FnOnce() + Send + 'static {
    let rings = Arc::clone(rings);
    move || {
        rings.fetch_add(1, Ordering::SeqCst);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_gate_does_what_a_naive_one_does(
        window in amount(),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut pair = Pair::new(window);
        pair.check();
        for step in &steps {
            pair.apply(step);
            pair.check();
        }
        // C8: after close nobody is left waiting.
        pair.apply(&Step::Close("the end"));
        pair.check();
        while !pair.waiters.is_empty() {
            pair.apply(&Step::Poll(0));
            pair.check();
        }
    }

    #[test]
    fn grants_add_up(window in amount(), m in amount(), n in amount()) {
        let (apart, at_once) = (CreditGate::new(window), CreditGate::new(window));
        apart.grant(m);
        apart.grant(n);
        at_once.grant(m.saturating_add(n));
        prop_assert_eq!(apart.available(), at_once.available()); // G6
        prop_assert!(apart.available() >= window); // G7
    }
}
