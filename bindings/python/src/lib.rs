//! Python glue over the core: thin classes, one generic waiting operation, one notifier thread.
//!
//! | file | what it holds |
//! |---|---|
//! | `process`, `fork` | which process this is; handles that know the one they were made in |
//! | `signals` | threads that take no signals |
//! | `attach` | how a thread leaves the interpreter and comes back, also while it is ending |
//! | `bell` | wakers: a core thread posts, the one notifier thread calls into Python |
//! | `exit` | the end of the interpreter |
//! | `object` | Python objects in the hands of the core |
//! | `sync` | locks that survive a fork |
//! | `op` | one waiting operation, polled from Python |
//! | `errors`, `number`, `value`, `buffer`, `transport` | conversions |
//! | `gate`, `window`, `router` | credit |
//! | `stream`, `unread` | streams; items that were given back |
//! | `request`, `call`, `engine` | the two ends of a call |
//! | `feed` | live sources |
//! | `report`, `notices`, `relay` | what a process says of itself; switches and hosts |
//! | `flow` | streams of Python objects between stages |
//!
//! Nothing here decides or waits. No core thread takes the interpreter lock but those of a flow's scope,
//! to call the functions of its stages and to let go of elements.

mod attach;
mod bell;
mod buffer;
mod call;
mod engine;
mod errors;
mod exit;
mod feed;
mod flow;
mod fork;
mod gate;
mod notices;
mod number;
mod object;
mod op;
mod process;
mod relay;
mod report;
mod request;
mod router;
mod signals;
mod stream;
mod sync;
mod transport;
mod unread;
mod value;
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
    use super::call::Call;
    #[pymodule_export]
    use super::engine::{Engine, Peer, forward};
    #[pymodule_export]
    use super::errors::error_kinds;
    #[pymodule_export]
    use super::exit::keep_for_good;
    #[pymodule_export]
    use super::feed::Feed;
    #[pymodule_export]
    use super::flow::{
        FlowCompletion, FlowGraph, FlowHub, FlowManual, FlowMergeHub, FlowOutlet, FlowPromise,
        FlowScope, FlowShuffle, FlowSink, FlowSource, FlowStage, FlowSubscriber, FlowSwitch,
        edge_check, faulty_link, fork_seed,
    };
    #[pymodule_export]
    use super::gate::Gate;
    #[pymodule_export]
    use super::notices::Losses;
    #[pymodule_export]
    use super::op::Op;
    #[pymodule_export]
    use super::relay::{Host, Switch, connect};
    #[pymodule_export]
    use super::report::{Control, ask, explanation_of, explanation_text, trace};
    #[pymodule_export]
    use super::request::{Request, Session, manifest};
    #[pymodule_export]
    use super::router::Router;
    #[pymodule_export]
    use super::stream::{InputStream, Item, OutputStream, StreamSender};
    #[pymodule_export]
    use super::transport::default_limits;
    #[pymodule_export]
    use super::window::{Window, negotiate};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::exit::first_interpreter_only(module.py())?;
        super::process::watch();
        super::exit::watch(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
