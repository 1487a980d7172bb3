//! The reference cartridge in Rust: every cap of `tests/cartridges/README.md`.

mod checksum;
mod flow;
mod produce;
mod stats;

use sluicegate::{Cap, Cartridge, Error, Limits, Manifest};

fn main() -> Result<(), Error> {
    if std::env::var_os("FC_STATS").is_some() {
        return stats::serve();
    }
    let manifest = Manifest::new("reference-rust", "1.0.0")
        .description("Every reference cap, in Rust")
        .cap(Cap::new(flow::ECHO))
        .cap(Cap::new(flow::ITEMS).input_sequence(true).output_sequence(true))
        .cap(Cap::new(flow::FEED).input_sequence(true).output_sequence(true).streaming(true))
        .cap(Cap::new(flow::PEER))
        .cap(Cap::new(flow::SINK))
        .cap(Cap::new(flow::SLOW))
        .cap(Cap::new(flow::MULTI).output("media:second", false))
        .cap(Cap::new(flow::STDERR))
        .cap(Cap::new(flow::CRASH))
        .cap(Cap::new(produce::PRODUCE))
        .cap(Cap::new(produce::FOREVER).streaming(true))
        .cap(Cap::new(produce::TWO).output("media:second", false))
        .cap(Cap::new(checksum::DIGEST))
        .cap(Cap::new(checksum::CHECKSUM));
    Cartridge::new(manifest)
        .limits(proposal())
        .handler(flow::ECHO, flow::echo)
        .handler(flow::ITEMS, flow::items)
        .handler(flow::FEED, flow::items)
        .handler(flow::PEER, flow::peer)
        .handler(flow::SINK, flow::sink)
        .handler(flow::SLOW, flow::slow)
        .handler(flow::MULTI, flow::multi)
        .handler(flow::STDERR, flow::stderr)
        .handler(flow::CRASH, flow::crash)
        .handler(produce::PRODUCE, produce::produce)
        .handler(produce::FOREVER, produce::forever)
        .handler(produce::TWO, produce::two)
        .handler(checksum::DIGEST, checksum::digest)
        .handler(checksum::CHECKSUM, checksum::checksum)
        .run_stdio()
}

/// What it proposes: the defaults, but for the window that FC_WINDOW names.
fn proposal() -> Limits {
    let window = std::env::var("FC_WINDOW").ok().and_then(|window| window.parse().ok());
    let defaults = Limits::default();
    Limits { initial_credit: window.unwrap_or(defaults.initial_credit), ..defaults }
}
