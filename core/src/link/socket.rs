//! Sockets: Unix and TCP, as pairs of a reader and a writer.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use crate::error::{Error, ErrorKind};
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::time::Deadline;
use crate::wait::block_on;

/// Where something listens: a Unix socket by its path, or TCP by `host:port`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A Unix socket's path. What listens there makes it for its own user only (mode 0600).
    Unix(PathBuf),
    /// A host and port. Anybody who reaches it may connect: nothing is encrypted and nobody is asked
    /// who they are.
    Tcp(String),
}

impl FromStr for Address {
    type Err = Error;

    /// `unix:PATH`, `tcp:HOST:PORT`, or a path that holds a `/`.
    fn from_str(text: &str) -> Result<Self, Error> {
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => Ok(Address::Unix(path.into())),
            Some(("tcp", place)) if place.contains(':') => Ok(Address::Tcp(place.to_owned())),
            _ if text.contains('/') => Ok(Address::Unix(text.into())),
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "{text:?} is no address: write unix:PATH, tcp:HOST:PORT, or a path with a /"
                ),
            )),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(place) => write!(f, "tcp:{place}"),
        }
    }
}

/// The reading half of a socket.
pub struct SocketReader(Stream);

/// The writing half of a socket. Dropping it ends the whole connection, the reading half included.
pub struct SocketWriter(Stream);

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn shut(&self) {
        // One that is gone already needs no shutting down.
        let _gone = match self {
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    fn halves(self) -> io::Result<(SocketReader, SocketWriter)> {
        let other = match &self {
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
            Stream::Tcp(stream) => {
                stream.set_nodelay(true)?; // a grant must not wait for more
                Stream::Tcp(stream.try_clone()?)
            }
        };
        Ok((SocketReader(other), SocketWriter(self)))
    }
}

/// Ends a socket from outside of its halves, for one that has been silent for too long.
pub(crate) struct Shutter(Stream);

impl Shutter {
    pub(crate) fn shut(&self) {
        self.0.shut();
    }
}

/// A half of a socket whose reads, or writes, all together end by a moment.
pub(crate) struct Limited<H> {
    half: H,
    by: Deadline,
}

impl<H> Limited<H> {
    pub(crate) fn new(half: H, by: Deadline) -> Self {
        Limited { half, by }
    }

    /// What the next call may take; the system takes no limit of nothing.
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.by.remaining() {
            Some(Duration::ZERO) => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(left.map(|left| left.max(Duration::from_millis(1)))),
        }
    }
}

impl Read for Limited<SocketReader> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left()?;
        match &self.half.0 {
            Stream::Unix(stream) => stream.set_read_timeout(left)?,
            Stream::Tcp(stream) => stream.set_read_timeout(left)?,
        }
        self.half.read(buffer).map_err(in_time)
    }
}

impl Write for Limited<SocketWriter> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let left = self.left()?;
        match &self.half.0 {
            Stream::Unix(stream) => stream.set_write_timeout(left)?,
            Stream::Tcp(stream) => stream.set_write_timeout(left)?,
        }
        self.half.write(buffer).map_err(in_time)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.half.flush()
    }
}

