"""Sources, flows and sinks: what is to run, without anything running.

A blueprint here knows how to make the core's; that is done anew for each run. So what a blueprint
refers to is visible to the garbage collector, and nothing in it belongs to a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from sluicegate import _core
from sluicegate.flow._edge import EdgeOptions
from sluicegate.flow._run import Manual, Outlet
from sluicegate.flow._scope import BUILDING, Scope

if TYPE_CHECKING:
    from sluicegate.flow._sink import Sink
    from sluicegate.flow._stage import Flow

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
M_co = TypeVar("M_co", covariant=True)
O = TypeVar("O")  # noqa: E741
N = TypeVar("N")
R = TypeVar("R")
S = TypeVar("S")
A = TypeVar("A")

LEFT, RIGHT = True, False
"""Which materialised value stays."""


class RunnableGraph(Generic[M_co]):
    """A blueprint with neither input nor output left: it can run, as often as one likes."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], _core.FlowGraph]) -> None:
        self._make = make

    def run(self, scope: Scope) -> M_co:
        """Runs it: fresh stages, fresh edges, a fresh materialised value.

        If anything cannot be made, everything that this attempt made is taken back. Raises
        ScopeShutDown, or what a function raised that was called to make it.
        """
        outer, BUILDING.scope = BUILDING.scope, scope
        try:
            return cast(M_co, self._make().run(scope._core))
        finally:
            BUILDING.scope = outer


