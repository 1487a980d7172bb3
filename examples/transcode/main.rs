//! A live feed into a cartridge in another process, and what comes back through a pipeline: one demand
//! from the list at the end to the capture ring at the start.
//!
//! Usage: `transcode CARTRIDGE`, a program that answers `cap:fc-feed` (tests/cartridges).

use std::time::Duration;

use sluicegate::feed::{Feed, FeedMeta, FeedOptions, OverrunPolicy, Synthetic};
use sluicegate::flow::{Ops, Scope, Sink, Source};
use sluicegate::{Command, Deadline, Engine, Error, ErrorKind, Item, wait::block_on};

fn main() -> Result<(), Error> {
    let cartridge = std::env::args_os()
        .nth(1)
        .ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "usage: transcode CARTRIDGE"))?;
    let scope = Scope::new("transcode")?;
    let engine = Engine::default();
    let transcoder = engine.spawn(&Command::new(cartridge))?;

    // Twenty frames, one each five milliseconds; the ring could hold them all.
    let options = FeedOptions { capacity: 64, policy: OverrunPolicy::DropOldest, format: None };
    let source =
        Synthetic { items: Some(20), interval: Duration::from_millis(5), item_bytes: 1000 };
    let feed = Feed::synthetic(options, source)?;

    let call = transcoder.call("cap:fc-feed;in=media:feed-frames;out=media:items")?;
    let frames = call.input("media:feed-frames")?;
    let (capture, sending) = (feed.clone(), call.clone());
    let served = std::thread::spawn(move || {
        capture.blocking_serve(&frames)?;
        sending.blocking_finish_input()
    });

    // A stream of a request is a source like any other.
    let numbers = Source::wire(call.blocking_output()?)
        .filter_map(|item: Item| item.meta.as_ref().and_then(FeedMeta::read))
        .map(|meta| meta.seq);
    let came = numbers.to(Sink::collect()).run(&scope)?.blocking_wait()?;
    served.join().unwrap_or_else(|_| Err(ErrorKind::Panic.into()))?;
    call.blocking_wait()?;

    println!("{} frames came back, in order: {}", came.len(), came.is_sorted());
    let stats = feed.stats();
    let conserved = stats.captured == stats.delivered + stats.dropped;
    println!("captured {}, captured = delivered + dropped: {conserved}", stats.captured);
    block_on(engine.close(), Deadline::NEVER)?;
    Ok(())
}
