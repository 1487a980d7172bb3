//! Every kernel gives what the loop gives.

use proptest::prelude::*;
use sluicegate_checksum::{Kernel, PRIME, START, extend};

/// The definition, written once more: what is compared with is not what is tested.
fn defined(state: u64, bytes: &[u8]) -> u64 {
    let mut state = state;
    for &byte in bytes {
        state ^= u64::from(byte);
        state = state.wrapping_mul(PRIME);
    }
    state
}

/// Bytes that look like chance, from a seed (xorshift).
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut word = seed | 1;
    std::iter::repeat_with(|| {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        (word >> 32) as u8
    })
    .take(len)
    .collect()
}

#[test]
fn each_length_at_each_alignment() {
    let data = bytes(7, 5100 + 64);
    for kernel in Kernel::all() {
        for len in 0..5100 {
            let (start, state) = (len * 13 % 64, START.wrapping_mul(len as u64 | 1));
            let run = &data[start..start + len];
            assert_eq!(
                kernel.extend(state, run),
                defined(state, run),
                "{kernel:?} of {len} from {start}"
            );
        }
    }
}

#[test]
fn each_byte_over_and_over_from_each_low_byte() {
    for kernel in Kernel::all() {
        for byte in 0..=u8::MAX {
            let run = [byte; 1 << 10];
            for low in [0, 1, 0x7f, 0x80, 0xb3, 0xff, byte] {
                let state = START & !0xff | u64::from(low);
                assert_eq!(
                    kernel.extend(state, &run),
                    defined(state, &run),
                    "{kernel:?} of {byte} from {low}"
                );
            }
        }
    }
}

#[test]
fn differences_as_large_as_they_get() {
    // The byte that makes the next low byte 255 after 0, and the reverse: each difference is 255 or -255.
    for first in [0_u8, 0xff] {
        let (mut low, mut run) = (START as u8, Vec::new());
        for at in 0..8192 {
            let want = if (at % 2 == 0) == (first == 0) { 0_u8 } else { 0xff };
            run.push(low ^ want);
            low = (u64::from(want).wrapping_mul(PRIME)) as u8;
        }
        for kernel in Kernel::all() {
            assert_eq!(kernel.extend(START, &run), defined(START, &run), "{kernel:?} from {first}");
        }
    }
}

#[test]
fn a_large_payload_whole_and_in_pieces() {
    let data = bytes(11, 256 << 10);
    let whole = defined(START, &data);
    for kernel in Kernel::all() {
        assert_eq!(kernel.extend(START, &data), whole, "{kernel:?}");
        for piece in [1, 143, 144, 319, 320, 511, 512, 513, 4095, 4096, 65_537] {
            let sum = data.chunks(piece).fold(START, |sum, piece| kernel.extend(sum, piece));
            assert_eq!(sum, whole, "{kernel:?} in pieces of {piece}");
        }
    }
}

#[test]
fn the_best_is_one_of_all() {
    let all = Kernel::all();
    assert_eq!(all[0].name(), "scalar");
    assert_eq!(all.last(), Some(&Kernel::best()), "slowest first");
    assert_eq!(extend(START, b"foobar"), 9_625_390_261_332_436_968);
}

proptest! {
    #[test]
    fn any_bytes_from_any_state(state: u64, run in proptest::collection::vec(any::<u8>(), 0..3000)) {
        for kernel in Kernel::all() {
            prop_assert_eq!(kernel.extend(state, &run), defined(state, &run), "{:?}", kernel);
        }
    }
}
