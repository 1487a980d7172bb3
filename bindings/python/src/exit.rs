//! The interpreter that this library is in, and its end.

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::{attach, bell};

/// Refuses an interpreter that is not the first of the process: what this library keeps of the process,
/// the notifier above all, belongs to one.
pub(crate) fn first_interpreter_only(_: Python<'_>) -> PyResult<()> {
    // SAFETY: the thread is inside an interpreter.
    let number = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if number == 0 {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "sluicegate works in the main interpreter only, not in a subinterpreter",
    ))
}

/// Arranges that the notifier thread stops before the interpreter ends.
pub(crate) fn watch(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let end = wrap_pyfunction!(end_of_interpreter, module)?;
    module.py().import("atexit")?.call_method1("register", (end,))?;
    Ok(())
}

/// Stops the notifier thread and lets nobody else in.
#[pyfunction]
fn end_of_interpreter(py: Python<'_>) {
    py.detach(|| attach::close(bell::stop));
}

/// Never lets go of `object`: not when the interpreter ends either.
#[pyfunction]
#[pyo3(signature = (object, /))]
pub(crate) fn keep_for_good(object: Py<PyAny>) {
    std::mem::forget(object);
}
