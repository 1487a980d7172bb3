//! [`Iter`]: a stream's values on this thread.

use super::{InputStream, Item};
use crate::error::Error;

/// See [`InputStream::iter`].
#[derive(Debug)]
pub struct Iter {
    stream: InputStream,
    pub(super) done: bool,
}

impl Iter {
    pub(super) fn of(stream: &InputStream) -> Self {
        Iter { stream: stream.clone(), done: false }
    }
}

impl Iterator for Iter {
    type Item = Result<Item, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.stream.blocking_recv().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

impl IntoIterator for &InputStream {
    type Item = Result<Item, Error>;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}
