//! The loop that defines the checksum.

use crate::PRIME;

/// The state after `bytes`. Four cycles a byte on most processors, however it is unrolled.
pub(crate) fn extend(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::START;

    #[test]
    fn published_values() {
        assert_eq!(extend(START, b""), START);
        assert_eq!(extend(START, b"a"), 12_638_187_200_555_641_996);
        assert_eq!(extend(START, b"foobar"), 9_625_390_261_332_436_968);
    }
}
