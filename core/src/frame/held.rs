//! What frames and values hold in memory beside themselves.

use bytes::Bytes;

use super::{Frame, Value};
use crate::account::load::META_VALUE;

/// Bytes of a frame's body beside its payload that the payload may keep alive, and an eighth of its own.
const KEPT: usize = 256;

impl Value {
    /// Bytes that it holds beside itself: what it is made of, and the content of texts and byte strings.
    /// Recursion is bounded by [`MAX_DEPTH`](super::MAX_DEPTH).
    pub(crate) fn held(&self) -> u64 {
        let one = |value: &Value| META_VALUE.saturating_add(value.held());
        let sum = |bytes: u64, more: u64| bytes.saturating_add(more);
        match self {
            Value::Bytes(bytes) => wide(bytes.len()),
            Value::Text(text) => wide(text.len()),
            Value::Array(items) => items.iter().map(one).fold(0, sum),
            Value::Map(entries) => {
                entries.iter().map(|(key, value)| sum(one(key), one(value))).fold(0, sum)
            }
            Value::Tag(_, inner) => one(inner),
            _ => 0,
        }
    }

    /// Takes its byte strings out of the body that they are views into.
    fn let_go_of_body(&mut self) {
        match self {
            Value::Bytes(bytes) => *bytes = Bytes::copy_from_slice(bytes),
            Value::Array(items) => items.iter_mut().for_each(Value::let_go_of_body),
            Value::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
                key.let_go_of_body();
                value.let_go_of_body();
            }),
            Value::Tag(_, inner) => inner.let_go_of_body(),
            _ => {}
        }
    }
}

impl Frame {
    /// Bytes that it holds beside itself: payload, texts and metadata.
    pub(crate) fn held(&self) -> u64 {
        let texts = [&self.content_type, &self.cap, &self.stream_id, &self.media_urn, &self.output];
        let texts = texts.into_iter().flatten().map(|text| wide(text.len())).sum::<u64>();
        let metadata = self.meta.as_ref().map_or(0, Value::held);
        wide(self.payload.as_ref().map_or(0, Bytes::len))
            .saturating_add(texts)
            .saturating_add(metadata)
    }

    /// Takes its metadata out of its body of `length` bytes, and its payload if that is too small a part of
    /// it: whoever holds a payload holds no more than it and an eighth, whatever else a peer put into the
    /// frame.
    pub(crate) fn let_go_of_body(&mut self, length: usize) {
        if let Some(meta) = &mut self.meta {
            meta.let_go_of_body();
        }
        if let Some(payload) = &mut self.payload {
            let beside = length.saturating_sub(payload.len());
            if beside > KEPT + payload.len() / 8 {
                *payload = Bytes::copy_from_slice(payload);
            }
        }
    }
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::MessageId;

    fn chunk(payload: &Bytes) -> Frame {
        Frame::chunk(MessageId::Uint(1), None, "in", 0, payload.clone())
    }

    #[test]
    fn texts_payload_and_metadata_count() {
        let payload = Bytes::from_static(&[7; 100]);
        assert_eq!(chunk(&payload).held(), 2 + 100);
        let mut frame = chunk(&payload);
        frame.set_meta("key", "value");
        assert_eq!(frame.held(), 2 + 100 + 2 * 64 + 3 + 5);
        let nested = Value::Array(vec![Value::Tag(1, Box::new(Value::Null)), Value::Bool(true)]);
        assert_eq!(nested.held(), 3 * 64);
        assert_eq!(Value::Bytes(payload).held(), 100);
    }

    #[test]
    fn a_payload_that_is_most_of_its_body_stays_a_view_and_another_becomes_a_copy() {
        let body = Bytes::from(vec![7; 10_000]);
        for (taken, length, stays) in
            [(9000, 10_000, true), (8000, 10_000, false), (1, 257, true), (1, 258, false)]
        {
            let payload = body.slice(..taken);
            let mut frame = chunk(&payload);
            frame.let_go_of_body(length);
            let kept = frame.payload.expect("a payload");
            assert_eq!(kept, payload);
            assert_eq!(kept.as_ptr() == payload.as_ptr(), stays, "{taken} of {length}");
        }
    }

    #[test]
    fn metadata_is_taken_out_of_its_body() {
        let body = Bytes::from(vec![7; 100]);
        let mut frame = chunk(&body);
        let bytes = || Value::Bytes(body.clone());
        let nested = Value::Map(vec![("in".into(), Value::Tag(9, Box::new(bytes())))]);
        frame.set_meta("nested", Value::Array(vec![Value::Null, nested]));
        let (told, held) = (frame.meta.clone(), frame.held());
        frame.let_go_of_body(body.len());
        assert_eq!((&frame.meta, frame.held()), (&told, held));
        frame.payload = None;
        drop((told, body.clone()));
        let whole = body.try_into_mut().expect("nothing else is a view into it");
        assert_eq!(whole.len(), 100);
    }
}
