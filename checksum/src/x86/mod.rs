//! The kernels for x86-64. Both work alike:
//!
//! 1. A block of up to eight units of 512 bytes is turned into eight planes of bits.
//! 2. Plane by plane, lowest first, what a position adds is summed up by exclusive-or: inside each word of
//!    64 positions at once, then over the words of the block in one word of their totals.
//! 3. The planes of the low bytes are turned back into bytes.
//! 4. The differences of all positions are weighed and summed.
//!
//! Blocks of eight, four, two and one unit follow each other. What is left at the end is one more unit,
//! filled up with zeros in front and begun from the state that those zeros lead to the right one.

pub(crate) mod avx2;
pub(crate) mod avx512;

use crate::powers::{UNIT, before_zeros};

/// Whether this processor, and the system it runs under, has what [`avx2`] needs.
pub(crate) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
}

/// Whether this processor, and the system it runs under, has what [`avx512`] needs.
pub(crate) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vnni")
        && is_x86_feature_detected!("gfni")
        && is_x86_feature_detected!("vpclmulqdq")
}

/// The state of a checksum between two blocks.
#[derive(Clone, Copy)]
struct Chain {
    state: u64,
    /// The low byte of `state`, known earlier than the rest of it.
    low: u8,
}

impl Chain {
    fn new(state: u64) -> Self {
        Chain { state, low: state as u8 }
    }
}

/// `bytes` as a unit with zeros in front, and the chain to begin it from. At most a unit.
fn filled_up(chain: Chain, bytes: &[u8]) -> (Chain, [u8; UNIT]) {
    let mut unit = [0; UNIT];
    let zeros = UNIT - bytes.len();
    unit[zeros..].copy_from_slice(bytes);
    (Chain::new(before_zeros(chain.state, zeros)), unit)
}

/// Bit `i` of the first answer: how many of the bits below `i` are set, modulo 2; with `entry`, one more.
/// The second: the same of all bits.
#[inline(always)]
fn parity_below(totals: u64, entry: bool) -> (u64, bool) {
    let entry = u64::from(entry);
    let mut sums = totals;
    sums ^= sums << 1;
    sums ^= sums << 2;
    sums ^= sums << 4;
    sums ^= sums << 8;
    sums ^= sums << 16;
    sums ^= sums << 32;
    sums ^= entry.wrapping_neg();
    ((sums << 1) | entry, sums >> 63 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_is_counted_below_each_bit() {
        for (totals, entry) in [(0, false), (0b1011_0001, true), (u64::MAX, false), (1 << 63, true)]
        {
            let (answer, all) = parity_below(totals, entry);
            for at in 0..64 {
                let below = (totals & ((1 << at) - 1)).count_ones() + u32::from(entry);
                assert_eq!((answer >> at) & 1, u64::from(below & 1), "{totals:x} {entry} {at}");
            }
            assert_eq!(
                all,
                (totals.count_ones() + u32::from(entry)) & 1 == 1,
                "{totals:x} {entry}"
            );
        }
    }
}
