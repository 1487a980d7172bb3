//! [`Manual`]: a source that is fed by hand, from any thread.

use std::future::Future;
use std::time::Duration;

use super::edge::{EdgeCore, Offer};
use crate::credit::{CreditGate, TryAcquire};
use crate::error::{Error, ErrorKind};
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::{Op, block_on};

/// The control of a manual source. Cheap to clone; safe from any thread. Dropping the last clone
/// without [`complete`](Self::complete) or [`fail`](Self::fail) fails the source: a producer that is
/// lost is not a producer that is done.
pub struct Manual<T>(Arc<Owner<T>>);

struct Owner<T>(Arc<EdgeCore<T>>);

impl<T> Drop for Owner<T> {
    fn drop(&mut self) {
        let lost = "the producer went away without completing the source";
        self.0.finish(Some(Error::new(ErrorKind::Cancelled, lost)));
    }
}

impl<T> Clone for Manual<T> {
    fn clone(&self) -> Self {
        Manual(Arc::clone(&self.0))
    }
}

/// A unit of credit that was taken for an element. Dropped before it is spent, it goes back: the offer
/// was given up.
struct Taken<'a>(Option<&'a CreditGate>);

impl Taken<'_> {
    fn spend(mut self) {
        self.0 = None;
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(gate) = self.0 {
            gate.put_back(1);
        }
    }
}

impl<T: Send + 'static> Manual<T> {
    pub(super) fn new(core: Arc<EdgeCore<T>>) -> Self {
        Manual(Arc::new(Owner(core)))
    }

    fn core(&self) -> &Arc<EdgeCore<T>> {
        &self.0.0
    }

    /// Offers an element. Under backpressure it waits for room; dropping the future then takes the
    /// element back.
    pub fn offer(&self, element: T) -> impl Future<Output = Offer> + Send + use<T> {
        let core = Arc::clone(self.core());
        async move {
            let element = core.sized(element);
            if core.options().waits() {
                if core.gate.acquire(1).await.is_err() {
                    return core.refused();
                }
                let taken = Taken(Some(&core.gate));
                if let Some((bytes, n)) = core.charge(&element)
                    && bytes.acquire(n).await.is_err()
                {
                    return core.refused();
                }
                taken.spend();
            }
            core.push(element)
        }
    }

    /// The same as an operation to poll by hand.
    #[must_use]
    pub fn offer_op(&self, element: T) -> Op<Offer> {
        Op::new(self.offer(element))
    }

    /// Offers an element and waits on this thread for room, if the strategy is to wait.
    pub fn blocking_offer(&self, element: T) -> Offer {
        block_on(self.offer(element), Deadline::NEVER).expect("no deadline passes")
    }

    /// The same, no longer than `limit`.
    ///
    /// # Errors
    /// `TimedOut`, naming the capacity: the element was not taken.
    pub fn blocking_offer_timeout(&self, element: T, limit: Duration) -> Result<Offer, Error> {
        block_on(self.offer(element), Deadline::after(limit)).map_err(|_| {
            let capacity = self.core().options().elements();
            Error::new(
                ErrorKind::TimedOut,
                format!("no room within {limit:?} in a queue of {capacity} elements"),
            )
        })
    }

    /// Offers an element if that needs no waiting; otherwise gives it back.
    ///
    /// # Errors
    /// The element: there was no room.
    pub fn try_offer(&self, element: T) -> Result<Offer, T> {
        let core = self.core();
        let element = core.sized(element);
        if !core.options().waits() {
            return Ok(core.push(element));
        }
        match core.gate.try_acquire(1) {
            TryAcquire::Taken => {}
            TryAcquire::Wait => return Err(element.0),
            TryAcquire::Closed(_) => return Ok(core.refused()),
        }
        let taken = Taken(Some(&core.gate));
        if let Some((bytes, n)) = core.charge(&element) {
            match bytes.try_acquire(n) {
                TryAcquire::Taken => {}
                TryAcquire::Wait => return Err(element.0),
                TryAcquire::Closed(_) => return Ok(core.refused()),
            }
        }
        taken.spend();
        Ok(core.push(element))
    }

    /// The source is done. What was accepted is delivered first. False if it had ended already.
    pub fn complete(&self) -> bool {
        self.core().finish(None)
    }

    /// The source fails. What was accepted is delivered first. False if it had ended already.
    pub fn fail(&self, error: Error) -> bool {
        self.core().finish(Some(error))
    }

    /// How many elements can be offered now without waiting.
    #[must_use]
    pub fn demand(&self) -> u64 {
        self.core().gate.available()
    }

    /// Elements that were accepted and not taken yet.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.core().held()
    }

    /// The same for whoever lets go of the source: what it answers keeps neither the source nor what that
    /// has failed with, and is 0 once nobody is there to take the elements.
    pub fn held_apart(&self) -> impl Fn() -> u64 + Send + Sync + use<T> {
        let core = Arc::downgrade(self.core());
        move || core.upgrade().map_or(0, |core| core.held())
    }

    /// Elements that the overflow strategy discarded.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.core().lost()
    }

    /// True once the source was completed, failed or cancelled from below.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.core().is_over()
    }

    /// Waits until `n` elements at once can be offered, without offering any; false once the source
    /// is over.
    pub fn ready(&self, n: u64) -> impl Future<Output = bool> + Send + use<T> {
        let core = Arc::clone(self.core());
        async move {
            let taken = core.gate.acquire(n).await.is_ok();
            if taken {
                core.gate.grant(n);
            }
            taken
        }
    }
}

impl<T> std::fmt::Debug for Manual<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manual").field("held", &self.0.0.held()).finish_non_exhaustive()
    }
}
