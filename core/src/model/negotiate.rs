//! How two proposals for a limit become one.

/// The smaller proposal, or none if either is zero: a window of nothing can never move.
#[must_use]
pub fn negotiate(ours: u64, theirs: u64) -> Option<u64> {
    match ours.min(theirs) {
        0 => None,
        agreed => Some(agreed),
    }
}

#[cfg(test)]
mod tests {
    use super::negotiate;

    #[test]
    fn zero_is_refused_and_else_the_smaller_wins() {
        assert_eq!(negotiate(0, 0), None);
        assert_eq!(negotiate(0, 5), None);
        assert_eq!(negotiate(5, 0), None);
        assert_eq!(negotiate(1, 1), Some(1));
        assert_eq!(negotiate(32, 8), Some(8));
        assert_eq!(negotiate(8, 32), Some(8));
        assert_eq!(negotiate(u64::MAX, u64::MAX), Some(u64::MAX));
    }
}
