//! With vectors of 64 bytes: AVX-512 with GFNI (which transposes eight bytes at once), VPCLMULQDQ (which
//! sums a word by exclusive-or) and VNNI (which weighs).

use std::arch::x86_64::*;

use super::{Chain, filled_up, parity_below};
use crate::planes::{Below, Bits};
use crate::powers::{ACROSS, UNIT, Weights};

static WEIGHTS: Weights<32, 8> = Weights::NEW;

/// Byte `i` of a word picks bit `i`: with this, GFNI transposes a word, its last byte first.
const EACH: i64 = 0x8040_2010_0804_0201_u64.cast_signed();

/// The bytes of each word in reverse; for a shuffle inside lanes of 16.
const REVERSE: [u8; 64] = {
    let mut from = [0; 64];
    let mut at = 0;
    while at < 64 {
        from[at] = (at % 16) as u8 ^ 7;
        at += 1;
    }
    from
};

/// Byte `q` of word `k` from byte `k` of word `q`.
const TURN: [u8; 64] = {
    let mut from = [0; 64];
    let mut at = 0;
    while at < 64 {
        from[at] = (at % 8 * 8 + at / 8) as u8;
        at += 1;
    }
    from
};

/// The same, the bytes of each word in reverse.
const TURN_BACK: [u8; 64] = {
    let mut from = [0; 64];
    let mut at = 0;
    while at < 64 {
        from[at] = ((7 - at % 8) * 8 + at / 8) as u8;
        at += 1;
    }
    from
};

type Vector = __m512i;

impl Bits for Vector {
    #[inline(always)]
    fn none() -> Self {
        // SAFETY: only [`extend`] and what it calls use this type, and whoever calls it has AVX-512.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    fn odd(self, second: Self, third: Self) -> Self {
        // SAFETY: as in `none`.
        unsafe { _mm512_ternarylogic_epi64::<0x96>(self, second, third) }
    }

    #[inline(always)]
    fn most(self, second: Self, third: Self) -> Self {
        // SAFETY: as in `none`.
        unsafe { _mm512_ternarylogic_epi64::<0xe8>(self, second, third) }
    }
}

/// The state after `bytes`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vnni,gfni,vpclmulqdq")]
pub(crate) fn extend(state: u64, bytes: &[u8]) -> u64 {
    let (units, rest) = bytes.as_chunks::<UNIT>();
    let (eights, units) = units.as_chunks::<8>();
    let (fours, units) = units.as_chunks::<4>();
    let (twos, ones) = units.as_chunks::<2>();
    let mut chain = Chain::new(state);
    for block in eights {
        chain = pass(chain, block);
    }
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
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vnni,gfni,vpclmulqdq")]
fn pass<const U: usize>(chain: Chain, block: &[[u8; UNIT]; U]) -> Chain {
    let mut planes = [[Vector::none(); U]; 8];
    for (at, unit) in block.iter().enumerate() {
        let made = planes_of(unit);
        for (plane, made) in planes.iter_mut().zip(made) {
            plane[at] = made;
        }
    }
    let mut below = [Below::none(); U];
    let mut low = chain.low;
    plane::<0, U>(&mut below, &mut planes, &mut low);
    plane::<1, U>(&mut below, &mut planes, &mut low);
    plane::<2, U>(&mut below, &mut planes, &mut low);
    plane::<3, U>(&mut below, &mut planes, &mut low);
    plane::<4, U>(&mut below, &mut planes, &mut low);
    plane::<5, U>(&mut below, &mut planes, &mut low);
    plane::<6, U>(&mut below, &mut planes, &mut low);
    plane::<7, U>(&mut below, &mut planes, &mut low);
    let mut state = chain.state;
    for (at, unit) in block.iter().enumerate() {
        let lows = planes.map(|plane| plane[at]);
        state = state.wrapping_mul(ACROSS).wrapping_add(weigh(unit, lows));
    }
    Chain { state, low }
}

/// Plane `K`: from that of the data to that of the low bytes before each position.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,vpclmulqdq")]
fn plane<const K: usize, const U: usize>(
    below: &mut [Below<Vector>; U],
    planes: &mut [[Vector; U]; 8],
    low: &mut u8,
) {
    let all = _mm512_set1_epi64(-1);
    let mut sums = [Vector::none(); U];
    let mut totals = 0;
    for at in 0..U {
        let adds = _mm512_xor_si512(planes[K][at], below[at].give::<K>());
        let even = _mm512_clmulepi64_epi128::<0x00>(adds, all);
        let odd = _mm512_clmulepi64_epi128::<0x01>(adds, all);
        let through = _mm512_unpacklo_epi64(even, odd);
        totals |= u64::from(_mm512_movepi64_mask(through)) << (8 * at);
        sums[at] = _mm512_add_epi64(through, through);
    }
    let (entries, exit) = parity_below(totals, (*low >> K) & 1 == 1);
    *low = *low & !(1 << K) | u8::from(exit) << K;
    for at in 0..U {
        let lows = _mm512_mask_xor_epi64(sums[at], (entries >> (8 * at)) as u8, sums[at], all);
        below[at].take::<K>(_mm512_xor_si512(lows, planes[K][at]));
        planes[K][at] = lows;
    }
}

/// The eight planes of a unit.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn planes_of(unit: &[u8; UNIT]) -> [Vector; 8] {
    let (each, reverse, turn) = (_mm512_set1_epi64(EACH), load(&REVERSE), load(&TURN));
    let mut rows = [Vector::none(); 8];
    for (row, chunk) in rows.iter_mut().zip(unit.as_chunks().0) {
        let reversed = _mm512_shuffle_epi8(load(chunk), reverse);
        let bits = _mm512_gf2p8affine_epi64_epi8::<0>(each, reversed);
        *row = _mm512_permutexvar_epi8(turn, bits);
    }
    transpose(rows)
}

