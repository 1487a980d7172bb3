//! Faults for tests, all from one seed: a transport that splits, delays and ends, and several that
//! change places.
//!
//! ```no_run
//! use std::os::unix::net::UnixStream;
//! use sluicegate::flow::testkit::{self, Faults};
//!
//! let seed = testkit::seed(); // printed if the test panics; SLUICEGATE_SEED=… replays it
//! let (near, far) = UnixStream::pair()?;
//! let cut = 100 + seed.fork("cut") % 1000;
//! let reader = Faults::new(seed.fork("reader")).splits().cut_after(cut).apply(near.try_clone()?);
//! let writer = Faults::new(seed.fork("writer")).splits().apply(near);
//! // engine.attach(reader, writer)
//! # let _ = (reader, writer, far);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::collections::hash_map::RandomState;
use std::future::pending;
use std::hash::BuildHasher;
use std::io::{self, Read, Write};
use std::time::Duration;

use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::watched::{Watched, until};

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
    match std::env::var(VARIABLE) {
        Ok(text) => match text.trim().parse() {
            Ok(value) => Seed(value),
            Err(error) => panic!("{VARIABLE}={text:?} is no seed: {error}"),
        },
        Err(_) => Seed(RandomState::new().hash_one(0)),
    }
}

impl Seed {
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
            eprintln!("this schedule again: {VARIABLE}={}", self.0);
        }
    }
}

/// A small generator (splitmix64), not for secrets.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
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
    fn up_to(&mut self, most: u64) -> u64 {
        match most.checked_add(1) {
            Some(n) => self.roll() % n,
            None => self.roll(),
        }
    }
}

/// What goes wrong with one transport. Without any fault it is the transport itself.
pub struct Faults {
    dice: Dice,
    delay: Duration,
    splits: bool,
    cut: Option<u64>,
    shuffle: Option<Shuffle>,
}

impl Faults {
    /// No faults yet; those that are added are drawn from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let dice = Dice::new(seed);
        Faults { dice, delay: Duration::ZERO, splits: false, cut: None, shuffle: None }
    }

    /// Each read and write first waits on its thread, up to `most`.
    #[must_use]
    pub fn delays(self, most: Duration) -> Self {
        Faults { delay: most, ..self }
    }

    /// Reads and writes take a part of what they could, one byte at least.
    #[must_use]
    pub fn splits(self) -> Self {
        Faults { splits: true, ..self }
    }

    /// After `bytes` bytes the transport is dropped: reads give the end, writes `BrokenPipe`. That is
    /// in the middle of whatever was on its way.
    #[must_use]
    pub fn cut_after(self, bytes: u64) -> Self {
        Faults { cut: Some(bytes), ..self }
    }

    /// Reads and writes wait for those of the other transports of `shuffle`.
    #[must_use]
    pub fn shuffled(self, shuffle: &Shuffle) -> Self {
        Faults { shuffle: Some(shuffle.clone()), ..self }
    }

    /// `transport`, with these faults.
    #[must_use]
    pub fn apply<T>(self, transport: T) -> Faulty<T> {
        Faulty { inner: Some(transport), faults: self }
    }
}

/// Several transports whose reads and writes change places: each waits until some of the others have
/// taken place, or for a limit of time, for they may all be idle.
#[derive(Clone)]
pub struct Shuffle(Arc<Passed>, Duration);

struct Passed(Watched<u64>);

impl Shuffle {
    /// None yet. No operation waits longer than `limit` for others.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Shuffle(Arc::new(Passed(Watched::new(0))), limit)
    }

    /// Lets `n` operations of others go first.
    fn let_pass(&self, n: u64) {
        let seen = self.0.0.with(|passed| *passed);
        let others = until(
            Arc::clone(&self.0),
            |passed| &passed.0,
            move |passed: &mut u64| (passed.wrapping_sub(seen) >= n).then_some(()),
        );
        let _or_none_came = block_on(others, Deadline::after(self.1));
        self.0.0.update(|passed| *passed = passed.wrapping_add(1));
    }
}

/// A transport with faults.
pub struct Faulty<T> {
    inner: Option<T>,
    faults: Faults,
}

impl<T> Faulty<T> {
    /// Before an operation on `n` bytes: how many it may be. `None` once the transport is cut.
    fn begin(&mut self, n: usize) -> Option<usize> {
        let Faults { dice, delay, splits, cut, shuffle } = &mut self.faults;
        if let Some(shuffle) = shuffle {
            shuffle.let_pass(dice.up_to(2));
        }
        if !delay.is_zero() {
            let most = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
            let time = Duration::from_nanos(dice.up_to(most));
            let _nothing_comes = block_on(pending::<()>(), Deadline::after(time));
        }
        if *cut == Some(0) {
            self.inner = None;
            return None;
        }
        let mut most = n as u64;
        if *splits && most > 1 {
            most = dice.up_to(most - 1) + 1;
        }
        most = cut.map_or(most, |left| most.min(left));
        Some(usize::try_from(most).unwrap_or(n))
    }

    fn passed(&mut self, n: usize) {
        if let Some(left) = &mut self.faults.cut {
            *left = left.saturating_sub(n as u64);
        }
    }
}

impl<T: Read> Read for Faulty<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.begin(buffer.len());
        let (Some(n), Some(inner)) = (n, &mut self.inner) else { return Ok(0) };
        let read = inner.read(&mut buffer[..n])?;
        self.passed(read);
        Ok(read)
    }
}

impl<T: Write> Write for Faulty<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.begin(bytes.len());
        let (Some(n), Some(inner)) = (n, &mut self.inner) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let written = inner.write(&bytes[..n])?;
        self.passed(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.inner {
            Some(inner) => inner.flush(),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl<T> std::fmt::Debug for Faulty<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faulty")
            .field("whole", &self.inner.is_some())
            .field("bytes_left", &self.faults.cut)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faults").field("cut", &self.cut).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Shuffle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Shuffle").field(&self.1).finish()
    }
}
