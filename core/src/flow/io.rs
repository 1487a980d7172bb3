//! Readers and writers: lines and chunks in, bytes out. They block, so readers have an island of
//! their own.

use std::io::{BufRead, BufReader, Read, Write};

use bytes::Bytes;

use super::blueprint::{Flow, Sink, Source};
use super::edge::{EdgeOptions, positive};
use super::held::{Kept, Own, own};
use super::promise::Completion;
use super::sink::Collect;
use crate::error::{Error, ErrorKind};
use crate::sync::Arc;

fn broken(what: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what}: {error}"))
}

impl Source<String> {
    /// The lines of what `open` opens for each run, without their ends (`\n` or `\r\n`). Reads on a
    /// thread of its own, 16 lines ahead. A line of more than `max` bytes fails the stream with
    /// `LimitReached`, one that is no UTF-8 with `Malformed`. A read that blocks is not interrupted: a
    /// scope that is shut down waits for it.
    ///
    /// # Errors
    /// `InvalidArgument` for a `max` of 0.
    pub fn lines<R, F>(max: u64, open: F) -> Result<Self, Error>
    where
        R: Read + Send + 'static,
        F: Fn() -> std::io::Result<R> + Send + Sync + 'static,
    {
        positive("line length", "bytes", max)?;
        let lines = Source::pulled("lines", move || {
            let mut reader = BufReader::new(open().map_err(|error| broken("open", &error))?);
            let mut at = 0_u64;
            Ok(Box::new(move || {
                at = at.saturating_add(1);
                line(&mut reader, max, at)
            }))
        });
        Ok(lines.via(Flow::buffer(EdgeOptions::default())))
    }
}

fn line(reader: &mut impl BufRead, max: u64, at: u64) -> Result<Option<String>, Error> {
    let mut line = Vec::new();
    let room = max.saturating_add(2); // and its end
    reader.take(room).read_until(b'\n', &mut line).map_err(|error| broken("read", &error))?;
    if line.is_empty() {
        return Ok(None);
    }
    for end in [b'\n', b'\r'] {
        if line.last() == Some(&end) {
            line.pop();
        } else {
            break;
        }
    }
    if line.len() as u64 > max {
        let message = format!("line {at} is longer than {max} bytes");
        return Err(Error::new(ErrorKind::LimitReached, message));
    }
    String::from_utf8(line).map(Some).map_err(|error| {
        Error::new(ErrorKind::Malformed, format!("line {at} is no UTF-8: {}", error.utf8_error()))
    })
}

impl Source<Bytes> {
    /// What `open` opens for each run, in chunks of at most `size` bytes, each as large as one read
    /// gives. Reads on a thread of its own, 16 chunks ahead. A read that blocks is not interrupted.
    ///
    /// # Errors
    /// `InvalidArgument` for a size of 0.
    pub fn chunks<R, F>(size: usize, open: F) -> Result<Self, Error>
    where
        R: Read + Send + 'static,
        F: Fn() -> std::io::Result<R> + Send + Sync + 'static,
    {
        positive("chunk", "bytes", size as u64)?;
        let chunks = Source::pulled("chunks", move || {
            let mut reader = open().map_err(|error| broken("open", &error))?;
            Ok(Box::new(move || chunk(&mut reader, size)))
        });
        Ok(chunks.via(Flow::buffer(EdgeOptions::default())))
    }
}

fn chunk(reader: &mut impl Read, size: usize) -> Result<Option<Bytes>, Error> {
    let mut chunk = vec![0; size];
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => return Ok(None),
            Ok(n) => {
                chunk.truncate(n);
                return Ok(Some(Bytes::from(chunk)));
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(broken("read", &error)),
        }
    }
}

impl<T: AsRef<[u8]> + Send + 'static> Sink<T, Completion<u64>> {
    /// Writes each element to what `open` opens for each run, on the thread of the sink's island, and
    /// flushes at the end. Its value is how many bytes were written.
    #[must_use]
    pub fn writer<W, F>(open: F) -> Self
    where
        W: Write + Send + 'static,
        F: Fn() -> std::io::Result<W> + Send + Sync + 'static,
    {
        let open = own(open);
        Sink::drain("writer", move || Writing {
            open: Arc::clone(&open),
            writer: Kept::default(),
            written: 0,
        })
    }
}

struct Writing<W, F> {
    open: Arc<Own<F>>,
    writer: Kept<Option<W>>,
    written: u64,
}

impl<W, F> Writing<W, F>
where
    F: Fn() -> std::io::Result<W>,
{
    fn writer(&mut self) -> Result<&mut W, Error> {
        if self.writer.is_none() {
            *self.writer = Some((self.open)().map_err(|error| broken("open", &error))?);
        }
        self.writer.as_mut().ok_or_else(|| Error::new(ErrorKind::Io, "open"))
    }
}

impl<T, W, F> Collect<T, u64> for Writing<W, F>
where
    T: AsRef<[u8]>,
    W: Write + Send,
    F: Fn() -> std::io::Result<W> + Send + Sync,
{
    fn next(&mut self, element: T) -> Result<bool, Error> {
        let bytes = element.as_ref();
        self.writer()?.write_all(bytes).map_err(|error| broken("write", &error))?;
        self.written = self.written.saturating_add(bytes.len() as u64);
        Ok(true)
    }

    fn finish(&mut self) -> Result<u64, Error> {
        self.writer()?.flush().map_err(|error| broken("flush", &error))?;
        Ok(self.written)
    }
}