/// The sum of what the bytes of a unit add, given the planes of the low bytes before them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni,gfni")]
fn weigh(unit: &[u8; UNIT], planes: [Vector; 8]) -> u64 {
    let (each, turn) = (_mm512_set1_epi64(EACH), load(&TURN_BACK));
    let signs = _mm512_set1_epi16(i16::from_le_bytes([1, 0xff]));
    let rows = transpose(planes);
    let mut sums = [Vector::none(); 4];
    for (at, chunk) in unit.as_chunks().0.iter().enumerate() {
        let turned = _mm512_permutexvar_epi8(turn, rows[at]);
        let lows = _mm512_gf2p8affine_epi64_epi8::<0>(each, turned);
        let next = _mm512_xor_si512(lows, load(chunk));
        let pairs = [_mm512_unpacklo_epi8(next, lows), _mm512_unpackhi_epi8(next, lows)];
        for (pair, weights) in pairs.into_iter().zip(&WEIGHTS.0[at]) {
            let differences = _mm512_maddubs_epi16(pair, signs);
            for (sum, weights) in sums.iter_mut().zip(weights) {
                *sum = _mm512_dpwssd_epi32(*sum, differences, load_words(weights));
            }
        }
    }
    // A digit of a unit stays below 2^29: 16 times two products of 255 and 32768.
    let mut whole = Vector::none();
    for sum in sums.into_iter().rev() {
        let odd = _mm512_srai_epi64::<32>(sum);
        let even = _mm512_srai_epi64::<32>(_mm512_slli_epi64::<32>(sum));
        whole = _mm512_slli_epi64::<16>(whole);
        whole = _mm512_add_epi64(whole, _mm512_add_epi64(odd, even));
    }
    _mm512_reduce_add_epi64(whole).cast_unsigned()
}

/// Word `k` of row `j` to word `j` of row `k`.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(rows: [Vector; 8]) -> [Vector; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    let [ab, cd] = [_mm512_unpacklo_epi64(a, b), _mm512_unpacklo_epi64(c, d)];
    let [ef, gh] = [_mm512_unpacklo_epi64(e, f), _mm512_unpacklo_epi64(g, h)];
    let [even, odd] = [by_four(ab, cd, ef, gh), {
        let [ab, cd] = [_mm512_unpackhi_epi64(a, b), _mm512_unpackhi_epi64(c, d)];
        let [ef, gh] = [_mm512_unpackhi_epi64(e, f), _mm512_unpackhi_epi64(g, h)];
        by_four(ab, cd, ef, gh)
    }];
    [even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3]]
}

/// Pair `k` of row `j` to pair `j` of row `k`; a pair is two words.
#[inline]
#[target_feature(enable = "avx512f")]
fn by_four(a: Vector, b: Vector, c: Vector, d: Vector) -> [Vector; 4] {
    let (even, odd) = (
        [_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0x88>(c, d)],
        [_mm512_shuffle_i64x2::<0xdd>(a, b), _mm512_shuffle_i64x2::<0xdd>(c, d)],
    );
    [
        _mm512_shuffle_i64x2::<0x88>(even[0], even[1]),
        _mm512_shuffle_i64x2::<0x88>(odd[0], odd[1]),
        _mm512_shuffle_i64x2::<0xdd>(even[0], even[1]),
        _mm512_shuffle_i64x2::<0xdd>(odd[0], odd[1]),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; 64]) -> Vector {
    // SAFETY: the array has the 64 bytes that are read, and this load takes any alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_words(words: &[i16; 32]) -> Vector {
    // SAFETY: the array has the 64 bytes that are read, and this load takes any alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}
