//! Transports on which things go wrong, for tests.

use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use pyo3::prelude::*;
use sluicegate::flow::testkit::{self, Faults, Seed, Shuffle};
use sluicegate::{Error, ErrorKind};

use super::scope::seconds;
use crate::errors;
use crate::fork::Owned;
use crate::number::Count;
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
    let near = testkit::link(socket, faults("read"), faults("write")).map_err(|error| {
        errors::raise(&Error::new(ErrorKind::Io, format!("a link with faults: {error}")))
    })?;
    Ok(near.into_raw_fd())
}
