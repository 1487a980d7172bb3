//! [`StreamSender`]: an output stream in the hands of a thread of its own.

use bytes::Bytes;

use super::OutputStream;
use crate::error::Error;
use crate::frame::Value;

/// A detached emitter: the same stream, for a thread that outlives the handler's own. It cannot
/// start or close the stream by itself; its calls fail with the reason once the request has ended.
#[derive(Clone, Debug)]
pub struct StreamSender(OutputStream);

impl StreamSender {
    /// As [`OutputStream::write`].
    pub fn write(&self, data: Bytes) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.0.write(data)
    }

    /// As [`OutputStream::emit`].
    pub fn emit(&self, value: Value) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.0.emit(value)
    }

    /// As [`OutputStream::emit_list_item`].
    pub fn emit_list_item(
        &self,
        value: Value,
        meta: Option<Value>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.0.emit_list_item(value, meta)
    }

    /// As [`OutputStream::flush`].
    pub fn flush(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.0.flush()
    }

    /// As [`OutputStream::blocking_write`].
    ///
    /// # Errors
    /// As there.
    pub fn blocking_write(&self, data: &[u8]) -> Result<(), Error> {
        self.0.blocking_write(data)
    }

    /// As [`OutputStream::blocking_emit`].
    ///
    /// # Errors
    /// As there.
    pub fn blocking_emit(&self, value: Value) -> Result<(), Error> {
        self.0.blocking_emit(value)
    }

    /// As [`OutputStream::blocking_emit_list_item`].
    ///
    /// # Errors
    /// As there.
    pub fn blocking_emit_list_item(&self, value: Value, meta: Option<Value>) -> Result<(), Error> {
        self.0.blocking_emit_list_item(value, meta)
    }

    /// As [`OutputStream::blocking_flush`].
    ///
    /// # Errors
    /// As there.
    pub fn blocking_flush(&self) -> Result<(), Error> {
        self.0.blocking_flush()
    }
}

impl OutputStream {
    /// A detached emitter for another thread, such as an FFI callback's.
    #[must_use]
    pub fn sender(&self) -> StreamSender {
        StreamSender(self.clone())
    }
}
