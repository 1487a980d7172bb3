//! A live feed that is faster than its consumer: `cargo run --release -p sluicegate --example
//! feed_live -- SECONDS` (60 if not given); `docs/performance.md` has the figures.
//!
//! A synthetic source of 1000 items a second, of 1 KiB each, is served over a link to a consumer that
//! takes 300 a second. Every gap is checked against the numbers of the items, and in the end every
//! item was either delivered or counted as dropped. Ends with an error if not, or if the process
//! holds 16 MiB more than after its first second.

use std::time::{Duration, Instant};

use sluicegate::feed::{Feed, FeedMeta, FeedOptions, FeedStats, OverrunPolicy, Synthetic};
use sluicegate::{Cap, Cartridge, Deadline, Engine, Manifest, wait};

const FEED: &str = "cap:feed;in=media:void;out=media:frames";
const RATE: u64 = 1000;
const TAKEN: u64 = 300;
const FLAT: u64 = 16 * 1024;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: u64 = std::env::args().nth(1).map_or(Ok(60), |text| text.parse())?;
    let source = Synthetic {
        items: Some(RATE * seconds),
        interval: Duration::from_micros(1_000_000 / RATE),
        item_bytes: 1024,
    };
    let options = FeedOptions { capacity: 64, policy: OverrunPolicy::DropOldest, format: None };
    let ((cartridge_in, host_out), (host_in, cartridge_out)) = (std::io::pipe()?, std::io::pipe()?);
    let (tell, told) = std::sync::mpsc::channel();
    let manifest = Manifest::new("live", "1").cap(Cap::new(FEED).output_sequence(true));
    let cartridge = Cartridge::new(manifest).handler(FEED, move |request| {
        let feed = Feed::synthetic(options.clone(), source)?;
        let served = feed.blocking_serve(&request.output());
        let _unheard = tell.send(feed.stats());
        served
    });
    let running = std::thread::spawn(move || cartridge.run(cartridge_in, cartridge_out));
    let engine = Engine::default();
    let peer = engine.attach(host_in, host_out)?;
    let call = peer.call(FEED)?;
    call.blocking_finish_input()?;
    let consumed = consume(&call)?;
    call.blocking_wait()?;
    let stats: FeedStats = told.recv()?;
    drop((call, peer));
    wait::block_on(engine.close(), Deadline::NEVER)?;
    running.join().map_err(|_| "the cartridge panicked")??;
    println!(
        "captured {}, delivered {}, dropped {}",
        stats.captured, stats.delivered, stats.dropped
    );
    println!(
        "consumer: {} items, {} missing in {} gaps, in {:.1} s",
        consumed.items,
        consumed.missing,
        consumed.gaps,
        consumed.took.as_secs_f64()
    );
    println!("memory: {} KiB after a second, {} KiB at most", consumed.early, consumed.most);
    let conserved = stats.captured == RATE * seconds
        && (stats.delivered, stats.dropped, stats.held) == (consumed.items, consumed.missing, 0)
        && stats.captured == stats.delivered + stats.dropped;
    match (conserved, consumed.most.saturating_sub(consumed.early) < FLAT) {
        (true, true) => Ok(()),
        (false, _) => Err("items are unaccounted for".into()),
        (true, false) => Err("memory grew".into()),
    }
}

/// What the consumer saw; memory in KiB.
struct Consumed {
    items: u64,
    missing: u64,
    gaps: u64,
    took: Duration,
    early: u64,
    most: u64,
}

fn consume(call: &sluicegate::Call) -> Result<Consumed, Box<dyn std::error::Error>> {
    let output = call.blocking_output()?;
    let start = Instant::now();
    let zero = Duration::ZERO;
    let mut seen = Consumed { items: 0, missing: 0, gaps: 0, took: zero, early: 0, most: 0 };
    let mut expected = 0;
    while let Some(item) = output.blocking_recv()? {
        let meta = FeedMeta::read(item.meta.as_ref().ok_or("an item without metadata")?)
            .ok_or("metadata that is no feed's")?;
        let gap = meta.gap.map_or(0, |gap| gap.dropped);
        if meta.seq != expected + gap {
            return Err(format!("item {} after a gap of {gap}, not {expected}", meta.seq).into());
        }
        expected = meta.seq + 1;
        seen.missing += gap;
        seen.gaps += u64::from(gap > 0);
        seen.items += 1;
        if seen.items == TAKEN {
            seen.early = resident();
        }
        if seen.items.is_multiple_of(TAKEN) {
            seen.most = seen.most.max(resident());
        }
        let due = start + Duration::from_micros(seen.items * 1_000_000 / TAKEN);
        std::thread::sleep(due.saturating_duration_since(Instant::now())); // the consumer's work
    }
    seen.took = start.elapsed();
    Ok(seen)
}

/// What the process holds now, in KiB; 0 where the system does not tell.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
