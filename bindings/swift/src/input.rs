//! Values in.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sluicegate::{Error, InputStream, Item, Mode, StreamInfo, StreamStats, Value};

use crate::error::Failure;
use crate::guard::{guard, quiet};
use crate::lend::address;
use crate::limits::within;
use crate::op::{operation, taking};

/// Core's input stream.
#[derive(uniffi::Object)]
pub struct InputCore(pub(crate) InputStream);

/// What is known of a stream.
#[derive(Clone, Debug, uniffi::Record)]
pub struct StreamFacts {
    /// Its name within the request and direction.
    pub id: Option<String>,
    /// The media it carries.
    pub media: String,
    /// The output it is, unless the main one.
    pub output: Option<String>,
    /// Items with metadata instead of values.
    pub sequence: bool,
    /// No promise that it ends by itself.
    pub unbounded: bool,
    /// Metadata of the stream, CBOR.
    pub meta: Option<Vec<u8>>,
}

impl From<&StreamInfo> for StreamFacts {
    fn from(info: &StreamInfo) -> Self {
        StreamFacts {
            id: info.id.clone(),
            media: info.media.clone(),
            output: info.output.clone(),
            sequence: info.mode == Mode::Sequence,
            unbounded: info.unbounded,
            meta: info.meta.as_ref().map(Value::encode),
        }
    }
}

/// A stream's figures at one moment.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct StreamFigures {
    /// CHUNK frames so far.
    pub chunks: u64,
    /// Payload bytes so far.
    pub bytes: u64,
    /// Chunks of the window that are left.
    pub window: u64,
    /// Chunks the window was opened with.
    pub initial_credit: u64,
    /// Nanoseconds spent waiting for credit, or with nothing to read.
    pub stalled_nanos: u64,
    /// True once it has ended.
    pub ended: bool,
}

impl From<StreamStats> for StreamFigures {
    fn from(stats: StreamStats) -> Self {
        StreamFigures {
            chunks: stats.chunks,
            bytes: stats.bytes,
            window: stats.window,
            initial_credit: stats.initial_credit,
            stalled_nanos: nanos(stats.stalled),
            ended: stats.ended,
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[uniffi::export]
impl InputCore {
    /// What is known of the stream.
    pub fn info(&self) -> StreamFacts {
        self.0.info().into()
    }

    /// The next value; no item at the clean end.
    pub fn recv(&self) -> Arc<ItemsOp> {
        let next = self.0.recv();
        ItemsOp::start(
            async move { next.await.map(|item| item.map(Lent::from).into_iter().collect()) },
        )
    }

    /// Everything as one byte string.
    pub fn collect_bytes(&self) -> Arc<ItemsOp> {
        let all = self.0.collect_bytes();
        ItemsOp::start(async move {
            let all = Bytes::from(all.await?);
            Ok::<_, Error>(vec![Lent { kind: KIND_BYTES, payload: all, meta: Bytes::new() }])
        })
    }

    /// Everything as one text.
    pub fn collect_text(&self) -> Arc<ItemsOp> {
        let all = self.0.collect_text();
        ItemsOp::start(async move {
            let all = Bytes::from(all.await?);
            Ok::<_, Error>(vec![Lent { kind: KIND_TEXT, payload: all, meta: Bytes::new() }])
        })
    }

    /// Everything as a list.
    pub fn collect_items(&self) -> Arc<ItemsOp> {
        let all = self.0.collect_items();
        ItemsOp::start(
            async move { all.await.map(|all| all.into_iter().map(Lent::from).collect()) },
        )
    }

    /// Allows the stream so many microseconds from now; none is no limit.
    ///
    /// # Errors
    /// As core's `limit`.
    pub fn limit(&self, micros: Option<u64>) -> Result<(), Failure> {
        guard(|| self.0.limit(within(micros)))
    }

    /// Stops reading.
    pub fn cancel(&self) {
        quiet((), || self.0.cancel());
    }

    /// The stream's figures now.
    ///
    /// # Errors
    /// `Broken` after a panic.
    pub fn stats(&self) -> Result<StreamFigures, Failure> {
        guard(|| Ok::<_, Error>(self.0.stats().into()))
    }
}

const KIND_BYTES: u8 = 0;
const KIND_TEXT: u8 = 1;
const KIND_CBOR: u8 = 2;

/// One item, laid out for Swift to read in place.
pub(crate) struct Lent {
    kind: u8,
    payload: Bytes,
    meta: Bytes,
}

impl Lent {
    /// Lends kind, payload and metadata, the last two as an address and a count.
    pub(crate) fn lend<R>(&self, to: impl FnOnce(u8, (u64, u64), (u64, u64)) -> R) -> R {
        let at = |bytes: &Bytes| (address(bytes), bytes.len() as u64);
        to(self.kind, at(&self.payload), at(&self.meta))
    }
}

impl From<Item> for Lent {
    fn from(item: Item) -> Self {
        let (kind, payload) = match item.value {
            Value::Bytes(bytes) => (KIND_BYTES, bytes),
            Value::Text(text) => (KIND_TEXT, text.into()),
            other => (KIND_CBOR, other.encode().into()),
        };
        let meta = item.meta.map(|meta| meta.encode().into()).unwrap_or_default();
        Lent { kind, payload, meta }
    }
}

operation! {
    /// An operation that answers items. They are read in place: every address is good until the
    /// operation is cancelled or released.
    ItemsOp -> Vec<Lent>
}

impl ItemsOp {
    fn item<R>(&self, index: u64, fallback: R, look: impl FnOnce(&Lent) -> R) -> R {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        self.0.look(|items| items.get(index).map(look)).flatten().unwrap_or(fallback)
    }
}

#[uniffi::export]
impl ItemsOp {
    /// How many items it answered.
    pub fn count(&self) -> u64 {
        self.0.look(|items| items.len() as u64).unwrap_or(0)
    }

    /// What the payload is: 0 a byte string's contents, 1 a text's in UTF-8, 2 any other value as
    /// CBOR.
    pub fn kind(&self, index: u64) -> u8 {
        self.item(index, KIND_BYTES, |item| item.kind)
    }

    /// Where the payload lies.
    pub fn address(&self, index: u64) -> u64 {
        self.item(index, 0, |item| address(&item.payload))
    }

    /// Bytes of the payload.
    pub fn size(&self, index: u64) -> u64 {
        self.item(index, 0, |item| item.payload.len() as u64)
    }

    /// Where the metadata lies, CBOR.
    pub fn meta_address(&self, index: u64) -> u64 {
        self.item(index, 0, |item| address(&item.meta))
    }

    /// Bytes of the metadata, 0 for none.
    pub fn meta_size(&self, index: u64) -> u64 {
        self.item(index, 0, |item| item.meta.len() as u64)
    }
}

taking! {
    /// An operation that answers a stream, or that there is none left.
    InputOp -> Option<Arc<InputCore>>
}
