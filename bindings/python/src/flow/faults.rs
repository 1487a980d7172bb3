//! Transports on which things go wrong, for tests.
//!
//! A link stands between a transport and whoever uses it: a pair of sockets, and a thread for each
//! direction that copies through the core's faults.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;

use pyo3::prelude::*;
use sluicegate::flow::testkit::{Faults, Seed, Shuffle};
use sluicegate::{Error, ErrorKind};

use super::scope::seconds;
use crate::errors;
use crate::fork::Owned;
use crate::number::Count;
use crate::signals;
use crate::transport::duplicate;

/// Links whose reads and writes change places.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowShuffle(Owned<Shuffle>);

#[pymethods]
impl FlowShuffle {
    #[new]
    #[pyo3(signature = (limit, /))]
    fn new(limit: f64) -> PyResult<Self> {
        Ok(FlowShuffle(Owned::new(Shuffle::new(seconds(limit)?))))
    }
}

/// A number of its own for `what`, out of a seed.
#[pyfunction]
#[pyo3(signature = (seed, what, /))]
#[expect(clippy::needless_pass_by_value, reason = "a signature of Python's")]
pub(crate) fn fork_seed(seed: Count, what: &str) -> u64 {
    Seed::fixed(seed.0).fork(what)
}

/// The descriptor of a socket that leads, with faults, to the socket `fd`, which is duplicated.
#[pyfunction]
#[pyo3(signature = (fd, seed, delay, splits, cut, shuffle, /))]
#[expect(clippy::needless_pass_by_value, reason = "a signature of Python's")]
pub(crate) fn faulty_link(
    fd: i32,
    seed: Count,
    delay: f64,
    splits: bool,
    cut: Option<Count>,
    shuffle: Option<PyRef<'_, FlowShuffle>>,
) -> PyResult<i32> {
    let delay = seconds(delay)?;
    let shuffle = shuffle.as_ref().map(|shuffle| shuffle.0.get()).transpose()?;
    let faults = |direction| {
        let mut faults = Faults::new(Seed::fixed(seed.0).fork(direction)).delays(delay);
        if splits {
            faults = faults.splits();
        }
        if let Some(cut) = &cut {
            faults = faults.cut_after(cut.0);
        }
        match shuffle {
            Some(shuffle) => faults.shuffled(shuffle),
            None => faults,
        }
    };
    let socket = UnixStream::from(OwnedFd::from(duplicate(fd)?));
    let cut = cut.as_ref().map(|cut| cut.0);
    link(socket, (faults("read"), faults("write")), cut).map_err(|error| {
        errors::raise(&Error::new(ErrorKind::Io, format!("a link with faults: {error}")))
    })
}

/// A socket of any family: what is done with it here is the same for all.
fn link(socket: UnixStream, faults: (Faults, Faults), cut: Option<u64>) -> io::Result<i32> {
    let (near, far) = UnixStream::pair()?;
    let (source, target) = (socket.try_clone()?, far.try_clone()?);
    let (read, write) = (faults.0.apply(socket.try_clone()?), faults.1.apply(socket.try_clone()?));
    let (into, out) = (far.try_clone()?, far.try_clone()?);
    start("sluicegate-in", move || copy(read, into, cut).close(&source, &target))?;
    start("sluicegate-out", move || copy(out, write, cut).close(&far, &socket))?;
    Ok(near.into_raw_fd())
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let work = || {
        signals::take_no_signals();
        work();
    };
    thread::Builder::new().name(name.into()).spawn(work).map(drop)
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

fn copy(mut from: impl Read, mut to: impl Write, cut: Option<u64>) -> End {
    let mut buffer = vec![0; 1 << 16];
    let mut copied = 0_u64;
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) if cut.is_some_and(|cut| copied >= cut) => return End::Cut,
            Ok(0) => return End::Over,
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return End::Cut,
        };
        if to.write_all(&buffer[..n]).is_err() {
            return End::Cut;
        }
        copied = copied.saturating_add(n as u64);
    }
}
