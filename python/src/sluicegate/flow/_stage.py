"""Flows: what stands between a source and a sink."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sluicegate import _core
from sluicegate._handle import Immutable
from sluicegate.flow._edge import LEFT, RIGHT, EdgeOptions, edge_of, plain
from sluicegate.flow._hub import Switch
from sluicegate.flow._task import loop_of_the_run, starter

if TYPE_CHECKING:
    from sluicegate._any import E as _E
    from sluicegate.flow._blueprint import Source
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


@dataclass(frozen=True, slots=True)
class Again(Generic[T]):
    """An element that goes through ``Flow.feedback`` once more."""

    element: T


@dataclass(frozen=True, slots=True)
class Out(Generic[T]):
    """An element that leaves ``Flow.feedback``."""

    element: T


def _round(answer: Again[Any] | Out[Any]) -> tuple[bool, Any]:
    return isinstance(answer, Again), answer.element


class Flow(Immutable, Generic[I_contra, O_co, M_co]):
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
        return Flow(lambda: _core.FlowStage.map(plain(function)))

    @staticmethod
    def tap(look: Callable[[T], object]) -> Flow[T, T, None]:
        """Shows each element to ``look``."""
        return Flow(lambda: _core.FlowStage.tap(plain(look)))

    @staticmethod
    def filter(passes: Callable[[T], object]) -> Flow[T, T, None]:
        """The elements that ``passes`` says true of. For each dropped another is asked for."""
        return Flow(lambda: _core.FlowStage.filter(plain(passes)))

    @staticmethod
    def filter_map(function: Callable[[I], O | None]) -> Flow[I, O, None]:
        """Each element through ``function``; what it gives None for is dropped."""
        return Flow(lambda: _core.FlowStage.filter_map(plain(function)))

    @staticmethod
    def scan(first: A, function: Callable[[A, I], A]) -> Flow[I, A, None]:
        """Each state of ``function`` over the elements."""
        return Flow(lambda: _core.FlowStage.scan(first, plain(function)))

    @staticmethod
    def fold(first: A, function: Callable[[A, I], A]) -> Flow[I, A, None]:
        """The last state of ``function`` over all elements, at the end; ``first`` of none."""
        return Flow(lambda: _core.FlowStage.fold(first, plain(function)))

    @staticmethod
    def take(n: int) -> Flow[_E, _E, None]:
        """The first ``n`` elements. Never asks for more; cancels straight after the last."""
        return Flow(lambda: _core.FlowStage.take(n))

    @staticmethod
    def drop(n: int) -> Flow[_E, _E, None]:
        """All but the first ``n`` elements."""
        return Flow(lambda: _core.FlowStage.drop(n))

    @staticmethod
    def take_while(passes: Callable[[T], object]) -> Flow[T, T, None]:
        """The elements up to the first that ``passes`` says false of; then cancels."""
        return Flow(lambda: _core.FlowStage.take_while(plain(passes)))

    @staticmethod
    def drop_while(skips: Callable[[T], object]) -> Flow[T, T, None]:
        """All from the first element on that ``skips`` says false of."""
        return Flow(lambda: _core.FlowStage.drop_while(plain(skips)))

    @staticmethod
    def buffer(
        options: EdgeOptions | None = None, *, size: Callable[[_E], int] | None = None
    ) -> Flow[_E, _E, None]:
        """A boundary: what is above runs on a thread of its own, ahead by what the edge holds."""
        edge, size = edge_of(options, size)
        return Flow(lambda: _core.FlowStage.buffer(edge, size))

    @staticmethod
    def map_parallel(
        n: int, function: Callable[[I], O], *, ordered: bool = True
    ) -> Flow[I, O, None]:
        """Each element through ``function`` on ``n`` threads of the scope.

        At most ``n`` elements are in work or wait for their turn. In order, or as they are done.
        """
        return Flow(lambda: _core.FlowStage.map_parallel(n, ordered, plain(function)))

    @staticmethod
    def map_async(
        n: int,
        function: Callable[[I], Awaitable[O]],
        *,
        ordered: bool = True,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> Flow[I, O, None]:
        """Each element through a coroutine, at most ``n`` at once: in order, or as they are done.

        They run in ``loop``, or in the loop that is running where the graph is run. A coroutine
        that nobody waits for any more is cancelled.
        """

        def make() -> _core.FlowStage:
            there = loop_of_the_run(loop)
            start = function if there is None else starter(function, there)
            return _core.FlowStage.map_async(n, ordered, start)

        return Flow(make)

    @staticmethod
    def batch(n: int, within: float | None = None) -> Flow[_E, list[_E], None]:
        """Groups of ``n`` elements; the last may be shorter.

        With ``within``, groups of fewer once so many seconds have passed since their first.
        """
        return Flow(lambda: _core.FlowStage.batch(n, within))

    @staticmethod
    def batch_bytes(limit: int, size: Callable[[T], int]) -> Flow[T, list[T], None]:
        """Groups of at most ``limit`` bytes, as ``size`` tells them.

        An element that is larger is a group of its own.
        """
        return Flow(lambda: _core.FlowStage.batch_bytes(limit, size))

    @staticmethod
    def sliding(size: int, step: int = 1) -> Flow[_E, list[_E], None]:
        """Windows of ``size`` elements in a row, each ``step`` after the one before."""
        return Flow(lambda: _core.FlowStage.sliding(size, step))

    @staticmethod
    def expand(function: Callable[[I], Iterable[O]]) -> Flow[I, O, None]:
        """Each element into as many as ``function`` makes of it, lazily.

        The next element is asked for once the last of these has left and more is wanted.
        """
        return Flow(lambda: _core.FlowStage.expand(plain(function)))

    @staticmethod
    def flatten() -> Flow[Iterable[O], O, None]:
        """The elements of each iterable that comes, one by one."""
        return Flow(_core.FlowStage.flatten)

    @staticmethod
    def page(size: int, mark: int | None = None) -> Flow[_E, _E, None]:
        """Reads ``size`` elements ahead of demand, and as many more once ``mark`` have left.

        The mark is three quarters unless told otherwise.
        """
        return Flow(lambda: _core.FlowStage.page(size, mark))

    @staticmethod
    def throttle(elements: int, per: float, burst: int = 1) -> Flow[_E, _E, None]:
        """At most ``elements`` in each ``per`` seconds, and ``burst`` at once after a pause."""
        return Flow(lambda: _core.FlowStage.throttle(elements, per, burst))

    @staticmethod
    def delay(by: float, room: int = 16) -> Flow[_E, _E, None]:
        """Each element ``by`` seconds later than it came; holds ``room`` of them at most."""
        return Flow(lambda: _core.FlowStage.delay(by, room))

    @staticmethod
    def debounce(quiet: float) -> Flow[_E, _E, None]:
        """The latest element, once none has come for ``quiet`` seconds, or at the end."""
        return Flow(lambda: _core.FlowStage.debounce(quiet))

    @staticmethod
    def conflate(seed: Callable[[I], A], aggregate: Callable[[A, I], A]) -> Flow[I, A, None]:
        """Never holds the upstream back: folds what comes before the next output is wanted.

        The fold begins with what ``seed`` makes of the first element.
        """
        return Flow(lambda: _core.FlowStage.conflate(seed, aggregate))

    @staticmethod
    def idle_timeout(limit: float) -> Flow[_E, _E, None]:
        """Fails with TimedOut if an element was asked for and none has come for so long."""
        return Flow(lambda: _core.FlowStage.within("idle", limit))

    @staticmethod
    def initial_timeout(limit: float) -> Flow[_E, _E, None]:
        """Fails with TimedOut if no first element has come so long after the start."""
        return Flow(lambda: _core.FlowStage.within("initial", limit))

    @staticmethod
    def completion_timeout(limit: float) -> Flow[_E, _E, None]:
        """Fails with TimedOut if the upstream has not ended so long after the start."""
        return Flow(lambda: _core.FlowStage.within("completion", limit))

    @staticmethod
    def take_within(time: float) -> Flow[_E, _E, None]:
        """What comes within ``time`` seconds of the start; then the upstream is cancelled."""
        return Flow(lambda: _core.FlowStage.within("take", time))

    @staticmethod
    def drop_within(time: float) -> Flow[_E, _E, None]:
        """What comes later than ``time`` seconds after the start."""
        return Flow(lambda: _core.FlowStage.within("drop", time))

    @staticmethod
    def recover(function: Callable[[BaseException], O | None]) -> Flow[_E, _E | O, None]:
        """If the upstream fails, ``function`` may make a last element of the exception.

        None lets the failure pass.
        """
        return Flow(lambda: _core.FlowStage.recover(plain(function)))

    @staticmethod
    def recover_with(source: Source[O, Any]) -> Flow[_E, _E | O, None]:
        """If the upstream fails, goes on with ``source``, whose own failure passes."""
        return Flow(lambda: _core.FlowStage.recover_with(source._make()))

    @staticmethod
    def group_by(
        max_groups: int,
        key: Callable[[I], Hashable],
        flow: Flow[I, O, Any],
        *,
        slots: int | None = None,
    ) -> Flow[I, O, None]:
        """Each element through a run of ``flow`` of its own for each key; what they give is merged.

        Fails with LimitReached at the first key beyond ``max_groups``. Fewer ``slots`` of the
        merge than groups could lock up: PlanRefused.
        """

        def make() -> _core.FlowStage:
            groups: dict[Hashable, object] = {}

            def number(element: I) -> int:
                # By identity: two threads may ask at once, each for a key that is new.
                return id(groups.setdefault(key(element), object()))

            room = max_groups if slots is None else slots
            return _core.FlowStage.group_by(max_groups, room, number, flow._make())

        return Flow(make)

    @staticmethod
    def feedback(capacity: int, body: Flow[I, Again[I] | Out[O], Any]) -> Flow[I, O, None]:
        """Each element through ``body``, again and again until it answers ``Out``.

        What it answers as ``Again`` goes through it once more, behind what waits there. At most
        ``capacity`` elements are in the loop. ``body`` makes exactly one element of each: ``map``,
        ``scan``, ``map_async`` and the like. PlanRefused for one that may make more or fewer, and
        for a capacity of 0.
        """
        return Flow(lambda: _core.FlowStage.feedback(capacity, body._make(), _round))

    @staticmethod
    def switch() -> Flow[_E, _E, Switch]:
        """Passes everything on, until its control ends the run from outside."""
        return Flow(lambda: _core.FlowStage.switch().map_mat(Switch))

    @staticmethod
    def broadcast(branches: Iterable[Flow[I, O, N]]) -> Flow[I, O, list[N]]:
        """Every element through every branch; what they give is merged as it comes."""
        return _fan(branches, balance=False)

    @staticmethod
    def balance(branches: Iterable[Flow[I, O, N]]) -> Flow[I, O, list[N]]:
        """Each element through one branch that has room for it."""
        return _fan(branches, balance=True)

    @staticmethod
    def partition(
        branches: Iterable[Flow[I, O, N]], choose: Callable[[I], int]
    ) -> Flow[I, O, list[N]]:
        """Each element through the branch whose number ``choose`` says, from 0."""
        return _fan(branches, balance=False, choose=choose)

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


def _fan(
    branches: Iterable[Flow[I, O, N]], *, balance: bool, choose: Callable[[I], int] | None = None
) -> Flow[I, O, list[N]]:
    every = tuple(branches)
    return Flow(lambda: _core.FlowStage.fan([one._make() for one in every], balance, choose))
