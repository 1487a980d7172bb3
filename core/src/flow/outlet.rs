//! [`Outlet`]: the end of a pipeline that is read by hand, from any thread.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Task, Poll};
use std::time::Duration;

use super::context::Signal;
use super::edge::{EdgeCore, Place};
use crate::error::{Error, ErrorKind};
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::{Op, block_on};

/// What a pipeline gives, taken by hand. Cheap to clone; each element reaches one taker. Taking is
/// what makes demand: the pipeline runs ahead by the outlet's capacity and no further. Dropping the
/// last clone cancels the pipeline.
pub struct Outlet<T>(Arc<Owner<T>>);

struct Owner<T>(Arc<EdgeCore<T>>);

impl<T> Drop for Owner<T> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl<T> Clone for Outlet<T> {
    fn clone(&self) -> Self {
        Outlet(Arc::clone(&self.0))
    }
}

struct Recv<T> {
    core: Arc<EdgeCore<T>>,
    place: Place,
}

impl<T> Future for Recv<T> {
    type Output = Result<Option<T>, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Task<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match this.core.take(true, &mut this.place, context.waker()) {
            None => Poll::Pending,
            Some(Signal::Next(element)) => Poll::Ready(Ok(Some(element))),
            Some(Signal::Complete) => Poll::Ready(Ok(None)),
            Some(Signal::Fail(error)) => Poll::Ready(Err(error)),
        }
    }
}

impl<T> Drop for Recv<T> {
    fn drop(&mut self) {
        self.core.forget(&mut self.place);
    }
}

impl<T: Send + 'static> Outlet<T> {
    pub(super) fn new(core: Arc<EdgeCore<T>>) -> Self {
        Outlet(Arc::new(Owner(core)))
    }

    /// Takes the next element; `None` at the end. Dropping the future takes nothing.
    ///
    /// # Errors
    /// What the pipeline failed with; the same each time.
    pub fn recv(&self) -> impl Future<Output = Result<Option<T>, Error>> + Send + use<T> {
        Recv { core: Arc::clone(&self.0.0), place: Place::default() }
    }

    /// The same as an operation to poll by hand.
    #[must_use]
    pub fn recv_op(&self) -> Op<Result<Option<T>, Error>> {
        Op::new(self.recv())
    }

    /// Takes the next element, waiting on this thread.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn blocking_recv(&self) -> Result<Option<T>, Error> {
        block_on(self.recv(), Deadline::NEVER)?
    }

    /// The same, no longer than `limit`.
    ///
    /// # Errors
    /// `TimedOut`: nothing was taken. Else as [`recv`](Self::recv).
    pub fn blocking_recv_timeout(&self, limit: Duration) -> Result<Option<T>, Error> {
        block_on(self.recv(), Deadline::after(limit)).map_err(|_| {
            Error::new(ErrorKind::TimedOut, format!("no element came within {limit:?}"))
        })?
    }

    /// Cancels the pipeline and releases what the outlet holds. Later calls answer the end.
    pub fn cancel(&self) {
        self.0.0.cancel();
    }

    /// Elements that wait to be taken.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.0.0.held()
    }
}

/// An iterator over an outlet, which waits on its thread. Ends after the first error.
pub struct OutletIter<T> {
    outlet: Outlet<T>,
    over: bool,
}

impl<T: Send + 'static> Iterator for OutletIter<T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = self.outlet.blocking_recv().transpose();
        self.over = !matches!(next, Some(Ok(_)));
        next
    }
}

impl<T: Send + 'static> IntoIterator for Outlet<T> {
    type Item = Result<T, Error>;
    type IntoIter = OutletIter<T>;

    fn into_iter(self) -> OutletIter<T> {
        OutletIter { outlet: self, over: false }
    }
}

impl<T> std::fmt::Debug for Outlet<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outlet").field("held", &self.0.0.held()).finish_non_exhaustive()
    }
}
