//! Streams of a request: values in, values out.

use std::sync::{Arc, OnceLock};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use sluicegate::{
    Error, ErrorKind, InputStream as CoreInput, Item as CoreItem, Mode, OutputStream as CoreOutput,
    StartOptions, StreamInfo, StreamSender as CoreSender, StreamStats, TryRecv, Value,
};

use crate::fork::Owned;
use crate::op::Op;
use crate::unread::{self, Unread};
use crate::{buffer, errors, number, value};

/// A value that was received, and its metadata.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Item {
    item: CoreItem,
    value: OnceLock<Py<PyAny>>,
    meta: OnceLock<Py<PyAny>>,
}

impl Item {
    pub(crate) fn core(&self) -> &CoreItem {
        &self.item
    }

    fn new(item: CoreItem) -> Self {
        Item { item, value: OnceLock::new(), meta: OnceLock::new() }
    }

    pub(crate) fn object(py: Python<'_>, item: CoreItem) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, Item::new(item))?.into_any())
    }
}

#[pymethods]
impl Item {
    /// The value; bytes are copied out at the first use.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        cached(py, &self.value, Some(&self.item.value))
    }

    /// A read-only view of a value that is bytes, without a copy. It keeps the chunk alive.
    #[getter]
    fn view<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMemoryView>> {
        match &self.item.value {
            Value::Bytes(bytes) => buffer::view(py, bytes),
            _ => Err(wrong("bytes", &self.item)),
        }
    }

    /// The metadata, a dict; None if there is none.
    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        cached(py, &self.meta, self.item.meta.as_ref())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let value = self.value(py)?.repr()?;
        Ok(match &self.item.meta {
            None => format!("<sluicegate.Item {value}>"),
            Some(_) => format!("<sluicegate.Item {value} meta={}>", self.meta(py)?.repr()?),
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(self.value.get())?;
        visit.call(self.meta.get())
    }
}

fn cached<'py>(
    py: Python<'py>,
    cell: &OnceLock<Py<PyAny>>,
    value: Option<&Value>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(object) = cell.get() {
        return Ok(object.bind(py).clone());
    }
    let object = match value {
        Some(value) => value::to_python(py, value)?,
        None => py.None().into_bound(py),
    };
    let kept = cell.get_or_init(|| object.unbind());
    Ok(kept.bind(py).clone())
}

/// id, media, output, is a sequence, unbounded, meta.
type Info<'py> = (Option<String>, String, Option<String>, bool, bool, Option<Bound<'py, PyAny>>);

fn info<'py>(py: Python<'py>, info: &StreamInfo) -> PyResult<Info<'py>> {
    let meta = info.meta.as_ref().map(|meta| value::to_python(py, meta)).transpose()?;
    Ok((
        info.id.clone(),
        info.media.clone(),
        info.output.clone(),
        info.mode == Mode::Sequence,
        info.unbounded,
        meta,
    ))
}

/// chunks, bytes, window, initial credit, seconds stalled, ended.
type Stats = (u64, u64, u64, u64, f64, bool);

fn stats(stats: &StreamStats) -> Stats {
    (
        stats.chunks,
        stats.bytes,
        stats.window,
        stats.initial_credit,
        stats.stalled.as_secs_f64(),
        stats.ended,
    )
}

/// The core of `sluicegate.InputStream`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct InputStream(Owned<(CoreInput, Arc<Unread>)>);

impl InputStream {
    pub(crate) fn object(py: Python<'_>, stream: CoreInput) -> PyResult<Py<PyAny>> {
        let stream = InputStream(Owned::new((stream, Arc::default())));
        Ok(Py::new(py, stream)?.into_any())
    }

    pub(crate) fn optional(py: Python<'_>, stream: Option<CoreInput>) -> PyResult<Py<PyAny>> {
        stream.map_or_else(|| Ok(py.None()), |stream| InputStream::object(py, stream))
    }

    pub(crate) fn parts(&self) -> PyResult<&(CoreInput, Arc<Unread>)> {
        self.0.get()
    }

    fn core(&self) -> PyResult<&CoreInput> {
        Ok(&self.0.get()?.0)
    }
}

