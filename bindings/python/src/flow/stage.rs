//! What stands between a source and a sink.

use std::future::ready;
use std::pin::Pin;
use std::task::{Context, Poll};

use pyo3::prelude::*;
use sluicegate::Error;
use sluicegate::flow::{Feedback, Flow as CoreFlow, NotUsed, Promise};

use super::blueprint::{Edge, Keep, changer, combiner, edge, listed, materialise};
use super::class::{FlowSink, FlowSource, FlowStage, FlowSwitch, refused};
use super::completion::FlowPromise;
use super::element::{Element, Function, Pull, inside, list, numbered};
use super::scope::seconds;
use crate::errors;
use crate::number::Count;

/// Fails with what a function of the stage above raised.
fn or_fail() -> CoreFlow<Result<Element, Error>, Element> {
    CoreFlow::try_map(|made| made).named("or_fail")
}

/// Whether an element goes through a loop again, as a tuple says with it.
fn round(turn: &Function, answer: Element) -> Result<Feedback<Element, Element>, Error> {
    inside(|py| {
        let told = turn.call(py, (answer.bind(py),), |told| told.extract::<(bool, Py<PyAny>)>());
        drop(answer);
        let (again, element) = told?;
        let element = Element::from(element);
        Ok(if again { Feedback::Again(element) } else { Feedback::Out(element) })
    })
}

fn lists(flow: &CoreFlow<Element, Vec<Element>>) -> FlowStage {
    FlowStage::plain(&flow.via(CoreFlow::try_map(list).named("list")))
}

/// Work that goes on elsewhere until its promise is settled. Dropping it stops the work.
struct Work {
    settled: Pin<Box<dyn Future<Output = Result<Element, Error>> + Send>>,
    stop: Option<Function>,
}

impl Work {
    fn start(start: &Function, input: &Element) -> Self {
        let promise = Promise::new();
        let settled = Box::pin(promise.completion().wait());
        let started = inside(|py| {
            let promise = FlowPromise::new(promise);
            start.call(py, (input.bind(py), promise), |stop| stop.extract::<Function>())
        });
        match started {
            Ok(stop) => Work { settled, stop: Some(stop) },
            Err(error) => Work { settled: Box::pin(ready(Err(error))), stop: None },
        }
    }
}

