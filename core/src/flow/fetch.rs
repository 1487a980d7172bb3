//! Rows that are fetched as many at a time as are asked for.

use std::collections::VecDeque;
use std::task::Poll;

use super::blueprint::{NotUsed, Source};
use super::context::{Context, Signal, Upstream};
use super::guard::guarded;
use super::held::{Kept, Own, own};
use super::meter::Meter;
use crate::error::Error;
use crate::model::demand::{Stage, is_last_page};
use crate::sync::Arc;

impl<T: Send + 'static> Source<T> {
    /// Rows by position: `fetch(from, n)` is called with what is asked for and answers at most `n` rows,
    /// beginning with number `from`; fewer than `n` are the last, more than `n` are dropped. It runs on
    /// the thread of its island. The rows that were fetched and have not left are the stage's `held`.
    ///
    /// Behind [`Flow::page`](super::Flow::page) this is a paged source with the demand of the page: a
    /// buffer of 64 with the mark at 48 fetches 64 rows, and then 48 each time 48 have left.
    #[must_use]
    pub fn fetch<F>(fetch: F) -> Self
    where
        F: Fn(u64, u64) -> Result<Vec<T>, Error> + Send + Sync + 'static,
    {
        let fetch = own(fetch);
        Source::from_make(move |build| {
            let meter = build.meter("fetch", Stage::each(u64::MAX).expect("not 0"));
            let (rows, fetch) = (Kept::default(), Arc::clone(&fetch));
            Ok((Box::new(Fetch { meter, fetch, rows, from: 0, last: false }), NotUsed))
        })
    }
}

/// Rows fetched at once at most, however many are asked for.
const MOST: u64 = 4096;

struct Fetch<T, F> {
    meter: Meter,
    fetch: Arc<Own<F>>,
    rows: Kept<VecDeque<T>>,
    from: u64,
    last: bool,
}

impl<T, F> Upstream<T> for Fetch<T, F>
where
    T: Send,
    F: Fn(u64, u64) -> Result<Vec<T>, Error> + Send + Sync,
{
    fn request(&mut self, n: u64) {
        self.meter.request(n);
    }

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Signal<T>> {
        loop {
            if !self.meter.wanted() {
                let over = self.last && self.rows.is_empty();
                return if over { Poll::Ready(Signal::Complete) } else { Poll::Pending };
            }
            if let Some(row) = self.rows.pop_front() {
                self.meter.emit(1);
                return Poll::Ready(Signal::Next(row));
            }
            if self.last {
                return Poll::Ready(Signal::Complete);
            }
            let n = self.meter.page(MOST);
            match guarded(self.meter.name(), || (self.fetch)(self.from, n)) {
                Ok(rows) => {
                    let came = rows.len() as u64;
                    self.from = self.from.saturating_add(came);
                    self.last = is_last_page(n, came);
                    let mut rows = rows.into_iter();
                    for row in rows.by_ref().take(usize::try_from(n).unwrap_or(usize::MAX)) {
                        if self.meter.arrive() {
                            self.rows.push_back(row); // held from now on
                        }
                    }
                    rows.for_each(|_| self.meter.view().count_late()); // more than was asked for
                }
                Err(error) => return Poll::Ready(Signal::Fail(error)),
            }
        }
    }
}
