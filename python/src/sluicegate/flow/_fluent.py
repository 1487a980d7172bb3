"""The stages as methods of a source."""

from __future__ import annotations

import abc
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sluicegate.flow import _stage as stage
from sluicegate.flow._edge import EdgeOptions

if TYPE_CHECKING:
    from sluicegate.flow._blueprint import Source
    from sluicegate.flow._stage import Flow

T_co = TypeVar("T_co", covariant=True)
M_co = TypeVar("M_co", covariant=True)
O = TypeVar("O")  # noqa: E741
A = TypeVar("A")


class Fluent(abc.ABC, Generic[T_co, M_co]):
    """Each method is ``via`` the flow of the same name, which says more."""

    __slots__ = ()

    @abc.abstractmethod
    def via(self, flow: Flow[T_co, O, Any]) -> Source[O, M_co]:
        """The source, then ``flow``."""

    def map(self, function: Callable[[T_co], O]) -> Source[O, M_co]:
        """Each element through ``function``."""
        return self.via(stage.Flow.map(function))

    def tap(self, look: Callable[[T_co], object]) -> Source[T_co, M_co]:
        """Shows each element to ``look``."""
        return self.via(stage.Flow.tap(look))

    def filter(self, passes: Callable[[T_co], object]) -> Source[T_co, M_co]:
        """The elements that ``passes`` says true of."""
        return self.via(stage.Flow.filter(passes))

    def filter_map(self, function: Callable[[T_co], O | None]) -> Source[O, M_co]:
        """Each element through ``function``; what it gives None for is dropped."""
        return self.via(stage.Flow.filter_map(function))

    def scan(self, first: A, function: Callable[[A, T_co], A]) -> Source[A, M_co]:
        """Each state of ``function`` over the elements."""
        return self.via(stage.Flow.scan(first, function))

    def fold(self, first: A, function: Callable[[A, T_co], A]) -> Source[A, M_co]:
        """The last state of ``function`` over all elements, at the end."""
        return self.via(stage.Flow.fold(first, function))

    def take(self, n: int) -> Source[T_co, M_co]:
        """The first ``n`` elements; cancels the upstream straight after the last."""
        return self.via(stage.Flow.take(n))

    def drop(self, n: int) -> Source[T_co, M_co]:
        """All but the first ``n`` elements."""
        return self.via(stage.Flow.drop(n))

    def take_while(self, passes: Callable[[T_co], object]) -> Source[T_co, M_co]:
        """The elements up to the first that ``passes`` says false of."""
        return self.via(stage.Flow.take_while(passes))

    def drop_while(self, skips: Callable[[T_co], object]) -> Source[T_co, M_co]:
        """All from the first element on that ``skips`` says false of."""
        return self.via(stage.Flow.drop_while(skips))

    def buffer(
        self,
        options: EdgeOptions | None = None,
        *,
        size: Callable[[T_co], int] | None = None,
    ) -> Source[T_co, M_co]:
        """A boundary: what is above runs on a thread of its own, ahead by what the edge holds."""
        return self.via(stage.Flow.buffer(options, size=size))

    def map_parallel(
        self, n: int, function: Callable[[T_co], O], *, ordered: bool = True
    ) -> Source[O, M_co]:
        """Each element through ``function`` on ``n`` threads of the scope."""
        return self.via(stage.Flow.map_parallel(n, function, ordered=ordered))

    def map_async(
        self, n: int, function: Callable[[T_co], Awaitable[O]], *, ordered: bool = True
    ) -> Source[O, M_co]:
        """Each element through a coroutine, at most ``n`` at once."""
        return self.via(stage.Flow.map_async(n, function, ordered=ordered))

    def batch(self, n: int, within: float | None = None) -> Source[list[T_co], M_co]:
        """Groups of ``n`` elements, or of fewer once ``within`` seconds have passed."""
        return self.via(stage.Flow.batch(n, within))

    def batch_bytes(self, limit: int, size: Callable[[T_co], int]) -> Source[list[T_co], M_co]:
        """Groups of at most ``limit`` bytes, as ``size`` tells them."""
        return self.via(stage.Flow.batch_bytes(limit, size))

    def sliding(self, size: int, step: int = 1) -> Source[list[T_co], M_co]:
        """Windows of ``size`` elements in a row, each ``step`` after the one before."""
        return self.via(stage.Flow.sliding(size, step))

    def expand(self, function: Callable[[T_co], Iterable[O]]) -> Source[O, M_co]:
        """Each element into as many as ``function`` makes of it."""
        return self.via(stage.Flow.expand(function))

    def flatten(self: Fluent[Iterable[O], M_co]) -> Source[O, M_co]:
        """The elements of each iterable that comes."""
        return self.via(stage.Flow.flatten())

    def page(self, size: int, mark: int | None = None) -> Source[T_co, M_co]:
        """Reads ``size`` elements ahead of demand, and more once ``mark`` have left."""
        return self.via(stage.Flow.page(size, mark))

    def throttle(self, elements: int, per: float, burst: int = 1) -> Source[T_co, M_co]:
        """At most ``elements`` in each ``per`` seconds, and ``burst`` at once after a pause."""
        return self.via(stage.Flow.throttle(elements, per, burst))

    def delay(self, by: float, room: int = 16) -> Source[T_co, M_co]:
        """Each element ``by`` seconds later than it came."""
        return self.via(stage.Flow.delay(by, room))

    def debounce(self, quiet: float) -> Source[T_co, M_co]:
        """The latest element, once none has come for ``quiet`` seconds."""
        return self.via(stage.Flow.debounce(quiet))

    def conflate(
        self, seed: Callable[[T_co], A], aggregate: Callable[[A, T_co], A]
    ) -> Source[A, M_co]:
        """Folds what comes before the next output is wanted into that output."""
        return self.via(stage.Flow.conflate(seed, aggregate))

    def idle_timeout(self, limit: float) -> Source[T_co, M_co]:
        """Fails if an element was asked for and none has come for ``limit`` seconds."""
        return self.via(stage.Flow.idle_timeout(limit))

    def initial_timeout(self, limit: float) -> Source[T_co, M_co]:
        """Fails if no first element has come within ``limit`` seconds."""
        return self.via(stage.Flow.initial_timeout(limit))

    def completion_timeout(self, limit: float) -> Source[T_co, M_co]:
        """Fails if the upstream has not ended within ``limit`` seconds."""
        return self.via(stage.Flow.completion_timeout(limit))

    def take_within(self, time: float) -> Source[T_co, M_co]:
        """What comes within ``time`` seconds of the start."""
        return self.via(stage.Flow.take_within(time))

    def drop_within(self, time: float) -> Source[T_co, M_co]:
        """What comes later than ``time`` seconds after the start."""
        return self.via(stage.Flow.drop_within(time))

    def recover(self, function: Callable[[BaseException], O | None]) -> Source[T_co | O, M_co]:
        """A last element that ``function`` makes of a failure; None lets it pass."""
        flow: Flow[T_co, T_co | O, None] = stage.Flow.recover(function)
        return self.via(flow)

    def recover_with(self, source: Source[O, Any]) -> Source[T_co | O, M_co]:
        """Goes on with ``source`` if the upstream fails."""
        flow: Flow[T_co, T_co | O, None] = stage.Flow.recover_with(source)
        return self.via(flow)

    def group_by(
        self,
        max_groups: int,
        key: Callable[[T_co], Hashable],
        flow: Flow[T_co, O, Any],
        *,
        slots: int | None = None,
    ) -> Source[O, M_co]:
        """Each element through a run of ``flow`` of its own for each key."""
        return self.via(stage.Flow.group_by(max_groups, key, flow, slots=slots))

    def feedback(
        self, capacity: int, body: Flow[T_co, stage.Again[T_co] | stage.Out[O], Any]
    ) -> Source[O, M_co]:
        """Each element through ``body``, again and again until it answers ``Out``."""
        return self.via(stage.Flow.feedback(capacity, body))