impl Future for Work {
    type Output = Result<Element, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let settled = std::task::ready!(self.settled.as_mut().poll(context));
        self.stop = None;
        Poll::Ready(settled)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _nobody_to_tell = inside(|py| stop.call(py, (), |_| Ok(())));
        }
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
        Self::plain(&tap.called("tap"))
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
        Ok(Self::plain(&match size {
            None => buffer,
            Some(size) => numbered(size, "size").via(buffer),
        }))
    }

    #[staticmethod]
    #[pyo3(signature = (n, within, /))]
    fn batch(n: Count, within: Option<f64>) -> PyResult<Self> {
        let batch = match within {
            None => CoreFlow::batch(n.0),
            Some(within) => CoreFlow::batch_within(n.0, seconds(within)?),
        };
        Ok(lists(&batch.map_err(refused)?))
    }

    #[staticmethod]
    #[pyo3(signature = (limit, size, /))]
    fn batch_bytes(limit: Count, size: Function) -> PyResult<Self> {
        let batch = CoreFlow::batch_bytes(limit.0, Element::size).map_err(refused)?;
        Ok(lists(&numbered(size, "size").via(batch)))
    }

    #[staticmethod]
    #[pyo3(signature = (size, step, /))]
    fn sliding(size: Count, step: Count) -> PyResult<Self> {
        Ok(lists(&CoreFlow::sliding(size.0, step.0).map_err(refused)?))
    }

    #[staticmethod]
    #[pyo3(signature = (function, /))]
    fn expand(function: Function) -> Self {
        let many = CoreFlow::try_expand(move |input: Element| function.iterate(&input));
        Self::plain(&many.via(or_fail()))
    }

    #[staticmethod]
    fn flatten() -> Self {
        let many = CoreFlow::try_expand(|input: Element| inside(|py| Pull::new(input.bind(py))));
        Self::plain(&many.called("flatten").via(or_fail()))
    }

    #[staticmethod]
    #[pyo3(signature = (size, mark, /))]
    fn page(size: Count, mark: Option<Count>) -> PyResult<Self> {
        let page = match mark {
            None => CoreFlow::page(size.0),
            Some(mark) => CoreFlow::page_with_mark(size.0, mark.0),
        };
        Ok(Self::plain(&page.map_err(refused)?))
    }

    #[staticmethod]
    #[pyo3(signature = (elements, per, burst, /))]
    fn throttle(elements: Count, per: f64, burst: Count) -> PyResult<Self> {
        let throttle = CoreFlow::throttle(elements.0, seconds(per)?, burst.0);
        Ok(Self::plain(&throttle.map_err(refused)?))
    }

    #[staticmethod]
    #[pyo3(signature = (by, room, /))]
    fn delay(by: f64, room: Count) -> PyResult<Self> {
        Ok(Self::plain(&CoreFlow::delay(seconds(by)?, room.0).map_err(refused)?))
    }

    #[staticmethod]
    #[pyo3(signature = (quiet, /))]
    fn debounce(quiet: f64) -> PyResult<Self> {
        Ok(Self::plain(&CoreFlow::debounce(seconds(quiet)?)))
    }

    #[staticmethod]
    #[pyo3(signature = (seed, aggregate, /))]
    fn conflate(seed: Function, aggregate: Function) -> Self {
        let first = move |input| seed.map(input);
        let more = move |state: Result<Element, Error>, input| aggregate.map2(state?, input);
        Self::plain(&CoreFlow::conflate(first, more).via(or_fail()))
    }

    /// `what` is "idle", "initial", "completion", "take" or "drop".
    #[staticmethod]
    #[pyo3(signature = (what, limit, /))]
    fn within(what: &str, limit: f64) -> PyResult<Self> {
        let limit = seconds(limit)?;
        Ok(Self::plain(&match what {
            "idle" => CoreFlow::idle_timeout(limit),
            "initial" => CoreFlow::initial_timeout(limit),
            "completion" => CoreFlow::completion_timeout(limit),
            "take" => CoreFlow::take_within(limit),
            _ => CoreFlow::drop_within(limit),
        }))
    }

    /// `function` makes a last element of an exception, or None.
    #[staticmethod]
    #[pyo3(signature = (function, /))]
    fn recover(function: Function) -> Self {
        let recover = CoreFlow::recover(move |error: &Error| {
            let answer = inside(|py| {
                function.call(py, (errors::exception(py, error)?,), |answer| {
                    Ok((!answer.is_none()).then(|| Element::from(answer)))
                })
            });
            answer.transpose()
        });
        Self::plain(&CoreFlow::map(Ok).called("recover").via(recover).via(or_fail()))
    }

    #[staticmethod]
    #[pyo3(signature = (source, /))]
    fn recover_with(source: &FlowSource) -> PyResult<Self> {
        Ok(Self::plain(&CoreFlow::recover_with(source.0.get()?.map_mat(|_| NotUsed))))
    }

    #[staticmethod]
    #[pyo3(signature = (n, ordered, function, /))]
    fn map_parallel(n: Count, ordered: bool, function: Function) -> PyResult<Self> {
        let work = move |input| function.map(input);
        let flow = if ordered {
            CoreFlow::map_parallel(n.0, work)
        } else {
            CoreFlow::map_parallel_unordered(n.0, work)
        };
        Ok(Self::plain(&flow.map_err(refused)?))
    }

    /// `start` gets an element and a promise, begins the work, and answers a function that stops it.
    #[staticmethod]
    #[pyo3(signature = (n, ordered, start, /))]
    fn map_async(n: Count, ordered: bool, start: Function) -> PyResult<Self> {
        let work = move |input| Work::start(&start, &input);
        let flow = if ordered {
            CoreFlow::map_async(n.0, work)
        } else {
            CoreFlow::map_async_unordered(n.0, work)
        };
        Ok(Self::plain(&flow.map_err(refused)?))
    }

    /// Through a run of `flow` of its own for each number that `number` tells of an element.
    #[staticmethod]
    #[pyo3(signature = (max_groups, slots, number, flow, /))]
    fn group_by(
        max_groups: Count,
        slots: Count,
        number: Function,
        flow: &FlowStage,
    ) -> PyResult<Self> {
        let flow = flow.0.get()?.map_mat(|_| NotUsed);
        let key = move |element: &Element| number.tell(element);
        let groups = CoreFlow::try_group_by(max_groups.0, slots.0, key, flow);
        Ok(Self::plain(&groups.map_err(refused)?))
    }

    /// Again and again through `body`; `turn` tells of its answers whether an element goes round, and
    /// the element.
    #[staticmethod]
    #[pyo3(signature = (capacity, body, turn, /))]
    fn feedback(capacity: Count, body: &FlowStage, turn: Function) -> PyResult<Self> {
        let round = CoreFlow::try_map(move |answer| round(&turn, answer)).called("feedback");
        let body = body.0.get()?.map_mat(|_| NotUsed).via(round);
        Ok(Self::plain(&CoreFlow::feedback(capacity.0, body).map_err(refused)?))
    }

    #[staticmethod]
    fn switch() -> Self {
        Self::of(CoreFlow::switch().map_mat(|switch| materialise(FlowSwitch::new(switch))))
    }

    /// Each element through all branches, through one that has room, or the one that is chosen.
    #[staticmethod]
    #[pyo3(signature = (branches, balance, choose, /))]
    #[expect(clippy::needless_pass_by_value, reason = "a signature of Python's")]
    fn fan(
        branches: Vec<PyRef<'_, FlowStage>>,
        balance: bool,
        choose: Option<Function>,
    ) -> PyResult<Self> {
        let branches: PyResult<Vec<_>> =
            branches.iter().map(|branch| Ok(branch.0.get()?.clone())).collect();
        Ok(Self::of(match choose {
            None if balance => CoreFlow::balance(branches?).map_mat(listed),
            None => CoreFlow::broadcast(branches?).map_mat(listed),
            Some(choose) => {
                let choose = move |element: &Element| choose.branch(element);
                CoreFlow::try_partition(branches?, choose).map_mat(listed)
            }
        }))
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
