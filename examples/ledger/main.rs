//! A ledger is fetched by the page and written by the row: the demand of the page goes up, the demand
//! of the row comes from below.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate::flow::{Flow, Scope, Sink, Source};

const ROWS: u64 = 200;

fn main() -> Result<(), sluicegate::Error> {
    let scope = Scope::new("ledger")?;
    let written = Arc::new(AtomicU64::new(0));
    let fetches = Arc::new(AtomicU64::new(0));

    let (seen, count) = (Arc::clone(&written), Arc::clone(&fetches));
    let ledger = Source::fetch(move |from, n| {
        println!("fetch {n} rows from {from} after {} written", seen.load(Ordering::Relaxed));
        count.fetch_add(1, Ordering::Relaxed);
        Ok((from..ROWS.min(from + n)).map(|row| format!("row {row}")).collect())
    });
    let written_too = Arc::clone(&written);
    let writer = Sink::foreach(move |_row: String| {
        written_too.fetch_add(1, Ordering::Relaxed); // commits one row, and asks for the next
    });

    // Holds 64 rows or has asked for them, and asks again once 48 have left: never more than 64.
    ledger.via(Flow::page_with_mark(64, 48)?).to(writer).run(&scope)?.blocking_wait()?;
    println!(
        "written {} rows in {} fetches",
        written.load(Ordering::Relaxed),
        fetches.load(Ordering::Relaxed)
    );
    Ok(())
}
