//! Streams of a request: values in, values out, each with a window of its own.

mod chunk;
mod collect;
mod emission;
mod guards;
mod input;
mod input_core;
mod iter;
mod limit;
mod numbered;
mod output;
mod output_core;
mod sender;

use std::any::Any;
use std::time::Duration;

pub(crate) use input::Abandon;
pub use input::{InputStream, TryRecv};
pub(crate) use input_core::{InputCore, MAX_ITEM};
pub use iter::Iter;
pub(crate) use limit::{Due, TimeLimit};
pub use output::OutputStream;
pub(crate) use output_core::OutputCore;
pub use sender::StreamSender;

use crate::account::Counters;
use crate::credit::CreditRouter;
use crate::error::{Error, ErrorKind};
use crate::frame::{CHUNK_HEAD, FlowKey, Frame, HARD_MAX_FRAME, Limits, SCALAR_HEAD, Value};
use crate::link::{Alarm, Lanes};
use crate::sync::Arc;
use crate::wait::owed::Owed;

/// How values are laid into chunks. Modes are not mixed within a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// One complete CBOR value a chunk. Byte strings have no boundaries: the consumer joins them.
    #[default]
    Scalar,
    /// Items of any size, each with optional metadata, cut into as many chunks as it takes.
    Sequence,
}

/// How an output stream is opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartOptions {
    /// How values are laid into chunks.
    pub mode: Mode,
    /// No promise that the stream ends by itself; collectors refuse it (L16).
    pub unbounded: bool,
    /// Metadata of the stream, a map.
    pub meta: Option<Value>,
}

impl StartOptions {
    /// A bounded stream of `mode`.
    #[must_use]
    pub fn mode(mode: Mode) -> Self {
        StartOptions { mode, ..Self::default() }
    }
}

/// What is known of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamInfo {
    /// Its name within the request and direction; the empty text differs from an absent name.
    pub id: Option<String>,
    /// The media it carries, for example `media:blob`.
    pub media: String,
    /// The output it is, for an output that is not the main one.
    pub output: Option<String>,
    /// How values are laid into chunks.
    pub mode: Mode,
    /// No promise that it ends by itself (L16).
    pub unbounded: bool,
    /// Metadata of the stream, a map.
    pub meta: Option<Value>,
}

/// One value, as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The value. Byte strings are views into the buffer they came in.
    pub value: Value,
    /// Its metadata, a map.
    pub meta: Option<Value>,
}

/// One stream's figures at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// CHUNK frames so far.
    pub chunks: u64,
    /// Payload bytes so far: the content of byte strings and texts; other values, and the items of a
    /// sequence, as they are encoded.
    pub bytes: u64,
    /// Chunks that may still be sent, or may still arrive, before the next grant.
    pub window: u64,
    /// Chunks that may be sent, or may arrive, in all: the first window and every grant since. At any
    /// quiet point `granted` = `chunks` + `window`.
    pub granted: u64,
    /// Chunks the window was opened with.
    pub initial_credit: u64,
    /// Time spent waiting for credit (output), or with nothing to read (input).
    pub stalled: Duration,
    /// Time spent with credit and without room on the link (output); nothing for an input.
    pub stalled_for_room: Duration,
    /// True once the stream has ended, in whatever way.
    pub ended: bool,
}

impl StreamStats {
    /// As JSON. `credit_outstanding` is the remaining window: at any quiet point `granted` = `chunks` +
    /// `credit_outstanding`.
    pub(crate) fn to_json(self, id: &str, direction: &str, unbounded: bool) -> serde_json::Value {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        serde_json::json!({
            "stream_id": id,
            "direction": direction,
            "chunks": self.chunks,
            "bytes": self.bytes,
            "credit_outstanding": self.window,
            "granted": self.granted,
            "initial_credit": self.initial_credit,
            "blocked_ms": {
                if direction == "out" { "credit" } else { "data" }: millis(self.stalled),
                "room": millis(self.stalled_for_room),
            },
            "unbounded": unbounded,
            "ended": self.ended,
        })
    }
}

/// A live source behind a stream, for figures: its own, as JSON.
pub(crate) trait LiveSource: Send + Sync {
    fn figures(&self) -> serde_json::Value;
}

/// What keeps a request alive: every handle of it and of its streams holds one.
pub(crate) type Owner = Arc<dyn Any + Send + Sync>;

/// What the streams of one link share.
pub(crate) struct Wire {
    pub(crate) lanes: Lanes,
    pub(crate) router: CreditRouter<FlowKey>,
    pub(crate) owed: Arc<Owed>,
    pub(crate) limits: Limits,
    pub(crate) max_item: u64,
    pub(crate) counters: Arc<Counters>,
    /// Looks after the limits of its requests and streams.
    pub(crate) alarm: Alarm,
}

impl Wire {
    /// Refuses what makes a frame too large, before any credit is taken for it.
    pub(crate) fn check_size(&self, payload: usize, meta: Option<&Value>) -> Result<(), Error> {
        let meta = meta.map_or(0, |meta| meta.encode().len());
        let size = payload.saturating_add(meta).saturating_add(CHUNK_HEAD);
        if u64::try_from(size).is_ok_and(|size| size <= self.limits.max_frame.min(HARD_MAX_FRAME)) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::FrameTooLarge,
            format!(
                "a value of {payload} bytes with {meta} of metadata does not fit the frame limit of {}",
                self.limits.max_frame.min(HARD_MAX_FRAME)
            ),
        ))
    }

    /// The most data that goes into a chunk, in bytes: what was agreed, as far as a frame can hold it.
    pub(crate) fn max_chunk(&self) -> usize {
        let frame = self.limits.max_frame.min(HARD_MAX_FRAME);
        let fits = usize::try_from(frame).unwrap_or(usize::MAX);
        let agreed = usize::try_from(self.limits.max_chunk).unwrap_or(usize::MAX);
        agreed.min(fits.saturating_sub(CHUNK_HEAD + SCALAR_HEAD)).max(1)
    }

    /// Queues an uncredited frame of a flow.
    pub(crate) fn send(&self, frame: Frame) -> Result<(), Error> {
        self.lanes.flow(frame)
    }
}