#[pymethods]
impl InputStream {
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Info<'py>> {
        info(py, self.core()?.info())
    }

    #[getter]
    fn stats(&self) -> PyResult<Stats> {
        Ok(stats(&self.core()?.stats()))
    }

    /// The next item; answers None at the clean end.
    fn recv(&self) -> PyResult<Op> {
        let (stream, unread) = self.0.get()?;
        let back = Arc::clone(unread);
        Ok(Op::with_undo(
            unread::recv(stream, unread),
            |py, item| item.map_or_else(|| Ok(py.None()), |item| Item::object(py, item)),
            move |item| {
                if let Some(item) = item {
                    back.put_back(item);
                }
            },
        ))
    }

    /// The next item if it is there, else None; raises EndOfStream at the clean end.
    fn try_recv(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let (stream, unread) = self.0.get()?;
        if let Some(item) = unread.take() {
            return Item::object(py, item);
        }
        match stream.try_recv().map_err(|error| errors::raise(&error))? {
            TryRecv::Item(item) => Item::object(py, item),
            TryRecv::Wait => Ok(py.None()),
            TryRecv::End => Err(errors::raise(&Error::from(ErrorKind::EndOfStream))),
        }
    }

    /// The rest as bytes.
    fn collect_bytes(&self) -> PyResult<Op> {
        self.collect(CoreInput::collect_bytes, |py, early, rest: Vec<u8>| {
            let mut all = Vec::new();
            for item in early {
                all.extend_from_slice(item.value.as_bytes().ok_or_else(|| wrong("bytes", &item))?);
            }
            all.extend_from_slice(&rest);
            Ok(buffer::copied(py, if all.len() == rest.len() { &rest } else { &all })?
                .into_any()
                .unbind())
        })
    }

    /// The rest as one text.
    fn collect_text(&self) -> PyResult<Op> {
        self.collect(CoreInput::collect_text, |py, early, rest: String| {
            let mut all = String::new();
            for item in early {
                all.push_str(item.value.as_text().ok_or_else(|| wrong("text", &item))?);
            }
            Ok((all + &rest).into_pyobject(py)?.into_any().unbind())
        })
    }

    /// The rest as a list of items.
    fn collect_items(&self) -> PyResult<Op> {
        self.collect(CoreInput::collect_items, |py, early, rest: Vec<CoreItem>| {
            let items = early.into_iter().chain(rest).map(Item::new);
            Ok(items.collect::<Vec<_>>().into_pyobject(py)?.into_any().unbind())
        })
    }

    /// Ends it unless it has ended so many seconds from now; None is no limit.
    #[pyo3(signature = (seconds, /))]
    fn limit(&self, seconds: Option<f64>) -> PyResult<()> {
        self.core()?.limit(number::limit(seconds)).map_err(|error| errors::raise(&error))
    }

    /// Stops reading.
    fn cancel(&self) -> PyResult<()> {
        self.core()?.cancel();
        Ok(())
    }
}

impl InputStream {
    /// Collects what is still to come, behind the items that were given back.
    fn collect<T: Send + 'static, F>(
        &self,
        rest: fn(&CoreInput) -> F,
        join: fn(Python<'_>, Vec<CoreItem>, T) -> PyResult<Py<PyAny>>,
    ) -> PyResult<Op>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let (stream, unread) = self.0.get()?;
        let (rest, unread) = (rest(stream), Arc::clone(unread));
        let future = async move {
            let rest = rest.await?;
            Ok((std::iter::from_fn(|| unread.take()).collect(), rest))
        };
        Ok(Op::new(future, move |py, (early, rest)| join(py, early, rest)))
    }
}

fn wrong(wanted: &str, item: &CoreItem) -> PyErr {
    let message = format!("a stream of {wanted} was expected, {} came", item.value.kind());
    errors::raise(&Error::new(ErrorKind::WrongMode, message))
}

/// The core of `sluicegate.OutputStream`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct OutputStream(Owned<CoreOutput>);

impl OutputStream {
    pub(crate) fn new(stream: CoreOutput) -> Self {
        OutputStream(Owned::new(stream))
    }

