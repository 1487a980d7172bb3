//! Sources that are a clock, or fetch rows.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::Error;
use sluicegate::flow::{Page, Source};

use super::blueprint::{SourceCore, plain};
use super::element::{Element, Reply, own, rows};
use crate::error::{Failure, Fault};
use crate::guard::guard;

/// An element each time so much time has passed; its token is taken over.
///
/// # Errors
/// `InvalidArgument` for no time.
#[uniffi::export]
pub fn source_tick(every_micros: u64, token: u64) -> Result<Arc<SourceCore>, Failure> {
    let element = own(token);
    guard(|| {
        let every = Duration::from_micros(every_micros);
        Ok::<_, Error>(plain(Source::tick(every, element)?))
    })
}

/// Rows fetched as many at a time as are asked for.
#[uniffi::export(with_foreign)]
pub trait Fetcher: Send + Sync {
    /// At most `n` rows from number `from`.
    fn fetch(&self, from: u64, n: u64) -> Reply;
}

/// Rows by position.
#[uniffi::export]
pub fn source_fetch(fetcher: Arc<dyn Fetcher>) -> Arc<SourceCore> {
    plain(Source::fetch(move |from, n| rows(fetcher.fetch(from, n))))
}

/// What one page holds. Tokens in it are handed over.
#[derive(Debug, uniffi::Enum)]
pub enum PageReply {
    /// A page.
    Page {
        /// The tokens of its rows.
        rows: Vec<u64>,
        /// Where the next one begins; absent behind the last.
        next: Option<u64>,
    },
    /// It threw.
    Thrown {
        /// What.
        fault: Fault,
    },
}

/// Fetches pages.
#[uniffi::export(with_foreign)]
pub trait Pager: Send + Sync {
    /// The page that begins at `cursor`, whose token is lent for the length of the call.
    fn page(&self, cursor: u64) -> PageReply;
}

/// Rows by the page, the next of which is fetched once no more than `mark` rows are left. The token
/// of the first cursor is taken over.
#[uniffi::export]
pub fn source_pages(first: u64, mark: u64, pager: Arc<dyn Pager>) -> Arc<SourceCore> {
    let first = own(first);
    plain(Source::pages_ahead(first, mark, move |cursor: Element| {
        match pager.page(cursor.token()) {
            PageReply::Thrown { fault } => Err(fault.into()),
            PageReply::Page { rows, next } => {
                Ok(Page { rows: rows.into_iter().map(own).collect(), next: next.map(own) })
            }
        }
    }))
}
