//! With vectors of 32 bytes: AVX2.

use std::arch::x86_64::*;

use super::{Chain, filled_up, parity_below};
use crate::planes::{Below, Bits};
use crate::powers::{ACROSS, UNIT, Weights};

static WEIGHTS: Weights<16, 16> = Weights::NEW;

/// For a shuffle inside lanes of 16: byte `k` of double word `q` from byte `q` of double word `k`.
const TURN: [u8; 32] = {
    let mut from = [0; 32];
    let mut at = 0;
    while at < 32 {
        from[at] = (at % 4 * 4 + at % 16 / 4) as u8;
        at += 1;
    }
    from
};

type Vector = __m256i;

impl Bits for Vector {
    #[inline(always)]
    fn none() -> Self {
        // SAFETY: only [`extend`] and what it calls use this type, and whoever calls it has AVX2.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    fn odd(self, second: Self, third: Self) -> Self {
        // SAFETY: as in `none`.
        unsafe { _mm256_xor_si256(self, _mm256_xor_si256(second, third)) }
    }

    #[inline(always)]
    fn most(self, second: Self, third: Self) -> Self {
        // SAFETY: as in `none`.
        unsafe {
            let differ = _mm256_xor_si256(second, third);
            let both = _mm256_and_si256(second, third);
            _mm256_or_si256(both, _mm256_and_si256(self, differ))
        }
    }
}

/// Two vectors a unit, for each of the eight planes: word `w` of a plane has positions `64 w` and on.
type Planes<const U: usize> = [[[u32; 16]; U]; 8];

/// The state after `bytes`.
#[target_feature(enable = "avx2")]
pub(crate) fn extend(state: u64, bytes: &[u8]) -> u64 {
    let (units, rest) = bytes.as_chunks::<UNIT>();
    let (fours, units) = units.as_chunks::<4>();
    let (twos, ones) = units.as_chunks::<2>();
    let mut chain = Chain::new(state);
    for block in fours {
        chain = pass(chain, block);
    }
    for block in twos {
        chain = pass(chain, block);
    }
    for unit in ones {
        chain = pass(chain, &[*unit]);
    }
    if !rest.is_empty() {
        let (begun, unit) = filled_up(chain, rest);
        chain = pass(begun, &[unit]);
    }
    chain.state
}

/// A block of `U` units, at most eight: the totals of its words fit one word.
#[target_feature(enable = "avx2")]
fn pass<const U: usize>(chain: Chain, block: &[[u8; UNIT]; U]) -> Chain {
    let mut planes = [[[0; 16]; U]; 8];
    for (at, unit) in block.iter().enumerate() {
        split(unit, at, &mut planes);
    }
    let mut below = [[Below::none(); 2]; U];
    let mut low = chain.low;
    plane::<0, U>(&mut below, &mut planes[0], &mut low);
    plane::<1, U>(&mut below, &mut planes[1], &mut low);
    plane::<2, U>(&mut below, &mut planes[2], &mut low);
    plane::<3, U>(&mut below, &mut planes[3], &mut low);
    plane::<4, U>(&mut below, &mut planes[4], &mut low);
    plane::<5, U>(&mut below, &mut planes[5], &mut low);
    plane::<6, U>(&mut below, &mut planes[6], &mut low);
    plane::<7, U>(&mut below, &mut planes[7], &mut low);
    let mut state = chain.state;
    for (at, unit) in block.iter().enumerate() {
        state = state.wrapping_mul(ACROSS).wrapping_add(weigh(unit, at, &planes));
    }
    Chain { state, low }
}

/// Plane `K`: from that of the data to that of the low bytes before each position.
#[inline]
#[target_feature(enable = "avx2")]
fn plane<const K: usize, const U: usize>(
    below: &mut [[Below<Vector>; 2]; U],
    plane: &mut [[u32; 16]; U],
    low: &mut u8,
) {
    let mut data = [[Vector::none(); 2]; U];
    let mut sums = [[Vector::none(); 2]; U];
    let mut totals = 0;
    for at in 0..U {
        for half in 0..2 {
            data[at][half] = load(&plane[at].as_chunks().0[half]);
            let adds = _mm256_xor_si256(data[at][half], below[at][half].give::<K>());
            let through = through(adds);
            let ends = _mm256_movemask_pd(_mm256_castsi256_pd(through)).cast_unsigned();
            totals |= u64::from(ends) << (8 * at + 4 * half);
            sums[at][half] = _mm256_add_epi64(through, through);
        }
    }
    let (entries, exit) = parity_below(totals, (*low >> K) & 1 == 1);
    *low = *low & !(1 << K) | u8::from(exit) << K;
    for at in 0..U {
        for half in 0..2 {
            let entry = all_where(entries >> (8 * at + 4 * half));
            let lows = _mm256_xor_si256(sums[at][half], entry);
            below[at][half].take::<K>(_mm256_xor_si256(lows, data[at][half]));
            store(&mut plane[at].as_chunks_mut().0[half], lows);
        }
    }
}

/// For each word, bit `i`: the exclusive-or of its bits up to `i`.
#[inline]
#[target_feature(enable = "avx2")]
fn through(words: Vector) -> Vector {
    let mut sums = words;
    sums = _mm256_xor_si256(sums, _mm256_slli_epi64::<1>(sums));
    sums = _mm256_xor_si256(sums, _mm256_slli_epi64::<2>(sums));
    sums = _mm256_xor_si256(sums, _mm256_slli_epi64::<4>(sums));
    sums = _mm256_xor_si256(sums, _mm256_slli_epi64::<8>(sums));
    sums = _mm256_xor_si256(sums, _mm256_slli_epi64::<16>(sums));
    _mm256_xor_si256(sums, _mm256_slli_epi64::<32>(sums))
}

