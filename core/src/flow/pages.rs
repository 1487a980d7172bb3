//! Pages: rows that are fetched many at a time and handed down one by one.

use std::collections::VecDeque;
use std::task::Poll;

use super::blueprint::{NotUsed, Source};
use super::context::{Context, Signal, Upstream};
use super::guard::guarded;
use super::held::{Kept, Own, own};
use super::meter::Meter;
use crate::error::Error;
use crate::model::demand::Stage;
use crate::sync::Arc;

/// What one fetch answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page<T, C> {
    /// The rows, in order. None is no end: that is said by `next`.
    pub rows: Vec<T>,
    /// Where the next page begins; `None` behind the last.
    pub next: Option<C>,
}

impl<T: Send + 'static> Source<T> {
    /// Rows by the page: `fetch` is called with `first`, then with each page's `next`. A page is
    /// fetched when a row is wanted and none is left, never before; the fetch runs on the thread of
    /// its island.
    ///
    /// A page is as large as `fetch` makes it, so its rows are counted as they leave, not as they come.
    /// [`StageView::demand`](super::StageView::demand) and `explain` show them all the same: `held` are
    /// those left of the page, `upstream` is 1 while a page is fetched.
    #[must_use]
    pub fn pages<C, F>(first: C, fetch: F) -> Self
    where
        C: Clone + Send + Sync + 'static,
        F: Fn(C) -> Result<Page<T, C>, Error> + Send + Sync + 'static,
    {
        Self::pages_ahead(first, 0, fetch)
    }

    /// The same, reading one page ahead: once a first row was wanted, the next page is fetched as
    /// soon as nothing is wanted and no more than `mark` rows are left.
    #[must_use]
    pub fn pages_ahead<C, F>(first: C, mark: u64, fetch: F) -> Self
    where
        C: Clone + Send + Sync + 'static,
        F: Fn(C) -> Result<Page<T, C>, Error> + Send + Sync + 'static,
    {
        let fetch = own(fetch);
        Source::from_make(move |build| {
            let meter = build.meter("pages", Stage::each(u64::MAX).expect("not 0"));
            let (next, fetch) = (Some(first.clone()), Arc::clone(&fetch));
            let rows = Kept::default();
            let stage = Pages { meter, fetch, next, rows, mark, begun: false, failure: None };
            Ok((Box::new(stage), NotUsed))
        })
    }
}

struct Pages<T, C, F> {
    meter: Meter,
    fetch: Arc<Own<F>>,
    next: Option<C>,
    rows: Kept<VecDeque<T>>,
    mark: u64,
    begun: bool,
    /// Told once the rows that came before it have left.
    failure: Option<Error>,
}

impl<T, C, F> Upstream<T> for Pages<T, C, F>
where
    T: Send,
    C: Send,
    F: Fn(C) -> Result<Page<T, C>, Error> + Send + Sync,
{
    fn request(&mut self, n: u64) {
        self.meter.request(n);
        self.show(0);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        loop {
            let wanted = self.meter.wanted();
            if wanted && let Some(row) = self.rows.pop_front() {
                let _asked_of_itself = self.meter.arrive();
                self.meter.emit(1);
                self.show(0);
                return Poll::Ready(Signal::Next(row));
            }
            if self.rows.is_empty() && self.next.is_none() {
                let end = self.failure.take();
                return Poll::Ready(end.map_or(Signal::Complete, Signal::Fail));
            }
            let ahead = self.begun && self.mark != 0 && self.rows.len() as u64 <= self.mark;
            if context.stopping() || !(wanted || ahead) {
                return Poll::Pending;
            }
            let Some(cursor) = self.next.take() else { return Poll::Pending };
            self.begun = true;
            self.show(1);
            match guarded(self.meter.name(), || (self.fetch)(cursor)) {
                Ok(page) => {
                    self.rows.extend(page.rows);
                    self.next = page.next;
                    self.show(0);
                }
                Err(error) => self.failure = Some(error),
            }
        }
    }
}

impl<T, C, F> Pages<T, C, F> {
    fn show(&self, fetching: u64) {
        let view = self.meter.view();
        view.set_held(self.rows.len() as u64);
        view.set_upstream(fetching);
    }
}
