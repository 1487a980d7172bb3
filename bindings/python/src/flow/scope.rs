//! The core of `sluicegate.flow.Scope`.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use sluicegate::flow::{Clock, Scope};
use sluicegate::link::offload;
use sluicegate::{Error, ErrorKind};

use super::element::in_function;
use crate::attach;
use crate::engine::Engine;
use crate::errors;
use crate::fork::Owned;
use crate::op::Op;
use crate::signals;
use crate::sync::Mutex;

/// name, downstream, upstream, held, passed, late, lost.
type StageRow = (String, u64, u64, u64, u64, u64, u64);

/// The core of `sluicegate.flow.Scope`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowScope(Owned<Mutex<Option<Arc<Scope>>>>);

pub(super) fn seconds(given: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(given).map_err(|error| {
        let message = format!("{given} seconds: {error}");
        errors::raise(&Error::new(ErrorKind::InvalidArgument, message))
    })
}

#[pymethods]
impl FlowScope {
    /// With a seed it has no threads; else it has, and perhaps a clock that is moved by hand.
    #[new]
    #[pyo3(signature = (name, seed, by_hand, /))]
    fn new(name: String, seed: Option<u64>, by_hand: bool) -> PyResult<Self> {
        let scope = match (seed, by_hand) {
            (Some(seed), _) => Ok(Scope::stepped(name, seed)),
            (None, true) => Scope::with_clock(name, Clock::hand()),
            (None, false) => Scope::new(name),
        };
        let scope = scope.map_err(|error| errors::raise(&error))?;
        Ok(FlowScope(Owned::new(Mutex::new(Some(Arc::new(scope))))))
    }

    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.core()?.name().to_owned())
    }

    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<f64> {
        let scope = self.core()?;
        Ok(attach::detach(py, || scope.clock().now().as_secs_f64()))
    }

    #[getter]
    fn running(&self, py: Python<'_>) -> PyResult<usize> {
        let scope = self.core()?;
        Ok(attach::detach(py, || scope.running()))
    }

    fn settle(&self, py: Python<'_>) -> PyResult<u64> {
        let scope = self.core()?;
        Ok(attach::detach(py, || scope.settle()))
    }

    #[pyo3(signature = (by, /))]
    fn advance(&self, py: Python<'_>, by: f64) -> PyResult<bool> {
        let (scope, by) = (self.core()?, seconds(by)?);
        Ok(attach::detach(py, || scope.advance(by)))
    }

    fn stages(&self, py: Python<'_>) -> PyResult<Vec<StageRow>> {
        let scope = self.core()?;
        Ok(attach::detach(py, || {
            let row = |view: &Arc<sluicegate::flow::StageView>| {
                let demand = view.demand();
                (
                    view.name().to_owned(),
                    demand.downstream,
                    demand.upstream,
                    demand.held,
                    view.passed(),
                    view.late(),
                    view.lost(),
                )
            };
            scope.stages().iter().map(row).collect()
        }))
    }

    /// Who waits for whom: in words, or as JSON.
    #[pyo3(signature = (as_json, /))]
    fn explain(&self, py: Python<'_>, as_json: bool) -> PyResult<String> {
        let scope = self.core()?;
        Ok(attach::detach(py, || {
            let explanation = scope.explain();
            if as_json { explanation.to_json().to_string() } else { explanation.to_string() }
        }))
    }

    /// Has an engine tell of this scope's stages too.
    #[pyo3(signature = (engine, /))]
    fn tell(&self, engine: &Engine) -> PyResult<()> {
        self.core()?.tell(engine.core()?);
        Ok(())
    }

    /// Stops everything; answers when all of it has stopped, and only then if that is to be waited for
    /// `here`: while the interpreter ends, it may start no thread that would tell later.
    #[pyo3(signature = (limit, here, /))]
    fn shutdown(&self, py: Python<'_>, limit: f64, here: bool) -> PyResult<Op> {
        let limit = if limit == f64::INFINITY { Duration::MAX } else { seconds(limit)? };
        let scope = self.core()?;
        let stop = move || scope.shutdown(limit);
        let stopped: Result<(), Error> = if here || in_function() {
            // A function of a stage shuts its own scope down: nobody can wait for it to return.
            attach::detach(py, stop)
        } else {
            let stopped = offload("scope", stop);
            return Ok(Op::new(stopped, |py, ()| Ok(py.None())));
        };
        Ok(Op::new(std::future::ready(stopped), |py, ()| Ok(py.None())))
    }
}

impl FlowScope {
    pub(super) fn core(&self) -> PyResult<Arc<Scope>> {
        self.0.get()?.lock().clone().ok_or_else(|| {
            errors::raise(&Error::new(ErrorKind::ScopeShutDown, "the scope is gone"))
        })
    }
}

impl Drop for FlowScope {
    fn drop(&mut self) {
        // Stopping waits for functions of the user, which may be the ones that let go of it.
        let Some(scope) = self.0.if_ours().and_then(|scope| scope.lock().take()) else { return };
        let _stops_by_itself = thread::Builder::new().name("sluicegate-scope".into()).spawn(|| {
            signals::take_no_signals();
            drop(scope);
        });
    }
}
