//! A host by hand: whoever counts what a cartridge in any language says, frame by frame.

use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use sluicegate::frame::{CreditDirection, Frame, FrameType};
use sluicegate::link::{FrameReader, FrameWriter};
use sluicegate::{Limits, MessageId, NetworkPolicy, Value};

use crate::program;

const PRODUCE: &str = "cap:fc-produce;in=media:json;out=media:blob";

/// A host by hand.
pub struct Host {
    reader: FrameReader<ChildStdout>,
    writer: FrameWriter<ChildStdin>,
    child: Child,
    probes: u64,
}

impl Drop for Host {
    fn drop(&mut self) {
        let _gone = self.child.kill(); // it may have ended
        let _reaped = self.child.wait();
    }
}

impl Host {
    /// The cartridge of one language, which has shaken hands and knows the policy.
    ///
    /// # Panics
    /// As every method: if the cartridge is gone, or says what it must not.
    #[must_use]
    pub fn of(language: &str, initial_credit: u64) -> Self {
        Host::with(language, initial_credit, &[])
    }

    /// The same with variables in its environment.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn with(language: &str, initial_credit: u64, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(program(language))
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{language}: {error}"));
        let reader = FrameReader::new(child.stdout.take().expect("piped"));
        let writer = FrameWriter::new(child.stdin.take().expect("piped"));
        let mut host = Host { reader, writer, child, probes: u64::MAX };
        host.send(&Frame::hello(&Limits { initial_credit, ..Limits::default() }, 6));
        assert_eq!(host.frame().frame_type, FrameType::Hello, "{language}");
        host.send(&Frame::policy(NetworkPolicy::Full));
        host
    }

    /// Sends a frame.
    pub fn send(&mut self, frame: &Frame) {
        self.writer.write(frame).expect("it reads");
    }

    /// Whatever comes next.
    pub fn frame(&mut self) -> Frame {
        self.reader.read().expect("a whole frame").expect("it lives")
    }

    /// The next `kind` of request `id`, whatever comes before it.
    pub fn until(&mut self, id: u64, kind: FrameType) -> Frame {
        loop {
            let frame = self.frame();
            if frame.frame_type == kind && frame.id == id.into() {
                return frame;
            }
            assert!(
                !frame.is_terminal() || frame.id != id.into(),
                "the request ended before a {kind}: {frame:?}"
            );
        }
    }

    /// All that it says before it refuses a request of now.
    pub fn settle(&mut self) -> Vec<Frame> {
        self.probes -= 1;
        let probe = MessageId::Uint(self.probes);
        self.send(&Frame::req(probe, None, "cap:nobody", "application/cbor"));
        let mut frames = Vec::new();
        loop {
            let frame = self.frame();
            if frame.frame_type == FrameType::Err && frame.id == probe {
                return frames;
            }
            frames.push(frame);
        }
    }

    /// Opens a request and its argument.
    pub fn open(&mut self, id: u64, cap: &str) {
        self.send(&Frame::req(id.into(), None, cap, "application/cbor"));
        self.send(&Frame::stream_start(id.into(), None, "in", "media:blob"));
    }

    /// A value of the argument, as one chunk.
    pub fn chunk(&mut self, id: u64, index: u64, value: &Value) {
        self.send(&Frame::chunk(id.into(), None, "in", index, value.encode().into()));
    }

    /// The end of the argument, which had so many chunks, and of the arguments.
    pub fn finish(&mut self, id: u64, count: u64) {
        self.send(&Frame::stream_end(id.into(), None, "in", Some(count)));
        self.send(&Frame::end(id.into(), None));
    }

    /// A whole request with one value.
    pub fn ask(&mut self, id: u64, cap: &str, value: &Value) {
        self.open(id, cap);
        self.chunk(id, 0, value);
        self.finish(id, 1);
    }

    /// A whole request for so many integers.
    pub fn produce(&mut self, id: u64, chunks: u64) {
        let plan = format!("{{\"chunks\":{chunks}}}").into_bytes();
        self.ask(id, PRODUCE, &Value::Bytes(plan.into()));
    }

    /// Gives room for `n` chunks of the stream that `chunk` belongs to.
    pub fn grant(&mut self, chunk: &Frame, n: u64) {
        let stream = chunk.stream_id.as_deref();
        self.send(&Frame::credit(chunk.id, None, stream, n, CreditDirection::Response));
    }
}
