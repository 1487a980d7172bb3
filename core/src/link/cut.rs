//! Frees a thread that stands in a write which nobody reads.

use std::any::Any;
use std::fs::File;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;

use super::SocketWriter;

/// A second handle of the socket that a writer writes to. A write to a socket ends when the socket is
/// shut down; no other transport has such a way out: a pipe is written until its reader goes.
pub(super) struct Cut(UnixStream);

impl Cut {
    /// None if `writer` is no socket, or of a type that is not known to be one.
    pub(super) fn of<W: Write + 'static>(writer: &W) -> Option<Self> {
        let handle = descriptor(writer)?.try_clone_to_owned().ok()?;
        let file = File::from(handle);
        let is_socket = file.metadata().is_ok_and(|found| found.file_type().is_socket());
        // Any socket: shutting down asks the system, which knows what it is.
        is_socket.then(|| Cut(UnixStream::from(OwnedFd::from(file))))
    }

    /// Tells the other end that nothing more comes, although somebody else may hold the socket.
    pub(super) fn say_end(&self) {
        let _gone = self.0.shutdown(Shutdown::Write); // then it knows
    }

    /// Ends the socket in both directions, for every handle of it.
    pub(super) fn shut(&self) {
        let _gone = self.0.shutdown(Shutdown::Both); // then nobody stands in a write
    }
}

fn descriptor<W: 'static>(writer: &W) -> Option<BorrowedFd<'_>> {
    let writer: &dyn Any = writer;
    fn is<T: AsFd + 'static>(writer: &dyn Any) -> Option<BorrowedFd<'_>> {
        writer.downcast_ref::<T>().map(AsFd::as_fd)
    }
    is::<SocketWriter>(writer)
        .or_else(|| is::<UnixStream>(writer))
        .or_else(|| is::<TcpStream>(writer))
        .or_else(|| is::<File>(writer))
        .or_else(|| is::<OwnedFd>(writer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::socket_pair;

    #[test]
    fn a_socket_of_any_type_is_known_and_a_pipe_is_none() {
        let [(_reader, writer), _far] = socket_pair().expect("a pair");
        assert!(Cut::of(&writer).is_some());
        let (one, other) = UnixStream::pair().expect("a pair");
        assert!(Cut::of(&one).is_some());
        assert!(Cut::of(&File::from(OwnedFd::from(other))).is_some());
        let (_reader, writer) = std::io::pipe().expect("a pipe");
        assert!(Cut::of(&File::from(OwnedFd::from(writer))).is_none());
        assert!(Cut::of(&Vec::new()).is_none());
    }

    #[test]
    fn a_write_that_nobody_reads_ends() {
        let [(_reader, mut writer), _far] = socket_pair().expect("a pair");
        let cut = Cut::of(&writer).expect("a socket");
        let writes = std::thread::spawn(move || writer.write_all(&vec![0; 64 * 1024 * 1024]));
        cut.shut();
        writes.join().expect("no panic").expect_err("it was cut off");
    }
}
