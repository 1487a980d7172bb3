//! Streams of a request: values in, values out, each with a window of its own.

mod chunk;
mod input;
mod output;

use std::any::Any;
use std::time::Duration;

pub(crate) use input::{Abandon, InputCore, MAX_ITEM};
pub use input::{InputStream, Iter, TryRecv};
pub(crate) use output::OutputCore;
pub use output::{OutputStream, StreamSender};

use crate::account::Counters;
use crate::credit::CreditRouter;
use crate::error::{Error, ErrorKind};
use crate::frame::{FlowKey, Frame, Limits, Value};
use crate::link::Lanes;
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
    /// Payload bytes so far.
    pub bytes: u64,
    /// Chunks that may still be sent, or may still arrive, before the next grant.
    pub window: u64,
    /// Chunks the window was opened with.
    pub initial_credit: u64,
    /// Time spent waiting for credit (output), or with nothing to read (input).
    pub stalled: Duration,
    /// True once the stream has ended, in whatever way.
    pub ended: bool,
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
}

impl Wire {
    /// Refuses a payload whose frame would be too large, before any credit is taken for it.
    pub(crate) fn check_size(&self, payload: usize) -> Result<(), Error> {
        const HEAD: u64 = 1024; // what a CHUNK holds beside its payload, item metadata apart
        let size = u64::try_from(payload).unwrap_or(u64::MAX).saturating_add(HEAD);
        if size > self.limits.max_frame {
            return Err(Error::new(
                ErrorKind::FrameTooLarge,
                format!(
                    "a value of {payload} bytes does not fit the frame limit of {}",
                    self.limits.max_frame
                ),
            ));
        }
        Ok(())
    }

    /// Queues an uncredited frame of a flow.
    pub(crate) fn send(&self, frame: Frame) -> Result<(), Error> {
        self.lanes.flow(frame)
    }
}
