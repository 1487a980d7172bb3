//! Transports: descriptors that Swift hands over.

use std::fs::File;
use std::os::fd::FromRawFd;

/// Both ends of a transport, owned from now on.
pub(crate) fn files(reading: i32, writing: i32) -> (File, File) {
    // SAFETY: the Swift side hands over open descriptors that it owns and does not use again.
    unsafe { (File::from_raw_fd(reading), File::from_raw_fd(writing)) }
}
