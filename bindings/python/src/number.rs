//! Counts of chunks or bytes, and limits in seconds, as Python numbers.

use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};
use sluicegate::{Error, ErrorKind};

use crate::errors;

/// A count from 0 to 2^64 - 1. Anything but an integer, a boolean too, is a `TypeError`; an integer
/// outside the range is `InvalidArgument`. Nothing is clamped or wrapped round.
pub(crate) struct Count(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if given.is_instance_of::<PyBool>() || !given.is_instance_of::<PyInt>() {
            let name = given.get_type().qualname()?;
            return Err(PyTypeError::new_err(format!("a count is an int, not {name}")));
        }
        given.extract::<u64>().map(Count).map_err(|_| {
            let message = format!("{} is not a count: it must be from 0 to 2**64 - 1", *given);
            errors::raise(&Error::new(ErrorKind::InvalidArgument, message))
        })
    }
}

/// A limit in seconds; none, and what no clock can tell, is the longest there is.
pub(crate) fn limit(seconds: Option<f64>) -> Duration {
    seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()).unwrap_or(Duration::MAX)
}
