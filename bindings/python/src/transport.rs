//! File descriptors and limits, as Python gives them.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use pyo3::prelude::*;
use sluicegate::{Error, ErrorKind, Limits};

use crate::errors;
use crate::number::Count;

/// A descriptor of our own for what `fd` stands for; the caller keeps and closes theirs.
pub(crate) fn duplicate(fd: i32) -> PyResult<File> {
    // SAFETY: the call takes integers; one that is no open descriptor is answered with an error.
    let new = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
    if new < 0 {
        let message = format!("file descriptor {fd}: {}", io::Error::last_os_error());
        return Err(errors::raise(&Error::new(ErrorKind::Io, message)));
    }
    // SAFETY: `new` was just opened by the call above and is nobody else's.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(new) }))
}

/// max_frame, max_chunk, max_reorder_buffer, initial_credit.
pub(crate) type LimitsTuple = (u64, u64, u64, u64);

pub(crate) fn limits_out(limits: Limits) -> LimitsTuple {
    (limits.max_frame, limits.max_chunk, limits.max_reorder_buffer, limits.initial_credit)
}

/// Limits as they are proposed: none may be 0.
pub(crate) fn limits_in(given: (Count, Count, Count, Count)) -> PyResult<Limits> {
    let mut limits = Limits::default();
    let (frame, chunk, reorder, credit) = given;
    for (name, number, slot) in [
        ("max_frame", frame.0, &mut limits.max_frame),
        ("max_chunk", chunk.0, &mut limits.max_chunk),
        ("max_reorder_buffer", reorder.0, &mut limits.max_reorder_buffer),
        ("initial_credit", credit.0, &mut limits.initial_credit),
    ] {
        if number == 0 {
            let message = format!("the limit {name} is 0: nothing could ever move");
            return Err(errors::raise(&Error::new(ErrorKind::InvalidArgument, message)));
        }
        *slot = number;
    }
    Ok(limits)
}

/// The limits of the protocol.
#[pyfunction]
pub(crate) fn default_limits() -> LimitsTuple {
    limits_out(Limits::default())
}
