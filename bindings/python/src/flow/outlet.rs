//! The end of a pipeline that is read by hand.

use std::sync::Arc;

use pyo3::prelude::*;
use sluicegate::flow::Outlet;

use super::element::Element;
use crate::attach;
use crate::fork::Owned;
use crate::op::Op;
use crate::unread::{self, Unread};

/// The core of `sluicegate.flow.Outlet`.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowOutlet(Owned<(Outlet<Element>, Arc<Unread<Element>>)>);

impl FlowOutlet {
    pub(super) fn new(outlet: Outlet<Element>) -> Self {
        FlowOutlet(Owned::new((outlet, Arc::default())))
    }
}

#[pymethods]
impl FlowOutlet {
    /// Answers the next element in a tuple, or None at the end.
    fn recv(&self) -> PyResult<Op> {
        let (outlet, unread) = self.0.get()?;
        let back = Arc::clone(unread);
        Ok(Op::with_undo(
            unread::first(outlet.recv(), unread),
            |py, element| match element {
                None => Ok(py.None()),
                Some(element) => Ok((element.bind(py),).into_pyobject(py)?.into_any().unbind()),
            },
            move |element| {
                if let Some(element) = element {
                    back.put_back(element);
                }
            },
        ))
    }

    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let (outlet, unread) = self.0.get()?;
        attach::detach(py, || {
            outlet.cancel();
            while unread.take().is_some() {}
        });
        Ok(())
    }

    #[getter]
    fn held(&self, py: Python<'_>) -> PyResult<u64> {
        let (outlet, _) = self.0.get()?;
        Ok(attach::detach(py, || outlet.held()))
    }
}
