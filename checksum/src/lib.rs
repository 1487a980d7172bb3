//! FNV-1a, 64 bit, over long runs of bytes: several times as fast as the loop that defines it, where the
//! processor has wide vectors, and never another answer.
//!
//! The loop is one exclusive-or and one multiplication a byte, each waiting for the one before. Two facts
//! let most of it run side by side:
//!
//! * The exclusive-or changes the low byte of the state alone, and the low byte that comes next depends on
//!   nothing but the low byte and the data. With `l` for it and `x = l ^ byte`, the step is
//!   `state = (state + (x - l)) * PRIME`: linear in the state once all the `l` are known. So a run of `n`
//!   bytes is `state * PRIME^n` plus the sum of `(x - l) * PRIME^(n - i)`, in any order.
//! * Bit `k` of the next low byte is bit `k` of `l`, the byte's bit `k` and something of the bits below
//!   `k`, each by exclusive-or. Taken plane by plane, lowest bit first, all `l` of a run are prefix sums of
//!   exclusive-ors.
//!
//! | file | what |
//! |---|---|
//! | `scalar` | the loop itself: short runs, and what all others are held against |
//! | `powers` | powers of the prime, and the weights of a unit of 512 bytes |
//! | `planes` | what one plane needs of those below it |
//! | `kernel` | the choice between them |
//! | `x86` | the kernels for AVX2 and for AVX-512 |
//!
//! This crate is apart because it is where the project says `unsafe` for speed: to load and store vectors,
//! and to enter a kernel after the processor was asked. No kernel allocates, waits or panics.

mod kernel;

mod powers;

mod scalar;

#[cfg(target_arch = "x86_64")]
mod planes;

#[cfg(target_arch = "x86_64")]
mod x86;

pub use kernel::Kernel;

/// The state that a checksum begins with, and the checksum of no bytes.
pub const START: u64 = 14_695_981_039_346_656_037;

/// What the state is multiplied with after each byte.
pub const PRIME: u64 = 1_099_511_628_211;

/// The state after `bytes`, from the state before them.
///
/// ```
/// use sluicegate_checksum::{START, extend};
///
/// assert_eq!(extend(START, b"foobar"), 9_625_390_261_332_436_968);
/// assert_eq!(extend(extend(START, b"foo"), b"bar"), extend(START, b"foobar"));
/// ```
#[must_use]
pub fn extend(state: u64, bytes: &[u8]) -> u64 {
    Kernel::best().extend(state, bytes)
}
