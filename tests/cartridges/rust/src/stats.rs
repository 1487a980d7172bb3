//! What a cartridge says of itself, told by one that serves by hand: a handler has no session.

use sluicegate::wait::block_on;
use sluicegate::{Cap, Cartridge, Deadline, Error, Manifest, Request, Session};

const STATS: &str = "cap:fc-stats;in=media:blob;out=media:json";

/// Serves this cap alone, one request after the other.
pub fn serve() -> Result<(), Error> {
    let manifest = Manifest::new("reference-rust", "1.0.0").cap(Cap::new(STATS));
    let session = Cartridge::new(manifest).serve_stdio()?;
    while let Some(request) = block_on(session.next_request(), Deadline::NEVER)?? {
        match stats(&request, &session) {
            Ok(()) => block_on(request.finish(None, None), Deadline::NEVER)??,
            Err(error) => request.fail(&error),
        }
    }
    Ok(())
}

/// Reads its argument, answers a window full of integers, and then what the cartridge says of itself.
fn stats(request: &Request, session: &Session) -> Result<(), Error> {
    for item in &request.blocking_input()? {
        item?;
    }
    let output = request.output();
    // A window full: what comes next waits for the host to have read.
    (0..32_u64).try_for_each(|n| output.blocking_emit(n.into()))?;
    output.blocking_write(session.stats().to_string().as_bytes())
}
