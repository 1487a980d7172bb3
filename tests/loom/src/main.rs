//! The waiting parts of the core under checkers of schedules.
//!
//! ```text
//! cargo run                     every check under loom: all schedules, up to a number of preemptions
//! cargo run -- gate             those whose name begins so
//! cargo run -- --list           their names
//! cargo run --no-default-features --features shuttle   the larger ones, many random schedules
//! SLUICEGATE_MUTANT=name cargo run -- check   over broken rooms (mutants.txt): the check must fail
//! ```
//!
//! The rooms are the core's own sources (build.rs), built over the checker's locks. A check that ends
//! without a panic in any schedule has passed; a lost wake is a deadlock, which both checkers report.
#![allow(dead_code, unused_imports, reason = "the rooms serve more than is checked here")]

include!(concat!(env!("OUT_DIR"), "/rooms.rs"));

mod explore;
mod rig;

#[cfg(loom)]
mod bell;
#[cfg(loom)]
mod gate;
#[cfg(loom)]
mod input;
#[cfg(loom)]
mod lanes;
#[cfg(loom)]
mod owed;
#[cfg(loom)]
mod router;
#[cfg(loom)]
mod streams;
#[cfg(loom)]
mod terminal;
#[cfg(shuttle)]
mod whole;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

/// A named check, and what explores it.
type Check = (&'static str, fn());

#[cfg(loom)]
fn checks() -> Vec<Check> {
    [
        bell::CHECKS,
        gate::CHECKS,
        router::CHECKS,
        owed::CHECKS,
        input::CHECKS,
        lanes::CHECKS,
        terminal::CHECKS,
        streams::CHECKS,
    ]
    .concat()
}

#[cfg(shuttle)]
fn checks() -> Vec<Check> {
    whole::CHECKS.to_vec()
}

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted.first().is_some_and(|first| first == "--list") {
        checks().iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let chosen: Vec<Check> = checks()
        .into_iter()
        .filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|start| name.starts_with(start)))
        .collect();
    if chosen.is_empty() {
        eprintln!("no check begins with any of {wanted:?}");
        return ExitCode::FAILURE;
    }
    let (mut passed, mut failed) = (0, 0);
    for (name, check) in chosen {
        let start = Instant::now();
        let ended = catch_unwind(AssertUnwindSafe(check));
        let seconds = start.elapsed().as_secs_f64();
        let schedules = explore::explored();
        match ended {
            Ok(()) => {
                passed += 1;
                println!("{name}: ok, {schedules} schedules, {seconds:.1} s");
            }
            Err(_) => {
                failed += 1;
                println!("{name}: FAILED after {schedules} schedules, {seconds:.1} s");
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
