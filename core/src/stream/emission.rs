//! Emissions: values cut into chunks, each with its credit, room on the link and index.

use std::time::Duration;

use bytes::Bytes;

use super::chunk::{Arrived, Fragment, content_length, split_text};
use super::guards::{Batch, MidItem, Permit, Stall};
use super::output_core::OutputCore;
use super::{Mode, StartOptions};
use crate::account::Cause;
use crate::account::load::COALESCE_BYTES;
use crate::check;
use crate::credit::TryAcquire;
use crate::error::Error;
use crate::frame::{FlowKey, Frame, SCALAR_HEAD, Value, encode_bytes, encode_text};
use crate::model::emission::Written;
use crate::time::now;
use crate::wait::{Either, first};

/// Byte strings are held until [`COALESCE_BYTES`] are together, or the oldest is so old at the next write.
const COALESCE_AGE: Duration = Duration::from_millis(20);

impl OutputCore {
    async fn baton(&self) -> Result<Permit<'_>, Error> {
        self.baton.acquire(1).await?;
        Ok(Permit { gate: &self.baton, units: 1 })
    }

    /// Takes one credit, noting the time it took.
    async fn credit(&self) -> Result<Permit<'_>, Error> {
        match self.gate.try_acquire(1) {
            TryAcquire::Taken => {}
            TryAcquire::Closed(reason) => return Err(reason),
            TryAcquire::Wait => {
                let _stall = Stall::begin(&self.state, Cause::Credit);
                self.gate.acquire(1).await?;
            }
        }
        Ok(Permit { gate: &self.gate, units: 1 })
    }

    /// Sends one chunk: a credit, then room on the link, then the next index. The caller has the
    /// baton.
    async fn send_chunk(&self, fragment: Fragment, meta: Option<Value>) -> Result<(), Error> {
        self.wire.check_size(fragment.payload.len(), meta.as_ref())?;
        let credit = self.credit().await?;
        let payload = u64::try_from(fragment.payload.len()).unwrap_or(u64::MAX);
        let length = payload.saturating_add(meta.as_ref().map_or(0, Value::held));
        let room = match self.wire.lanes.try_room(length)? {
            Some(room) => room,
            None => {
                let _stall = Stall::begin(&self.state, Cause::Room);
                match first(self.wire.lanes.room(length), self.ended()).await {
                    Either::Left(room) => room?,
                    Either::Right(reason) => return Err(reason), // L13
                }
            }
        };
        let FlowKey { id, routing_id } = self.flow;
        let mut state = self.state.lock();
        let index = state.written.chunks();
        let after = state.written.after(Written::Chunk(index)).map_err(|_| self.not_open())?;
        check::may_send(&self.name, after.chunks(), self.gate.given());
        let mode = state.started.as_ref().map_or(Mode::Scalar, |options| options.mode);
        let content = content_length(&fragment.payload, mode);
        let mut frame = Frame::new(crate::frame::FrameType::Chunk, id);
        frame.routing_id = routing_id;
        frame.stream_id = Some(self.name.clone());
        frame.chunk_index = Some(index);
        frame.payload = Some(fragment.payload);
        frame.checksum = Some(fragment.checksum);
        frame.meta = meta;
        self.wire.lanes.chunk(frame, room)?;
        credit.spent();
        state.written = after;
        state.bytes = state.bytes.saturating_add(content);
        Ok(())
    }

    async fn send_payload(&self, payload: Bytes, meta: Option<Value>) -> Result<(), Error> {
        let checksum = crate::frame::fnv1a64(&payload);
        self.send_chunk(Fragment { payload, checksum }, meta).await
    }

    fn max_chunk(&self) -> usize {
        self.wire.max_chunk()
    }

    pub(super) async fn write(&self, data: &[u8]) -> Result<(), Error> {
        let _baton = self.baton().await?;
        self.ensure_started(Mode::Scalar)?;
        if data.is_empty() {
            return Ok(());
        }
        {
            let mut state = self.state.lock();
            let old = state.held_since.is_some_and(|since| now() >= since + COALESCE_AGE);
            if !old && state.held.len() + data.len() < COALESCE_BYTES {
                state.held.extend_from_slice(data);
                state.held_since.get_or_insert_with(now);
                return Ok(());
            }
        }
        self.send_bytes(data).await
    }

    /// Sends what is held and `data` behind it, cut at `max_chunk`.
    async fn send_bytes(&self, data: &[u8]) -> Result<(), Error> {
        let mut batch = Batch::begin(self);
        // Only what is held, and what fills its last chunk, is copied: `data` may be of any size.
        let most = self.max_chunk();
        let held = batch.held.len();
        let (fill, rest) = data.split_at(data.len().min(held.next_multiple_of(most) - held));
        let first = [&batch.held[..], fill].concat();
        for piece in first.chunks(most).chain(rest.chunks(most)) {
            self.send_payload(encode_bytes(piece), None).await?;
            batch.sent(piece.len());
        }
        Ok(())
    }

    pub(super) async fn emit(&self, value: Value) -> Result<(), Error> {
        if let Value::Bytes(bytes) = &value {
            return self.write(bytes).await;
        }
        let _baton = self.baton().await?;
        self.ensure_started(Mode::Scalar)?;
        self.send_bytes(&[]).await?;
        match &value {
            Value::Text(text) => {
                for piece in split_text(text, self.max_chunk()) {
                    self.send_payload(encode_text(piece), None).await?;
                }
                Ok(())
            }
            other => self.send_payload(other.encode().into(), None).await,
        }
    }

    pub(super) async fn emit_list_item(
        &self,
        value: Value,
        mut meta: Option<Value>,
    ) -> Result<(), Error> {
        let _baton = self.baton().await?;
        self.ensure_started(Mode::Sequence)?;
        let mut item = MidItem { core: self, begun: false };
        let mut encoded = Bytes::from(value.encode());
        while !encoded.is_empty() {
            let fragment = encoded.split_to(encoded.len().min(self.max_chunk()));
            self.send_payload(fragment, meta.take()).await?;
            item.begun = !encoded.is_empty();
        }
        Ok(())
    }

    /// Passes on a value or item as it came: no decoding, and the checksum stays the producer's.
    pub(crate) async fn forward(&self, arrived: &mut Arrived, mode: Mode) -> Result<(), Error> {
        let _baton = self.baton().await?;
        self.ensure_started(mode)?;
        if mode == Mode::Scalar {
            self.send_bytes(&[]).await?;
        }
        let mut item = MidItem { core: self, begun: false };
        let fragments = std::mem::take(&mut arrived.fragments);
        let last = fragments.len().saturating_sub(1);
        for (n, fragment) in fragments.into_iter().enumerate() {
            if !fragment.payload.is_empty() {
                self.send_chunk(fragment, arrived.meta.take()).await?;
                item.begun = n < last;
            }
        }
        Ok(())
    }

    /// The most bytes a forwarded chunk may have here.
    pub(crate) fn fits(&self, payload: usize) -> bool {
        payload <= self.max_chunk().saturating_add(SCALAR_HEAD)
    }

    pub(super) async fn flush(&self) -> Result<(), Error> {
        let _baton = self.baton().await?;
        self.send_bytes(&[]).await
    }

    pub(crate) async fn close(&self) -> Result<(), Error> {
        if self.state.lock().written.is_closed() {
            return Ok(());
        }
        let _baton = self.baton().await?;
        self.send_bytes(&[]).await?;
        let mut state = self.state.lock();
        if state.written.is_closed() {
            return Ok(());
        }
        if let Some(error) = &state.broken {
            return Err(error.clone());
        }
        if state.started.is_none() {
            self.open(&mut state, StartOptions::default())?;
        }
        let bounded = !state.started.as_ref().is_some_and(|options| options.unbounded);
        let FlowKey { id, routing_id } = self.flow;
        let count = bounded.then_some(state.written.chunks());
        let after = state.written.after(Written::StreamEnd(count)).map_err(|_| self.not_open())?;
        self.wire.send(Frame::stream_end(id, routing_id, &self.name, count))?; // never credited (L14)
        state.written = after;
        drop(state);
        self.wire.router.unregister(&self.flow, Some(&self.name));
        self.gate.close("STREAM_END");
        self.over("STREAM_END".into());
        Ok(())
    }
}
