//! The reference cartridge in Rust: every cap of `tests/cartridges/README.md`.

mod checksum;
mod flow;
mod produce;

use sluicegate::{Cap, Cartridge, Error, Manifest};

fn main() -> Result<(), Error> {
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
        .cap(Cap::new(produce::PRODUCE))
        .cap(Cap::new(produce::FOREVER).streaming(true))
        .cap(Cap::new(produce::TWO).output("media:second", false))
        .cap(Cap::new(checksum::DIGEST))
        .cap(Cap::new(checksum::CHECKSUM));
    Cartridge::new(manifest)
        .handler(flow::ECHO, flow::echo)
        .handler(flow::ITEMS, flow::items)
        .handler(flow::FEED, flow::items)
        .handler(flow::PEER, flow::peer)
        .handler(flow::SINK, flow::sink)
        .handler(flow::SLOW, flow::slow)
        .handler(flow::MULTI, flow::multi)
        .handler(flow::STDERR, flow::stderr)
        .handler(produce::PRODUCE, produce::produce)
        .handler(produce::FOREVER, produce::forever)
        .handler(produce::TWO, produce::two)
        .handler(checksum::DIGEST, checksum::digest)
        .handler(checksum::CHECKSUM, checksum::checksum)
        .run_stdio()
}
