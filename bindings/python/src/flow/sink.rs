//! Where elements go.

use pyo3::prelude::*;
use sluicegate::flow::{Completion, Flow, Sink as CoreSink};

use super::blueprint::{Edge, Sink, changer, edge, materialise};
use super::completion::{self, FlowCompletion};
use super::element::{Element, Function, as_list};
use super::outlet::FlowOutlet;
use super::probe::FlowSubscriber;
use super::source::refused;
use crate::fork::Owned;

/// The core of `sluicegate.flow.Sink`, made anew for each run.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowSink(pub(super) Owned<Sink>);

impl FlowSink {
    pub(super) fn of(sink: Sink) -> Self {
        FlowSink(Owned::new(sink))
    }

    /// A sink whose value is what `convert` makes of the core's.
    fn settled<T: Clone + Send + 'static>(
        sink: &CoreSink<Element, Completion<T>>,
        convert: completion::Convert<T>,
    ) -> Self {
        Self::of(sink.map_mat(move |end| materialise(FlowCompletion::new(end, convert))))
    }
}

#[pymethods]
impl FlowSink {
    #[staticmethod]
    fn collect() -> Self {
        Self::settled(&CoreSink::collect(), |py, all: Vec<Element>| as_list(py, &all))
    }

    #[staticmethod]
    #[pyo3(signature = (first, function, /))]
    fn fold(first: Py<PyAny>, function: Function) -> Self {
        let first = Element::from(first);
        let fold = Flow::try_fold(first, move |state, input| function.map2(state, input));
        Self::settled(&fold.to(CoreSink::last()), completion::optional)
    }

    #[staticmethod]
    #[pyo3(signature = (function, /))]
    fn foreach(function: Function) -> Self {
        let each = CoreSink::try_foreach(move |element| function.look(&element));
        Self::settled(&each, |py, ()| Ok(py.None()))
    }

    #[staticmethod]
    fn ignore() -> Self {
        Self::settled(&CoreSink::ignore(), |py, ()| Ok(py.None()))
    }

    #[staticmethod]
    fn first() -> Self {
        Self::settled(&CoreSink::first(), completion::optional)
    }

    #[staticmethod]
    fn last() -> Self {
        Self::settled(&CoreSink::last(), completion::optional)
    }

    #[staticmethod]
    #[pyo3(signature = (edge, /))]
    fn outlet(edge: Edge) -> PyResult<Self> {
        let outlet = CoreSink::outlet(self::edge(edge).map_err(refused)?);
        Ok(Self::of(outlet.map_mat(|outlet| materialise(FlowOutlet::new(outlet)))))
    }

    #[staticmethod]
    fn probe() -> Self {
        Self::of(CoreSink::probe().map_mat(|probe| materialise(FlowSubscriber::new(probe))))
    }

    #[pyo3(signature = (function, /))]
    fn map_mat(&self, function: Function) -> PyResult<Self> {
        Ok(Self::of(self.0.get()?.map_mat(changer(function))))
    }

    #[pyo3(signature = (name, /))]
    fn named(&self, name: String) -> PyResult<Self> {
        Ok(Self::of(self.0.get()?.named(name)))
    }
}
