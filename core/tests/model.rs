//! What the model answers, in the figures of the specification. The theorems say the rest.

use sluicegate::model::gate::{AcquireAnswer, Gate};
use sluicegate::model::negotiate;
use sluicegate::model::window::{Arrival, Window};

#[test]
fn taking_nothing_from_an_empty_open_gate_succeeds() {
    let gate = Gate::opened(0);
    assert_eq!(gate.acquire(0, false), (gate, AcquireAnswer::Taken));
    assert_eq!(gate.acquire(1, false), (gate, AcquireAnswer::Wait));
}

#[test]
fn a_closed_gate_answers_closed_to_everything_and_keeps_its_count() {
    let (gate, first) = Gate::opened(5).close();
    assert!(first);
    let (gate, second) = gate.close();
    assert!(!second);
    let gate = gate.grant(7);
    assert_eq!(gate.acquire(0, false).1, AcquireAnswer::Closed);
    assert_eq!(gate.available, 5);
}

#[test]
fn grants_saturate() {
    let gate = Gate::opened(1).grant(u64::MAX);
    assert_eq!(gate.available, u64::MAX);
    let (gate, answer) = gate.acquire(u64::MAX, false);
    assert_eq!(answer, AcquireAnswer::Taken);
    assert_eq!(gate.available, 0);
}

#[test]
fn nobody_overtakes_those_in_line() {
    let gate = Gate::opened(5);
    assert_eq!(gate.acquire(1, true), (gate, AcquireAnswer::Wait));
}

#[test]
fn zero_is_refused_and_else_the_smaller_wins() {
    assert_eq!(negotiate(0, 0), None);
    assert_eq!(negotiate(0, 5), None);
    assert_eq!(negotiate(5, 0), None);
    assert_eq!(negotiate(1, 1), Some(1));
    assert_eq!(negotiate(32, 8), Some(8));
    assert_eq!(negotiate(8, 32), Some(8));
    assert_eq!(negotiate(u64::MAX, u64::MAX), Some(u64::MAX));
}

#[test]
fn the_batch_is_half_the_window_and_at_least_one() {
    let batches: Vec<u64> =
        [0, 1, 2, 3, 4, 5, 7, 8, 31, 32, 33].iter().map(|&w| Window::opened(w).batch).collect();
    assert_eq!(batches, [1, 1, 1, 1, 2, 2, 3, 4, 15, 16, 16]);
    assert_eq!(Window::with_batch(32, 0).batch, 1);
    assert_eq!(Window::with_batch(3, 100).batch, 1);
}

#[test]
fn a_violation_leaves_the_window_untouched() {
    let window = Window::opened(0);
    let (window, arrival) = window.arrive();
    assert_eq!(arrival, Arrival::Violation);
    assert_eq!(window, Window::opened(0));
    let (window, grant) = window.continued();
    assert_eq!(grant, 1);
    assert_eq!(window.arrive().1, Arrival::Accepted);
}

#[test]
fn full_cycles_grant_what_the_specification_measured() {
    let cycle = |w: u64| {
        let mut window = Window::opened(w);
        for _ in 0..w {
            let (next, arrival) = window.arrive();
            assert_eq!(arrival, Arrival::Accepted);
            window = next;
        }
        let mut grants = Vec::new();
        for _ in 0..w {
            let (next, grant) = window.consumed();
            grants.push(grant);
            window = next;
        }
        let (window, rest) = window.flush();
        (grants, rest, window.remaining)
    };
    assert_eq!(cycle(1), (vec![1], 0, 1));
    assert_eq!(cycle(3), (vec![1, 1, 1], 0, 3));
    assert_eq!(cycle(4), (vec![0, 2, 0, 2], 0, 4));
    assert_eq!(cycle(5), (vec![0, 2, 0, 2, 0], 1, 5));
}
