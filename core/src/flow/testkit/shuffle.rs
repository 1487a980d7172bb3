//! Several transports whose reads and writes change places.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::watched::{Watched, until};

/// Several transports whose reads and writes change places: one at a time, in an order of their own.
///
/// Each operation of a transport stands one to three places behind its last one, as its seed decides, and
/// the operation that is furthest in front goes next; of two in the same place that of the transport that
/// was given its faults first. So while each transport has something to do, the order of all operations
/// follows from the seeds alone, and is the same each time. One that has nothing to do is waited for no
/// longer than the limit; after that the others go on as they come, which no seed decides.
#[derive(Clone)]
pub struct Shuffle(Arc<Line>, Duration);

struct Line(Watched<Seats>);

#[derive(Default)]
struct Seats {
    joined: u64,
    /// By the order in which they joined.
    taken: BTreeMap<u64, Place>,
}

struct Place {
    /// How far behind its operation stands, or its last one did.
    at: u64,
    doing: Doing,
}

#[derive(PartialEq, Eq)]
enum Doing {
    Nothing,
    Waiting,
    Working,
}

impl Seats {
    /// True if nobody else can come before the operation of `seat`, which waits.
    fn turn(&self, seat: u64) -> bool {
        let Some(own) = self.taken.get(&seat) else { return true };
        self.taken.iter().filter(|(other, _)| **other != seat).all(|(other, place)| {
            let next = match place.doing {
                Doing::Working => return false,
                Doing::Waiting => place.at,
                Doing::Nothing => place.at.saturating_add(1), // at least, once it comes
            };
            (next, *other) > (own.at, seat)
        })
    }
}

impl Shuffle {
    /// No transports yet. No operation waits longer than `limit` for others.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Shuffle(Arc::new(Line(Watched::new(Seats::default()))), limit)
    }

    /// One transport more, at the end of those that are there. It leaves when it is dropped.
    pub(super) fn join(&self) -> Seat {
        let number = self.0.0.update(|seats| {
            seats.joined = seats.joined.saturating_add(1);
            let front = seats.taken.values().map(|place| place.at).min().unwrap_or(0);
            seats.taken.insert(seats.joined, Place { at: front, doing: Doing::Nothing });
            seats.joined
        });
        Seat { shuffle: self.clone(), number }
    }
}

/// The place of one transport in a shuffle.
pub(super) struct Seat {
    shuffle: Shuffle,
    number: u64,
}

impl Seat {
    /// Waits for the turn of an operation that lets up to `more` others go before it.
    pub(super) fn begin(&self, more: u64) {
        let (Shuffle(line, limit), number) = (&self.shuffle, self.number);
        self.place(|place| {
            place.at = place.at.saturating_add(more).saturating_add(1);
            place.doing = Doing::Waiting;
        });
        let turn = until(
            Arc::clone(line),
            |line| &line.0,
            move |seats: &mut Seats| seats.turn(number).then_some(()),
        );
        let _or_nobody_came = block_on(turn, Deadline::after(*limit));
        self.place(|place| place.doing = Doing::Working);
    }

    /// The operation is over.
    pub(super) fn end(&self) {
        self.place(|place| place.doing = Doing::Nothing);
    }

    fn place(&self, change: impl FnOnce(&mut Place)) {
        self.shuffle.0.0.update(|seats| seats.taken.get_mut(&self.number).map(change));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shuffle.0.0.update(|seats| seats.taken.remove(&self.number));
    }
}

impl std::fmt::Debug for Shuffle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Shuffle").field(&self.1).finish()
    }
}
