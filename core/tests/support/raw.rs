//! A peer that speaks frames by hand and keeps to no rule: a host to a cartridge, or a cartridge to
//! an engine.
#![allow(dead_code)] // each test file uses a part of it

use std::io::{ErrorKind as IoKind, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use sluicegate::frame::{CreditDirection, Frame, FrameType};
use sluicegate::link::{FrameReader, FrameWriter};
use sluicegate::{
    Cap, Cartridge, Engine, Error, ErrorKind, Limits, Manifest, MessageId, NetworkPolicy, Peer,
    Request, Session, Value, Version,
};

/// One end of a link, driven by the test.
pub struct Raw {
    pub reader: FrameReader<UnixStream>,
    pub writer: FrameWriter<UnixStream>,
    pub socket: UnixStream,
    version: Version,
    probes: u64,
}

/// A socket whose other end is told when this is dropped, although it has a second handle.
pub struct Closing(pub UnixStream);

impl Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Write); // closed already
    }
}

/// Writes on until nobody reads any more, by what `over` says: whoever cut the link off may leave a write
/// that it does not read standing, and one that is only slow to be read goes on.
pub struct Flooding<F> {
    socket: UnixStream,
    over: F,
}

impl<F: FnMut() -> bool> Flooding<F> {
    pub fn new(socket: &UnixStream, over: F) -> Self {
        let socket = socket.try_clone().expect("a second handle");
        socket.set_write_timeout(Some(Duration::from_millis(50))).expect("set");
        Flooding { socket, over }
    }
}

impl<F: FnMut() -> bool> Write for Flooding<F> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        loop {
            match self.socket.write(bytes) {
                Err(late) if late.kind() == IoKind::WouldBlock && !(self.over)() => {}
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.socket.flush()
    }
}

/// A cartridge that runs on a thread of this process.
pub type Running = JoinHandle<Result<(), Error>>;

impl Raw {
    pub fn over(socket: UnixStream) -> Self {
        let handle = || socket.try_clone().expect("a second handle");
        let (reader, writer) = (FrameReader::new(handle()), FrameWriter::new(handle()));
        Raw { reader, writer, socket, version: Version::default(), probes: u64::MAX }
    }

    /// Speaks `version` from now on, and takes no other.
    pub fn speak(&mut self, version: Version) {
        self.reader.set_version(version);
        self.writer.set_version(version);
        self.version = version;
    }

    /// A host of `cartridge`, before any handshake.
    pub fn host_of(cartridge: Cartridge) -> (Self, Running) {
        let (host, plugin) = UnixStream::pair().expect("a pair of sockets");
        let reader = plugin.try_clone().expect("a second handle");
        let running = thread::spawn(move || cartridge.run(reader, Closing(plugin)));
        (Raw::over(host), running)
    }

    /// A host of a cartridge with one cap, after handshake and policy.
    pub fn host(
        cap: Cap,
        urn: &str,
        limits: Limits,
        handler: impl Fn(&Request) -> Result<(), Error> + Send + Sync + 'static,
    ) -> (Self, Running) {
        let manifest = Manifest::new("test", "1").cap(cap);
        let (mut raw, running) = Raw::host_of(Cartridge::new(manifest).handler(urn, handler));
        raw.greet(limits);
        raw.send(&Frame::policy(NetworkPolicy::Full));
        (raw, running)
    }

    /// A host of a cartridge with one cap that takes its requests itself, after handshake and policy.
    pub fn session(cap: &str, limits: Limits) -> (Self, Session) {
        let (host, plugin) = UnixStream::pair().expect("a pair of sockets");
        let reader = plugin.try_clone().expect("a second handle");
        let cartridge = Cartridge::new(Manifest::new("test", "1").cap(Cap::new(cap)));
        let serving = thread::spawn(move || cartridge.serve(reader, Closing(plugin)));
        let mut raw = Raw::over(host);
        raw.greet(limits);
        raw.send(&Frame::policy(NetworkPolicy::Full));
        (raw, serving.join().expect("no panic").expect("the handshake passes"))
    }

    /// A host's half of the handshake.
    pub fn greet(&mut self, limits: Limits) -> Frame {
        self.send(&Frame::hello(&limits, self.version.number()));
        self.expect(FrameType::Hello)
    }

    /// A cartridge of `engine` that offers `cap`, after handshake, identity and policy.
    pub fn cartridge(engine: &Engine, cap: &str) -> (Self, Peer) {
        let (mut raw, attaching) = Raw::attaching(engine);
        raw.introduce(cap, Limits::default());
        raw.prove_identity();
        let peer = attaching.join().expect("no panic").expect("the handshake passes");
        raw.expect(FrameType::Policy);
        (raw, peer)
    }

    /// A cartridge that `engine` attaches to, before it has said anything.
    pub fn attaching(engine: &Engine) -> (Self, JoinHandle<Result<Peer, Error>>) {
        let (host, plugin) = UnixStream::pair().expect("a pair of sockets");
        let reader = host.try_clone().expect("a second handle");
        let engine = engine.clone();
        let attaching = thread::spawn(move || engine.attach(reader, Closing(host)));
        (Raw::over(plugin), attaching)
    }

    /// A cartridge's half of the handshake.
    pub fn introduce(&mut self, cap: &str, limits: Limits) {
        self.expect(FrameType::Hello);
        self.send(&Raw::hello(cap, limits));
    }

