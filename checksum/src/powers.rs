//! Powers of the prime modulo 2^64, and the weights of the bytes of a unit.

use crate::PRIME;

/// Bytes that a kernel weighs at once.
pub(crate) const UNIT: usize = 512;

/// `PRIME` to the power of `UNIT`: what a unit multiplies the state by.
pub(crate) const ACROSS: u64 = power(PRIME, UNIT);

/// The inverse of the prime: what undoes a byte of zero.
const UNDO: u64 = inverse(PRIME);

/// The state from which `zeros` bytes of zero lead to `state`.
pub(crate) const fn before_zeros(state: u64, zeros: usize) -> u64 {
    state.wrapping_mul(power(UNDO, zeros))
}

const fn power(base: u64, mut exponent: usize) -> u64 {
    let mut square = base;
    let mut product: u64 = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = product.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        exponent >>= 1;
    }
    product
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: the digits that are right double.
const fn inverse(odd: u64) -> u64 {
    let mut guess = odd; // three digits are right
    let mut round = 0;
    while round < 5 {
        guess = guess.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(guess)));
        round += 1;
    }
    guess
}

/// The weights of the differences of a unit, for vectors of `N` words of 16 bit.
///
/// The weight of position `p` is `PRIME^(UNIT - p)`, in four digits of 16 bit with a sign, lowest first.
/// A row holds one digit of the positions that one half of an unpacked vector has: in each lane of 16
/// bytes, the low half has the first eight.
#[cfg(target_arch = "x86_64")]
#[repr(align(64))]
pub(crate) struct Weights<const N: usize, const VECTORS: usize>(
    /// By vector, half, digit and word.
    pub(crate) [[[[i16; N]; 4]; 2]; VECTORS],
);

#[cfg(target_arch = "x86_64")]
impl<const N: usize, const VECTORS: usize> Weights<N, VECTORS> {
    pub(crate) const NEW: Self = {
        assert!(VECTORS * N * 2 == UNIT, "the vectors make a unit");
        let mut rows = [[[[0; N]; 4]; 2]; VECTORS];
        let mut position = 0;
        while position < UNIT {
            let (vector, byte) = (position / (2 * N), position % (2 * N));
            let (lane, half, at) = (byte / 16, byte % 16 / 8, byte % 8);
            let digits = digits(power(PRIME, UNIT - position));
            let mut digit = 0;
            while digit < 4 {
                rows[vector][half][digit][8 * lane + at] = digits[digit];
                digit += 1;
            }
            position += 1;
        }
        Weights(rows)
    };
}

/// `weight` modulo 2^64 in four balanced digits of 16 bit, lowest first.
#[cfg(target_arch = "x86_64")]
const fn digits(weight: u64) -> [i16; 4] {
    let mut rest = weight;
    let mut digits = [0; 4];
    let mut at = 0;
    while at < 4 {
        digits[at] = rest as u16 as i16;
        rest = rest.wrapping_sub(digits[at] as i64 as u64) >> 16;
        at += 1;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar;

    #[test]
    fn zeros_are_undone() {
        for zeros in [0, 1, 2, 7, 64, 511] {
            let before = before_zeros(0x0123_4567_89ab_cdef, zeros);
            assert_eq!(scalar::extend(before, &vec![0; zeros]), 0x0123_4567_89ab_cdef, "{zeros}");
        }
    }

    #[test]
    fn a_unit_of_zeros_is_one_multiplication() {
        assert_eq!(scalar::extend(77, &[0; UNIT]), 77_u64.wrapping_mul(ACROSS));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn digits_make_the_weight() {
        for weight in [0, 1, u64::MAX, 0x8000_8000_8000_8000, 0x7fff_ffff_8000_0001, PRIME] {
            let summed = digits(weight).iter().rev().fold(0_u64, |sum, &digit| {
                (sum << 16).wrapping_add(i64::from(digit).cast_unsigned())
            });
            assert_eq!(summed, weight);
        }
    }
}
