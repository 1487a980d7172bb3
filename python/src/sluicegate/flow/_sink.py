"""Sinks: where elements go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sluicegate import _core
from sluicegate._handle import Immutable
from sluicegate.flow._channel import Channel, channel_sink
from sluicegate.flow._completion import Completion
from sluicegate.flow._edge import EdgeOptions, plain
from sluicegate.flow._hub import Hub
from sluicegate.flow._io import File, Writable, writer
from sluicegate.flow._run import Outlet

if TYPE_CHECKING:
    from sluicegate import Item
    from sluicegate._stream import OutputBase

T = TypeVar("T")
A = TypeVar("A")
R = TypeVar("R")
I_contra = TypeVar("I_contra", contravariant=True)
M_co = TypeVar("M_co", covariant=True)


class Sink(Immutable, Generic[I_contra, M_co]):
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
        return Sink(lambda: _core.FlowSink.fold(first, plain(function)).map_mat(Completion))

    @staticmethod
    def foreach(function: Callable[[T], object]) -> Sink[T, Completion[None]]:
        """Calls ``function`` with each element, on a thread of the scope."""
        return Sink(lambda: _core.FlowSink.foreach(plain(function)).map_mat(Completion))

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

    @staticmethod
    def broadcast_hub(capacity: int = 16, *, replay: int = 0) -> Sink[T, Hub[T]]:
        """Shares what comes with everybody who subscribes at the hub.

        It holds at most ``capacity`` elements that it has not shared yet, and puts the last
        ``replay`` that it shared into the buffer of each newcomer.
        """
        return Sink(lambda: _core.FlowSink.broadcast_hub(capacity, replay).map_mat(Hub))

    @staticmethod
    def writer(file: File[Writable]) -> Sink[Any, Completion[int]]:
        """Writes each element, and flushes at the end. Its value is how much was written.

        ``file`` is a path or a function that opens, each good for any number of runs, or an open
        file, which runs once and is left open. Elements are bytes or another buffer, counted in
        bytes; for a file opened as text they are ``str``, counted in characters. Writing is on the
        thread of the sink. An OSError fails the stream.
        """
        make = writer(file)
        return Sink(lambda: make().map_mat(Completion))

    @staticmethod
    def channel(
        queue: Channel[T], *, loop: asyncio.AbstractEventLoop | None = None
    ) -> Sink[T, Completion[None]]:
        """Puts each element into a ``queue.Queue`` or an ``asyncio.Queue``, waiting for room.

        The end of the run is told by its completion: nothing is put into the queue for it. Fails
        with Closed, and cancels the upstream, once the queue is shut down (Python 3.13). An asyncio
        queue is waited for in ``loop``, or in the loop that is running where the graph is run.
        """
        make = channel_sink(queue, loop)
        return Sink(lambda: make().map_mat(Completion))

    @staticmethod
    def wire(stream: OutputBase) -> Sink[Any, Completion[None]]:
        """Emits each element to a request's scalar stream, and closes it at the end. Runs once.

        The next is asked for once the stream has taken the last: without credit all waits (L9).
        """
        core = _core.FlowSink.wire(stream._core).map_mat(Completion)
        return Sink(lambda: core)

    @staticmethod
    def wire_items(
        stream: OutputBase,
    ) -> Sink[Item | tuple[Any, dict[str, Any] | None], Completion[None]]:
        """The same for a sequence stream: items, or tuples of a value and its metadata."""
        core = _core.FlowSink.wire_items(stream._core).map_mat(Completion)
        return Sink(lambda: core)

    @staticmethod
    def broadcast(
        branches: Iterable[Sink[T, R]],
        options: EdgeOptions | None = None,
        *,
        end_with_first: bool = False,
    ) -> Sink[T, list[R]]:
        """Every element to every branch, each behind an edge; the slowest sets the pace.

        A branch that cancels leaves the others running, unless they are to end with the first.
        """
        return _fan(branches, options, end_with_first)

    @staticmethod
    def balance(
        branches: Iterable[Sink[T, R]],
        options: EdgeOptions | None = None,
        *,
        end_with_first: bool = False,
    ) -> Sink[T, list[R]]:
        """Each element to one branch that has room for it; branches with room take turns."""
        return _fan(branches, options, end_with_first, balance=True)

    @staticmethod
    def partition(
        branches: Iterable[Sink[T, R]],
        choose: Callable[[T], int],
        options: EdgeOptions | None = None,
        *,
        end_with_first: bool = False,
    ) -> Sink[T, list[R]]:
        """Each element to the branch whose number ``choose`` says, from 0.

        An element for a full branch holds up those behind it. A number that no branch has fails
        the stream with InvalidArgument.
        """
        return _fan(branches, options, end_with_first, choose=choose)

    def map_mat(self, function: Callable[[M_co], R]) -> Sink[I_contra, R]:
        """The same with another materialised value."""
        return Sink(lambda: self._make().map_mat(function))

    def named(self, name: str) -> Sink[I_contra, M_co]:
        """The same under another name in ``Scope.stages`` and in errors."""
        return Sink(lambda: self._make().named(name))

    def __repr__(self) -> str:
        return "<sluicegate.flow.Sink>"


def _fan(
    branches: Iterable[Sink[T, R]],
    options: EdgeOptions | None,
    end_with_first: bool,
    *,
    balance: bool = False,
    choose: Callable[[T], int] | None = None,
) -> Sink[T, list[R]]:
    every, edge = tuple(branches), (options or EdgeOptions())._row

    def make() -> _core.FlowSink:
        cores = [branch._make() for branch in every]
        return _core.FlowSink.fan(cores, balance, choose, edge, end_with_first)

    return Sink(make)
