//! Where elements come from.

use pyo3::prelude::*;
use pyo3::types::PyIterator;
use sluicegate::Error;
use sluicegate::flow::{NotUsed, Source as CoreSource};

use super::blueprint::{Edge, FlowGraph, Keep, Source, changer, combiner, edge, materialise, none};
use super::element::{Element, Function, inside};
use super::manual::FlowManual;
use super::sink::FlowSink;
use super::stage::FlowStage;
use crate::errors;
use crate::fork::Owned;

/// The core of `sluicegate.flow.Source`, made anew for each run.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowSource(pub(super) Owned<Source>);

impl FlowSource {
    pub(super) fn of(source: Source) -> Self {
        FlowSource(Owned::new(source))
    }

    fn plain(source: &CoreSource<Element, NotUsed>) -> Self {
        Self::of(source.map_mat(|_| none()))
    }
}

pub(super) fn refused(error: Error) -> PyErr {
    errors::raise(&error)
}

#[pymethods]
impl FlowSource {
    /// What the iterators of `items` give; a new one is asked for for each run.
    #[staticmethod]
    #[pyo3(signature = (items, /))]
    fn iter(items: Py<PyAny>) -> Self {
        let items = Element::from(items);
        Self::plain(&CoreSource::try_iter(move || {
            let iterator = inside(|py| Ok(items.bind(py).try_iter()?.into_any().into()))?;
            Ok(Pull(iterator))
        }))
    }

    /// What the iterators that `make` makes give.
    #[staticmethod]
    #[pyo3(signature = (make, /))]
    fn make(make: Function) -> Self {
        Self::plain(&CoreSource::try_iter(move || {
            let iterator =
                inside(|py| make.call(py, (), |it| Ok(it.try_iter()?.into_any().into())))?;
            Ok(Pull(iterator))
        }))
    }

    #[staticmethod]
    fn empty() -> Self {
        Self::plain(&CoreSource::empty())
    }

    #[staticmethod]
    #[pyo3(signature = (error, /))]
    fn failed(error: &Bound<'_, PyAny>) -> Self {
        Self::plain(&CoreSource::failed(errors::failure(error)))
    }

    /// `function` answers a state and an element, or None at the end.
    #[staticmethod]
    #[pyo3(signature = (first, function, /))]
    fn unfold(first: Py<PyAny>, function: Function) -> Self {
        Self::plain(&CoreSource::unfold(Element::from(first), move |state: Element| {
            inside(|py| {
                function.call(py, (state.bind(py),), |answer| {
                    if answer.is_none() {
                        return Ok(None);
                    }
                    let (state, element) = answer.extract::<(Py<PyAny>, Py<PyAny>)>()?;
                    Ok(Some((state.into(), element.into())))
                })
            })
        }))
    }

    /// Fed by hand through the control that it yields.
    #[staticmethod]
    #[pyo3(signature = (edge, /))]
    fn manual(edge: Edge) -> PyResult<Self> {
        let options = self::edge(edge).map_err(refused)?;
        let source = CoreSource::manual_sized(options, Element::size);
        Ok(Self::of(source.map_mat(|manual| materialise(FlowManual::new(manual)))))
    }

    /// Played by a test; without an edge it sends nothing that was not asked for.
    #[staticmethod]
    #[pyo3(signature = (edge, /))]
    fn probe(edge: Option<Edge>) -> PyResult<Self> {
        let source = match edge {
            None => CoreSource::strict_probe(),
            Some(edge) => CoreSource::probe(self::edge(edge).map_err(refused)?),
        };
        let control = |probe: sluicegate::flow::Publisher<Element>| {
            materialise(FlowManual::new(probe.control().clone()))
        };
        Ok(Self::of(source.map_mat(control)))
    }

    #[pyo3(signature = (flow, keep, /))]
    fn via(&self, flow: &FlowStage, keep: Keep) -> PyResult<Self> {
        let flow = flow.0.get()?.clone();
        Ok(Self::of(self.0.get()?.via_mat(flow, combiner(keep))))
    }

    #[pyo3(signature = (sink, keep, /))]
    fn to(&self, sink: &FlowSink, keep: Keep) -> PyResult<FlowGraph> {
        let sink = sink.0.get()?.clone();
        Ok(FlowGraph(Owned::new(self.0.get()?.to_mat(sink, combiner(keep)))))
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

/// A Python iterator, asked inside the interpreter.
pub(super) struct Pull(pub(super) Element);

impl Iterator for Pull {
    type Item = Result<Element, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        inside(|py| {
            let mut iterator = self.0.bind(py).cast::<PyIterator>()?.clone();
            Ok(iterator.next().transpose()?.map(Element::from))
        })
        .transpose()
    }
}