/// All bits of word `i` where bit `i` is set, of the lowest four.
#[inline]
#[target_feature(enable = "avx2")]
fn all_where(bits: u64) -> Vector {
    let spread = _mm256_set1_epi64x(bits.cast_signed());
    let signs = _mm256_sllv_epi64(spread, _mm256_set_epi64x(60, 61, 62, 63));
    _mm256_cmpgt_epi64(Vector::none(), signs)
}

/// Puts the planes of a unit in their places.
#[inline]
#[target_feature(enable = "avx2")]
fn split<const U: usize>(unit: &[u8; UNIT], at: usize, planes: &mut Planes<U>) {
    for (part, chunk) in unit.as_chunks().0.iter().enumerate() {
        let mut bits = load_bytes(chunk);
        for plane in planes.iter_mut().rev() {
            plane[at][part] = _mm256_movemask_epi8(bits).cast_unsigned();
            bits = _mm256_add_epi8(bits, bits);
        }
    }
}

/// The sum of what the bytes of a unit add, given the planes of the low bytes before them.
#[inline]
#[target_feature(enable = "avx2")]
fn weigh<const U: usize>(unit: &[u8; UNIT], at: usize, planes: &Planes<U>) -> u64 {
    let signs = _mm256_set1_epi16(i16::from_le_bytes([1, 0xff]));
    let mut sums = [Vector::none(); 4];
    for (half, chunks) in unit.as_chunks::<256>().0.iter().enumerate() {
        let rows = transpose(
            [0, 1, 2, 3, 4, 5, 6, 7]
                .map(|plane: usize| load(&planes[plane][at].as_chunks().0[half])),
        );
        let weights = &WEIGHTS.0[8 * half..][..8];
        for ((row, chunk), weights) in rows.into_iter().zip(chunks.as_chunks().0).zip(weights) {
            let lows = bytes(row);
            let next = _mm256_xor_si256(lows, load_bytes(chunk));
            let pairs = [_mm256_unpacklo_epi8(next, lows), _mm256_unpackhi_epi8(next, lows)];
            for (pair, weights) in pairs.into_iter().zip(weights) {
                let differences = _mm256_maddubs_epi16(pair, signs);
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    let weighed = _mm256_madd_epi16(differences, load_words(weights));
                    *sum = _mm256_add_epi32(*sum, weighed);
                }
            }
        }
    }
    // A digit of a unit stays below 2^30: 32 times two products of 255 and 32768.
    let mut whole = Vector::none();
    for sum in sums.into_iter().rev() {
        let even = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum));
        let odd = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(sum));
        whole = _mm256_slli_epi64::<16>(whole);
        whole = _mm256_add_epi64(whole, _mm256_add_epi64(even, odd));
    }
    let pair = _mm_add_epi64(_mm256_castsi256_si128(whole), _mm256_extracti128_si256::<1>(whole));
    let sum = _mm_add_epi64(pair, _mm_unpackhi_epi64(pair, pair));
    _mm_cvtsi128_si64(sum).cast_unsigned()
}

/// 32 bytes from their planes: double word `k` has plane `k`.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes(planes: Vector) -> Vector {
    let turned = _mm256_shuffle_epi8(planes, load_bytes(&TURN));
    let together = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
    let words = _mm256_permutevar8x32_epi32(turned, together);
    let words = swap::<7>(words, 0x00aa_00aa_00aa_00aa);
    let words = swap::<14>(words, 0x0000_cccc_0000_cccc);
    swap::<28>(words, 0x0000_0000_f0f0_f0f0)
}

/// Exchanges the bits of `mask` with those `BY` above them, in each word.
#[inline]
#[target_feature(enable = "avx2")]
fn swap<const BY: i32>(words: Vector, mask: i64) -> Vector {
    let differ = _mm256_xor_si256(words, _mm256_srli_epi64::<BY>(words));
    let differ = _mm256_and_si256(differ, _mm256_set1_epi64x(mask));
    _mm256_xor_si256(words, _mm256_xor_si256(differ, _mm256_slli_epi64::<BY>(differ)))
}

/// Double word `k` of row `j` to double word `j` of row `k`.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(rows: [Vector; 8]) -> [Vector; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    let [low, high] = [by_lane([a, b, c, d]), by_lane([e, f, g, h])];
    let mut turned = [Vector::none(); 8];
    for at in 0..4 {
        turned[at] = _mm256_permute2x128_si256::<0x20>(low[at], high[at]);
        turned[at + 4] = _mm256_permute2x128_si256::<0x31>(low[at], high[at]);
    }
    turned
}

/// The same of four rows, in each lane of four.
#[inline]
#[target_feature(enable = "avx2")]
fn by_lane([a, b, c, d]: [Vector; 4]) -> [Vector; 4] {
    let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
    let (ba, dc) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(ab, cd),
        _mm256_unpackhi_epi64(ab, cd),
        _mm256_unpacklo_epi64(ba, dc),
        _mm256_unpackhi_epi64(ba, dc),
    ]
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(words: &[u32; 8]) -> Vector {
    // SAFETY: the array has the 32 bytes that are read, and this load takes any alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_bytes(bytes: &[u8; 32]) -> Vector {
    // SAFETY: the array has the 32 bytes that are read, and this load takes any alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_words(words: &[i16; 16]) -> Vector {
    // SAFETY: the array has the 32 bytes that are read, and this load takes any alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(words: &mut [u32; 8], vector: Vector) {
    // SAFETY: the array has the 32 bytes that are written, and this store takes any alignment.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) }
}
