"""A generator function as a source."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from inspect import isasyncgenfunction
from typing import Any, TypeVar, overload

from sluicegate.flow._blueprint import Source

T = TypeVar("T")


@overload
def source(function: Callable[[], Iterable[T]]) -> Source[T, None]: ...
@overload
def source(function: Callable[[], AsyncIterable[T]]) -> Source[T, None]: ...
def source(function: Callable[[], Any]) -> Source[Any, None]:
    """A decorator: a generator function without arguments becomes a source that runs at will.

    An ``async`` one is read by a task of the loop that is running where the source is run.
    """
    if isasyncgenfunction(function):
        return Source.from_async(function)
    return Source.make(function)
