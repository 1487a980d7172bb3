//! A link whose other end is a list of bytes, and a stream of values on it.

use std::io::{self, Cursor, Write};

use bytes::Bytes;

use crate::account::Counters;
use crate::credit::CreditRouter;
use crate::frame::{
    CreditDirection, FlowKey, Frame, FrameType, Limits, MessageId, encode_bytes, fnv1a64,
};
use crate::link::{Alarm, FrameReader, FrameWriter, Lanes};
use crate::stream::{InputCore, InputStream, Mode, StreamInfo, Wire};
use crate::sync::Arc;
use crate::wait::owed::Owed;

/// What was written. Its lock is not the checker's: nothing waits for it.
#[derive(Clone, Default)]
pub struct Written(Arc<std::sync::Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    /// The frames, in their order.
    pub fn frames(&self) -> Vec<Frame> {
        let bytes = self.0.lock().expect("no panic").clone();
        let mut reader = FrameReader::new(Cursor::new(bytes));
        std::iter::from_fn(|| reader.read().expect("what was written can be read")).collect()
    }

    /// Their types and numbers.
    pub fn kinds(&self) -> Vec<FrameType> {
        self.frames().iter().map(|frame| frame.frame_type).collect()
    }
}

/// The one flow of a check.
pub fn flow() -> FlowKey {
    FlowKey::new(MessageId::Uint(1), None)
}

/// Windows of `initial_credit` chunks, and chunks of 128 bytes.
pub fn limits(initial_credit: u64) -> Limits {
    Limits { initial_credit, max_chunk: 128, ..Limits::DEFAULT }
}

/// A link, and what it writes.
pub fn wire(initial_credit: u64) -> (Arc<Wire>, Written) {
    let (limits, written, counters) =
        (limits(initial_credit), Written::default(), Arc::new(Counters::default()));
    let writer = FrameWriter::new(written.clone());
    let lanes = Lanes::start(writer, limits.max_frame, Arc::clone(&counters), |reason| reason)
        .expect("a thread can be started");
    let router = CreditRouter::new();
    let (owed, max_item) = (Arc::new(Owed::default()), 1024);
    let alarm = Alarm::new(|_| None); // no check sets a limit of time
    let wire = Wire { lanes, router, owed, limits, max_item, counters, alarm };
    (Arc::new(wire), written)
}

/// A scalar stream that comes in on `wire`.
pub fn input(wire: &Arc<Wire>) -> (Arc<InputCore>, InputStream) {
    let info = StreamInfo {
        id: Some("a".to_owned()),
        media: "media:blob".to_owned(),
        output: None,
        mode: Mode::Scalar,
        unbounded: false,
        meta: None,
    };
    let core = InputCore::new(Arc::clone(wire), flow(), CreditDirection::Request, info);
    let stream = InputStream::new(Arc::clone(&core), Arc::new(()), None);
    (core, stream)
}

/// Chunk `index` of stream "a".
pub fn chunk(index: u64) -> Frame {
    let payload: Bytes = encode_bytes(&[7]);
    let mut frame = Frame::new(FrameType::Chunk, flow().id);
    frame.stream_id = Some("a".to_owned());
    frame.chunk_index = Some(index);
    frame.checksum = Some(fnv1a64(&payload));
    frame.payload = Some(payload);
    frame
}
