//! The bounded queue between two threads: a gate at the producer, a window at the consumer.

use std::collections::VecDeque;
use std::task::{Poll, Waker};

use super::context::{Context, Signal, Upstream};
use super::held::Kept;
use super::meter::{Counts, Meter, StageView};
use crate::credit::{CreditGate, CreditWindow};
use crate::error::{Error, ErrorKind};
use crate::model::demand::{default_mark, is_request};
use crate::model::overflow::{Buffer, BufferEnd, Limit, OfferAnswer, Strategy, TakeAnswer, Victim};
use crate::sync::Arc;
use crate::wait::watched::Watched;

/// What becomes of an element that finds its edge full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// It waits for room.
    #[default]
    Backpressure,
    /// The oldest element of the queue makes room.
    DropHead,
    /// The newest element of the queue makes room.
    DropTail,
    /// It is discarded itself.
    DropNew,
    /// All elements of the queue make room.
    DropBuffer,
    /// The edge fails with `BufferOverflow`, once what it holds was taken.
    Fail,
}

impl Overflow {
    pub(super) fn strategy(self) -> Strategy {
        match self {
            Overflow::Backpressure => Strategy::Backpressure,
            Overflow::DropHead => Strategy::DropHead,
            Overflow::DropTail => Strategy::DropTail,
            Overflow::DropNew => Strategy::DropNew,
            Overflow::DropBuffer => Strategy::DropBuffer,
            Overflow::Fail => Strategy::Fail,
        }
    }
}

/// An element with its size in bytes.
pub(super) struct Weighed<T>(pub(super) T, u64);

/// The size of an element, in bytes.
pub(super) type SizeOf<T> = Arc<dyn Fn(&T) -> u64 + Send + Sync>;

/// An edge before it is made: how much it holds, and what happens when that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeOptions {
    capacity: u64,
    bytes: u64,
    overflow: Overflow,
}

impl Default for EdgeOptions {
    /// 16 elements, no limit in bytes, backpressure.
    fn default() -> Self {
        EdgeOptions { capacity: 16, bytes: u64::MAX, overflow: Overflow::Backpressure }
    }
}

impl EdgeOptions {
    /// An edge of `capacity` elements. No memory is reserved for them.
    ///
    /// # Errors
    /// `InvalidArgument` for 0.
    pub fn capacity(capacity: u64) -> Result<Self, Error> {
        positive("edge capacity", "elements", capacity)?;
        Ok(EdgeOptions { capacity, ..Self::default() })
    }

    /// Holds at most `bytes` bytes as well. An empty edge takes one element of any size.
    ///
    /// # Errors
    /// `InvalidArgument` for 0.
    pub fn bytes(self, bytes: u64) -> Result<Self, Error> {
        positive("edge capacity", "bytes", bytes)?;
        Ok(EdgeOptions { bytes, ..self })
    }

    /// What becomes of an element that finds the edge full.
    #[must_use]
    pub fn overflow(self, overflow: Overflow) -> Self {
        EdgeOptions { overflow, ..self }
    }

    /// Elements it can hold.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.capacity
    }

    pub(super) fn waits(&self) -> bool {
        self.overflow == Overflow::Backpressure
    }
}

/// Refuses 0, naming what it was for.
pub(super) fn positive(what: &str, unit: &str, n: u64) -> Result<u64, Error> {
    if n == 0 {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("{what} of 0 {unit}: at least 1 is needed, or nothing could ever pass"),
        ));
    }
    Ok(n)
}

/// When the producer hears of room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Credit {
    /// It may fill the edge at once, and hears of each element that leaves.
    Each,
    /// It may fill the edge at once, and hears of room once three quarters of it are free, or when
    /// the consumer is about to wait.
    Mark,
    /// It may send what was asked for downstream and not more.
    Asked,
}

struct State<T> {
    buffer: Buffer,
    queue: Kept<VecDeque<(T, u64)>>,
    error: Option<Error>,
}

pub(super) struct EdgeCore<T> {
    /// What the producer may send, in elements.
    pub(super) gate: CreditGate,
    /// And in bytes, if those are limited.
    bytes: Option<CreditGate>,
    window: CreditWindow,
    told: Credit,
    options: EdgeOptions,
    size: SizeOf<T>,
    state: Watched<State<T>>,
}

/// What became of an element that was offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is in the queue.
    Enqueued,
    /// It was discarded, and counted.
    Dropped,
    /// The queue is completed, or its consumer went away: the element was not taken.
    QueueClosed,
    /// The queue has failed, with the same error for everybody: the element was not taken.
    Failure(Error),
}

impl<T> EdgeCore<T> {
    pub(super) fn new(options: EdgeOptions, told: Credit, size: SizeOf<T>) -> Arc<Self> {
        let first = if told == Credit::Asked { 0 } else { options.capacity };
        let batch = match told {
            Credit::Each | Credit::Asked => 1,
            Credit::Mark => default_mark(options.capacity),
        };
        let buffer = options.overflow.strategy().opened(options.capacity, options.bytes);
        Arc::new(EdgeCore {
            gate: CreditGate::new(first),
            bytes: (options.bytes != u64::MAX).then(|| CreditGate::new(options.bytes)),
            window: CreditWindow::with_batch(options.capacity, batch),
            told,
            options,
            size,
            state: Watched::new(State {
                buffer: buffer.expect("the options hold no zero"),
                queue: Kept::default(),
                error: None,
            }),
        })
    }

