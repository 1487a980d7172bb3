//! [`Iter`]: a stream's values on this thread.

use bytes::Bytes;

use super::collect::wrong_value;
use super::{InputStream, Item};
use crate::error::Error;
use crate::frame::Value;

/// See [`InputStream::iter`].
#[derive(Debug)]
pub struct Iter {
    stream: InputStream,
    done: bool,
}

impl InputStream {
    /// The values as they come, waiting on this thread; ends after the clean end or the first error.
    #[must_use]
    pub fn iter(&self) -> Iter {
        Iter { stream: self.clone(), done: false }
    }

    /// The byte strings of a stream as they come, waiting on this thread; a value of another kind is
    /// an error of kind `WrongMode`. Ends after the clean end or the first error.
    pub fn chunks(&self) -> impl Iterator<Item = Result<Bytes, Error>> + use<> {
        let mut items = self.iter();
        std::iter::from_fn(move || {
            let bytes = items.next()?.and_then(|item| match item.value {
                Value::Bytes(bytes) => Ok(bytes),
                other => Err(wrong_value("bytes", &other)),
            });
            items.done |= bytes.is_err();
            Some(bytes)
        })
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
