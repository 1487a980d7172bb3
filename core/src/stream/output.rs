//! [`OutputStream`]: values out, one credit a chunk.

use std::sync::Weak;
use std::time::Duration;

use bytes::Bytes;

use super::output_core::OutputCore;
use super::{LiveSource, Owner, StartOptions, StreamInfo, StreamStats};
use crate::account::Counters;
use crate::error::{Error, Reason};
use crate::frame::Value;
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::owed::{BeforeWait, Owed};

/// Values out. Cheap to clone; any thread or task may emit, and each emission is whole and in order.
///
/// The first emission starts the stream in the mode of that call. Every CHUNK takes one credit
/// (L9): an emission waits while the receiver has granted none, while the link has no room, and
/// while an earlier emission on the same stream waits. Closing the request releases it with the
/// reason (L13).
///
/// Dropping the future of an emission cancels it: what earlier calls wrote is kept, of this call's
/// bytes a part may have been sent. A sequence item cancelled in its middle breaks the stream.
#[derive(Clone)]
pub struct OutputStream {
    core: Arc<OutputCore>,
    _owner: Owner,
}

impl OutputStream {
    pub(crate) fn new(core: Arc<OutputCore>, owner: Owner) -> Self {
        OutputStream { core, _owner: owner }
    }

    pub(crate) fn core(&self) -> &Arc<OutputCore> {
        &self.core
    }

    /// It delivers what a live source captures, whose figures are told with the stream's.
    pub(crate) fn delivers(&self, source: Weak<dyn LiveSource>) {
        self.core.delivers(source);
    }

    pub(crate) fn owed(&self) -> Arc<Owed> {
        Arc::clone(&self.core.wire.owed)
    }

    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.core.wire.counters)
    }

    /// Waits until a CLOSE_STREAM says that a live source is to stop.
    pub(crate) fn unwanted(&self) -> impl Future<Output = ()> + Send + use<> {
        self.core.unwanted()
    }

    /// Waits until nothing more can be sent, and answers why: the request's end or the stream's own,
    /// code `STREAM_END`. For who produces for this stream and may have nothing to send for a while.
    pub fn ended(&self) -> impl Future<Output = Reason> + Send + use<> {
        self.waits(self.core.ended())
    }

    /// Allows the stream `limit` from now until it is closed. Then the request fails with kind `TimedOut`,
    /// whatever is waited for: credit, room, or nothing just now. The other end is told, as
    /// [`Call::limit`](crate::Call::limit) and [`Request::limit`](crate::Request::limit) say. The last
    /// limit that was set counts; one that no clock can represent is none. Never waits.
    ///
    /// # Errors
    /// `Io` if the system gives no thread to look after it.
    pub fn limit(&self, limit: Duration) -> Result<(), Error> {
        self.core.allow(limit)
    }

    /// What is known of the stream; mode and flags are the defaults until it is started.
    #[must_use]
    pub fn info(&self) -> StreamInfo {
        self.core.info()
    }

    /// Starts the stream explicitly, to choose what the first emission cannot: unbounded, or with
    /// metadata. Never waits.
    ///
    /// # Errors
    /// `InvalidArgument` if it was started already; the reason if the request is over.
    pub fn start(&self, options: StartOptions) -> Result<(), Error> {
        self.core.start(options)
    }

    /// Writes bytes to a scalar stream. Small writes are held and sent together: when 4096 bytes
    /// are there, when the oldest is 20 ms old at the next write, at [`flush`](Self::flush) and at
    /// [`close`](Self::close). Empty writes send nothing.
    pub fn write(&self, data: Bytes) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let this = self.clone();
        self.waits(async move { this.core.write(&data).await })
    }

    /// Emits one value to a scalar stream. Byte strings are written as by [`write`](Self::write),
    /// long texts are split between characters, any other value is one chunk.
    pub fn emit(&self, value: Value) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let this = self.clone();
        self.waits(async move { this.core.emit(value).await })
    }

    /// Emits one item, of any size, to a sequence stream; `meta` is a map.
    pub fn emit_list_item(
        &self,
        value: Value,
        meta: Option<Value>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let this = self.clone();
        self.waits(async move { this.core.emit_list_item(value, meta).await })
    }

    /// Sends what is held.
    pub fn flush(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let this = self.clone();
        self.waits(async move { this.core.flush().await })
    }

    /// Sends what is held and ends the stream; a stream that never started is an empty one. May be
    /// called again.
    pub fn close(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let this = self.clone();
        self.waits(async move { this.core.close().await })
    }

    /// [`write`](Self::write), waiting on this thread.
    ///
    /// # Errors
    /// The reason why the request or connection ended; `WrongMode` on a sequence stream.
    pub fn blocking_write(&self, data: &[u8]) -> Result<(), Error> {
        self.block(self.core.write(data))
    }

    /// [`emit`](Self::emit), waiting on this thread.
    ///
    /// # Errors
    /// As [`blocking_write`](Self::blocking_write), and `FrameTooLarge`.
    pub fn blocking_emit(&self, value: Value) -> Result<(), Error> {
        self.block(self.core.emit(value))
    }

    /// [`emit_list_item`](Self::emit_list_item), waiting on this thread.
    ///
    /// # Errors
    /// As [`blocking_write`](Self::blocking_write), `WrongMode` on a scalar stream.
    pub fn blocking_emit_list_item(&self, value: Value, meta: Option<Value>) -> Result<(), Error> {
        self.block(self.core.emit_list_item(value, meta))
    }

    /// [`flush`](Self::flush), waiting on this thread.
    ///
    /// # Errors
    /// As [`blocking_write`](Self::blocking_write).
    pub fn blocking_flush(&self) -> Result<(), Error> {
        self.block(self.core.flush())
    }

    /// [`close`](Self::close), waiting on this thread.
    ///
    /// # Errors
    /// As [`blocking_write`](Self::blocking_write).
    pub fn blocking_close(&self) -> Result<(), Error> {
        self.block(self.core.close())
    }

    /// The stream's figures now.
    #[must_use]
    pub fn stats(&self) -> StreamStats {
        self.core.stats()
    }

    fn waits<F: Future>(&self, future: F) -> BeforeWait<F> {
        self.core.wire.owed.before_wait(future) // L10
    }

    fn block<T>(&self, future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        block_on(self.core.wire.owed.before_wait(future), Deadline::NEVER)?
    }
}

impl std::fmt::Debug for OutputStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OutputStream({:?} {} {:?})", self.core.name, self.core.media, self.core.gate)
    }
}
