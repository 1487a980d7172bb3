//! batch: groups of so many elements, of so many bytes, or of what came within a time.

use std::task::Poll;
use std::time::Duration;

use super::Inlet;
use crate::error::Error;
use crate::flow::context::{Context, Signal, Upstream};
use crate::flow::edge::positive;
use crate::flow::guard::guarded;
use crate::flow::held::{Kept, Own, own};
use crate::flow::plan::Tempo;
use crate::flow::{Flow, NotUsed};
use crate::model::demand::Stage;
use crate::sync::Arc;

impl<T: Send + 'static> Flow<T, Vec<T>> {
    /// Groups of `n` elements; the last one may be shorter. For each group that is asked for, `n`
    /// elements are asked for, a group at a time.
    ///
    /// # Errors
    /// `InvalidArgument` for 0.
    pub fn batch(n: u64) -> Result<Self, Error> {
        Self::grouped("batch", n, None)
    }

    /// Groups of `n` elements, or of fewer once `within` has passed since the first of them came. A
    /// group leaves against demand only: one that nobody has asked for yet goes on growing up to `n`,
    /// and then the upstream is held back.
    ///
    /// # Errors
    /// `InvalidArgument` for 0.
    pub fn batch_within(n: u64, within: Duration) -> Result<Self, Error> {
        Self::grouped("batch_within", n, Some(within))
    }

    fn grouped(kind: &'static str, n: u64, within: Option<Duration>) -> Result<Self, Error> {
        let size = positive(kind, "elements", n)?;
        Ok(Flow::from_make(move |build, up| {
            let meter = build.meter(kind, Stage::whole(size).expect("not 0"));
            let inlet = Inlet::new(up, meter);
            Ok((
                Box::new(Batch { inlet, group: Kept::default(), size, within, due: None }),
                NotUsed,
            ))
        })
        .at(if within.is_none() { Tempo::every(size) } else { Tempo::FREE }))
    }

    /// Groups of at most `limit` bytes, as `size` tells them; an element that is larger is a group of
    /// its own. Elements are asked for one by one, while a group is wanted; one at most is read that
    /// belongs to the next group.
    ///
    /// # Errors
    /// `InvalidArgument` for 0.
    pub fn batch_bytes(
        limit: u64,
        size: impl Fn(&T) -> u64 + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let limit = positive("batch_bytes", "bytes", limit)?;
        let size = own(size);
        Ok(Flow::from_make(move |build, up| {
            let meter = build.meter("batch_bytes", Stage::whole(1).expect("not 0"));
            let inlet = Inlet::new(up, meter);
            let size = Arc::clone(&size);
            let (group, next) = (Kept::default(), Kept::default());
            let stage = Bytes { inlet, group, bytes: 0, next, kept: 0, limit, size };
            Ok((Box::new(stage), NotUsed))
        }))
    }
}

struct Batch<T> {
    inlet: Inlet<T>,
    group: Kept<Vec<T>>,
    size: u64,
    within: Option<Duration>,
    /// When a group that is not full may leave.
    due: Option<Duration>,
}

impl<T: Send> Batch<T> {
    fn ready(&self, context: &Context<'_>) -> bool {
        !self.group.is_empty()
            && self.inlet.wanted()
            && (self.group.len() as u64 >= self.size
                || self.inlet.ended()
                || self.due.is_some_and(|due| due <= context.now()))
    }
}

impl<T: Send> Upstream<Vec<T>> for Batch<T> {
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<Vec<T>>> {
        loop {
            if self.ready(context) {
                self.due = None;
                self.inlet.emit(self.group.len() as u64);
                return Poll::Ready(Signal::Next(std::mem::take(&mut *self.group)));
            }
            if self.inlet.ended() {
                return if self.group.is_empty() { self.inlet.end() } else { Poll::Pending };
            }
            if context.stopping() {
                return Poll::Pending;
            }
            match self.inlet.pull(context) {
                Poll::Ready(Some(input)) => {
                    if self.group.is_empty() {
                        self.due = self.within.map(|within| context.now().saturating_add(within));
                    }
                    self.group.push(input);
                }
                Poll::Ready(None) => {}
                Poll::Pending => {
                    if let Some(due) = self.due
                        && self.inlet.wanted()
                    {
                        context.wake_at(due);
                    }
                    return Poll::Pending;
                }
            }
        }
    }
}

struct Bytes<T, F> {
    inlet: Inlet<T>,
    group: Kept<Vec<T>>,
    bytes: u64,
    /// The first element of the next group, and its bytes.
    next: Kept<Option<(T, u64)>>,
    /// 1 if the last element has not made room for another: it filled the group, or waits as `next`.
    kept: u64,
    limit: u64,
    size: Arc<Own<F>>,
}

impl<T, F> Bytes<T, F> {
    /// What was held back begins the group that comes next.
    fn turn(&mut self) -> Vec<T> {
        let group = std::mem::take(&mut *self.group);
        self.bytes = 0;
        if let Some((element, bytes)) = self.next.take() {
            self.group.push(element);
            self.bytes = bytes;
        }
        self.inlet.emit(std::mem::take(&mut self.kept));
        group
    }
}

impl<T, F> Upstream<Vec<T>> for Bytes<T, F>
where
    T: Send,
    F: Fn(&T) -> u64 + Send + Sync,
{
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<Vec<T>>> {
        loop {
            let full = self.next.is_some() || self.bytes >= self.limit || self.inlet.ended();
            if full && !self.group.is_empty() {
                if self.inlet.wanted() {
                    return Poll::Ready(Signal::Next(self.turn()));
                }
                if self.inlet.ended() {
                    return Poll::Pending;
                }
            } else if self.inlet.ended() {
                return self.inlet.end();
            }
            if context.stopping() {
                return Poll::Pending;
            }
            match self.inlet.pull(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => {}
                Poll::Ready(Some(input)) => {
                    let size = guarded(self.inlet.name(), || Ok((self.size)(&input)));
                    let size = match size {
                        Ok(size) => size,
                        Err(error) => return self.inlet.fail(error),
                    };
                    let sum = self.bytes.saturating_add(size);
                    if !self.group.is_empty() && sum > self.limit {
                        *self.next = Some((input, size));
                        self.kept = 1;
                    } else {
                        self.group.push(input);
                        self.bytes = sum;
                        if sum < self.limit {
                            self.inlet.discard();
                        } else {
                            self.kept = 1;
                        }
                    }
                }
            }
        }
    }
}
