//! A Python object in the hands of the core: released exactly once, inside the interpreter.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use pyo3::prelude::*;

use crate::attach;

/// An element. Clones are the same object, and need no interpreter.
#[derive(Clone)]
pub(crate) struct Element(Arc<Held>);

struct Held {
    object: ManuallyDrop<Py<PyAny>>,
    size: u64,
}

impl Element {
    /// An element with a number: its bytes in an edge that is limited in bytes, or its branch.
    pub(crate) fn sized(object: Py<PyAny>, size: u64) -> Self {
        Element(Arc::new(Held { object: ManuallyDrop::new(object), size }))
    }

    pub(crate) fn size(&self) -> u64 {
        self.0.size
    }

    pub(crate) fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.0.object.bind(py)
    }

    /// The object.
    pub(crate) fn object(&self, py: Python<'_>) -> Py<PyAny> {
        self.0.object.clone_ref(py)
    }
}

impl From<Py<PyAny>> for Element {
    fn from(object: Py<PyAny>) -> Self {
        Self::sized(object, 0)
    }
}

impl From<Bound<'_, PyAny>> for Element {
    fn from(object: Bound<'_, PyAny>) -> Self {
        object.unbind().into()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Leaked if the interpreter is ending.
        attach::enter(|_| {
            // SAFETY: dropped here only, once.
            unsafe { ManuallyDrop::drop(&mut self.object) };
        });
    }
}
