//! Reading a whole stream at once. Refuses a stream that promises no end (L16).

use super::{InputStream, Item};
use crate::error::{Error, ErrorKind};
use crate::frame::Value;
use crate::time::Deadline;
use crate::wait::block_on;

impl InputStream {
    /// Everything as one byte string.
    ///
    /// Fails with `Unbounded` for a stream without end (L16), `WrongMode` for a value that is not a
    /// byte string.
    pub fn collect_bytes(&self) -> impl Future<Output = Result<Vec<u8>, Error>> + Send + use<> {
        self.collect(Vec::new(), |all, item| match item.value {
            Value::Bytes(bytes) => {
                all.extend_from_slice(&bytes);
                Ok(())
            }
            other => Err(wrong_value("bytes", &other)),
        })
    }

    /// Everything as one text. Fails as [`collect_bytes`](Self::collect_bytes) does.
    pub fn collect_text(&self) -> impl Future<Output = Result<String, Error>> + Send + use<> {
        self.collect(String::new(), |all, item| match item.value {
            Value::Text(text) => {
                all.push_str(&text);
                Ok(())
            }
            other => Err(wrong_value("text", &other)),
        })
    }

    /// Everything as a list. Fails with `Unbounded` for a stream without end (L16).
    pub fn collect_items(&self) -> impl Future<Output = Result<Vec<Item>, Error>> + Send + use<> {
        self.collect(Vec::new(), |all, item| {
            all.push(item);
            Ok(())
        })
    }

    fn collect<C: Send + 'static>(
        &self,
        mut into: C,
        add: fn(&mut C, Item) -> Result<(), Error>,
    ) -> impl Future<Output = Result<C, Error>> + Send + use<C> {
        let this = self.clone();
        self.core().wire.owed.before_wait(async move {
            if this.info().unbounded {
                let name = this.info().id.as_deref().unwrap_or("");
                return Err(Error::new(
                    ErrorKind::Unbounded,
                    format!(
                        "stream {name:?} has no end to collect up to; take its items as they come"
                    ),
                ));
            }
            while let Some(item) = this.next_item().await? {
                add(&mut into, item)?;
            }
            Ok(into)
        })
    }

    /// [`collect_bytes`](Self::collect_bytes), waiting on this thread.
    ///
    /// # Errors
    /// As there.
    pub fn blocking_collect_bytes(&self) -> Result<Vec<u8>, Error> {
        block_on(self.collect_bytes(), Deadline::NEVER)?
    }

    /// [`collect_text`](Self::collect_text), waiting on this thread.
    ///
    /// # Errors
    /// As there.
    pub fn blocking_collect_text(&self) -> Result<String, Error> {
        block_on(self.collect_text(), Deadline::NEVER)?
    }

    /// [`collect_items`](Self::collect_items), waiting on this thread.
    ///
    /// # Errors
    /// As there.
    pub fn blocking_collect_items(&self) -> Result<Vec<Item>, Error> {
        block_on(self.collect_items(), Deadline::NEVER)?
    }
}

pub(super) fn wrong_value(wanted: &str, got: &Value) -> Error {
    let got = got.kind();
    Error::new(ErrorKind::WrongMode, format!("a stream of {wanted} was expected, {got} came"))
}
