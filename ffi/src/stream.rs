//! What input and output streams share: how one is started, and its figures.

use sluicegate::{Mode, StartOptions as Start, StreamStats as Stats};

use crate::border::{self, Growing};
use crate::guard::Fail;
use crate::item;

/// How an output stream is started. Begin with SLUICE_START_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StartOptions {
    /// Set by SLUICE_START_OPTIONS_INIT.
    pub struct_size: u32,
    /// A sequence of items; otherwise scalar.
    pub sequence: bool,
    /// No promise that the stream ends by itself; collectors refuse it (L16).
    pub unbounded: bool,
    /// Metadata of the stream, a CBOR map; NULL: none.
    pub meta: *const u8,
    /// Bytes of it.
    pub meta_len: usize,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for StartOptions {}

/// Reads options that may be NULL.
pub(crate) fn start(options: *const StartOptions) -> Result<Start, Fail> {
    let Some(options) = border::sized(options)? else {
        return Ok(Start::default());
    };
    Ok(Start {
        mode: if options.sequence { Mode::Sequence } else { Mode::Scalar },
        unbounded: options.unbounded,
        meta: item::meta(options.meta, options.meta_len)?,
    })
}

/// One stream's figures at one moment. Begin with SLUICE_STREAM_STATS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StreamStats {
    /// Set by SLUICE_STREAM_STATS_INIT.
    pub struct_size: u32,
    /// The stream has ended, in whatever way.
    pub ended: bool,
    /// CHUNK frames so far.
    pub chunks: u64,
    /// Payload bytes so far.
    pub bytes: u64,
    /// Chunks that may still be sent, or may still arrive, before the next grant.
    pub window: u64,
    /// Chunks that the window was opened with.
    pub initial_credit: u64,
    /// Nanoseconds spent waiting for credit (output), or with nothing to read (input).
    pub stalled_ns: u64,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for StreamStats {}

impl From<Stats> for StreamStats {
    fn from(stats: Stats) -> Self {
        StreamStats {
            struct_size: 0,
            ended: stats.ended,
            chunks: stats.chunks,
            bytes: stats.bytes,
            window: stats.window,
            initial_credit: stats.initial_credit,
            stalled_ns: u64::try_from(stats.stalled.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}
