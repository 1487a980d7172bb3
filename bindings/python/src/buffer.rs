//! Bytes in and out: buffers are lent in without a copy, and views out pin their chunk.

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

use bytes::Bytes;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::attach;

/// From so many bytes on, copying lets other threads run.
const MUCH: usize = 256 * 1024;

/// Received bytes where they lie. Gives read-only views, each of which keeps the bytes alive.
#[pyclass(frozen, module = "sluicegate._core")]
struct Chunk(Bytes);

#[pymethods]
impl Chunk {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// # Safety
    /// Called by the interpreter only, with a view to fill.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill"));
        }
        let bytes = &slf.get().0;
        let length =
            isize::try_from(bytes.len()).map_err(|_| PyBufferError::new_err("too long"))?;
        let start = bytes.as_ptr().cast_mut().cast();
        // SAFETY: the bytes do not move or change while `slf` lives, and the view holds `slf`. The
        // view is read-only, so nobody writes through the pointer.
        let failed = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, length, 1, flags) };
        if failed == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// A read-only view of `bytes`, without a copy.
pub(crate) fn view<'py>(py: Python<'py>, bytes: &Bytes) -> PyResult<Bound<'py, PyMemoryView>> {
    PyMemoryView::from(Bound::new(py, Chunk(bytes.clone()))?.as_any())
}

/// A `bytes` object with a copy of `data`.
pub(crate) fn copied<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    if data.len() < MUCH {
        return Ok(PyBytes::new(py, data));
    }
    let length = isize::try_from(data.len()).map_err(|_| PyBufferError::new_err("too long"))?;
    // SAFETY: without data to copy, the interpreter makes an object of `length` bytes to be filled by
    // its only owner; a null is turned into the exception that is set then.
    let object = unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(ptr::null(), length))?
    };
    // SAFETY: `object` is a `bytes`.
    let target = unsafe { ffi::PyBytes_AsString(object.as_ptr()) } as usize;
    attach::detach(py, || {
        // SAFETY: the object has room for `length` bytes, nobody else has seen it yet, and it is
        // held until after the copy.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), target as *mut u8, data.len()) }
    });
    Ok(object.cast_into::<PyBytes>()?)
}

/// A copy of what a bytes-like object holds; `None` if it is none.
pub(crate) fn copy_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Bytes>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Some(Bytes::copy_from_slice(bytes.as_bytes())));
    }
    match PyUntypedBuffer::get(object) {
        Err(_) => Ok(None),
        Ok(buffer) => Ok(Some(Bytes::copy_from_slice(Lent(buffer).checked()?.as_ref()))),
    }
}

/// Keeps a lent buffer, until it is dropped by a thread that is attached.
pub(crate) struct Keep(#[expect(dead_code, reason = "held, not read")] Arc<Lent>);

/// The bytes of a bytes-like object, without a copy: whoever lends them must leave them alone until
/// the call that takes them is over. What is returned beside them must be dropped last.
pub(crate) fn lend(object: &Bound<'_, PyAny>) -> PyResult<(Bytes, Keep)> {
    let buffer = PyUntypedBuffer::get(object).map_err(|_| {
        let name = object.get_type().name().map_or_else(|_| "?".into(), |n| n.to_string());
        PyTypeError::new_err(format!("a bytes-like object is needed, not {name}"))
    })?;
    let lent = Arc::new(Lent(buffer).checked()?);
    let bytes = Bytes::from_owner(Shared(Arc::clone(&lent)));
    Ok((bytes, Keep(lent)))
}

struct Lent(PyUntypedBuffer);

impl Lent {
    fn checked(self) -> PyResult<Self> {
        if self.0.is_c_contiguous() {
            Ok(self)
        } else {
            Err(PyBufferError::new_err("the buffer must be contiguous"))
        }
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        if self.0.len_bytes() == 0 {
            return &[];
        }
        // SAFETY: the exporter keeps so many contiguous bytes in place until the buffer is released,
        // and whoever lent them leaves them alone meanwhile, as with every call that takes a buffer
        // without the interpreter lock (`socket.send`, `zlib.compress`).
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast(), self.0.len_bytes()) }
    }
}

struct Shared(Arc<Lent>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}