    pub(super) fn options(&self) -> EdgeOptions {
        self.options
    }

    /// The element with its bytes, which its function is asked for this once: another answer later
    /// would be room that nobody has. A larger element than the edge counts as all of it, at the gate
    /// and in the queue alike.
    pub(super) fn sized(&self, element: T) -> Weighed<T> {
        let bytes = (self.size)(&element);
        Weighed(element, if self.options.waits() { bytes.min(self.options.bytes) } else { bytes })
    }

    /// The credit in bytes that an element needs before it is pushed, and the gate that gives it.
    pub(super) fn charge(&self, element: &Weighed<T>) -> Option<(CreditGate, u64)> {
        self.bytes.as_ref().map(|gate| (gate.clone(), element.1))
    }

    /// Offers an element whose credit has been taken, or that needs none.
    pub(super) fn push(&self, Weighed(element, size): Weighed<T>) -> Offer {
        let mut element = Kept::new(Some(element));
        let mut victims = Kept::new(Vec::new()); // dropped with the lock released
        let offer = self.state.update(|state| {
            loop {
                let (buffer, answer) = state.buffer.offer(size, false);
                state.buffer = buffer;
                match answer {
                    OfferAnswer::Enqueued => {
                        state.queue.extend(element.take().map(|element| (element, size)));
                        if self.options.waits() {
                            let _kept = self.window.arrive(); // who keeps to the gate never overruns
                        }
                        return Offer::Enqueued;
                    }
                    OfferAnswer::Discard(victim) => {
                        let bytes = state.throw_out(victim, &mut victims);
                        state.buffer = state.buffer.discarded(bytes.0, bytes.1);
                    }
                    OfferAnswer::Dropped => return Offer::Dropped,
                    OfferAnswer::QueueClosed => return Offer::QueueClosed,
                    OfferAnswer::Failure => {
                        let why = state.why(self.options);
                        return Offer::Failure(state.error.get_or_insert(why).clone());
                    }
                    OfferAnswer::Wait => unreachable!("a producer waits at its gate, not here"),
                }
            }
        });
        drop(victims);
        if let Offer::Failure(why) = &offer {
            self.close(why);
        }
        offer
    }

    /// Ends the queue for its producers. What it holds can still be taken. False if it had ended.
    pub(super) fn finish(&self, error: Option<Error>) -> bool {
        let why = error.clone().unwrap_or_else(|| Error::new(ErrorKind::Closed, "completed"));
        let end = if error.is_some() { BufferEnd::Failed } else { BufferEnd::Completed };
        let news = self.state.update(|state| {
            let (buffer, news) = state.buffer.finish(end);
            state.buffer = buffer;
            if news {
                state.error = error;
            }
            news
        });
        if news {
            self.close(&why);
        }
        news
    }

    /// The consumer wants no more: what is held is released, whoever waits is told.
    pub(super) fn cancel(&self) {
        let released = self.state.update(|state| {
            let (buffer, _) = state.buffer.cancel();
            state.buffer = buffer;
            state.queue.all()
        });
        self.close(&Error::new(ErrorKind::Cancelled, "the consumer went away"));
        drop(released);
    }

    fn close(&self, why: &Error) {
        self.gate.close(why.clone());
        if let Some(bytes) = &self.bytes {
            bytes.close(why.clone());
        }
    }

    /// How an offer ends whose wait for room was cut short.
    pub(super) fn refused(&self) -> Offer {
        self.state.with(|state| match state.buffer.ended {
            Some(BufferEnd::Failed | BufferEnd::Overflowed) => {
                Offer::Failure(state.why(self.options))
            }
            _ => Offer::QueueClosed,
        })
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.with(|state| state.buffer.ended.is_some())
    }

    pub(super) fn held(&self) -> u64 {
        self.state.with(|state| state.buffer.held)
    }

    pub(super) fn lost(&self) -> u64 {
        self.state.with(|state| state.buffer.lost)
    }

    /// What is seen of it, whoever looks.
    pub(super) fn counts(&self) -> Counts {
        let buffer = self.state.with(|state| state.buffer);
        Counts { upstream: self.awaited(buffer), held: buffer.held, lost: buffer.lost }
    }

