"""Flows: what stands between a source and a sink."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sluicegate import _core
from sluicegate.flow._blueprint import LEFT, RIGHT, edge_of
from sluicegate.flow._edge import EdgeOptions

if TYPE_CHECKING:
    from sluicegate.flow._sink import Sink

I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741
I_contra = TypeVar("I_contra", contravariant=True)
O_co = TypeVar("O_co", covariant=True)
M_co = TypeVar("M_co", covariant=True)
T = TypeVar("T")
N = TypeVar("N")
R = TypeVar("R")
A = TypeVar("A")


class Flow(Generic[I_contra, O_co, M_co]):
    """A blueprint from elements I to elements O; running it yields a control M, mostly None.

    The factories with one function are decorators too: ``@flow.map``. A function is called on a
    thread of the scope; what it raises fails the stream, and comes out of its completion.
    """

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], _core.FlowStage]) -> None:
        make()  # what is wrong with its arguments is said now, not when it runs
        self._make = make

    @staticmethod
    def map(function: Callable[[I], O]) -> Flow[I, O, None]:
        """Each element through ``function``."""
        return Flow(lambda: _core.FlowStage.map(function))

    @staticmethod
    def tap(look: Callable[[T], object]) -> Flow[T, T, None]:
        """Shows each element to ``look``."""
        return Flow(lambda: _core.FlowStage.tap(look))

    @staticmethod
    def filter(passes: Callable[[T], object]) -> Flow[T, T, None]:
        """The elements that ``passes`` says true of. For each dropped another is asked for."""
        return Flow(lambda: _core.FlowStage.filter(passes))

    @staticmethod
    def filter_map(function: Callable[[I], O | None]) -> Flow[I, O, None]:
        """Each element through ``function``; what it gives None for is dropped."""
        return Flow(lambda: _core.FlowStage.filter_map(function))

    @staticmethod
    def scan(first: A, function: Callable[[A, I], A]) -> Flow[I, A, None]:
        """Each state of ``function`` over the elements."""
        return Flow(lambda: _core.FlowStage.scan(first, function))

    @staticmethod
    def fold(first: A, function: Callable[[A, I], A]) -> Flow[I, A, None]:
        """The last state of ``function`` over all elements, at the end; ``first`` of none."""
        return Flow(lambda: _core.FlowStage.fold(first, function))

    @staticmethod
    def take(n: int) -> Flow[Any, Any, None]:
        """The first ``n`` elements. Never asks for more; cancels straight after the last."""
        return Flow(lambda: _core.FlowStage.take(n))

    @staticmethod
    def drop(n: int) -> Flow[Any, Any, None]:
        """All but the first ``n`` elements."""
        return Flow(lambda: _core.FlowStage.drop(n))

    @staticmethod
    def take_while(passes: Callable[[T], object]) -> Flow[T, T, None]:
        """The elements up to the first that ``passes`` says false of; then cancels."""
        return Flow(lambda: _core.FlowStage.take_while(passes))

    @staticmethod
    def drop_while(skips: Callable[[T], object]) -> Flow[T, T, None]:
        """All from the first element on that ``skips`` says false of."""
        return Flow(lambda: _core.FlowStage.drop_while(skips))

    @staticmethod
    def buffer(
        options: EdgeOptions | None = None, *, size: Callable[[T], int] | None = None
    ) -> Flow[T, T, None]:
        """A boundary: what is above runs on a thread of its own, ahead by what the edge holds."""
        edge, size = edge_of(options, size)
        return Flow(lambda: _core.FlowStage.buffer(edge, size))

    def via(self, following: Flow[O_co, O, Any]) -> Flow[I_contra, O, M_co]:
        """The flow, then ``following``. Keeps the flow's materialised value."""
        return Flow(lambda: self._make().via(following._make(), LEFT))

    def via_mat(
        self, following: Flow[O_co, O, N], combine: Callable[[M_co, N], R]
    ) -> Flow[I_contra, O, R]:
        """The flow, then ``following``; ``combine`` makes one materialised value of both."""
        return Flow(lambda: self._make().via(following._make(), combine))

    def to(self, sink: Sink[O_co, N]) -> Sink[I_contra, N]:
        """Closed downwards by ``sink``. Keeps the sink's materialised value."""
        from sluicegate.flow._sink import Sink

        return Sink(lambda: self._make().to(sink._make(), RIGHT))

    def to_mat(self, sink: Sink[O_co, N], combine: Callable[[M_co, N], R]) -> Sink[I_contra, R]:
        """Closed downwards by ``sink``; ``combine`` makes one materialised value of both."""
        from sluicegate.flow._sink import Sink

        return Sink(lambda: self._make().to(sink._make(), combine))

    def map_mat(self, function: Callable[[M_co], R]) -> Flow[I_contra, O_co, R]:
        """The same with another materialised value."""
        return Flow(lambda: self._make().map_mat(function))

    def named(self, name: str) -> Flow[I_contra, O_co, M_co]:
        """The same under another name in ``Scope.stages`` and in errors."""
        return Flow(lambda: self._make().named(name))

    def __repr__(self) -> str:
        return "<sluicegate.flow.Flow>"
