//! A window against a naive one, and a gate with a window against the laws of the pair.

use std::collections::VecDeque;

use proptest::prelude::*;
use sluicegate::{CreditGate, CreditWindow, TryAcquire, Violation};

#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive,
    Consumed,
    Flush,
    Continued,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => Just(Step::Arrive),
        4 => Just(Step::Consumed),
        1 => Just(Step::Flush),
        1 => Just(Step::Continued),
    ]
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0_u64..12, 2 => 0_u64..70, 1 => prop_oneof![Just(u64::MAX), Just(u64::MAX - 1), Just(1 << 63)]]
}

/// Counted in numbers that cannot overflow, from the words of the model.
struct Naive {
    remaining: u128,
    pending: u128,
    batch: u128,
}

impl Naive {
    fn give(&mut self, n: u128) -> u128 {
        self.remaining = (self.remaining + n).min(u64::MAX.into());
        n
    }

    fn apply(&mut self, step: Step) -> Result<u128, Violation> {
        match step {
            Step::Arrive if self.remaining == 0 => return Err(Violation),
            Step::Arrive => self.remaining -= 1,
            Step::Consumed => {
                self.pending += 1;
                if self.pending >= self.batch {
                    return self.apply(Step::Flush);
                }
            }
            Step::Flush => {
                let due = std::mem::take(&mut self.pending);
                return Ok(self.give(due));
            }
            Step::Continued => return Ok(self.give(1)),
        }
        Ok(0)
    }
}

fn apply(window: &CreditWindow, step: Step) -> Result<u64, Violation> {
    match step {
        Step::Arrive => window.arrive().map(|()| 0),
        Step::Consumed => Ok(window.consumed()),
        Step::Flush => Ok(window.flush()),
        Step::Continued => Ok(window.continued()),
    }
}

/// What the two ends and the channels between them do next.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// The sender writes a chunk, the last of its item or not, if it has credit.
    Send(bool),
    /// A chunk comes off the wire.
    Deliver,
    /// The consumer takes a whole item, or flushes before it would wait.
    Take,
    /// A grant comes off the wire.
    Grant,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        4 => any::<bool>().prop_map(Move::Send),
        4 => Just(Move::Deliver),
        3 => Just(Move::Take),
        2 => Just(Move::Grant),
    ];
    prop::collection::vec(one, 0..300)
}

/// Both ends, and what is under way between them.
struct Pair {
    gate: CreditGate,
    window: CreditWindow,
    size: u64,
    chunks: VecDeque<bool>,
    grants: VecDeque<u64>,
    items: u64,
    /// Chunks given back, and granted.
    given_back: u64,
    granted: u64,
}

impl Pair {
    fn owe(&mut self, due: u64) {
        if due > 0 {
            self.granted += due;
            self.grants.push_back(due); // P7: never a grant of 0 on the wire
        }
    }

    fn go(&mut self, to: Move) {
        match to {
            Move::Send(last) => {
                if self.gate.try_acquire(1) == TryAcquire::Taken {
                    self.chunks.push_back(last);
                }
            }
            Move::Deliver => {
                if let Some(last) = self.chunks.pop_front() {
                    self.window.arrive().expect("C2: a chunk that was paid for never overruns");
                    if last {
                        self.items += 1;
                    } else {
                        self.given_back += 1;
                        let due = self.window.continued();
                        self.owe(due);
                    }
                }
            }
            Move::Take => {
                let due = if self.items > 0 {
                    self.items -= 1;
                    self.given_back += 1;
                    self.window.consumed()
                } else {
                    self.window.flush()
                };
                self.owe(due);
            }
            Move::Grant => {
                if let Some(n) = self.grants.pop_front() {
                    self.gate.grant(n);
                }
            }
        }
    }

    /// `slack` is what the receiver's window has over the sender's.
    fn check(&self, slack: u64) {
        let (a, x) = (self.gate.available(), self.chunks.len() as u64);
        let under_way: u64 = self.grants.iter().sum();
        let (remaining, pending) = (self.window.remaining(), self.window.pending());
        assert_eq!(a + x + under_way + slack, remaining, "C1, C4: conservation");
        assert_eq!(remaining + pending + self.items, self.size, "P6: buffer bounded");
        assert!(pending < self.window.batch(), "P4");
        assert_eq!(self.granted + pending, self.given_back, "P7: no credit from nothing");
        if slack == 0 && a == 0 && x == 0 && under_way == 0 {
            assert!(self.items >= 1, "C3: a blocked sender is always waited for");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_window_does_what_a_naive_one_does(
        size in size(),
        wish in prop::option::of(size()),
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let half = (u128::from(size) / 2).max(1);
        let batch = wish.map_or(half, |wish| u128::from(wish).clamp(1, half));
        let mut naive = Naive { remaining: size.into(), pending: 0, batch };
        let window = wish.map_or_else(|| CreditWindow::new(size), |wish| CreditWindow::with_batch(size, wish));
        prop_assert_eq!(u128::from(window.batch()), batch); // P1
        for step in steps {
            let before = (window.remaining(), window.pending());
            let answer = apply(&window, step);
            prop_assert_eq!(answer.map(u128::from), naive.apply(step));
            prop_assert_eq!(u128::from(window.remaining()), naive.remaining);
            prop_assert_eq!(u128::from(window.pending()), naive.pending);
            if answer.is_err() {
                prop_assert_eq!((window.remaining(), window.pending()), before); // P2
            }
            if matches!(step, Step::Flush) {
                prop_assert_eq!(window.flush(), 0); // P5
            }
        }
        prop_assert_eq!(u128::from(window.batch()), batch); // P1
    }

    #[test]
    fn a_pair_of_one_window_keeps_its_laws(size in 1_u64..10, steps in moves()) {
        run(size, size, steps);
    }

    #[test]
    fn a_smaller_sender_keeps_the_laws(sender in 1_u64..6, more in 1_u64..40, steps in moves()) {
        run(sender, sender + more, steps);
    }
}

fn run(sender: u64, size: u64, moves: Vec<Move>) {
    let mut pair = Pair {
        gate: CreditGate::new(sender),
        window: CreditWindow::new(size),
        size,
        chunks: VecDeque::new(),
        grants: VecDeque::new(),
        items: 0,
        given_back: 0,
        granted: 0,
    };
    let slack = size - sender;
    pair.check(slack);
    for to in moves {
        pair.go(to);
        pair.check(slack);
    }
    // C9: with a fair consumer the sender gets on.
    while !pair.chunks.is_empty() {
        pair.go(Move::Deliver);
    }
    while pair.items > 0 || pair.window.pending() > 0 {
        pair.go(Move::Take);
    }
    while !pair.grants.is_empty() {
        pair.go(Move::Grant);
    }
    pair.check(slack);
    assert_eq!(pair.gate.available(), sender);
}
