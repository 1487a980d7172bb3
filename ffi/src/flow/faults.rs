//! `sluice_faults`, `sluice_shuffle`, `sluice_seed`: what goes wrong with transports, for tests.

use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use libc::{c_char, c_int};
use sluicegate::flow::testkit::{self, Faults as Core, Seed, Shuffle as CoreShuffle};
use sluicegate::{Error, ErrorKind};

use crate::border::{self, Growing};
use crate::error::ErrorObject;
use crate::guard::{guard, guard_with};
use crate::handle::{self, object};
use crate::status::Status;

/// Links whose reads and writes change places: one at a time, in an order of their own.
///
/// Each read or write of a link stands one to three places behind its last one, as the seed of its faults
/// decides, and the one that is furthest in front goes next. While each link has something to do, the
/// order follows from the seeds alone. One that has nothing to do is waited for no longer than the limit;
/// after that the others go on as they come, which no seed decides.
pub struct Shuffle(CoreShuffle);
object!(Shuffle = 43);

/// What goes wrong with a link, in each direction by itself, all drawn from one seed. Begin with
/// SLUICE_FAULTS_INIT: nothing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Faults {
    /// Set by SLUICE_FAULTS_INIT.
    pub struct_size: u32,
    /// Reads and writes take a part of what they could, one byte at least.
    pub splits: bool,
    /// What they are drawn from. The same seed gives the same faults.
    pub seed: u64,
    /// Microseconds that each read and write waits first, at most.
    pub delay_micros: u64,
    /// After so many bytes in one direction the link ends, in both, wherever that is; UINT64_MAX: never.
    pub cut_after: u64,
    /// Links that it changes places with; NULL: none.
    pub shuffle: *const Shuffle,
}

// SAFETY: a C struct of plain fields that begins with its size; all zero is a value of it.
unsafe impl Growing for Faults {}

/// Makes a shuffle, without links.
///
/// limit_micros  microseconds that a read or write waits for other links at most
/// out           the shuffle, yours to release
/// returns       SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads       any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_shuffle_new(limit_micros: u64, out: *mut *mut Shuffle) -> Status {
    guard(|| border::put_new(out, Shuffle(CoreShuffle::new(Duration::from_micros(limit_micros)))))
}

/// Takes the reference away. Its links live on.
///
/// shuffle  may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_shuffle_release(shuffle: *mut Shuffle) -> Status {
    guard(|| handle::release(shuffle))
}

/// A socket that leads to another, with faults on the way: hand it to sluice_engine_attach,
/// sluice_cartridge_serve_fds and the like in place of that one. Two threads carry the bytes until both
/// ends are closed.
///
/// faults   borrowed; NULL: none
/// fd       a connected stream socket that blocks; taken over, also if this call fails
/// out      the descriptor, yours to close or to hand on
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_IO: the system has no socket or thread left | SLUICE_INVALID_ARGUMENT |
///          SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_faults_link(
    faults: *const Faults,
    fd: c_int,
    out: *mut c_int,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        if fd < 0 {
            return Err(border::invalid("a descriptor is negative"));
        }
        // SAFETY: the caller's duty: a descriptor that is handed over is the library's from now on.
        let socket = UnixStream::from(unsafe { OwnedFd::from_raw_fd(fd) });
        border::need(out)?;
        let theirs = border::sized(faults)?;
        let shuffle = match theirs.map_or(std::ptr::null(), |faults| faults.shuffle) {
            null if null.is_null() => None,
            shuffle => Some(handle::get(shuffle)?),
        };
        let direction = |name: &str| {
            let Some(theirs) = theirs else { return Core::new(0) };
            let mut ours = Core::new(Seed::fixed(theirs.seed).fork(name))
                .delays(Duration::from_micros(theirs.delay_micros));
            if theirs.splits {
                ours = ours.splits();
            }
            if theirs.cut_after != u64::MAX {
                ours = ours.cut_after(theirs.cut_after);
            }
            match &shuffle {
                Some(shuffle) => ours.shuffled(&shuffle.0),
                None => ours,
            }
        };
        let near = testkit::link(socket, direction("read"), direction("write"))
            .map_err(|error| Error::new(ErrorKind::Io, format!("a link with faults: {error}")))?;
        border::put(out, near.into_raw_fd())
    })
}

/// The seed of a test: what the variable SLUICEGATE_SEED says, in decimal, or a new one. What it decides is
/// drawn from it by sluice_seed_fork; a test that fails says sluice_seed_print.
///
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT: the variable is no number, and the schedule that was asked
///          for is not replaced by another
/// threads  any number at once, while none changes the environment; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_seed(out: *mut u64, err: *mut *mut ErrorObject) -> Status {
    guard_with(err, || {
        border::need(out)?;
        border::put(out, Seed::try_new()?.value())
    })
}

/// A number of its own for `what`, out of a seed: the same each time and in every language, and nothing
/// like that of another name.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_seed_fork(
    seed: u64,
    what: *const c_char,
    what_len: usize,
    out: *mut u64,
) -> Status {
    guard(|| border::put(out, Seed::fixed(seed).fork(border::text(what, what_len)?)))
}

/// Writes to stderr how to run the schedule of a seed again. For a test that fails.
///
/// returns  SLUICE_OK
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_seed_print(seed: u64) -> Status {
    guard(|| {
        use std::io::Write;
        let _nobody_reads = writeln!(std::io::stderr(), "{}", Seed::fixed(seed).again());
        Ok(())
    })
}
