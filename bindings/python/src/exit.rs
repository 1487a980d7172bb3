//! The end of the interpreter.

use pyo3::prelude::*;

use crate::{attach, bell};

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
