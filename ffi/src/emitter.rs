//! What an output and its detached sender have in common: values, as C hands them in, become emissions.

use std::future::Future;

use bytes::Bytes;
use sluicegate::{Error, OutputStream, StreamSender, Value};

use crate::border;
use crate::guard::{Fail, block};
use crate::op::{self, Op};

/// A stream to write to, whoever holds it.
pub(crate) trait Emitter: Clone {
    fn write(&self, data: Bytes) -> impl Future<Output = Result<(), Error>> + Send + use<Self>;
    fn blocking_write(&self, data: &[u8]) -> Result<(), Error>;
    fn emit(&self, value: Value) -> impl Future<Output = Result<(), Error>> + Send + use<Self>;
    fn emit_list_item(
        &self,
        value: Value,
        meta: Option<Value>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<Self>;
    fn flush(&self) -> impl Future<Output = Result<(), Error>> + Send + use<Self>;
}

macro_rules! emitter {
    ($stream:ty) => {
        impl Emitter for $stream {
            fn write(&self, data: Bytes) -> impl Future<Output = Result<(), Error>> + Send + use<> {
                <$stream>::write(self, data)
            }

            fn blocking_write(&self, data: &[u8]) -> Result<(), Error> {
                <$stream>::blocking_write(self, data)
            }

            fn emit(&self, value: Value) -> impl Future<Output = Result<(), Error>> + Send + use<> {
                <$stream>::emit(self, value)
            }

            fn emit_list_item(
                &self,
                value: Value,
                meta: Option<Value>,
            ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
                <$stream>::emit_list_item(self, value, meta)
            }

            fn flush(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
                <$stream>::flush(self)
            }
        }
    };
}
emitter!(OutputStream);
emitter!(StreamSender);

/// Writes bytes; without a deadline they need not be copied, as they outlive the call.
pub(crate) fn write(
    stream: &impl Emitter,
    data: *const u8,
    len: usize,
    timeout_ms: i64,
) -> Result<(), Fail> {
    let data = border::bytes(data, len)?;
    if timeout_ms < 0 {
        return Ok(stream.clone().blocking_write(data)?);
    }
    block(stream.write(Bytes::copy_from_slice(data)), timeout_ms)
}

pub(crate) fn write_start<S: Emitter + 'static>(
    stream: &S,
    data: *const u8,
    len: usize,
    out: *mut *mut Op,
) -> Result<(), Fail> {
    op::start_unit(out, stream.write(Bytes::copy_from_slice(border::bytes(data, len)?)))
}

pub(crate) fn emit(stream: &impl Emitter, value: Value, timeout_ms: i64) -> Result<(), Fail> {
    block(stream.emit(value), timeout_ms)
}

pub(crate) fn emit_start<S: Emitter + 'static>(
    stream: &S,
    value: Value,
    out: *mut *mut Op,
) -> Result<(), Fail> {
    op::start_unit(out, stream.emit(value))
}

pub(crate) fn emit_list_item(
    stream: &impl Emitter,
    item: sluicegate::Item,
    timeout_ms: i64,
) -> Result<(), Fail> {
    block(stream.emit_list_item(item.value, item.meta), timeout_ms)
}

pub(crate) fn emit_list_item_start<S: Emitter + 'static>(
    stream: &S,
    item: sluicegate::Item,
    out: *mut *mut Op,
) -> Result<(), Fail> {
    op::start_unit(out, stream.emit_list_item(item.value, item.meta))
}

pub(crate) fn flush(stream: &impl Emitter, timeout_ms: i64) -> Result<(), Fail> {
    block(stream.flush(), timeout_ms)
}

pub(crate) fn flush_start<S: Emitter + 'static>(stream: &S, out: *mut *mut Op) -> Result<(), Fail> {
    op::start_unit(out, stream.flush())
}