    /// Takes the oldest element, if one is `wanted`, or the end; `None` leaves `waker` behind.
    pub(super) fn take(&self, wanted: bool, place: &mut Place, waker: &Waker) -> Option<Signal<T>> {
        if wanted && place.unwanted {
            self.forget(place); // who wanted nothing is owed no wake for what lies there
        }
        let mut left = false; // something lies there
        let mut look = |state: &mut State<T>| {
            let taken = state.take(wanted, self.options);
            left = !state.queue.is_empty();
            taken
        };
        let taken = self.state.glance(place.key, &mut look).or_else(|| {
            self.grant(self.window.flush()); // before any wait (L10)
            self.state.ask(&mut place.key, waker, &mut look)
        });
        place.unwanted = taken.is_none() && left;
        taken.map(|taken| match taken {
            Taken::Element(element, size) => {
                if self.options.waits() {
                    self.grant(self.window.consumed());
                }
                if let Some(bytes) = &self.bytes {
                    bytes.grant(size.min(self.options.bytes));
                }
                Signal::Next(element)
            }
            Taken::End(None) => Signal::Complete,
            Taken::End(Some(error)) => Signal::Fail(error),
        })
    }

    /// Room has come free. An edge that sends what was asked for hears of the asking instead.
    fn grant(&self, n: u64) {
        if self.told != Credit::Asked && is_request(n) {
            self.gate.grant(n);
        }
    }

    /// What was asked for above and has not arrived: room that the producer has heard of, until it ends.
    fn awaited(&self, buffer: Buffer) -> u64 {
        if buffer.ended.is_some() {
            return 0;
        }
        let counts = self.told != Credit::Asked && self.options.waits();
        if counts { self.window.remaining() } else { self.gate.available() }
    }

    /// Leaves no waker of `place` behind.
    pub(super) fn forget(&self, place: &mut Place) {
        self.state.forget(&mut place.key);
        place.unwanted = false;
    }
}

/// Where a consumer waits for an element or the end.
#[derive(Default)]
pub(super) struct Place {
    key: Option<u64>,
    /// It wanted nothing when it left its waker, and something lay there.
    unwanted: bool,
}

enum Taken<T> {
    Element(T, u64),
    End(Option<Error>),
}

impl<T> State<T> {
    /// Throws `victim` out; answers how many elements and bytes that was.
    fn throw_out(&mut self, victim: Victim, out: &mut Vec<(T, u64)>) -> (u64, u64) {
        let first = out.len();
        match victim {
            Victim::Oldest => out.extend(self.queue.pop_front()),
            Victim::Newest => out.extend(self.queue.pop_back()),
            Victim::Everything => out.extend(self.queue.drain(..)),
        }
        let gone = &out[first..];
        (gone.len() as u64, gone.iter().fold(0, |sum: u64, (_, size)| sum.saturating_add(*size)))
    }

    fn take(&mut self, wanted: bool, options: EdgeOptions) -> Option<Taken<T>> {
        if self.buffer.holds_back(wanted) {
            return None;
        }
        let size = self.queue.front().map_or(0, |(_, size)| *size);
        let (buffer, answer) = self.buffer.take(size);
        self.buffer = buffer;
        match answer {
            TakeAnswer::Empty => None,
            TakeAnswer::Element => {
                let (element, size) = self.queue.pop_front().expect("the buffer counts the queue");
                Some(Taken::Element(element, size))
            }
            TakeAnswer::Ended(BufferEnd::Failed | BufferEnd::Overflowed) => {
                Some(Taken::End(Some(self.why(options))))
            }
            TakeAnswer::Ended(_) => Some(Taken::End(None)),
        }
    }

    fn why(&self, options: EdgeOptions) -> Error {
        self.error.clone().unwrap_or_else(|| {
            let (limit, what) = match self.buffer.full_by() {
                Limit::ByElements => (options.capacity, "elements"),
                Limit::ByBytes => (options.bytes, "bytes"),
            };
            Error::new(
                ErrorKind::BufferOverflow,
                format!("the queue was full: it holds {limit} {what} and its strategy is to fail"),
            )
        })
    }
}

/// The consumer's half, as a stage. Dropping it cancels.
pub(super) struct EdgeOut<T> {
    core: Arc<EdgeCore<T>>,
    meter: Meter,
    place: Place,
}

impl<T> EdgeOut<T> {
    pub(super) fn new(core: Arc<EdgeCore<T>>, meter: Meter) -> Self {
        EdgeOut { core, meter, place: Place::default() }
    }

    pub(super) fn view(&self) -> &Arc<StageView> {
        self.meter.view()
    }
}

impl<T: Send> Upstream<T> for EdgeOut<T> {
    fn request(&mut self, n: u64) {
        let ask = self.meter.request(n);
        if self.core.told == Credit::Asked {
            self.core.gate.grant(ask);
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        let wanted = self.meter.wanted();
        let signal = self.core.take(wanted, &mut self.place, context.waker());
        if let Some(Signal::Next(_)) = &signal {
            let accepted = self.meter.arrive();
            debug_assert!(accepted, "an edge asks itself for what it is asked for");
            let ask = self.meter.emit(1);
            if self.core.told == Credit::Asked {
                self.core.gate.grant(ask);
            }
        }
        signal.map_or(Poll::Pending, Poll::Ready)
    }
}

impl<T> Drop for EdgeOut<T> {
    fn drop(&mut self) {
        self.core.forget(&mut self.place);
        self.core.cancel();
        self.meter.view().keep(self.core.counts());
    }
}
