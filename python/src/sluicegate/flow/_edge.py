"""Edges: what a bounded queue between two threads holds, and what happens when it is full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from inspect import isasyncgenfunction, iscoroutinefunction
from typing import Any, ClassVar, TypeVar, cast

from sluicegate import _core

T = TypeVar("T")

LEFT, RIGHT = True, False
"""Which materialised value stays."""


class Overflow(Enum):
    """What becomes of an element that finds its edge full."""

    BACKPRESSURE = 0
    """It waits for room."""
    DROP_HEAD = 1
    """The oldest element of the queue makes room."""
    DROP_TAIL = 2
    """The newest element of the queue makes room."""
    DROP_NEW = 3
    """It is discarded itself."""
    DROP_BUFFER = 4
    """All elements of the queue make room."""
    FAIL = 5
    """The edge fails with BufferOverflow, once what it holds was taken."""


@dataclass(frozen=True, slots=True)
class EdgeOptions:
    """How much an edge holds: elements, and bytes too if that is said.

    An empty edge takes one element of any size. Raises InvalidArgument for a size of 0.
    """

    capacity: int = 16
    bytes: int | None = None
    overflow: Overflow = Overflow.BACKPRESSURE

    def __post_init__(self) -> None:
        _core.edge_check(self._row)

    @property
    def _row(self) -> tuple[int, int | None, int]:
        return (self.capacity, self.bytes, self.overflow.value)


class OfferStatus(Enum):
    """What became of an element that was offered."""

    ENQUEUED = 0
    """It is in the queue."""
    DROPPED = 1
    """It was discarded, and counted."""
    QUEUE_CLOSED = 2
    """The source was completed, or nobody wants its elements any more: it was not taken."""
    FAILURE = 3
    """The source has failed, with the same error for everybody: it was not taken."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The result of an offer; ``error`` is what a failed source failed with."""

    ENQUEUED: ClassVar[Offer]
    DROPPED: ClassVar[Offer]
    QUEUE_CLOSED: ClassVar[Offer]

    status: OfferStatus
    error: BaseException | None = None

    @property
    def is_open(self) -> bool:
        """True while there is a point in offering more."""
        return self.status in (OfferStatus.ENQUEUED, OfferStatus.DROPPED)


Offer.ENQUEUED = Offer(OfferStatus.ENQUEUED)
Offer.DROPPED = Offer(OfferStatus.DROPPED)
Offer.QUEUE_CLOSED = Offer(OfferStatus.QUEUE_CLOSED)


def edge_of(
    options: EdgeOptions | None, size: Callable[[T], int] | None
) -> tuple[tuple[int, int | None, int], Callable[[T], int] | None]:
    """An edge, and who tells the bytes of elements: ``len``, if they count and nobody is named."""
    options = options or EdgeOptions()
    if options.bytes is not None and size is None:
        size = cast(Callable[[T], int], len)
    return options._row, size


F = TypeVar("F", bound=Callable[..., Any])


def plain(function: F) -> F:
    """A function whose answer is taken as it is; an async one would never run: TypeError."""
    if iscoroutinefunction(function) or isasyncgenfunction(function):
        name = getattr(function, "__qualname__", repr(function))
        raise TypeError(f"{name} is async, and this stage awaits nothing: use map_async")
    return function
