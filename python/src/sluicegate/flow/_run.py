"""What a run yields to those who feed it and read it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Generic, TypeVar

from sluicegate import _core
from sluicegate._handle import Handle
from sluicegate._stream import end_of_stream
from sluicegate._wait import NEVER, Deadline, until_answered, wait
from sluicegate.aio._wait import until_answered as until_answered_in_task
from sluicegate.aio._wait import wait as wait_in_task
from sluicegate.errors import Closed, Forked
from sluicegate.flow._completion import Status
from sluicegate.flow._edge import Offer, OfferStatus
from sluicegate.flow._told import Failed, Told

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def offer_of(row: tuple[int, BaseException | None]) -> Offer:
    """The result that the core has answered."""
    return Offer(OfferStatus(row[0]), row[1])


class Manual(Handle, Generic[T]):
    """The control of a source that is fed by hand, from any thread or task.

    Letting go of it without ``complete`` or ``fail`` fails the source: a producer that is lost is
    not a producer that is done.
    """

    __slots__ = ("_core", "_size")

    def __init__(self, core: _core.FlowManual, size: Callable[[T], int] | None = None) -> None:
        self._core: _core.FlowManual | Failed = core
        self._size = size

    def _bytes(self, element: T) -> int:
        return 0 if self._size is None else self._size(element)

    def offer(self, element: T, timeout: float | None = None) -> Offer:
        """Offers an element; under backpressure it waits for room, at most ``timeout`` seconds.

        Raises TimedOut if there was none: the element was not taken.
        """
        op = self._core.offer(element, self._bytes(element))
        return offer_of(wait(op, Deadline.after(timeout)))

    async def offer_async(self, element: T, timeout: float | None = None) -> Offer:
        """The same in a task. A task that is cancelled takes its element back."""
        op = self._core.offer(element, self._bytes(element))
        return offer_of(await wait_in_task(op, Deadline.after(timeout)))

    def try_offer(self, element: T) -> Offer | None:
        """Offers an element if that needs no waiting; None if there is no room."""
        row = self._core.try_offer(element, self._bytes(element))
        return None if row is None else offer_of(row)

    def __lshift__(self, element: T) -> Manual[T]:
        """Offers an element. Raises what a failed source failed with, Closed if it has ended."""
        offer = self.offer(element)
        if offer.error is not None:
            raise offer.error
        if not offer.is_open:
            raise Closed("the source takes no more elements")
        return self

    def complete(self) -> bool:
        """The source is done; what was accepted is delivered first. False if it had ended."""
        return self._core.complete()

    def fail(self, error: BaseException) -> bool:
        """The source fails; what was accepted is delivered first. False if it had ended."""
        core = self._core
        won = core.fail(error)
        if won and not isinstance(core, Failed):
            self._core = Failed(core, error)
        return won

    @property
    def demand(self) -> int:
        """How many elements can be offered now without waiting."""
        return self._core.demand

    @property
    def held(self) -> int:
        """Elements that were accepted and not taken yet."""
        return self._core.held

    @property
    def lost(self) -> int:
        """Elements that the overflow strategy discarded."""
        return self._core.lost

    @property
    def is_over(self) -> bool:
        """True once the source was completed, failed or cancelled from below."""
        return self._core.is_over

    def __repr__(self) -> str:
        return f"<{type(self).__qualname__} held={self.held} over={self.is_over}>"


class Outlet(Handle, Generic[T_co]):
    """The elements of a pipeline, taken by hand: an iterable, and for ``async for`` too.

    Taking makes demand: the pipeline runs ahead by the outlet's capacity and no further. Leaving
    it as a context manager, and letting go of it, cancels the pipeline. Each element reaches one
    taker.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.FlowOutlet) -> None:
        self._core: _core.FlowOutlet | Told = core

    def recv(self, timeout: float | None = None) -> T_co:
        """The next element, waited for at most ``timeout`` seconds; None is no limit.

        Raises EndOfStream at the end, TimedOut, or what the stream failed with.
        """
        return self._element(self._wait(Deadline.after(timeout)))

    async def recv_async(self, timeout: float | None = None) -> T_co:
        """The same in a task."""
        return self._element(await self._wait_in_task(Deadline.after(timeout)))

    def _wait(self, deadline: Deadline) -> tuple[T_co] | None:
        op = self._core.recv()
        until_answered(op, deadline)
        return self._answer(op)

    async def _wait_in_task(self, deadline: Deadline) -> tuple[T_co] | None:
        op = self._core.recv()
        await until_answered_in_task(op, deadline)
        return self._answer(op)

    def _answer(self, op: _core.Op[tuple[T_co] | None]) -> tuple[T_co] | None:
        try:
            return op.value
        except BaseException as raised:
            if not isinstance(self._core, Told):
                self._core = Told(raised, Status.FAILURE.value)
            raise

    def _element(self, row: tuple[T_co] | None) -> T_co:
        if row is None:
            raise end_of_stream()
        return row[0]

    def __iter__(self) -> Iterator[T_co]:
        return self

    def __next__(self) -> T_co:
        row = self._wait(NEVER)
        if row is None:
            raise StopIteration
        return self._element(row)

    def __aiter__(self) -> AsyncIterator[T_co]:
        return self

    async def __anext__(self) -> T_co:
        row = await self._wait_in_task(NEVER)
        if row is None:
            raise StopAsyncIteration
        return self._element(row)

    def cancel(self) -> None:
        """Cancels the pipeline and releases what is held. Later calls answer the end."""
        self._core.cancel()

    @property
    def held(self) -> int:
        """Elements that wait to be taken."""
        return self._core.held

    def __enter__(self) -> Outlet[T_co]:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Forked):
            self.cancel()

    async def __aenter__(self) -> Outlet[T_co]:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()
