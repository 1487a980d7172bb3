//! Python glue over the core: thin classes, one generic waiting operation, one notifier thread.
//!
//! | file | what it holds |
//! |---|---|
//! | `fork` | handles that know the process they were made in |
//! | `attach` | how a thread leaves the interpreter and comes back, also while it is ending |
//! | `bell` | wakers: a core thread posts, the one notifier thread calls into Python |
//! | `op` | one waiting operation, polled from Python |
//! | `errors`, `number`, `value`, `buffer` | conversions |
//! | `gate`, `window`, `router` | credit |
//!
//! Nothing here decides or waits. No core thread ever takes the interpreter lock.

mod attach;
mod bell;
mod errors;
mod fork;
mod gate;
mod number;
mod op;
mod router;
mod window;

use pyo3::prelude::*;

/// The native half of `sluicegate`. Not a public module: import `sluicegate`.
#[pymodule(gil_used = false)]
mod _core {
    use super::Bound;
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::bell::Bell;
    #[pymodule_export]
    use super::errors::error_kinds;
    #[pymodule_export]
    use super::gate::Gate;
    #[pymodule_export]
    use super::op::Op;
    #[pymodule_export]
    use super::router::Router;
    #[pymodule_export]
    use super::window::{Window, negotiate};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::fork::watch();
        super::attach::watch_exit(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
