//! What bit `k` of the next low byte takes from the bits below `k`, for many positions at once.
//!
//! The next low byte is `x * 0xb3` modulo 256, and `0xb3 * x = 17 * (3 * x) + 128 * x`. In planes (a plane
//! holds one bit of many positions) that is two additions with carry: of `x` and `2 * x`, and of what comes
//! out and sixteen times that. Bit `k` of the product is bit `k` of `x`, by exclusive-or with what the
//! planes below it give; that is what this file computes.

/// Bits of many positions, all treated alike.
pub(crate) trait Bits: Copy {
    /// No bit.
    fn none() -> Self;

    /// Where an odd number of the three has a bit.
    fn odd(self, second: Self, third: Self) -> Self;

    /// Where two or three of the three have a bit.
    fn most(self, second: Self, third: Self) -> Self;
}

/// What is known of the planes below the one that comes next.
#[derive(Clone, Copy)]
pub(crate) struct Below<B> {
    /// The lowest plane of `x`, and the one taken last.
    first: B,
    last: B,
    /// The lowest four planes of `3 * x`.
    triple: [B; 4],
    /// What the two additions carry into the plane that comes next.
    carry: B,
    high: B,
}

impl<B: Bits> Below<B> {
    /// Before plane 0.
    #[inline(always)]
    pub(crate) fn none() -> Self {
        let none = B::none();
        Below { first: none, last: none, triple: [none; 4], carry: none, high: none }
    }

    /// What plane `K` of the product is beside plane `K` of `x`.
    #[inline(always)]
    pub(crate) fn give<const K: usize>(&self) -> B {
        let low = match K {
            7 => self.last.odd(self.carry, self.first),
            _ => self.last.odd(self.carry, B::none()),
        };
        match K {
            0..4 => low,
            _ => low.odd(self.triple[K - 4], self.high),
        }
    }

    /// Takes plane `K` of `x`.
    #[inline(always)]
    pub(crate) fn take<const K: usize>(&mut self, x: B) {
        let triple = x.odd(self.last, self.carry);
        self.carry = x.most(self.last, self.carry);
        match K {
            0..4 => self.triple[K] = triple,
            _ => self.high = triple.most(self.triple[K - 4], self.high),
        }
        if K == 0 {
            self.first = x;
        }
        self.last = x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PRIME;

    impl Bits for u8 {
        fn none() -> Self {
            0
        }

        fn odd(self, second: Self, third: Self) -> Self {
            self ^ second ^ third
        }

        fn most(self, second: Self, third: Self) -> Self {
            (self & second) | (self & third) | (second & third)
        }
    }

    fn plane<const K: usize>(below: &mut Below<u8>, x: u8, product: &mut u8) {
        let bit = (x >> K) & 1;
        *product |= (bit ^ below.give::<K>()) << K;
        below.take::<K>(bit);
    }

    #[test]
    fn planes_give_the_next_low_byte() {
        for x in 0..=u8::MAX {
            let (mut below, mut product) = (Below::none(), 0);
            plane::<0>(&mut below, x, &mut product);
            plane::<1>(&mut below, x, &mut product);
            plane::<2>(&mut below, x, &mut product);
            plane::<3>(&mut below, x, &mut product);
            plane::<4>(&mut below, x, &mut product);
            plane::<5>(&mut below, x, &mut product);
            plane::<6>(&mut below, x, &mut product);
            plane::<7>(&mut below, x, &mut product);
            assert_eq!(u64::from(product), u64::from(x).wrapping_mul(PRIME) & 0xff, "{x}");
        }
    }
}
