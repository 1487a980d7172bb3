//! `sluice_source`, `sluice_sink`: descriptors as lines and chunks, and as where bytes go.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use sluicegate::flow::{Flow, Sink as CoreSink, Source as Core};
use sluicegate::{Error, ErrorKind, Value};

use super::Mat;
use super::blueprint::{Sink, Source, put_sink, put_source};
use super::callback::{Callback, FdOpener};
use super::completion::Done;
use super::element::Held;
use super::wire::{element, item};
use crate::border;
use crate::error::ErrorObject;
use crate::guard::{Fail, guard, guard_with};
use crate::status::Status;

fn open(opener: &Arc<Callback<FdOpener>>) -> impl Fn() -> io::Result<File> + Send + Sync + use<> {
    let opener = Arc::clone(opener);
    move || opener.open_fd().map_err(io::Error::other)
}

/// A source of values as one of elements, whose values are items.
fn put_values<T: Send + 'static>(
    out: *mut *mut Source,
    values: &Core<T>,
    value: fn(T) -> Value,
) -> Result<(), Fail> {
    let items =
        Flow::try_map(move |one| element(sluicegate::Item { value: value(one), meta: None }));
    put_source(out, values.via(items.named("items")).map_mat(|_| Vec::new()))
}

/// The lines of a descriptor, without their ends (LF or CR LF): the value of each element is a sluice_item
/// of a text. Reads on a thread of its own, 16 lines ahead. A line that is too long fails the stream with
/// SLUICE_LIMIT_REACHED, one that is no UTF-8 with SLUICE_MALFORMED, what the system refuses with SLUICE_IO.
/// A read that blocks is not interrupted: a scope that is shut down waits for it.
///
/// most     bytes of a line, at least 1
/// opener   taken over
/// out      the blueprint, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a length of 0
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_lines(
    most: u64,
    opener: *const FdOpener,
    out: *mut *mut Source,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let opener = Callback::take(opener)?;
        let lines = Core::<String>::lines(most, open(&opener))?;
        put_values(out, &lines, Value::Text)
    })
}

/// What a descriptor gives, in chunks as large as one read gives: the value of each element is a sluice_item
/// of bytes. Reads on a thread of its own, 16 chunks ahead. What the system refuses fails the stream with
/// SLUICE_IO. A read that blocks is not interrupted.
///
/// size     bytes of a chunk at most, at least 1
/// opener   taken over
/// out      the blueprint, yours to release
/// err      may be NULL
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also for a size of 0
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_chunks(
    size: usize,
    opener: *const FdOpener,
    out: *mut *mut Source,
    err: *mut *mut ErrorObject,
) -> Status {
    guard_with(err, || {
        let opener = Callback::take(opener)?;
        let chunks = Core::<Bytes>::chunks(size, open(&opener))?;
        put_values(out, &chunks, Value::Bytes)
    })
}

/// The bytes or the text of an element that is an item.
fn raw(held: &Held) -> Result<Bytes, Error> {
    match item(held)?.value {
        Value::Bytes(bytes) => Ok(bytes),
        Value::Text(text) => Ok(text.into()),
        other => {
            let text = format!("a writer takes byte strings and texts, this is a {}", other.kind());
            Err(Error::new(ErrorKind::WrongMode, text))
        }
    }
}

/// Writes the bytes or the text of each element, which is a sluice_item (sluice_item_element), to a
/// descriptor: its sluice_completion holds one element, whose value is how many bytes were written, as a
/// uintptr_t. An item of another kind fails the stream with SLUICE_WRONG_MODE, a value that is no item with
/// SLUICE_INVALID_ARGUMENT, what the system refuses with SLUICE_IO.
///
/// opener   taken over
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_writer(
    opener: *const FdOpener,
    out: *mut *mut Sink,
) -> Status {
    guard(|| {
        let opener = Callback::take(opener)?;
        border::need(out)?;
        let writer = CoreSink::<Bytes, _>::writer(open(&opener));
        let bytes = Flow::try_map(|held: Held| raw(&held)).named("items");
        let sink = bytes.to_mat(writer, |_, done| done);
        put_sink(out, &sink, |done| Mat::Done(Done::Count(done)))
    })
}
