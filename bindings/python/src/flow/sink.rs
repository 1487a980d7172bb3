//! Where elements go.

use pyo3::prelude::*;
use sluicegate::flow::{Completion, FanOptions, Flow, HubOptions, Sink as CoreSink};

use super::blueprint::{Edge, changer, edge, listed, materialise};
use super::class::{FlowHub, FlowSink, refused};
use super::completion::{self, FlowCompletion};
use super::element::{Element, Function, as_list, inside};
use super::outlet::FlowOutlet;
use super::probe::FlowSubscriber;
use crate::number::Count;
use crate::stream::{Item, OutputStream};
use crate::value;

impl FlowSink {
    /// A sink whose value is what `convert` makes of the core's.
    fn settled<T: Clone + Send + Sync + 'static>(
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

    /// Shares what comes with everybody who subscribes.
    #[staticmethod]
    #[pyo3(signature = (capacity, replay, /))]
    fn broadcast_hub(capacity: Count, replay: Count) -> PyResult<Self> {
        let options = HubOptions::capacity(capacity.0).map_err(refused)?.replay(replay.0);
        let hub = CoreSink::broadcast_hub(options);
        Ok(Self::of(hub.map_mat(|hub| materialise(FlowHub::new(hub)))))
    }

    /// Values into a scalar stream.
    #[staticmethod]
    #[pyo3(signature = (stream, /))]
    fn wire(stream: &OutputStream) -> PyResult<Self> {
        let values =
            Flow::try_map(|element: Element| inside(|py| value::from_python(element.bind(py))));
        let sink = values.named("value").to(CoreSink::wire(stream.core()?.clone()));
        Ok(Self::settled(&sink, |py, ()| Ok(py.None())))
    }

    /// Items, or tuples of a value and metadata, into a sequence stream.
    #[staticmethod]
    #[pyo3(signature = (stream, /))]
    fn wire_items(stream: &OutputStream) -> PyResult<Self> {
        let items = Flow::try_map(|element: Element| {
            inside(|py| {
                let element = element.bind(py);
                if let Ok(item) = element.cast::<Item>() {
                    return Ok(item.get().core().clone());
                }
                let (value, meta): (Bound<'_, PyAny>, Option<Bound<'_, PyAny>>) =
                    element.extract()?;
                let meta = value::meta_from(meta.as_ref())?;
                Ok(sluicegate::Item { value: value::from_python(&value)?, meta })
            })
        });
        let sink = items.named("item").to(CoreSink::wire_items(stream.core()?.clone()));
        Ok(Self::settled(&sink, |py, ()| Ok(py.None())))
    }

    /// Each element to all branches, to one that has room, or to the one that is chosen.
    #[staticmethod]
    #[pyo3(signature = (branches, balance, choose, edge, ends_with_first, /))]
    #[expect(clippy::needless_pass_by_value, reason = "a signature of Python's")]
    fn fan(
        branches: Vec<PyRef<'_, FlowSink>>,
        balance: bool,
        choose: Option<Function>,
        edge: Edge,
        ends_with_first: bool,
    ) -> PyResult<Self> {
        let mut options = FanOptions::default().edge(self::edge(edge).map_err(refused)?);
        if ends_with_first {
            options = options.end_with_first();
        }
        let branches: PyResult<Vec<_>> =
            branches.iter().map(|branch| Ok(branch.0.get()?.clone())).collect();
        let sink = match choose {
            None if balance => CoreSink::balance_with(branches?, options),
            None => CoreSink::broadcast_with(branches?, options),
            Some(choose) => {
                let choose = move |element: &Element| choose.branch(element);
                CoreSink::try_partition_with(branches?, options, choose)
            }
        };
        Ok(Self::of(sink.map_mat(listed)))
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
