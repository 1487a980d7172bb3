"""Sinks: where elements go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from sluicegate import _core
from sluicegate.flow._completion import Completion
from sluicegate.flow._edge import EdgeOptions
from sluicegate.flow._run import Outlet

T = TypeVar("T")
A = TypeVar("A")
R = TypeVar("R")
I_contra = TypeVar("I_contra", contravariant=True)
M_co = TypeVar("M_co", covariant=True)


class Sink(Generic[I_contra, M_co]):
    """A blueprint with one input of elements I; running it yields a result or control M."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], _core.FlowSink]) -> None:
        make()  # what is wrong with its arguments is said now, not when it runs
        self._make = make

    @staticmethod
    def collect() -> Sink[T, Completion[list[T]]]:
        """All elements, in order. The list grows with the stream."""
        return Sink(lambda: _core.FlowSink.collect().map_mat(Completion))

    @staticmethod
    def fold(first: A, function: Callable[[A, T], A]) -> Sink[T, Completion[A]]:
        """The last state of ``function`` over all elements."""
        return Sink(lambda: _core.FlowSink.fold(first, function).map_mat(Completion))

    @staticmethod
    def foreach(function: Callable[[T], object]) -> Sink[T, Completion[None]]:
        """Calls ``function`` with each element, on a thread of the scope."""
        return Sink(lambda: _core.FlowSink.foreach(function).map_mat(Completion))

    @staticmethod
    def ignore() -> Sink[Any, Completion[None]]:
        """Asks for everything and keeps nothing."""
        return Sink(lambda: _core.FlowSink.ignore().map_mat(Completion))

    @staticmethod
    def first() -> Sink[T, Completion[T | None]]:
        """The first element, after which the upstream is cancelled; None of an empty stream."""
        return Sink(lambda: _core.FlowSink.first().map_mat(Completion))

    @staticmethod
    def last() -> Sink[T, Completion[T | None]]:
        """The last element; None of an empty stream."""
        return Sink(lambda: _core.FlowSink.last().map_mat(Completion))

    @staticmethod
    def outlet(options: EdgeOptions | None = None) -> Sink[T, Outlet[T]]:
        """Elements taken by hand: the pipeline runs ahead by what the edge holds."""
        edge = (options or EdgeOptions())._row
        return Sink(lambda: _core.FlowSink.outlet(edge).map_mat(Outlet))

    def map_mat(self, function: Callable[[M_co], R]) -> Sink[I_contra, R]:
        """The same with another materialised value."""
        return Sink(lambda: self._make().map_mat(function))

    def named(self, name: str) -> Sink[I_contra, M_co]:
        """The same under another name in ``Scope.stages`` and in errors."""
        return Sink(lambda: self._make().named(name))

    def __repr__(self) -> str:
        return "<sluicegate.flow.Sink>"
