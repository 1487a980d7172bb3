//! What stands between a source and a sink.

use pyo3::prelude::*;
use sluicegate::flow::{Flow as CoreFlow, NotUsed};

use super::blueprint::{Edge, Flow, Keep, changer, combiner, edge, none};
use super::element::{Element, Function, inside};
use super::sink::FlowSink;
use super::source::refused;
use crate::fork::Owned;
use crate::number::Count;

/// The core of `sluicegate.flow.Flow`, made anew for each run.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowStage(pub(super) Owned<Flow>);

impl FlowStage {
    pub(super) fn of(flow: Flow) -> Self {
        FlowStage(Owned::new(flow))
    }

    pub(super) fn plain(flow: &CoreFlow<Element, Element, NotUsed>) -> Self {
        Self::of(flow.map_mat(|_| none()))
    }
}

#[pymethods]
impl FlowStage {
    #[staticmethod]
    #[pyo3(signature = (function, /))]
    fn map(function: Function) -> Self {
        Self::plain(&CoreFlow::try_map(move |input| function.map(input)))
    }

    #[staticmethod]
    #[pyo3(signature = (look, /))]
    fn tap(look: Function) -> Self {
        let tap = CoreFlow::try_map(move |input| look.look(&input).map(|()| input));
        Self::plain(&tap.named("tap"))
    }

    #[staticmethod]
    #[pyo3(signature = (passes, /))]
    fn filter(passes: Function) -> Self {
        Self::plain(&CoreFlow::try_filter(move |input| passes.test(input)))
    }

    /// What `function` answers None for is dropped.
    #[staticmethod]
    #[pyo3(signature = (function, /))]
    fn filter_map(function: Function) -> Self {
        Self::plain(&CoreFlow::try_filter_map(move |input: Element| {
            inside(|py| {
                function.call(py, (input.bind(py),), |answer| {
                    Ok((!answer.is_none()).then(|| answer.into()))
                })
            })
        }))
    }

    #[staticmethod]
    #[pyo3(signature = (first, function, /))]
    fn scan(first: Py<PyAny>, function: Function) -> Self {
        let first = Element::from(first);
        Self::plain(&CoreFlow::try_scan(first, move |state, input| function.map2(state, input)))
    }

    #[staticmethod]
    #[pyo3(signature = (first, function, /))]
    fn fold(first: Py<PyAny>, function: Function) -> Self {
        let first = Element::from(first);
        Self::plain(&CoreFlow::try_fold(first, move |state, input| function.map2(state, input)))
    }

    #[staticmethod]
    #[pyo3(signature = (n, /))]
    fn take(n: Count) -> Self {
        Self::plain(&CoreFlow::take(n.0))
    }

    #[staticmethod]
    #[pyo3(signature = (n, /))]
    fn drop(n: Count) -> Self {
        Self::plain(&CoreFlow::drop(n.0))
    }

    #[staticmethod]
    #[pyo3(signature = (passes, /))]
    fn take_while(passes: Function) -> Self {
        Self::plain(&CoreFlow::try_take_while(move |input| passes.test(input)))
    }

    #[staticmethod]
    #[pyo3(signature = (skips, /))]
    fn drop_while(skips: Function) -> Self {
        Self::plain(&CoreFlow::try_drop_while(move |input| skips.test(input)))
    }

    /// A boundary; `size` tells the bytes of an element.
    #[staticmethod]
    #[pyo3(signature = (edge, size, /))]
    fn buffer(edge: Edge, size: Option<Function>) -> PyResult<Self> {
        let buffer = CoreFlow::buffer_sized(self::edge(edge).map_err(refused)?, Element::size);
        let Some(size) = size else { return Ok(Self::plain(&buffer)) };
        let sized = CoreFlow::try_map(move |input: Element| {
            inside(|py| {
                let bytes = size.call(py, (input.bind(py),), |bytes| bytes.extract::<Count>())?;
                Ok(Element::sized(input.object(py), bytes.0))
            })
        });
        Ok(Self::plain(&sized.named("size").via(buffer)))
    }

    #[pyo3(signature = (flow, keep, /))]
    fn via(&self, flow: &FlowStage, keep: Keep) -> PyResult<Self> {
        let flow = flow.0.get()?.clone();
        Ok(Self::of(self.0.get()?.via_mat(flow, combiner(keep))))
    }

    #[pyo3(signature = (sink, keep, /))]
    fn to(&self, sink: &FlowSink, keep: Keep) -> PyResult<FlowSink> {
        let sink = sink.0.get()?.clone();
        Ok(FlowSink::of(self.0.get()?.to_mat(sink, combiner(keep))))
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
