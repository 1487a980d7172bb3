//! Controls of the stages that many join or leave, and of the one that ends a run.

use pyo3::prelude::*;
use sluicegate::flow::{HubPolicy, Overflow};
use sluicegate::{Error, ErrorKind};

use super::blueprint::none;
use super::class::{FlowHub, FlowMergeHub, FlowSink, FlowSource, FlowSwitch, refused};
use super::scope::seconds;
use crate::attach;
use crate::errors;
use crate::number::Count;

/// name, demand, held, lost.
type SubscriberRow = (String, u64, u64, u64);

fn policy(number: u8, limit: Option<f64>) -> PyResult<HubPolicy> {
    Ok(match (number, limit) {
        (0, None) => HubPolicy::Wait,
        (0, Some(limit)) => HubPolicy::WaitAtMost(seconds(limit)?),
        (1, _) => HubPolicy::Drop(Overflow::DropHead),
        (2, _) => HubPolicy::Drop(Overflow::DropTail),
        (3, _) => HubPolicy::Drop(Overflow::DropNew),
        (4, _) => HubPolicy::Drop(Overflow::DropBuffer),
        (5, _) => HubPolicy::Disconnect,
        _ => return Err(refused(Error::new(ErrorKind::InvalidArgument, "no policy of a hub"))),
    })
}

#[pymethods]
impl FlowHub {
    /// A source that runs once.
    #[pyo3(signature = (policy, limit, capacity, /))]
    fn subscribe(&self, policy: u8, limit: Option<f64>, capacity: Count) -> PyResult<FlowSource> {
        let source = self.0.get()?.subscribe_with(self::policy(policy, limit)?, capacity.0);
        Ok(FlowSource::of(source.map_err(refused)?.map_mat(|_| none())))
    }

    fn subscribers(&self, py: Python<'_>) -> PyResult<Vec<SubscriberRow>> {
        let hub = self.0.get()?;
        let all = attach::detach(py, || hub.subscribers());
        Ok(all.into_iter().map(|one| (one.name, one.demand, one.held, one.lost)).collect())
    }

    #[getter]
    fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        let hub = self.0.get()?;
        Ok(attach::detach(py, || hub.is_over()))
    }
}

#[pymethods]
impl FlowMergeHub {
    fn sink(&self) -> PyResult<FlowSink> {
        Ok(FlowSink::of(self.0.get()?.sink().map_mat(|_| none())))
    }

    fn complete(&self, py: Python<'_>) -> PyResult<()> {
        let hub = self.0.get()?;
        attach::detach(py, || hub.complete());
        Ok(())
    }

    #[getter]
    fn failures(&self, py: Python<'_>) -> PyResult<u64> {
        let hub = self.0.get()?;
        Ok(attach::detach(py, || hub.failures()))
    }

    #[getter]
    fn last_failure<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let hub = self.0.get()?;
        let last = attach::detach(py, || hub.last_failure());
        last.map(|error| errors::exception(py, &error)).transpose()
    }
}

#[pymethods]
impl FlowSwitch {
    /// False if that was done before.
    #[pyo3(signature = (reason, /))]
    fn cancel(&self, py: Python<'_>, reason: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let (switch, reason) = (self.0.get()?, reason.map(errors::failure));
        Ok(attach::detach(py, || match reason {
            None => switch.cancel(),
            Some(reason) => switch.cancel_with(reason),
        }))
    }
}
