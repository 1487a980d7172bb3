//! What an element costs in a pipeline: `cargo run --release -p sluicegate --example flow_cost -- RUNS`
//! (5 if not given); `docs/performance.md` has the figures.
//!
//! Twelve fused stages, then the same behind one boundary, then a boundary alone; each the best of
//! the runs. Memory is what the process holds at most, over what it held before the first run. Ends with
//! an error if that is 16 MiB or more, or if an element is lost.

use std::time::{Duration, Instant};

use sluicegate::flow::{EdgeOptions, Ops, Scope, Sink, Source};

const ELEMENTS: u64 = 10_000_000;
const FLAT: u64 = 16 * 1024;

fn twelve() -> Result<Source<u64>, sluicegate::Error> {
    let first = Source::range(0..ELEMENTS)
        .map(|n| n + 1)
        .filter(|n| *n != 0)
        .tap(|n| {
            std::hint::black_box(n);
        })
        .page(64)?
        .scan(0_u64, |_, n| n);
    let groups = first.batch(16)?.map(|group| group).flatten();
    Ok(groups.filter_map(Some).take(u64::MAX).drop(0).drop_while(|_| false))
}

/// What the process held at most, in KiB; 0 where the system does not tell.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn best(
    what: &str,
    runs: usize,
    source: &Source<u64>,
    stages: u32,
) -> Result<(), sluicegate::Error> {
    let scope = Scope::new("cost")?;
    let graph = source.to(Sink::fold(0_u64, |count, _| count + 1));
    let mut best = Duration::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        let count = graph.run(&scope)?.blocking_wait()?;
        best = best.min(start.elapsed());
        assert_eq!(count, ELEMENTS);
    }
    let each = best.as_nanos() as f64 / ELEMENTS as f64;
    println!(
        "{what:<34} {:>8.2?}  {each:>7.1} ns an element  {:>6.1} ns a stage",
        best,
        each / f64::from(stages)
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runs: usize = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    let before = peak();
    println!("{ELEMENTS} elements, the best of {runs} runs");
    best("twelve fused stages", runs, &twelve()?, 12)?;
    let edge = EdgeOptions::capacity(1024)?;
    best("twelve and a boundary of 1024", runs, &twelve()?.buffer(edge), 13)?;
    best("a boundary of 1024 alone", runs, &Source::range(0..ELEMENTS).buffer(edge), 1)?;
    let grown = peak().saturating_sub(before);
    println!("memory over idle: {grown} KiB");
    if grown < FLAT { Ok(()) } else { Err("memory grew".into()) }
}
