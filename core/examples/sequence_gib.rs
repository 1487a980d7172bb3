//! A GiB as one sequence, from one process to another and back: `cargo run --release -p sluicegate
//! --example sequence_gib -- MIB` (1024 if not given); `docs/performance.md` has the figures.
//!
//! Items of 64 KiB, each with its number in front and as metadata. The other process is this program
//! again, as a cartridge that hands on each item. Ends with an error if an item is missing, changed or
//! out of order, or if either process holds 64 MiB more than when the first item came back.

use std::time::Instant;

use bytes::Bytes;
use sluicegate::{Cap, Cartridge, Command, Deadline, Engine, Error, Manifest, Value, wait};

const HAND_ON: &str = "cap:hand-on;in=media:items;out=media:items";
const ITEM: usize = 64 * 1024;
const FLAT: u64 = 64 * 1024 * 1024;
const ROLE: &str = "SLUICEGATE_EXAMPLE_CARTRIDGE";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::var_os(ROLE).is_some() {
        return Ok(cartridge().run_stdio()?);
    }
    let mib: u64 = std::env::args().nth(1).map_or(Ok(1024), |text| text.parse())?;
    let items = mib * 1024 * 1024 / ITEM as u64;
    let engine = Engine::default();
    let peer = engine.spawn(&Command::new(std::env::current_exe()?).env(ROLE, "1"))?;
    let call = peer.call(HAND_ON)?;
    let input = call.input("media:items")?;
    let start = Instant::now();
    let source = std::thread::spawn(move || {
        (0..items).try_for_each(|n| input.blocking_emit_list_item(item(n), Some(number(n))))?;
        input.blocking_close()
    });
    let output = call.blocking_output()?;
    let resident = || [memory(), peer.memory().map_or(0, |memory| memory.resident)];
    let (mut came, mut early, mut most) = (0, [0; 2], [0; 2]);
    while let Some(got) = output.blocking_recv()? {
        if got.value != item(came) || got.meta != Some(number(came)) {
            return Err(format!("item {came} is missing, changed or out of order").into());
        }
        came += 1;
        if came == 1 {
            early = resident();
        }
        if came % 1024 == 0 {
            most = [0, 1].map(|at| most[at].max(resident()[at]));
        }
    }
    source.join().map_err(|_| "the source panicked")??;
    call.blocking_finish_input()?;
    call.blocking_wait()?;
    let seconds = start.elapsed().as_secs_f64();
    drop((call, peer));
    wait::block_on(engine.close(), Deadline::NEVER)?;
    let grown = [0, 1].map(|at| most[at].saturating_sub(early[at]));
    println!("{came} items of {ITEM} bytes there and back in {seconds:.1} s");
    println!("memory grew by {} KiB here, {} KiB there", grown[0] / 1024, grown[1] / 1024);
    match (came == items, grown.iter().all(|grown| *grown < FLAT)) {
        (true, true) => Ok(()),
        (false, _) => Err(format!("{items} were sent, {came} came").into()),
        (true, false) => Err("memory grew".into()),
    }
}

fn cartridge() -> Cartridge {
    let cap = Cap::new(HAND_ON).input_sequence(true).output_sequence(true);
    Cartridge::new(Manifest::new("hand-on", "1").cap(cap)).handler(HAND_ON, |request| {
        let (input, output) = (request.blocking_input()?, request.output());
        for item in &input {
            let item = item?;
            output.blocking_emit_list_item(item.value, item.meta)?;
        }
        Ok::<(), Error>(())
    })
}

/// The item with this number: the number, over and over.
fn item(n: u64) -> Value {
    Value::Bytes(Bytes::from(n.to_be_bytes().repeat(ITEM / 8)))
}

/// The metadata of the item with this number.
fn number(n: u64) -> Value {
    Value::text_map([("n", Value::Uint(n))])
}

/// What this process holds now, in bytes; 0 where the system does not tell.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