class Source(Generic[T_co, M_co]):
    """A blueprint with one output of elements T; running it yields a control M.

    Immutable, and can be used as often as one likes. M is None where there is nothing to control.
    """

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], _core.FlowSource]) -> None:
        make()  # what is wrong with its arguments is said now, not when it runs
        self._make = make

    @staticmethod
    def iter(items: Iterable[T]) -> Source[T, None]:
        """The elements of ``items``, which is asked for an iterator anew for each run.

        What is an iterator itself can run once: a second run finds it used up.
        """
        return Source(lambda: _core.FlowSource.iter(items))

    @staticmethod
    def make(function: Callable[[], Iterable[T]]) -> Source[T, None]:
        """What ``function`` gives, called anew for each run: a generator function, say."""
        return Source(lambda: _core.FlowSource.make(function))

    @staticmethod
    def single(element: T) -> Source[T, None]:
        """One element."""
        return Source(lambda: _core.FlowSource.iter((element,)).named("single"))

    @staticmethod
    def empty() -> Source[Any, None]:
        """No element, and the end."""
        return Source(_core.FlowSource.empty)

    @staticmethod
    def failed(error: BaseException) -> Source[Any, None]:
        """No element, and this failure."""
        return Source(lambda: _core.FlowSource.failed(error))

    @staticmethod
    def unfold(first: S, function: Callable[[S], tuple[S, T] | None]) -> Source[T, None]:
        """Elements out of a state: each call gives the next state and an element, or None."""
        return Source(lambda: _core.FlowSource.unfold(first, function))

    @staticmethod
    def manual(
        options: EdgeOptions | None = None, *, size: Callable[[T], int] | None = None
    ) -> Source[T, Manual[T]]:
        """Fed by hand through its control. ``size`` tells the bytes of an element."""
        edge, size = edge_of(options, size)

        def control(core: _core.FlowManual) -> Manual[T]:
            return Manual(core, size)

        return Source(lambda: _core.FlowSource.manual(edge).map_mat(control))

    def via(self, flow: Flow[T_co, O, Any]) -> Source[O, M_co]:
        """The source, then ``flow``. Keeps the source's materialised value."""
        return Source(lambda: self._make().via(flow._make(), LEFT))

    def via_mat(self, flow: Flow[T_co, O, N], combine: Callable[[M_co, N], R]) -> Source[O, R]:
        """The source, then ``flow``; ``combine`` makes one materialised value of both."""
        return Source(lambda: self._make().via(flow._make(), combine))

    def to(self, sink: Sink[T_co, N]) -> RunnableGraph[N]:
        """Closed by ``sink``. Keeps the sink's materialised value."""
        return RunnableGraph(lambda: self._make().to(sink._make(), RIGHT))

    def to_mat(self, sink: Sink[T_co, N], combine: Callable[[M_co, N], R]) -> RunnableGraph[R]:
        """Closed by ``sink``; ``combine`` makes one materialised value of both."""
        return RunnableGraph(lambda: self._make().to(sink._make(), combine))

    def map_mat(self, function: Callable[[M_co], R]) -> Source[T_co, R]:
        """The same with another materialised value."""
        return Source(lambda: self._make().map_mat(function))

    def named(self, name: str) -> Source[T_co, M_co]:
        """The same under another name in ``Scope.stages`` and in errors."""
        return Source(lambda: self._make().named(name))

    def run(self, scope: Scope, options: EdgeOptions | None = None) -> Outlet[T_co]:
        """Runs it, for ``for`` or ``async for`` to take its elements."""
        edge = (options or EdgeOptions())._row
        graph: RunnableGraph[_core.FlowOutlet] = RunnableGraph(
            lambda: self._make().to(_core.FlowSink.outlet(edge), RIGHT)
        )
        return Outlet(graph.run(scope))

    def open(self, scope: Scope, options: EdgeOptions | None = None) -> Outlet[T_co]:
        """The same, for ``with`` or ``async with``: leaving the block cancels it."""
        return self.run(scope, options)

    def map(self, function: Callable[[T_co], O]) -> Source[O, M_co]:
        """Each element through ``function``."""
        return self._then(lambda: _core.FlowStage.map(function))

    def tap(self, look: Callable[[T_co], object]) -> Source[T_co, M_co]:
        """Shows each element to ``look``."""
        return self._then(lambda: _core.FlowStage.tap(look))

    def filter(self, passes: Callable[[T_co], object]) -> Source[T_co, M_co]:
        """The elements that ``passes`` says true of."""
        return self._then(lambda: _core.FlowStage.filter(passes))

    def filter_map(self, function: Callable[[T_co], O | None]) -> Source[O, M_co]:
        """Each element through ``function``; what it gives None for is dropped."""
        return self._then(lambda: _core.FlowStage.filter_map(function))

    def scan(self, first: A, function: Callable[[A, T_co], A]) -> Source[A, M_co]:
        """Each state of ``function`` over the elements."""
        return self._then(lambda: _core.FlowStage.scan(first, function))

    def fold(self, first: A, function: Callable[[A, T_co], A]) -> Source[A, M_co]:
        """The last state of ``function`` over all elements, at the end."""
        return self._then(lambda: _core.FlowStage.fold(first, function))

    def take(self, n: int) -> Source[T_co, M_co]:
        """The first ``n`` elements; cancels the upstream straight after the last."""
        return self._then(lambda: _core.FlowStage.take(n))

    def drop(self, n: int) -> Source[T_co, M_co]:
        """All but the first ``n`` elements."""
        return self._then(lambda: _core.FlowStage.drop(n))

    def take_while(self, passes: Callable[[T_co], object]) -> Source[T_co, M_co]:
        """The elements up to the first that ``passes`` says false of."""
        return self._then(lambda: _core.FlowStage.take_while(passes))

    def drop_while(self, skips: Callable[[T_co], object]) -> Source[T_co, M_co]:
        """All from the first element on that ``skips`` says false of."""
        return self._then(lambda: _core.FlowStage.drop_while(skips))

    def buffer(
        self,
        options: EdgeOptions | None = None,
        *,
        size: Callable[[T_co], int] | None = None,
    ) -> Source[T_co, M_co]:
        """A boundary: what is above runs on a thread of its own, ahead by what the edge holds."""
        edge, size = edge_of(options, size)
        return self._then(lambda: _core.FlowStage.buffer(edge, size))

    def _then(self, make: Callable[[], _core.FlowStage]) -> Source[Any, M_co]:
        make()
        return Source(lambda: self._make().via(make(), LEFT))

    def __repr__(self) -> str:
        return "<sluicegate.flow.Source>"


def edge_of(
    options: EdgeOptions | None, size: Callable[[T], int] | None
) -> tuple[tuple[int, int | None, int], Callable[[T], int] | None]:
    """An edge, and who tells the bytes of elements: ``len``, if they count and nobody is named."""
    options = options or EdgeOptions()
    if options.bytes is not None and size is None:
        size = cast(Callable[[T], int], len)
    return options._row, size
