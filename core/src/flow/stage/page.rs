//! page: a buffer that is kept full ahead of demand, on the same thread.

use std::collections::VecDeque;
use std::task::Poll;

use super::Inlet;
use crate::error::Error;
use crate::flow::context::{Context, Signal, Upstream};
use crate::flow::edge::positive;
use crate::flow::held::Kept;
use crate::flow::plan::Tempo;
use crate::flow::{Flow, NotUsed};
use crate::model::demand::{Stage, default_mark};

impl<T: Send + 'static> Flow<T, T> {
    /// Reads `size` elements ahead of demand and hands them down one by one. Filled up again once
    /// three quarters of it have left.
    ///
    /// # Errors
    /// `InvalidArgument` for 0.
    pub fn page(size: u64) -> Result<Self, Error> {
        Self::page_with_mark(size, default_mark(size))
    }

    /// The same, filled up again once `mark` elements have left; the mark is held between 1 and
    /// `size`, so that none can stall it.
    ///
    /// # Errors
    /// `InvalidArgument` for a size of 0.
    pub fn page_with_mark(size: u64, mark: u64) -> Result<Self, Error> {
        positive("page", "elements", size)?;
        Ok(Flow::from_make(move |build, up| {
            let meter = build.meter("page", Stage::ahead(size, mark).expect("not 0"));
            Ok((Box::new(Page { inlet: Inlet::new(up, meter), queue: Kept::default() }), NotUsed))
        })
        .at(Tempo::EACH))
    }
}

struct Page<T> {
    inlet: Inlet<T>,
    queue: Kept<VecDeque<T>>,
}

impl<T: Send> Upstream<T> for Page<T> {
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        self.inlet.start();
        loop {
            // What was asked for is taken as it comes: a source that fetches does so at the mark.
            while !self.inlet.ended()
                && self.inlet.awaits()
                && let Poll::Ready(input) = self.inlet.pull(context)
            {
                self.queue.extend(input);
            }
            if self.inlet.wanted()
                && let Some(element) = self.queue.pop_front()
            {
                self.inlet.emit(1);
                return Poll::Ready(Signal::Next(element));
            }
            if self.inlet.ended() {
                return if self.queue.is_empty() { self.inlet.end() } else { Poll::Pending };
            }
            match self.inlet.pull(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(input) => self.queue.extend(input),
            }
        }
    }
}
