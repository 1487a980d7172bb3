//! FNV-1a, 64 bit: the checksum of a CHUNK, over its payload bytes.
//!
//! A file of its own: on a checked stream this loop is most of the cost, and a faster kernel goes here.

const START: u64 = 14_695_981_039_346_656_037;
const PRIME: u64 = 1_099_511_628_211;

/// The checksum of `bytes`; of no bytes, the start value.
///
/// ```
/// assert_eq!(sluicegate::frame::fnv1a64(b"foobar"), 9_625_390_261_332_436_968);
/// ```
#[must_use]
pub fn fnv1a64(bytes: &[u8]) -> u64 {
    step(START, bytes)
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
        self.state = step(self.state, bytes);
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

fn step(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(PRIME))
}