    /// A cartridge's HELLO.
    pub fn hello(cap: &str, limits: Limits) -> Frame {
        let manifest = Manifest::new("raw", "1").cap(Cap::new(cap)).to_json();
        Frame::hello(&limits, 6).with_manifest(manifest.into(), Bytes::from_static(b"{}"))
    }

    /// Echoes the host's nonce.
    pub fn prove_identity(&mut self) {
        let request = self.expect(FrameType::Req);
        let mut nonce = Vec::new();
        loop {
            let frame = self.next().expect("the link ended within the identity check");
            match frame.frame_type {
                FrameType::Chunk => nonce.push(frame.payload.expect("a nonce")),
                FrameType::End => break,
                _ => {}
            }
        }
        self.answer(request.id, &nonce);
    }

    /// The other end may have hung up meanwhile: what it said before tells why.
    pub fn send(&mut self, frame: &Frame) {
        let frame = frame.clone().with_version(self.version.number());
        match self.writer.write(&frame) {
            Err(error) if error.kind() != ErrorKind::Io => panic!("{frame:?}: {error}"),
            _ => {}
        }
    }

    /// Sends a body that no encoder would make.
    pub fn send_body(&mut self, body: &[u8]) {
        let length = u32::try_from(body.len()).expect("short");
        self.send_bytes(&length.to_be_bytes());
        self.send_bytes(body);
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let _gone = self.socket.write_all(bytes); // as above
    }

    /// The next frame; `None` at the end.
    pub fn next(&mut self) -> Option<Frame> {
        self.reader.read().expect("a whole frame")
    }

    /// The next frame, which is a `kind`. Grants are passed over unless it is one.
    pub fn expect(&mut self, kind: FrameType) -> Frame {
        loop {
            let frame = self.next().unwrap_or_else(|| panic!("the link ended before a {kind}"));
            if frame.frame_type == kind {
                return frame;
            }
            assert_eq!(frame.frame_type, FrameType::Credit, "instead of a {kind}: {frame:?}");
        }
    }

    /// The next `kind`, whatever comes before it.
    pub fn until(&mut self, kind: FrameType) -> Frame {
        loop {
            let frame = self.next().unwrap_or_else(|| panic!("the link ended before a {kind}"));
            if frame.frame_type == kind {
                return frame;
            }
        }
    }

    /// Everything that the other end says before it refuses a request of now, by when it has taken
    /// in whatever was sent before. Control frames go ahead of the refusal, all others before it.
    pub fn settle(&mut self) -> Vec<Frame> {
        self.probes -= 1;
        let probe = MessageId::Uint(self.probes);
        self.send(&Frame::req(probe, None, "cap:nobody", "application/cbor"));
        let mut frames = Vec::new();
        loop {
            let frame = self.next().expect("the link ended before it answered a probe");
            if frame.frame_type == FrameType::Err && frame.id == probe {
                return frames;
            }
            frames.push(frame);
        }
    }

    /// Reads to the end of the link.
    pub fn drain(&mut self) -> Vec<Frame> {
        std::iter::from_fn(|| self.reader.read().ok().flatten()).collect()
    }

    pub fn req(&mut self, id: u64, cap: &str) {
        self.send(&Frame::req(id.into(), None, cap, "application/cbor"));
    }

    pub fn start(&mut self, id: impl Into<MessageId>, stream: &str) {
        self.send(&Frame::stream_start(id.into(), None, stream, "media:blob"));
    }

    pub fn chunk(&mut self, id: impl Into<MessageId>, stream: &str, index: u64, value: &Value) {
        self.send(&Frame::chunk(id.into(), None, stream, index, value.encode().into()));
    }

    pub fn stream_end(&mut self, id: impl Into<MessageId>, stream: &str, count: u64) {
        self.send(&Frame::stream_end(id.into(), None, stream, Some(count)));
    }

    pub fn end(&mut self, id: impl Into<MessageId>) {
        self.send(&Frame::end(id.into(), None));
    }

    /// A handler's success.
    pub fn done(&mut self, id: impl Into<MessageId>) {
        self.send(&Frame::end_with(id.into(), None, 0, Some(1.0), None));
    }

    pub fn grant(&mut self, id: impl Into<MessageId>, stream: Option<&str>, n: u64) {
        self.send(&Frame::credit(id.into(), None, stream, n, CreditDirection::Response));
    }

    /// A whole request with these values in one stream.
    pub fn request(&mut self, id: u64, cap: &str, values: &[Value]) {
        self.req(id, cap);
        self.start(id, "in");
        for (index, value) in (0..).zip(values) {
            self.chunk(id, "in", index, value);
        }
        self.stream_end(id, "in", values.len() as u64);
        self.end(id);
    }

    /// A whole answer with these payloads in one stream.
    pub fn answer(&mut self, id: MessageId, payloads: &[Bytes]) {
        self.start(id, "out");
        for (index, payload) in (0..).zip(payloads) {
            self.send(&Frame::chunk(id, None, "out", index, payload.clone()));
        }
        self.stream_end(id, "out", payloads.len() as u64);
        self.done(id);
    }

    /// Says nothing more, and still reads.
    pub fn half_close(&self) {
        self.socket.shutdown(Shutdown::Write).expect("open");
    }

    /// Gone.
    pub fn hang_up(self) {
        let _ = self.socket.shutdown(Shutdown::Both); // the other end may have gone first
    }
}

/// The sum of the grants among `frames`.
pub fn granted(frames: &[Frame]) -> u64 {
    frames.iter().filter_map(|frame| frame.credit).sum()
}
