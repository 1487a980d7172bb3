//! Deadlines. The only place in the crate that reads a clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The moment after which a wait gives up. Absolute, so that a wait that is woken early does not
/// start its limit again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// No limit.
    pub const NEVER: Deadline = Deadline(None);

    /// `limit` from now. A limit that no clock can represent is no limit, so the largest
    /// [`Duration`] waits for ever; zero makes the call a `try`.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        Deadline(now().checked_add(limit))
    }

    /// At this moment.
    #[must_use]
    pub fn at(moment: Instant) -> Self {
        Deadline(Some(moment))
    }

    /// `limit` from now, or no limit.
    #[must_use]
    pub fn after_option(limit: Option<Duration>) -> Self {
        limit.map_or(Deadline::NEVER, Deadline::after)
    }

    /// Milliseconds from now; a negative count means no limit. This is how limits cross the C ABI.
    #[must_use]
    pub fn after_millis(millis: i64) -> Self {
        u64::try_from(millis)
            .map_or(Deadline::NEVER, |ms| Deadline::after(Duration::from_millis(ms)))
    }

    /// True once the moment has come.
    #[must_use]
    pub fn passed(self) -> bool {
        self.0.is_some_and(|at| now() >= at)
    }

    /// How long it is until the moment, if there is one; nothing once it has passed.
    #[must_use]
    pub(crate) fn remaining(self) -> Option<Duration> {
        self.0.map(|at| at.saturating_duration_since(now()))
    }

    /// The moment, if there is one.
    #[must_use]
    pub fn instant(self) -> Option<Instant> {
        self.0
    }
}

/// The monotonic clock.
#[must_use]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Microseconds since the Unix epoch; 0 while the system's clock stands before it.
#[must_use]
pub(crate) fn unix_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_duration_is_no_limit() {
        assert_eq!(Deadline::after(Duration::MAX), Deadline::NEVER);
        assert!(!Deadline::NEVER.passed());
    }

    #[test]
    fn zero_has_passed_and_a_negative_count_never_does() {
        assert!(Deadline::after(Duration::ZERO).passed());
        assert_eq!(Deadline::after_millis(-1), Deadline::NEVER);
        assert!(!Deadline::after_millis(i64::MAX).passed());
    }
}
