//! CBOR values as Python objects and back, with their types kept.
//!
//! int, float, bool, None, str, bytes, list and dict stand for themselves. What they cannot hold is an
//! object of `sluicegate.values`: tags, simple values, `undefined`, and maps whose keys a dict would
//! merge or refuse (`Pairs`).

use bytes::Bytes;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use sluicegate::frame::MAX_DEPTH;
use sluicegate::{Error, ErrorKind, Value};

use crate::buffer;
use crate::errors;

const POSITIVE_BIGNUM: u64 = 2;
const NEGATIVE_BIGNUM: u64 = 3;

/// The Python object for `value`.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Uint(number) => number.into_pyobject(py)?.into_any(),
        Value::Nint(number) => (-1 - i128::from(*number)).into_pyobject(py)?.into_any(),
        Value::Bytes(bytes) => buffer::copied(py, bytes)?.into_any(),
        Value::Text(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Map(entries) => map(py, entries)?,
        Value::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Value::Null => py.None().into_bound(py),
        Value::Float(number) => PyFloat::new(py, *number).into_any(),
        Value::Tag(tag, inner) => match (*tag, inner.as_bytes()) {
            (POSITIVE_BIGNUM | NEGATIVE_BIGNUM, Some(digits)) if is_shortest(digits) => {
                big_int(py, *tag == NEGATIVE_BIGNUM, digits)?
            }
            _ => class(py, "Tag")?.call1((*tag, to_python(py, inner)?))?,
        },
        Value::Simple(number) => class(py, "Simple")?.call1((*number,))?,
        // `undefined`, and kinds that a later core may add.
        _ => undefined(py)?.clone(),
    })
}

fn map<'py>(py: Python<'py>, entries: &[(Value, Value)]) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    for (key, value) in entries {
        let Some(key) = key_object(py, key)? else { return pairs(py, entries) };
        if dict.set_item(key, to_python(py, value)?).is_err() {
            return pairs(py, entries); // a key that cannot be hashed
        }
    }
    if dict.len() == entries.len() { Ok(dict.into_any()) } else { pairs(py, entries) }
}

/// A key of a dict; `None` for a value that cannot be one. Arrays become tuples.
fn key_object<'py>(py: Python<'py>, key: &Value) -> PyResult<Option<Bound<'py, PyAny>>> {
    match key {
        Value::Map(_) => Ok(None),
        Value::Array(items) => {
            let mut keys = Vec::with_capacity(items.len());
            for item in items {
                let Some(key) = key_object(py, item)? else { return Ok(None) };
                keys.push(key);
            }
            Ok(Some(PyTuple::new(py, keys)?.into_any()))
        }
        other => to_python(py, other).map(Some),
    }
}

fn pairs<'py>(py: Python<'py>, entries: &[(Value, Value)]) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for (key, value) in entries {
        list.append((to_python(py, key)?, to_python(py, value)?))?;
    }
    class(py, "Pairs")?.call1((list,))
}

/// The integers that 64 bits hold are never bignums; others carry no leading zero.
fn is_shortest(digits: &[u8]) -> bool {
    digits.len() > 8 && digits[0] != 0
}

fn big_int<'py>(py: Python<'py>, negative: bool, digits: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let int = py.get_type::<PyInt>();
    let number = int.call_method1("from_bytes", (PyBytes::new(py, digits), "big"))?;
    if negative { number.bitnot() } else { Ok(number) }
}

/// The value that `object` stands for.
pub(crate) fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    read(object, 0)
}

/// A metadata map: text keys, or nothing.
pub(crate) fn meta_from(object: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Value>> {
    let Some(object) = object else { return Ok(None) };
    let value = read(object, 0)?;
    match value.as_map() {
        Some(entries) if entries.iter().all(|(key, _)| key.as_text().is_some()) => Ok(Some(value)),
        _ => Err(PyTypeError::new_err("metadata is a dict with str keys")),
    }
}

fn read(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    let py = object.py();
    if depth >= MAX_DEPTH {
        let message = format!("the value nests deeper than {MAX_DEPTH} levels");
        return Err(errors::raise(&Error::new(ErrorKind::InvalidArgument, message)));
    }
    if object.is_none() {
        Ok(Value::Null)
    } else if let Ok(truth) = object.cast::<PyBool>() {
        Ok(Value::Bool(truth.is_true()))
    } else if let Ok(text) = object.cast::<PyString>() {
        Ok(Value::Text(text.to_cow()?.into_owned()))
    } else if object.is_instance_of::<PyInt>() {
        read_int(object)
    } else if let Ok(number) = object.cast::<PyFloat>() {
        Ok(Value::Float(number.value()))
    } else if object.is_instance(class(py, "Pairs")?)? {
        let mut entries = Vec::new();
        for pair in object.try_iter()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract()?;
            entries.push((read(&key, depth + 1)?, read(&value, depth + 1)?));
        }
        Ok(Value::Map(entries))
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let items = object.try_iter()?.map(|item| read(&item?, depth + 1));
        Ok(Value::Array(items.collect::<PyResult<_>>()?))
    } else if let Ok(dict) = object.cast::<PyDict>() {
        let mut entries = Vec::with_capacity(dict.len());
        for (key, value) in dict.iter() {
            entries.push((read(&key, depth + 1)?, read(&value, depth + 1)?));
        }
        Ok(Value::Map(entries))
    } else if object.is_instance(class(py, "Tag")?)? {
        let tag = object.getattr("tag")?.extract::<crate::number::Count>()?.0;
        Ok(Value::Tag(tag, Box::new(read(&object.getattr("value")?, depth + 1)?)))
    } else if object.is_instance(class(py, "Simple")?)? {
        Ok(Value::Simple(object.getattr("number")?.extract()?))
    } else if object.is(undefined(py)?) {
        Ok(Value::Undefined)
    } else if let Some(bytes) = buffer::copy_of(object)? {
        Ok(Value::Bytes(bytes))
    } else {
        let name = object.get_type().qualname()?;
        Err(PyTypeError::new_err(format!("a value cannot be a {name}")))
    }
}

fn read_int(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(number) = object.extract::<u64>() {
        return Ok(Value::Uint(number));
    }
    let is_negative = object.lt(0)?;
    let digits = if is_negative { object.bitnot()? } else { object.clone() };
    if let (true, Ok(number)) = (is_negative, digits.extract::<u64>()) {
        return Ok(Value::Nint(number));
    }
    let bits: usize = digits.call_method0("bit_length")?.extract()?;
    let digits = digits.call_method1("to_bytes", (bits.div_ceil(8), "big"))?;
    let digits = Bytes::copy_from_slice(digits.cast::<PyBytes>()?.as_bytes());
    let tag = if is_negative { NEGATIVE_BIGNUM } else { POSITIVE_BIGNUM };
    Ok(Value::Tag(tag, Box::new(Value::Bytes(digits))))
}

fn class<'py>(py: Python<'py>, name: &'static str) -> PyResult<&'py Bound<'py, PyType>> {
    static TAG: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static SIMPLE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static PAIRS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let slot = match name {
        "Tag" => &TAG,
        "Simple" => &SIMPLE,
        _ => &PAIRS,
    };
    slot.import(py, "sluicegate.values", name)
}

fn undefined(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static UNDEFINED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    UNDEFINED.import(py, "sluicegate.values", "undefined")
}
