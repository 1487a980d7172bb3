//! Chains: what one cartridge sends is what the next one receives.

use crate::error::Error;
use crate::frame::Value;
use crate::stream::{InputStream, Mode, OutputStream, StartOptions};
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::block_on;

/// Moves everything from `from` to `to` and closes `to` at the clean end. Answers how many chunks
/// or items went through.
///
/// Credit is end to end (L11): a chunk is given back upstream once it was taken downstream, and what
/// is pending upstream is granted before any wait for credit downstream (L10). Nothing is decoded,
/// and the checksum stays the producer's, so it is verified by whoever consumes in the end.
///
/// Fails with what either side fails with; a caller's `from` that is dropped then cancels its call.
pub fn forward(
    from: InputStream,
    to: OutputStream,
) -> impl Future<Output = Result<u64, Error>> + Send + use<> {
    let (upstream, downstream) = (Arc::clone(&from.wire().owed), to.owed());
    upstream.before_wait(downstream.before_wait(pump(from, to)))
}

async fn pump(from: InputStream, to: OutputStream) -> Result<u64, Error> {
    let info = from.info();
    let (mode, unbounded) = (info.mode, info.unbounded);
    if unbounded || info.meta.is_some() {
        // An output that its owner started keeps what it was started with.
        let _ = to.start(StartOptions { mode, unbounded, meta: info.meta.clone() });
    }
    let mut moved = 0_u64;
    while let Some(mut arrived) = from.next_raw().await? {
        let holds_credit = arrived.holds_credit;
        if arrived.fragments.iter().all(|fragment| to.core().fits(fragment.payload.len())) {
            to.core().forward(&mut arrived, mode).await?;
        } else if let Some((value, meta)) = arrived.open()? {
            recut(&to, mode, value, meta).await?;
        }
        from.passed_on(holds_credit);
        moved = moved.saturating_add(1);
    }
    to.close().await?;
    Ok(moved)
}

/// Sends a value whose chunks are too large for the link downstream.
async fn recut(
    to: &OutputStream,
    mode: Mode,
    value: Value,
    meta: Option<Value>,
) -> Result<(), Error> {
    match mode {
        Mode::Scalar => to.emit(value).await,
        Mode::Sequence => to.emit_list_item(value, meta).await,
    }
}

/// [`forward`], waiting on this thread.
///
/// # Errors
/// As there.
pub fn blocking_forward(from: InputStream, to: OutputStream) -> Result<u64, Error> {
    block_on(forward(from, to), Deadline::NEVER)?
}
