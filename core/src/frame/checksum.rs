//! FNV-1a, 64 bit: the checksum of a CHUNK, over its payload bytes.
//!
//! On a checked stream this is most of the cost; the crate `sluicegate-checksum` has code for it that is
//! several times as fast as the loop that defines it, chosen by what the processor has.

use sluicegate_checksum::{START, extend};

/// The checksum of `bytes`; of no bytes, the start value.
///
/// ```
/// assert_eq!(sluicegate::frame::fnv1a64(b"foobar"), 9_625_390_261_332_436_968);
/// ```
#[must_use]
pub fn fnv1a64(bytes: &[u8]) -> u64 {
    extend(START, bytes)
}

/// The same checksum over bytes that come in pieces.
///
/// ```
/// use sluicegate::frame::{Fnv1a, fnv1a64};
///
/// let mut sum = Fnv1a::new();
/// sum.update(b"foo");
/// sum.update(b"bar");
/// assert_eq!(sum.finish(), fnv1a64(b"foobar"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fnv1a {
    state: u64,
}

impl Fnv1a {
    /// A checksum of no bytes yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: START }
    }

    /// Adds `bytes` behind all that were added before.
    pub fn update(&mut self, bytes: &[u8]) {
        self.state = extend(self.state, bytes);
    }

    /// The checksum of all bytes so far.
    #[must_use]
    pub const fn finish(self) -> u64 {
        self.state
    }
}

impl Default for Fnv1a {
    fn default() -> Self {
        Self::new()
    }
}
