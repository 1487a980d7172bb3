//! How blueprints are put together and run.

use std::cell::RefCell;
use std::panic::resume_unwind;

use pyo3::prelude::*;
use pyo3::{PyClass, PyClassInitializer};
use sluicegate::flow::{EdgeOptions, Overflow, RunnableGraph};
use sluicegate::{Error, ErrorKind};

use super::element::{Element, Function, inside};
use super::scope::FlowScope;
use crate::attach;
use crate::errors;
use crate::fork::Owned;
use crate::number::Count;

/// What a run yields; `None` is Python's None.
pub(super) type Mat = Option<Element>;

pub(super) type Source = sluicegate::flow::Source<Element, Mat>;
pub(super) type Flow = sluicegate::flow::Flow<Element, Element, Mat>;
pub(super) type Sink = sluicegate::flow::Sink<Element, Mat>;

/// Capacity in elements, in bytes, and the number of the overflow strategy.
pub(super) type Edge = (Count, Option<Count>, u8);

pub(super) fn edge(given: Edge) -> Result<EdgeOptions, Error> {
    let (capacity, bytes, overflow) = given;
    let overflow = match overflow {
        0 => Overflow::Backpressure,
        1 => Overflow::DropHead,
        2 => Overflow::DropTail,
        3 => Overflow::DropNew,
        4 => Overflow::DropBuffer,
        5 => Overflow::Fail,
        _ => return Err(Error::new(ErrorKind::InvalidArgument, "no overflow strategy")),
    };
    let options = EdgeOptions::capacity(capacity.0)?.overflow(overflow);
    match bytes {
        None => Ok(options),
        Some(bytes) => options.bytes(bytes.0),
    }
}

/// Raises what is wrong with an edge.
#[pyfunction]
#[pyo3(signature = (edge, /))]
pub(crate) fn edge_check(edge: Edge) -> PyResult<()> {
    self::edge(edge).map(drop).map_err(|error| errors::raise(&error))
}

thread_local! {
    /// What a function raised while the graph that this thread runs was being made.
    static RAISED: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// Gives `made` on, or ends the run that is being made: everything it made is taken back.
pub(super) fn or_take_back<T>(made: Result<T, Error>) -> T {
    made.unwrap_or_else(|error| {
        RAISED.with(|raised| *raised.borrow_mut() = Some(error));
        resume_unwind(Box::new("a function that makes a materialised value raised"))
    })
}

fn object(py: Python<'_>, mat: Mat) -> Py<PyAny> {
    mat.map_or_else(|| py.None(), |mat| mat.object(py))
}

pub(super) fn none() -> Mat {
    None
}

/// One materialised value of two: of the left one, of the right one, or what a function makes.
pub(super) fn combiner(keep: Keep) -> Box<dyn Fn(Mat, Mat) -> Mat + Send + Sync> {
    match keep {
        Keep::Left => Box::new(|left, _| left),
        Keep::Right => Box::new(|_, right| right),
        Keep::Both(function) => Box::new(move |left, right| {
            let both = inside(|py| {
                function.call(py, (object(py, left), object(py, right)), |both| Ok(both.into()))
            });
            Some(or_take_back(both))
        }),
    }
}

/// Which materialised value stays: True is the left one, False the right one, else a function of both.
pub(super) enum Keep {
    Left,
    Right,
    Both(Function),
}

impl FromPyObject<'_, '_> for Keep {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match given.extract::<bool>() {
            Ok(true) => Ok(Keep::Left),
            Ok(false) => Ok(Keep::Right),
            Err(_) => given.extract().map(Keep::Both),
        }
    }
}

/// Another materialised value.
pub(super) fn changer(function: Function) -> impl Fn(Mat) -> Mat + Send + Sync + 'static {
    move |mat| {
        let changed =
            inside(|py| function.call(py, (object(py, mat),), |changed| Ok(changed.into())));
        Some(or_take_back(changed))
    }
}

/// Several materialised values as one, a Python list.
pub(super) fn listed(mats: Vec<Mat>) -> Mat {
    let list = inside(|py| {
        let objects = mats.into_iter().map(|mat| object(py, mat));
        Ok(pyo3::types::PyList::new(py, objects.collect::<Vec<_>>())?.into_any().into())
    });
    Some(or_take_back(list))
}

/// A value of the core's as a materialised value.
pub(super) fn materialise<T: Into<PyClassInitializer<C>>, C: PyClass>(value: T) -> Mat {
    Some(or_take_back(inside(|py| Ok(Py::new(py, value)?.into_any().into()))))
}

/// A closed blueprint.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct FlowGraph(pub(super) Owned<RunnableGraph<Mat>>);

#[pymethods]
impl FlowGraph {
    /// Runs it, and answers the materialised value.
    #[pyo3(signature = (scope, /))]
    fn run(&self, py: Python<'_>, scope: &FlowScope) -> PyResult<Py<PyAny>> {
        let (graph, scope) = (self.0.get()?.clone(), scope.core()?);
        let (answer, raised) = attach::detach(py, || {
            let outer = RAISED.with(RefCell::take);
            let answer = graph.run(&scope);
            drop((graph, scope));
            (answer, RAISED.with(|raised| raised.replace(outer)))
        });
        match (answer, raised) {
            (Ok(mat), _) => Ok(object(py, mat)),
            (Err(_), Some(raised)) => Err(errors::raise(&raised)),
            (Err(error), None) => Err(errors::raise(&error)),
        }
    }
}