    pub(crate) fn core(&self) -> PyResult<&CoreOutput> {
        self.0.get()
    }
}

fn done(future: impl Future<Output = Result<(), Error>> + Send + 'static) -> Op {
    Op::new(future, |py, ()| Ok(py.None()))
}

#[pymethods]
impl OutputStream {
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Info<'py>> {
        info(py, &self.0.get()?.info())
    }

    #[getter]
    fn stats(&self) -> PyResult<Stats> {
        Ok(stats(&self.0.get()?.stats()))
    }

    /// Opens the stream; never waits.
    #[pyo3(signature = (sequence, unbounded, meta, /))]
    fn start(
        &self,
        sequence: bool,
        unbounded: bool,
        meta: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mode = if sequence { Mode::Sequence } else { Mode::Scalar };
        let options = StartOptions { mode, unbounded, meta: value::meta_from(meta)? };
        self.0.get()?.start(options).map_err(|error| errors::raise(&error))
    }

    /// Ends it unless it has ended so many seconds from now; None is no limit.
    #[pyo3(signature = (seconds, /))]
    fn limit(&self, seconds: Option<f64>) -> PyResult<()> {
        self.0.get()?.limit(number::limit(seconds)).map_err(|error| errors::raise(&error))
    }

    #[pyo3(signature = (data, /))]
    fn write(&self, data: &Bound<'_, PyAny>) -> PyResult<Op> {
        let stream = self.0.get()?;
        lent(data, |bytes| stream.write(bytes))
    }

    #[pyo3(signature = (value, /))]
    fn emit(&self, value: &Bound<'_, PyAny>) -> PyResult<Op> {
        let stream = self.0.get()?;
        if value.is_instance_of::<PyBytes>() {
            return lent(value, |bytes| stream.write(bytes));
        }
        Ok(done(stream.emit(value::from_python(value)?)))
    }

    #[pyo3(signature = (value, meta, /))]
    fn emit_item(&self, value: &Bound<'_, PyAny>, meta: Option<&Bound<'_, PyAny>>) -> PyResult<Op> {
        let stream = self.0.get()?;
        Ok(done(stream.emit_list_item(value::from_python(value)?, value::meta_from(meta)?)))
    }

    fn flush(&self) -> PyResult<Op> {
        Ok(done(self.0.get()?.flush()))
    }

    fn close(&self) -> PyResult<Op> {
        Ok(done(self.0.get()?.close()))
    }

    pub(crate) fn sender(&self) -> PyResult<StreamSender> {
        Ok(StreamSender(Owned::new(self.0.get()?.sender())))
    }
}

/// A write of a buffer that is lent until the operation is over.
fn lent<F>(data: &Bound<'_, PyAny>, write: impl FnOnce(bytes::Bytes) -> F) -> PyResult<Op>
where
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    let (bytes, keep) = buffer::lend(data)?;
    Ok(Op::new(write(bytes), move |py, ()| {
        drop(keep);
        Ok(py.None())
    }))
}

/// The core of `sluicegate.StreamSender`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct StreamSender(Owned<CoreSender>);

#[pymethods]
impl StreamSender {
    #[pyo3(signature = (data, /))]
    fn write(&self, data: &Bound<'_, PyAny>) -> PyResult<Op> {
        let sender = self.0.get()?;
        lent(data, |bytes| sender.write(bytes))
    }

    #[pyo3(signature = (value, /))]
    fn emit(&self, value: &Bound<'_, PyAny>) -> PyResult<Op> {
        let sender = self.0.get()?;
        if value.is_instance_of::<PyBytes>() {
            return lent(value, |bytes| sender.write(bytes));
        }
        Ok(done(sender.emit(value::from_python(value)?)))
    }

    #[pyo3(signature = (value, meta, /))]
    fn emit_item(&self, value: &Bound<'_, PyAny>, meta: Option<&Bound<'_, PyAny>>) -> PyResult<Op> {
        let sender = self.0.get()?;
        Ok(done(sender.emit_list_item(value::from_python(value)?, value::meta_from(meta)?)))
    }

    fn flush(&self) -> PyResult<Op> {
        Ok(done(self.0.get()?.flush()))
    }
}
