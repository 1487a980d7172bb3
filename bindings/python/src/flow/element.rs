//! What flows: Python objects; and the functions of the user over them.

use std::cell::Cell;

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use sluicegate::flow::Flow;
use sluicegate::{Error, ErrorKind};

use crate::attach;
use crate::errors;
use crate::number::Count;
pub(super) use crate::object::Element;

/// A function of the user.
#[derive(Clone)]
pub(super) struct Function(Element);

impl FromPyObject<'_, '_> for Function {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if !given.is_callable() {
            let name = given.get_type().qualname()?;
            let message = format!("a stage needs a function, not {name}");
            return Err(pyo3::exceptions::PyTypeError::new_err(message));
        }
        Ok(Function(given.to_owned().into()))
    }
}

thread_local!(static DEPTH: Cell<u32> = const { Cell::new(0) });

/// True on a thread that is in a user's function of a stage.
pub(super) fn in_function() -> bool {
    DEPTH.with(Cell::get) != 0
}

struct Deeper;

impl Deeper {
    fn new() -> Self {
        DEPTH.with(|depth| depth.set(depth.get().saturating_add(1)));
        Deeper
    }
}

impl Drop for Deeper {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get().saturating_sub(1)));
    }
}

/// Runs `work` inside the interpreter for a stage. What it raises becomes the stream's failure.
pub(super) fn inside<R>(work: impl FnOnce(Python<'_>) -> PyResult<R>) -> Result<R, Error> {
    let deeper = Deeper::new();
    let answer = attach::enter(|py| work(py).map_err(|raised| errors::raised(py, &raised)));
    drop(deeper);
    answer.unwrap_or_else(|| {
        Err(Error::new(ErrorKind::Cancelled, "the interpreter is ending: no function is called"))
    })
}

impl Function {
    pub(super) fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.0.bind(py)
    }

    /// Calls it; `keep` makes something of the answer that can leave the interpreter.
    pub(super) fn call<'py, R>(
        &self,
        py: Python<'py>,
        args: impl PyCallArgs<'py>,
        keep: impl FnOnce(Bound<'py, PyAny>) -> PyResult<R>,
    ) -> PyResult<R> {
        keep(self.bind(py).call1(args)?)
    }

    /// One element in, one out.
    pub(super) fn map(&self, input: Element) -> Result<Element, Error> {
        inside(|py| {
            let answer = self.bind(py).call1((input.bind(py),));
            drop(input);
            Ok(answer?.into())
        })
    }

    /// Two elements in, one out.
    pub(super) fn map2(&self, first: Element, second: Element) -> Result<Element, Error> {
        inside(|py| {
            let answer = self.bind(py).call1((first.bind(py), second.bind(py)));
            drop((first, second));
            Ok(answer?.into())
        })
    }

    /// The number that it tells of an element.
    pub(super) fn tell(&self, input: &Element) -> Result<u64, Error> {
        inside(|py| self.call(py, (input.bind(py),), |number| Ok(number.extract::<Count>()?.0)))
    }

    /// The branch that the function tells of an element; none has a number too high for any.
    pub(super) fn branch(&self, input: &Element) -> Result<usize, Error> {
        Ok(usize::try_from(self.tell(input)?).unwrap_or(usize::MAX))
    }

    /// An element that carries a number which the function tells of it.
    pub(super) fn number(&self, input: &Element) -> Result<Element, Error> {
        inside(|py| {
            let number = self.call(py, (input.bind(py),), |number| number.extract::<Count>())?;
            Ok(Element::sized(input.object(py), number.0))
        })
    }

    /// Several elements out of one, as an iterator that is asked later.
    pub(super) fn iterate(&self, input: &Element) -> Result<Pull, Error> {
        inside(|py| self.call(py, (input.bind(py),), |many| Pull::new(&many)))
    }

    /// A question about an element.
    pub(super) fn test(&self, input: &Element) -> Result<bool, Error> {
        inside(|py| self.call(py, (input.bind(py),), |answer| answer.is_truthy()))
    }

    /// A look at an element.
    pub(super) fn look(&self, input: &Element) -> Result<(), Error> {
        inside(|py| self.call(py, (input.bind(py),), |_| Ok(())))
    }
}

/// A Python iterator, asked inside the interpreter.
pub(super) struct Pull(Element);

impl Pull {
    pub(super) fn new(items: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Pull(items.try_iter()?.into_any().into()))
    }
}

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

/// Several elements as one, a Python list.
pub(super) fn list(elements: Vec<Element>) -> Result<Element, Error> {
    inside(|py| Ok(Element::from(as_list(py, &elements)?)))
}

pub(super) fn as_list(py: Python<'_>, elements: &[Element]) -> PyResult<Py<PyAny>> {
    let objects = elements.iter().map(|element| element.bind(py));
    Ok(pyo3::types::PyList::new(py, objects)?.into_any().unbind())
}

/// Puts a number on each element, for the stage behind it.
pub(super) fn numbered(function: Function, name: &str) -> Flow<Element, Element> {
    Flow::try_map(move |input: Element| function.number(&input)).named(name)
}
