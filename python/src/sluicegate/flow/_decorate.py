"""Decorators: a function that becomes a source, a flow or a sink, by the name of the stage.

Those with one function are the factories themselves; those that take more are called first:
``@flow.map_async(4)``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Hashable, Iterable
from inspect import isasyncgenfunction, signature
from typing import Any, Protocol, TypeVar, overload

from sluicegate.flow._blueprint import Source
from sluicegate.flow._completion import Completion
from sluicegate.flow._sink import Sink
from sluicegate.flow._stage import Flow

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741
A = TypeVar("A")
S = TypeVar("S")

map = Flow.map  # noqa: A001
"""``Flow.map``, as a decorator."""
tap = Flow.tap
"""``Flow.tap``, as a decorator."""
filter = Flow.filter  # noqa: A001
"""``Flow.filter``, as a decorator."""
filter_map = Flow.filter_map
"""``Flow.filter_map``, as a decorator."""
expand = Flow.expand
"""``Flow.expand``, as a decorator: of a generator function, say."""
take_while = Flow.take_while
"""``Flow.take_while``, as a decorator."""
drop_while = Flow.drop_while
"""``Flow.drop_while``, as a decorator."""
recover = Flow.recover
"""``Flow.recover``, as a decorator."""
foreach = Sink.foreach
"""``Sink.foreach``, as a decorator: the function is where elements go."""
fetch = Source.fetch
"""``Source.fetch``, as a decorator."""


class _Maps(Protocol):
    def __call__(self, function: Callable[[I], O], /) -> Flow[I, O, None]: ...


class _MapsLater(Protocol):
    def __call__(self, function: Callable[[I], Awaitable[O]], /) -> Flow[I, O, None]: ...


@overload
def source(function: Callable[[], Iterable[T]]) -> Source[T, None]: ...
@overload
def source(function: Callable[[], AsyncIterable[T]]) -> Source[T, None]: ...
def source(function: Callable[[], Any]) -> Source[Any, None]:
    """A decorator: a generator function without arguments becomes a source that runs at will.

    An ``async`` one is read by a task of the loop that is running where the source is run. For one
    with arguments there is ``Source.make(lambda: rows(7))``.
    """
    try:
        signature(function).bind()
    except TypeError as refused:
        name = getattr(function, "__qualname__", repr(function))
        raise TypeError(f"{name}: {refused}; use Source.make(lambda: {name}(...))") from None
    if isasyncgenfunction(function):
        return Source.from_async(function)
    return Source.make(function)


def unfold(first: S) -> Callable[[Callable[[S], tuple[S, T] | None]], Source[T, None]]:
    """``Source.unfold`` from ``first``, as a decorator."""
    return lambda function: Source.unfold(first, function)


def pages(
    first: S, *, ahead: int = 0
) -> Callable[[Callable[[S], tuple[Iterable[T], S | None]]], Source[T, None]]:
    """``Source.pages`` from ``first``, as a decorator."""
    return lambda function: Source.pages(first, function, ahead=ahead)


def map_parallel(n: int, *, ordered: bool = True) -> _Maps:
    """``Flow.map_parallel`` on ``n`` threads, as a decorator."""

    def decorate(function: Callable[[I], O], /) -> Flow[I, O, None]:
        return Flow.map_parallel(n, function, ordered=ordered)

    return decorate


def map_async(
    n: int, *, ordered: bool = True, loop: asyncio.AbstractEventLoop | None = None
) -> _MapsLater:
    """``Flow.map_async`` of at most ``n`` coroutines at once, as a decorator."""

    def decorate(function: Callable[[I], Awaitable[O]], /) -> Flow[I, O, None]:
        return Flow.map_async(n, function, ordered=ordered, loop=loop)

    return decorate


def scan(first: A) -> Callable[[Callable[[A, I], A]], Flow[I, A, None]]:
    """``Flow.scan`` from ``first``, as a decorator."""
    return lambda function: Flow.scan(first, function)


def fold(first: A) -> Callable[[Callable[[A, T], A]], Sink[T, Completion[A]]]:
    """``Sink.fold`` from ``first``, as a decorator."""
    return lambda function: Sink.fold(first, function)


def group_by(
    max_groups: int, flow: Flow[I, O, Any], *, slots: int | None = None
) -> Callable[[Callable[[I], Hashable]], Flow[I, O, None]]:
    """``Flow.group_by``, as a decorator of the function that tells the key of an element."""
    return lambda key: Flow.group_by(max_groups, key, flow, slots=slots)
