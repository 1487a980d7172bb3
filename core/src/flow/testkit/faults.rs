//! What goes wrong with one transport.

use std::future::pending;
use std::io::{self, Read, Write};
use std::time::Duration;

use super::seed::Dice;
use super::shuffle::{Seat, Shuffle};
use crate::time::Deadline;
use crate::wait::block_on;

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
        let seat = self.shuffle.as_ref().map(Shuffle::join);
        Faulty { inner: Some(transport), faults: self, seat }
    }
}

/// A transport with faults.
pub struct Faulty<T> {
    inner: Option<T>,
    faults: Faults,
    /// In the line of its shuffle.
    seat: Option<Seat>,
}

impl<T> Faulty<T> {
    /// Before an operation on `n` bytes: how many it may be. `None` once the transport is cut.
    fn begin(&mut self, n: usize) -> Option<usize> {
        let Faults { dice, delay, splits, cut, shuffle: _ } = &mut self.faults;
        if let Some(seat) = &self.seat {
            seat.begin(dice.up_to(2));
        }
        if !delay.is_zero() {
            let most = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
            let time = Duration::from_nanos(dice.up_to(most));
            let _nothing_comes = block_on(pending::<()>(), Deadline::after(time));
        }
        if *cut == Some(0) {
            (self.inner, self.seat) = (None, None);
            return None;
        }
        let mut most = n as u64;
        if *splits && most > 1 {
            most = dice.up_to(most - 1) + 1;
        }
        most = cut.map_or(most, |left| most.min(left));
        Some(usize::try_from(most).unwrap_or(n))
    }

    /// True once it was cut: an end that was not the transport's own.
    pub(super) fn is_cut(&self) -> bool {
        self.inner.is_none()
    }

    fn ended(&self) {
        if let Some(seat) = &self.seat {
            seat.end();
        }
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
        let read = inner.read(&mut buffer[..n]);
        self.ended();
        let read = read?;
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
        let written = inner.write(&bytes[..n]);
        self.ended();
        let written = written?;
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
