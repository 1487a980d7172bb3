//! The five hops, and what they do to each byte, computed here a second time to know what must come out.

use crate::repo::Repo;
use crate::setup::Tools;

/// One cartridge of the chain.
pub struct Hop {
    pub language: &'static str,
    pub cap: &'static str,
    pub does: &'static str,
    byte: fn(u8) -> u8,
}

/// The chain, without Swift where it is left out.
pub fn hops(_: &Repo, tools: &Tools) -> Vec<Hop> {
    let mut hops = vec![
        Hop {
            language: "python",
            cap: "cap:upper;in=media:blob;out=media:blob",
            does: "ASCII to upper case",
            byte: |b| b.to_ascii_uppercase(),
        },
        Hop {
            language: "go",
            cap: "cap:rot13;in=media:blob;out=media:blob",
            does: "rot13",
            byte: rot13,
        },
        Hop {
            language: "c",
            cap: "cap:count;in=media:blob;out=media:blob",
            does: "counts, with progress",
            byte: |b| b,
        },
    ];
    if tools.swift.is_some() {
        hops.push(Hop {
            language: "swift",
            cap: "cap:xor;in=media:blob;out=media:blob",
            does: "each byte xor 0x5a",
            byte: |b| b ^ 0x5a,
        });
    }
    hops.push(Hop {
        language: "rust",
        cap: "cap:checksum;in=media:blob;out=media:blob",
        does: "logs the SHA-256",
        byte: |b| b,
    });
    hops
}

fn rot13(byte: u8) -> u8 {
    let turn = |first: u8| first + (byte - first + 13) % 26;
    match byte {
        b'a'..=b'z' => turn(b'a'),
        b'A'..=b'Z' => turn(b'A'),
        _ => byte,
    }
}

/// What the whole chain makes of a block.
pub fn expected(hops: &[Hop], block: &mut [u8]) {
    let table: Vec<u8> =
        (0..=u8::MAX).map(|byte| hops.iter().fold(byte, |byte, hop| (hop.byte)(byte))).collect();
    for byte in block {
        *byte = table[usize::from(*byte)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hops_are_put_one_after_another() {
        let hop = |byte| Hop { language: "", cap: "", does: "", byte };
        let mut block = *b"Nun, 1?";
        expected(&[hop(|b| b.to_ascii_uppercase()), hop(rot13)], &mut block);
        assert_eq!(&block, b"AHA, 1?");
    }
}
