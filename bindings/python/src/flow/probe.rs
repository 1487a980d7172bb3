//! The subscriber that a test plays.

use pyo3::prelude::*;
use sluicegate::flow::{Subscriber, SubscriberEvent};

use super::element::Element;
use crate::attach;
use crate::errors;
use crate::fork::Owned;
use crate::number::Count;
use crate::op::Op;

/// The core of `sluicegate.flow.testkit.Subscriber`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowSubscriber(Owned<Subscriber<Element>>);

impl FlowSubscriber {
    pub(super) fn new(probe: Subscriber<Element>) -> Self {
        FlowSubscriber(Owned::new(probe))
    }
}

#[pymethods]
impl FlowSubscriber {
    /// False once a terminal was taken.
    #[pyo3(signature = (n, /))]
    fn request(&self, py: Python<'_>, n: Count) -> PyResult<bool> {
        let probe = self.0.get()?;
        Ok(attach::detach(py, || probe.try_request(n.0)))
    }

    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let probe = self.0.get()?;
        attach::detach(py, || probe.cancel());
        Ok(())
    }

    /// Answers ("next", element), ("complete", None) or ("error", exception).
    fn event(&self) -> PyResult<Op> {
        let event = self.0.get()?.event();
        Ok(Op::new(async move { Ok(event.await) }, |py, event| {
            let (what, with) = match event {
                SubscriberEvent::Next(element) => ("next", element.object(py)),
                SubscriberEvent::Complete => ("complete", py.None()),
                SubscriberEvent::Error(error) => ("error", errors::exception(py, &error)?.unbind()),
            };
            Ok((what, with).into_pyobject(py)?.into_any().unbind())
        }))
    }
}
