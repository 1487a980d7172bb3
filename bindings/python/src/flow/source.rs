//! Where elements come from.

use pyo3::prelude::*;
use sluicegate::Error;
use sluicegate::flow::{Flow, NotUsed, Page, Source as CoreSource};

use super::blueprint::{
    Edge, FlowGraph, Keep, Source, changer, combiner, edge, listed, materialise,
};
use super::class::{FlowMergeHub, FlowSink, FlowSource, FlowStage, refused};
use super::element::{Element, Function, Pull, inside, list};
use super::manual::FlowManual;
use super::scope::seconds;
use crate::errors;
use crate::feed::{Feed, with_meta};
use crate::fork::Owned;
use crate::number::Count;
use crate::stream::{InputStream, Item};

#[pymethods]
impl FlowSource {
    /// What the iterators of `items` give; a new one is asked for for each run.
    #[staticmethod]
    #[pyo3(signature = (items, /))]
    fn iter(items: Py<PyAny>) -> Self {
        let items = Element::from(items);
        Self::plain(&CoreSource::try_iter(move || inside(|py| Pull::new(items.bind(py)))))
    }

    /// What the iterators that `make` makes give.
    #[staticmethod]
    #[pyo3(signature = (make, /))]
    fn make(make: Function) -> Self {
        Self::plain(&CoreSource::try_iter(move || {
            inside(|py| make.call(py, (), |items| Pull::new(&items)))
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

    /// `value` each time `every` seconds have passed.
    #[staticmethod]
    #[pyo3(signature = (every, value, /))]
    fn tick(every: f64, value: Py<PyAny>) -> PyResult<Self> {
        let tick = CoreSource::tick(seconds(every)?, Element::from(value)).map_err(refused)?;
        Ok(Self::plain(&tick))
    }

    /// `function` gets a position and a number of rows, and answers that many or the last ones.
    #[staticmethod]
    #[pyo3(signature = (function, /))]
    fn fetch(function: Function) -> Self {
        Self::plain(&CoreSource::fetch(move |from, n| {
            inside(|py| function.call(py, (from, n), |answer| rows(&answer)))
        }))
    }

    /// `function` gets where a page begins, and answers its rows and where the next one begins.
    #[staticmethod]
    #[pyo3(signature = (first, mark, function, /))]
    fn pages(first: Py<PyAny>, mark: Count, function: Function) -> Self {
        let first = Element::from(first);
        Self::plain(&CoreSource::pages_ahead(first, mark.0, move |at: Element| {
            inside(|py| {
                function.call(py, (at.bind(py),), |page| {
                    let (found, next) = page.extract::<(Py<PyAny>, Option<Py<PyAny>>)>()?;
                    Ok(Page { rows: rows(found.bind(py))?, next: next.map(Element::from) })
                })
            })
        }))
    }

    /// What the sinks of its control give.
    #[staticmethod]
    #[pyo3(signature = (edge, /))]
    fn merge_hub(edge: Edge) -> PyResult<Self> {
        let hub = CoreSource::merge_hub(self::edge(edge).map_err(refused)?);
        Ok(Self::of(hub.map_mat(|hub| materialise(FlowMergeHub::new(hub)))))
    }

    /// The items of an input stream.
    #[staticmethod]
    #[pyo3(signature = (stream, /))]
    fn wire(stream: &InputStream) -> PyResult<Self> {
        let items = CoreSource::wire(stream.parts()?.0.clone());
        Ok(Self::plain(&items.via(Flow::try_map(item))))
    }

    /// The items of a live feed.
    #[staticmethod]
    #[pyo3(signature = (feed, /))]
    fn feed(feed: &Feed) -> PyResult<Self> {
        let items = CoreSource::feed(feed.core()?.clone());
        Ok(Self::plain(&items.via(Flow::try_map(|captured| item(with_meta(captured))))))
    }

    /// The elements of all, each source's in turn as they come, or one source after the other.
    #[staticmethod]
    #[pyo3(signature = (sources, in_turn, /))]
    #[expect(clippy::needless_pass_by_value, reason = "a signature of Python's")]
    fn together(sources: Vec<PyRef<'_, FlowSource>>, in_turn: bool) -> PyResult<Self> {
        let sources = all(&sources)?;
        let source =
            if in_turn { CoreSource::merge_all(sources) } else { CoreSource::concat_all(sources) };
        Ok(Self::of(source.map_mat(listed)))
    }

    /// Lists of an element of each.
    #[staticmethod]
    #[pyo3(signature = (sources, /))]
    #[expect(clippy::needless_pass_by_value, reason = "a signature of Python's")]
    fn combine(sources: Vec<PyRef<'_, FlowSource>>) -> PyResult<Self> {
        let lists = CoreSource::combine(all(&sources)?).map_mat(listed);
        Ok(Self::of(lists.via(Flow::try_map(list).named("list"))))
    }

    #[pyo3(signature = (other, function, /))]
    fn zip_with(&self, other: &FlowSource, function: Function) -> PyResult<Self> {
        let other = other.0.get()?.clone();
        let function = move |left, right| function.map2(left, right);
        Ok(Self::of(self.0.get()?.try_zip_with(other, function)))
    }

    #[pyo3(signature = (other, /))]
    fn merge(&self, other: &FlowSource) -> PyResult<Self> {
        Ok(Self::of(self.0.get()?.merge(other.0.get()?.clone())))
    }

    #[pyo3(signature = (others, /))]
    #[expect(clippy::needless_pass_by_value, reason = "a signature of Python's")]
    fn merge_prefer(&self, others: Vec<PyRef<'_, FlowSource>>) -> PyResult<Self> {
        Ok(Self::of(self.0.get()?.merge_prefer(all(&others)?)))
    }

    #[pyo3(signature = (following, /))]
    fn concat(&self, following: &FlowSource) -> PyResult<Self> {
        Ok(Self::of(self.0.get()?.concat(following.0.get()?.clone())))
    }

    /// Run again from its start each time it fails.
    #[pyo3(signature = (attempts, first, most, /))]
    fn retry(&self, attempts: Count, first: f64, most: f64) -> PyResult<Self> {
        let source = self.0.get()?.map_mat(|_| NotUsed);
        let again = source.retry(attempts.0, seconds(first)?, seconds(most)?).map_err(refused)?;
        Ok(Self::plain(&again))
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

fn rows(answer: &Bound<'_, PyAny>) -> PyResult<Vec<Element>> {
    answer.try_iter()?.map(|row| Ok(row?.into())).collect()
}

fn item(item: sluicegate::Item) -> Result<Element, Error> {
    inside(|py| Ok(Item::object(py, item)?.into()))
}

fn all(sources: &[PyRef<'_, FlowSource>]) -> PyResult<Vec<Source>> {
    sources.iter().map(|source| Ok(source.0.get()?.clone())).collect()
}
