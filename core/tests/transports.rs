//! Closing an engine over transports that do not end by themselves: it returns all the same, whoever waits
//! is told, and the threads that the transport holds go when it lets them.

mod support;

use std::io::{PipeReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use sluicegate::wait::block_on;
use sluicegate::{Cap, Cartridge, Deadline, ErrorKind, Manifest, Request};
use support::{ECHO, engine, limits, within};

const LIMIT: Duration = Duration::from_secs(120);

fn cartridge(
    handler: impl Fn(&Request) -> Result<(), sluicegate::Error> + Send + Sync + 'static,
) -> Cartridge {
    Cartridge::new(Manifest::new("test", "1").cap(Cap::new(ECHO))).handler(ECHO, handler)
}

/// A handler that waits for its end.
fn waits(request: &Request) -> Result<(), sluicegate::Error> {
    Err(block_on(request.cancelled(), Deadline::NEVER).expect("no limit"))
}

/// Reads what comes until it is told not to end: then no read ends until it is let go.
struct Endless {
    inner: UnixStream,
    endless: Arc<AtomicBool>,
    held: mpsc::Receiver<()>,
    dropped: mpsc::Sender<()>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let came = self.inner.read(buffer);
        if self.endless.load(Ordering::SeqCst) {
            let _let_go = self.held.recv();
            return Ok(0);
        }
        came
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        let _over = self.dropped.send(());
    }
}

/// A writer of somebody's own, whose drop tells the other end.
struct Told(UnixStream);

impl Write for Told {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let _gone = self.0.shutdown(Shutdown::Write);
    }
}

#[test]
fn an_engine_closes_although_the_read_of_its_transport_never_ends() {
    within(LIMIT, "a close", || {
        let (near, far) = UnixStream::pair().expect("a pair of sockets");
        let far_reader = far.try_clone().expect("a second handle");
        let running = thread::spawn(move || cartridge(waits).run(far_reader, Told(far)));
        let ((let_go, held), (dropped, is_dropped)) = (mpsc::channel(), mpsc::channel());
        let endless = Arc::new(AtomicBool::new(false));
        let inner = near.try_clone().expect("a second handle");
        let reader = Endless { inner, endless: Arc::clone(&endless), held, dropped };
        let engine = engine(limits(4, 64));
        let peer = engine.attach(reader, Told(near)).expect("attached");
        let call = peer.call(ECHO).expect("a call");
        endless.store(true, Ordering::SeqCst);
        block_on(engine.close(), Deadline::NEVER).expect("no limit");
        assert_eq!(call.blocking_wait().expect_err("closed").kind(), ErrorKind::Closed);
        assert_eq!(peer.dead().expect("it is gone").kind(), ErrorKind::Closed);
        // The other end was told by the drop of the writer.
        running.join().expect("no panic").expect("a host that closes is no error");
        // Its reader may be held by the transport until now.
        drop(let_go);
        is_dropped.recv().expect("the thread that reads goes once its read ends");
    });
}

/// Reads until it is stopped, and what is left once it may go on.
struct Stops {
    inner: PipeReader,
    stopped: Arc<AtomicBool>,
    go: mpsc::Receiver<()>,
    rest: mpsc::Sender<u64>,
}

impl Read for Stops {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.stopped.load(Ordering::SeqCst) {
            let _go = self.go.recv();
            let rest = std::io::copy(&mut self.inner, &mut std::io::sink())?;
            let _heard = self.rest.send(rest);
            return Ok(0);
        }
        self.inner.read(buffer)
    }
}

#[test]
fn a_pipe_that_was_cut_off_is_written_until_its_reader_goes() {
    within(LIMIT, "a close", || {
        let (plugin_in, host_out) = std::io::pipe().expect("a pipe");
        let (host_in, plugin_out) = std::io::pipe().expect("a pipe");
        let stopped = Arc::new(AtomicBool::new(false));
        let ((go_on, go), (tell, rest)) = (mpsc::channel(), mpsc::channel());
        let reader = Stops { inner: plugin_in, stopped: Arc::clone(&stopped), go, rest: tell };
        let many = limits(1 << 20, 64 * 1024);
        let running = thread::spawn(move || cartridge(waits).limits(many).run(reader, plugin_out));
        let engine = engine(many);
        let peer = engine.attach(host_in, host_out).expect("attached");
        let call = peer.call(ECHO).expect("a call");
        let input = call.input("media:blob").expect("an argument");
        stopped.store(true, Ordering::SeqCst);
        let writes = thread::spawn(move || {
            let data = vec![7_u8; 64 * 1024];
            loop {
                if let Err(error) = input.blocking_write(&data) {
                    return error;
                }
            }
        });
        // Until the writer stands still in the pipe, and whoever writes for room behind it.
        loop {
            let told = engine.explain().to_json();
            let standing = told["standing"].as_array().expect("an array");
            if standing.iter().any(|standing| standing["waits_for"] == "room") {
                break;
            }
        }
        block_on(engine.close(), Deadline::NEVER).expect("no limit");
        assert_eq!(writes.join().expect("no panic").kind(), ErrorKind::Closed);
        assert_eq!(call.blocking_wait().expect_err("closed").kind(), ErrorKind::Closed);
        // The write that stood still goes on when it is read, and is the last: then the pipe is closed.
        go_on.send(()).expect("it waits");
        let rest = rest.recv().expect("the end of the pipe");
        assert!(rest > 0 && rest < 4 * 1024 * 1024, "{rest} bytes");
        drop(running); // what it makes of a frame that was cut is its own matter
    });
}
