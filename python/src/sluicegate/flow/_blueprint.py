"""Sources, flows and sinks: what is to run, without anything running.

A blueprint here knows how to make the core's; that is done anew for each run. So what a blueprint
refers to is visible to the garbage collector, and nothing in it belongs to a process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from sluicegate import _core
from sluicegate._handle import Immutable
from sluicegate.flow._channel import NO_END, Channel, channel_source
from sluicegate.flow._edge import LEFT, RIGHT, EdgeOptions, edge_of
from sluicegate.flow._fluent import Fluent
from sluicegate.flow._hub import MergeHub
from sluicegate.flow._io import File, HasChunks, HasLines, chunks, lines
from sluicegate.flow._run import Manual, Outlet
from sluicegate.flow._scope import BUILDING, Scope
from sluicegate.flow._task import read_into, start_task

if TYPE_CHECKING:
    from sluicegate import Item
    from sluicegate._any import E as _E
    from sluicegate._feed import FeedBase
    from sluicegate._stream import InputBase
    from sluicegate.flow._sink import Sink
    from sluicegate.flow._stage import Flow

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
M_co = TypeVar("M_co", covariant=True)
O = TypeVar("O")  # noqa: E741
N = TypeVar("N")
R = TypeVar("R")
S = TypeVar("S")


class RunnableGraph(Immutable, Generic[M_co]):
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


class Source(Immutable, Fluent[T_co, M_co]):
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
    def empty() -> Source[_E, None]:
        """No element, and the end."""
        return Source(_core.FlowSource.empty)

    @staticmethod
    def failed(error: BaseException) -> Source[_E, None]:
        """No element, and this failure."""
        return Source(lambda: _core.FlowSource.failed(error))

    @staticmethod
    def tick(every: float, value: T) -> Source[T, None]:
        """``value`` each time ``every`` seconds have passed. One nobody asked for is left out."""
        return Source(lambda: _core.FlowSource.tick(every, value))

    @staticmethod
    def fetch(function: Callable[[int, int], Iterable[T]]) -> Source[T, None]:
        """Rows by position: ``function(first, n)`` gives that many, fewer of them at the end.

        Behind ``page(64, 48)`` it fetches 64 rows, and then 48 each time 48 have left.
        """
        return Source(lambda: _core.FlowSource.fetch(function))

    @staticmethod
    def pages(
        first: S, function: Callable[[S], tuple[Iterable[T], S | None]], *, ahead: int = 0
    ) -> Source[T, None]:
        """Rows by the page: ``function`` gets where a page begins, and gives its rows and the next.

        A page is fetched when a row is wanted and none is left; or, once a first row was wanted,
        as soon as no more than ``ahead`` rows are left.
        """
        return Source(lambda: _core.FlowSource.pages(first, ahead, function))

    @staticmethod
    def from_async(
        make: Callable[[], AsyncIterable[T]],
        options: EdgeOptions | None = None,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> Source[T, None]:
        """What ``make`` gives, read by a task: of ``loop``, or of the loop that is running then.

        The task waits while the edge is full, and closes the generator when nobody wants more.
        """

        def begin(control: Manual[T]) -> None:
            start_task(read_into(make, control), loop)

        return Source.manual(options).map_mat(begin)

    @staticmethod
    def lines(file: File[HasLines], *, max_bytes: int = 1 << 20) -> Source[str, None]:
        """The lines of a file, as text without their ends, LF or CR LF.

        ``file`` is a path or a function that opens, each good for any number of runs, or an open
        file, which runs once and is left open. It is read on a thread of its own, 16 lines ahead.
        Fails with LimitReached at a line of more than ``max_bytes`` (of a file opened as text, so
        many characters), with Malformed at one that is no UTF-8, with the OSError of the file.
        A read that blocks is not interrupted: a scope that is shut down waits for it.
        """
        return Source(lines(file, max_bytes))._then(_ahead)

    @staticmethod
    def chunks(file: File[HasChunks], size: int = 1 << 16) -> Source[bytes, None]:
        """What a file holds, in chunks of at most ``size`` bytes, each as large as one read gives.

        ``file`` is as in ``lines``. It is read on a thread of its own, 16 chunks ahead.
        """
        return Source(chunks(file, size))._then(_ahead)

    @staticmethod
    def channel(
        queue: Channel[T], *, end: object = NO_END, loop: asyncio.AbstractEventLoop | None = None
    ) -> Source[T, None]:
        """What comes through a ``queue.Queue`` or an ``asyncio.Queue``; nothing is taken ahead.

        Completes at the element that is ``end``, and once the queue is shut down (Python 3.13).
        Runs at the same time share the queue: each element reaches one of them. An asyncio queue
        is waited for in ``loop``, or in the loop that is running where the graph is run.
        """
        return Source(channel_source(queue, end, loop))

    @staticmethod
    def wire(stream: InputBase) -> Source[Item, None]:
        """The items of a request's stream: asking for one grants credit for another (L10).

        Runs once. Cancelled, it gives the stream up.
        """
        core = _core.FlowSource.wire(stream._core)
        return Source(lambda: core)

    @staticmethod
    def wire_values(stream: InputBase) -> Source[Any, None]:
        """The same without metadata: the value of each item."""
        return Source.wire(stream).map(_value)

    @staticmethod
    def feed(feed: FeedBase) -> Source[Item, None]:
        """The items of a live feed. Runs once. Cancelled, it gives the feed up."""
        core = _core.FlowSource.feed(feed._core)
        return Source(lambda: core)

    @staticmethod
    def merge_hub(options: EdgeOptions | None = None) -> Source[_E, MergeHub[_E]]:
        """What the sinks of its control give, each behind an edge."""
        edge = (options or EdgeOptions())._row
        return Source(lambda: _core.FlowSource.merge_hub(edge).map_mat(MergeHub))

    @staticmethod
    def merge_all(sources: Iterable[Source[T, N]]) -> Source[T, list[N]]:
        """The elements of all sources as they come; those that have one take turns."""
        every = tuple(sources)
        return Source(lambda: _core.FlowSource.together([one._make() for one in every], True))

    @staticmethod
    def concat_all(sources: Iterable[Source[T, N]]) -> Source[T, list[N]]:
        """All elements of the first source, then those of the next."""
        every = tuple(sources)
        return Source(lambda: _core.FlowSource.together([one._make() for one in every], False))

    @staticmethod
    def combine(sources: Iterable[Source[T, N]]) -> Source[list[T], list[N]]:
        """Lists of an element of each source. Ends as soon as one of them has ended."""
        every = tuple(sources)
        return Source(lambda: _core.FlowSource.combine([one._make() for one in every]))

    def zip(self, other: Source[O, Any]) -> Source[tuple[T_co, O], M_co]:
        """Pairs of an element of each. Ends as soon as a side has ended."""
        return self.zip_with(other, _pair)

    def zip_with(self, other: Source[O, Any], function: Callable[[T_co, O], R]) -> Source[R, M_co]:
        """What ``function`` makes of an element of each."""
        return Source(lambda: self._make().zip_with(other._make(), function))

    def merge(self, other: Source[O, Any]) -> Source[T_co | O, M_co]:
        """The elements of both as they come. Keeps the source's materialised value."""
        return Source(lambda: self._make().merge(other._make()))

    def merge_prefer(self, others: Iterable[Source[O, Any]]) -> Source[T_co | O, M_co]:
        """The elements of the source before those of the others, whenever both have one."""
        every = tuple(others)
        return Source(lambda: self._make().merge_prefer([one._make() for one in every]))

    def concat(self, following: Source[O, Any]) -> Source[T_co | O, M_co]:
        """The elements of the source, then those of ``following``."""
        return Source(lambda: self._make().concat(following._make()))

    def retry(self, attempts: int, first: float = 0.1, most: float = 10.0) -> Source[T_co, None]:
        """The source run again, from its start, each time it fails: so many runs in all.

        The wait before the second run is ``first`` seconds, and twice as long each time, up to
        ``most``. Elements that were handed down stay so. The last failure passes.
        """
        return Source(lambda: self._make().retry(attempts, first, most))

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

    def _then(self, make: Callable[[], _core.FlowStage]) -> Source[Any, M_co]:
        make()
        return Source(lambda: self._make().via(make(), LEFT))

    def __repr__(self) -> str:
        return "<sluicegate.flow.Source>"


def _value(item: Item) -> Any:
    return item.value


def _ahead() -> _core.FlowStage:
    return _core.FlowStage.buffer(EdgeOptions()._row, None)


def _pair(left: T, right: O) -> tuple[T, O]:
    return left, right
