//! A socket that leads to another one, with faults on the way.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use super::faults::{Faults, Faulty};
use crate::link::spawn_quiet;

/// A socket that leads to `socket`, which may be of any family that streams: what is read from it goes
/// through `reads`, what is written to it through `writes`. Where one direction is cut, both end. Two
/// threads carry the bytes until both ends are closed.
///
/// # Errors
/// What the system says if it has no socket or thread left.
pub fn link(socket: UnixStream, reads: Faults, writes: Faults) -> io::Result<UnixStream> {
    let (near, far) = UnixStream::pair()?;
    let (source, target) = (socket.try_clone()?, far.try_clone()?);
    let (read, write) = (reads.apply(socket.try_clone()?), writes.apply(socket.try_clone()?));
    let (into, out) = (far.try_clone()?, far.try_clone()?);
    spawn_quiet("faults-in", move || carry(read, into, Faulty::is_cut).close(&source, &target))?;
    spawn_quiet("faults-out", move || carry(out, write, |_| false).close(&far, &socket))?;
    Ok(near)
}

/// How one direction has ended.
enum End {
    /// The side that it reads has.
    Over,
    /// By a cut, or because the side that it writes is gone: the other direction ends with it.
    Cut,
}

impl End {
    fn close(self, source: &UnixStream, target: &UnixStream) {
        // What is refused is over already.
        let _over = match self {
            End::Over => target.shutdown(Shutdown::Write),
            End::Cut => source.shutdown(Shutdown::Both).and(target.shutdown(Shutdown::Both)),
        };
    }
}

fn carry<R: Read>(mut from: R, mut to: impl Write, is_cut: impl Fn(&R) -> bool) -> End {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return if is_cut(&from) { End::Cut } else { End::Over },
            Ok(n) if to.write_all(&buffer[..n]).is_ok() => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return End::Cut,
        }
    }
}
