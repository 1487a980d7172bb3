//! Values out.

use std::sync::Arc;

use sluicegate::{Error, ErrorKind, Mode, OutputStream, StartOptions, StreamSender, Value};

use crate::error::Failure;
use crate::guard::guard;
use crate::input::{StreamFacts, StreamFigures};
use crate::lend::borrow;
use crate::limits::within;
use crate::op::UnitOp;

/// Core's output stream.
#[derive(uniffi::Object)]
pub struct OutputCore(pub(crate) OutputStream);

/// Core's detached emitter.
#[derive(uniffi::Object)]
pub struct SenderCore(pub(crate) StreamSender);

/// How an output stream is opened.
#[derive(Clone, Debug, uniffi::Record)]
pub struct StartFacts {
    /// Items with metadata instead of values.
    pub sequence: bool,
    /// No promise that it ends by itself.
    pub unbounded: bool,
    /// Metadata of the stream, CBOR.
    pub meta: Option<Vec<u8>>,
}

/// A value from the CBOR that Swift lent.
///
/// # Safety
/// As for [`borrow`].
pub(crate) unsafe fn value(address: u64, count: u64) -> Result<Value, Error> {
    // SAFETY: passed on from the caller.
    let encoded = unsafe { borrow(address, count) };
    Value::decode_shared(&encoded).map_err(malformed)
}

/// Metadata from the CBOR that Swift lent; a count of 0 is none.
///
/// # Safety
/// As for [`borrow`].
unsafe fn meta(address: u64, count: u64) -> Result<Option<Value>, Error> {
    // SAFETY: passed on from the caller.
    (count > 0).then(|| unsafe { value(address, count) }).transpose()
}

pub(crate) fn malformed(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Malformed, format!("the value is not CBOR: {error}"))
}

#[uniffi::export]
impl OutputCore {
    /// What is known of the stream.
    ///
    /// # Errors
    /// `Broken` after a panic.
    pub fn info(&self) -> Result<StreamFacts, Failure> {
        guard(|| Ok::<_, Error>(StreamFacts::from(&self.0.info())))
    }

    /// Opens the stream before its first emission.
    ///
    /// # Errors
    /// As core's `start`.
    pub fn start(&self, options: StartFacts) -> Result<(), Failure> {
        guard(|| {
            let meta = options.meta.as_deref().map(Value::decode).transpose().map_err(malformed)?;
            self.0.start(StartOptions {
                mode: if options.sequence { Mode::Sequence } else { Mode::Scalar },
                unbounded: options.unbounded,
                meta,
            })
        })
    }

    /// Writes the bytes that are lent for this call.
    pub fn write(&self, address: u64, count: u64) -> Arc<UnitOp> {
        // SAFETY: Swift lends the bytes with `withUnsafeBytes` round this call.
        UnitOp::start(self.0.write(unsafe { borrow(address, count) }))
    }

    /// Emits the value whose CBOR is lent for this call.
    ///
    /// # Errors
    /// `Malformed` if it is none.
    pub fn emit(&self, address: u64, count: u64) -> Result<Arc<UnitOp>, Failure> {
        // SAFETY: Swift lends the bytes with `withUnsafeBytes` round this call.
        guard(|| Ok::<_, Error>(UnitOp::start(self.0.emit(unsafe { value(address, count) }?))))
    }

    /// Emits the item whose CBOR, and its metadata's, are lent for this call.
    ///
    /// # Errors
    /// `Malformed` if it is none.
    pub fn emit_item(
        &self,
        address: u64,
        count: u64,
        meta_address: u64,
        meta_count: u64,
    ) -> Result<Arc<UnitOp>, Failure> {
        guard(|| {
            // SAFETY: Swift lends the bytes with `withUnsafeBytes` round this call.
            let (value, meta) =
                unsafe { (value(address, count)?, meta(meta_address, meta_count)?) };
            Ok::<_, Error>(UnitOp::start(self.0.emit_list_item(value, meta)))
        })
    }

    /// Sends what is held.
    pub fn flush(&self) -> Arc<UnitOp> {
        UnitOp::start(self.0.flush())
    }

    /// Sends what is held and ends the stream.
    pub fn close(&self) -> Arc<UnitOp> {
        UnitOp::start(self.0.close())
    }

    /// Allows the stream so many microseconds from now; none is no limit.
    ///
    /// # Errors
    /// As core's `limit`.
    pub fn limit(&self, micros: Option<u64>) -> Result<(), Failure> {
        guard(|| self.0.limit(within(micros)))
    }

    /// A detached emitter.
    pub fn sender(&self) -> Arc<SenderCore> {
        Arc::new(SenderCore(self.0.sender()))
    }

    /// The stream's figures now.
    ///
    /// # Errors
    /// `Broken` after a panic.
    pub fn stats(&self) -> Result<StreamFigures, Failure> {
        guard(|| Ok::<_, Error>(self.0.stats().into()))
    }
}

#[uniffi::export]
impl SenderCore {
    /// As [`OutputCore::write`].
    pub fn write(&self, address: u64, count: u64) -> Arc<UnitOp> {
        // SAFETY: Swift lends the bytes with `withUnsafeBytes` round this call.
        UnitOp::start(self.0.write(unsafe { borrow(address, count) }))
    }

    /// As [`OutputCore::emit`].
    ///
    /// # Errors
    /// `Malformed` if it is none.
    pub fn emit(&self, address: u64, count: u64) -> Result<Arc<UnitOp>, Failure> {
        // SAFETY: Swift lends the bytes with `withUnsafeBytes` round this call.
        guard(|| Ok::<_, Error>(UnitOp::start(self.0.emit(unsafe { value(address, count) }?))))
    }

    /// As [`OutputCore::emit_item`].
    ///
    /// # Errors
    /// `Malformed` if it is none.
    pub fn emit_item(
        &self,
        address: u64,
        count: u64,
        meta_address: u64,
        meta_count: u64,
    ) -> Result<Arc<UnitOp>, Failure> {
        guard(|| {
            // SAFETY: Swift lends the bytes with `withUnsafeBytes` round this call.
            let (value, meta) =
                unsafe { (value(address, count)?, meta(meta_address, meta_count)?) };
            Ok::<_, Error>(UnitOp::start(self.0.emit_list_item(value, meta)))
        })
    }

    /// Sends what is held.
    pub fn flush(&self) -> Arc<UnitOp> {
        UnitOp::start(self.0.flush())
    }
}