/// What the system calls a limit that has passed.
fn in_time(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

impl SocketReader {
    pub(crate) fn shutter(&self) -> io::Result<Shutter> {
        Ok(Shutter(match &self.0 {
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
        }))
    }
}

impl Read for SocketReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for SocketWriter {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Stream::Unix(stream) => stream.write(buffer),
            Stream::Tcp(stream) => stream.write(buffer),
        }
    }

    fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.0 {
            Stream::Unix(stream) => stream.write_vectored(slices),
            Stream::Tcp(stream) => stream.write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for SocketWriter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Drop for SocketWriter {
    fn drop(&mut self) {
        self.0.shut();
    }
}

/// Two ends in one process.
///
/// # Errors
/// `Io` if the system has no socket left.
pub fn socket_pair() -> Result<[(SocketReader, SocketWriter); 2], Error> {
    let pair = UnixStream::pair()
        .and_then(|(one, other)| Ok([Stream::Unix(one).halves()?, Stream::Unix(other).halves()?]));
    pair.map_err(|e| Error::new(ErrorKind::Io, format!("no pair of sockets: {e}")))
}

/// Connects to what listens at `address`.
///
/// # Errors
/// `Io`, naming the address.
pub fn connect(address: &Address) -> Result<(SocketReader, SocketWriter), Error> {
    stream(address)
        .and_then(Stream::halves)
        .map_err(|e| Error::new(ErrorKind::Io, format!("cannot connect to {address}: {e}")))
}

fn stream(address: &Address) -> io::Result<Stream> {
    Ok(match address {
        Address::Unix(path) => Stream::Unix(UnixStream::connect(path)?),
        Address::Tcp(place) => Stream::Tcp(TcpStream::connect(place.as_str())?),
    })
}

/// Waits for connections. [`close`](Self::close) ends it from any thread.
pub struct Listener {
    inner: Inner,
    address: Address,
    closed: Arc<AtomicBool>,
}

enum Inner {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at `address`. A socket file that nobody listens at any more is replaced; port 0 takes
    /// a free port, which [`address`](Self::address) tells.
    ///
    /// # Errors
    /// `Io`, naming the address.
    pub fn bind(address: &Address) -> Result<Self, Error> {
        let failed =
            |e: io::Error| Error::new(ErrorKind::Io, format!("cannot listen at {address}: {e}"));
        let (inner, bound) = match address {
            Address::Unix(path) => {
                let listener = bind_unix(path).map_err(failed)?;
                (Inner::Unix(listener), address.clone())
            }
            Address::Tcp(place) => {
                let listener = TcpListener::bind(place.as_str()).map_err(failed)?;
                let bound = listener.local_addr().map_err(failed)?;
                (Inner::Tcp(listener), Address::Tcp(bound.to_string()))
            }
        };
        Ok(Listener { inner, address: bound, closed: Arc::default() })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The next connection; `None` once closed.
    ///
    /// # Errors
    /// `Io` if the system has no socket left, or the like; another call may succeed.
    pub fn accept(&self) -> Result<Option<(SocketReader, SocketWriter)>, Error> {
        let accepted = match &self.inner {
            Inner::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            Inner::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
        };
        if self.closed.load(Ordering::Acquire) {
            return Ok(None);
        }
        accepted.and_then(Stream::halves).map(Some).map_err(|e| {
            Error::new(ErrorKind::Io, format!("accepting at {} failed: {e}", self.address))
        })
    }

    /// Waits a moment after an accept that failed, so that a system without sockets is not asked for
    /// them without a pause.
    pub(crate) fn rest(&self) {
        let moment = Deadline::after(Duration::from_millis(50));
        let _over = block_on(std::future::pending::<()>(), moment);
    }

    /// Ends it: whoever waits in [`accept`](Self::accept) returns, and the socket file goes.
    pub fn close(&self) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let _wakes_accept = stream(&self.address);
        if let Address::Unix(path) = &self.address {
            let _gone = std::fs::remove_file(path);
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listener({})", self.address)
    }
}

fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(e) if e.kind() == io::ErrorKind::AddrInUse && UnixStream::connect(path).is_err() => {
            std::fs::remove_file(path)?; // left behind by a process that was killed
            UnixListener::bind(path)
        }
        bound => bound,
    }
    .and_then(|listener| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_as_they_are_written() {
        for (text, written) in [
            ("unix:/run/x", "unix:/run/x"),
            ("/run/x", "unix:/run/x"),
            ("./x", "unix:./x"),
            ("tcp:localhost:7", "tcp:localhost:7"),
        ] {
            assert_eq!(text.parse::<Address>().expect(text).to_string(), written);
        }
        for wrong in ["", "x", "unix:", "tcp:7", "udp:1:2"] {
            let error = wrong.parse::<Address>().expect_err(wrong);
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        }
    }

    #[test]
    fn a_writer_that_goes_ends_both_ends() {
        let [(mut here, writer), (mut there, _kept)] = socket_pair().expect("a pair");
        drop(writer);
        assert_eq!(here.read(&mut [0; 8]).expect("the end"), 0);
        assert_eq!(there.read(&mut [0; 8]).expect("the end"), 0);
    }

    #[test]
    fn closing_wakes_who_accepts_and_takes_the_file_away() {
        let path = std::env::temp_dir().join(format!("sluice-listen-{}", std::process::id()));
        let listener = Arc::new(Listener::bind(&Address::Unix(path.clone())).expect("binds"));
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "for its own user only");
        let waiting = Arc::clone(&listener);
        let accepts = std::thread::spawn(move || waiting.accept());
        listener.close();
        assert!(accepts.join().expect("no panic").expect("no error").is_none());
        assert!(!path.exists());
    }
}
