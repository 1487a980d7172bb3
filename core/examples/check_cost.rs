//! What the run-time monitor costs, off and on: `docs/performance.md` has the figures.
//!
//! ```text
//! cargo run --release -p sluicegate --example check_cost
//! SLUICEGATE_CHECK=1 cargo run --release -p sluicegate --example check_cost
//! ```

use std::hint::black_box;
use std::time::Instant;

use sluicegate::{CreditGate, CreditWindow, TryAcquire};

const ROUNDS: u32 = 5_000_000;

/// The best of five runs, in nanoseconds a round: what else runs on the machine only adds.
fn best(mut round: impl FnMut()) -> f64 {
    let mut run = || {
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| round());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS)
    };
    (0..5).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let gate = black_box(CreditGate::new(32));
    let pair = best(|| {
        assert_eq!(gate.try_acquire(1), TryAcquire::Taken);
        gate.grant(1);
    });
    let window = black_box(CreditWindow::new(32));
    let cycle = best(|| {
        window.arrive().expect("within the window");
        black_box(window.consumed());
    });
    let checked = std::env::var("SLUICEGATE_CHECK").is_ok_and(|value| value == "1");
    println!("monitor {}", if checked { "on" } else { "off" });
    println!("gate: try_acquire and grant {pair:.1} ns");
    println!("window: arrive and consumed {cycle:.1} ns");
}
