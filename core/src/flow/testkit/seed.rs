//! The number that all faults of a test are drawn from.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use crate::error::{Error, ErrorKind};

/// The variable that says which schedule to run again.
const VARIABLE: &str = "SLUICEGATE_SEED";

/// The seed of one test. Dropped in a panic, it prints how to run the same schedule again.
#[derive(Debug)]
pub struct Seed(u64);

/// The seed that the variable `SLUICEGATE_SEED` says, in decimal, or one of its own.
///
/// # Panics
/// If the variable is set to something that is no number: a schedule that was asked for is not
/// replaced by another.
#[must_use]
pub fn seed() -> Seed {
    Seed::try_new().unwrap_or_else(|error| panic!("{}", error.message()))
}

impl Seed {
    /// The same as [`seed`].
    ///
    /// # Errors
    /// `InvalidArgument` if the variable is set to something that is no number.
    pub fn try_new() -> Result<Self, Error> {
        match std::env::var_os(VARIABLE) {
            Some(text) => {
                let number = text.to_str().and_then(|text| text.trim().parse().ok());
                number.map(Seed).ok_or_else(|| {
                    let message = format!("{VARIABLE}={text:?} is no seed");
                    Error::new(ErrorKind::InvalidArgument, message)
                })
            }
            None => Ok(Seed(RandomState::new().hash_one(0))),
        }
    }

    /// This seed, of a test that always runs the same schedule.
    #[must_use]
    pub fn fixed(value: u64) -> Self {
        Seed(value)
    }

    /// The number itself, for [`Scope::stepped`](super::Scope::stepped).
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0
    }

    /// How to run the same schedule again, in words.
    #[must_use]
    pub fn again(&self) -> String {
        format!("this schedule again: {VARIABLE}={}", self.0)
    }

    /// A number of its own for `what`: the same each time, and nothing like that of another name.
    #[must_use]
    pub fn fork(&self, what: &str) -> u64 {
        let mut dice = Dice::new(self.0);
        for byte in what.bytes() {
            dice = Dice::new(dice.roll() ^ u64::from(byte));
        }
        dice.roll()
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.again());
        }
    }
}

/// A small generator (splitmix64), not for secrets.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Dice(seed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `most`.
    pub(super) fn up_to(&mut self, most: u64) -> u64 {
        match most.checked_add(1) {
            Some(n) => self.roll() % n,
            None => self.roll(),
        }
    }
}
