"""Live feeds: a source that cannot be held up, in front of a consumer that may be slow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Literal, Self, TypeAlias

from sluicegate import _core
from sluicegate._block import Block
from sluicegate._core import Item
from sluicegate._handle import Handle
from sluicegate._stream import OutputStream, end_of_stream
from sluicegate._wait import NEVER, Deadline, wait
from sluicegate.errors import InvalidArgument, Io, SluicegateError

OverrunPolicy: TypeAlias = Literal["drop-oldest", "fail"]
"""What a feed does when its ring is full. A device cannot wait."""


@dataclass(frozen=True, slots=True)
class FeedStats:
    """A feed's figures at one moment, in items: captured = delivered + dropped + held, always.

    ``dropped`` are ``overruns``, because the consumer was slower than reality, and what was held
    when the feed was given up; ``ended`` says that nothing is captured any more.
    """

    captured: int
    delivered: int
    dropped: int
    overruns: int
    held: int
    capacity: int
    ended: bool


@dataclass(frozen=True, slots=True)
class FeedMeta:
    """What travels with an item of a feed.

    ``seq`` is its number in the order of capture, from 0; lost items have one too. ``pts_us`` is
    its presentation time and ``capture_ts_us`` when it was captured, since the Unix epoch, in
    microseconds. ``dropped`` items were lost in front of it; if any were, ``duration_us`` is the
    presentation time from the item delivered before to this one.
    """

    seq: int
    pts_us: int
    capture_ts_us: int
    dropped: int = 0
    duration_us: int = 0

    @classmethod
    def of(cls, item: Item) -> FeedMeta:
        """What an item says, at either end of a stream. InvalidArgument if it is not a feed's."""
        meta = item.meta or {}
        try:
            gap = meta.get("gap") or {"dropped": 0, "duration_us": 0}
            times = (meta["seq"], meta["pts_us"], meta["capture_ts_us"])
            return cls(*times, gap["dropped"], gap["duration_us"])
        except (KeyError, TypeError, AttributeError):
            raise InvalidArgument(f"{item!r} is no item of a feed") from None


class FeedBase(Handle):
    """All of a feed but its waits. Any number of threads may use it at once.

    A ring of ``capacity`` items stands between the source and the consumer. When it is full, the
    policy says what happens: the oldest item makes room and the next one delivered says so
    (``"drop-oldest"``), or the feed ends with FeedOverrun once what it holds was delivered
    (``"fail"``). ``meta`` says what is captured; it becomes the metadata of the stream.
    """

    def __init__(
        self,
        capacity: int = 64,
        *,
        policy: OverrunPolicy = "drop-oldest",
        meta: dict[str, Any] | None = None,
    ) -> None:
        self._core = _core.Feed.open(capacity, _fails(policy), meta)

    @classmethod
    def command(
        cls,
        *words: str | os.PathLike[str],
        item_bytes: int | None = None,
        capacity: int = 64,
        policy: OverrunPolicy = "drop-oldest",
        meta: dict[str, Any] | None = None,
    ) -> Self:
        """A feed of what a command writes to its stdout: ffmpeg, arecord, anything.

        Items are ``item_bytes`` each, such as raw frames, or else one a line of at most 1 MiB. Exit
        status 0 ends the feed as it should, any other fails it with the end of the command's
        stderr. When the feed ends first, the command and what it started are killed and reaped.
        """
        argv = [os.fspath(word) for word in words]
        return cls._of(_core.Feed.command(argv, item_bytes, capacity, _fails(policy), meta))

    @classmethod
    def reader(
        cls,
        file: IO[Any] | int,
        *,
        item_bytes: int | None = None,
        interval: float | None = None,
        capacity: int = 64,
        policy: OverrunPolicy = "drop-oldest",
        meta: dict[str, Any] | None = None,
    ) -> Self:
        """A feed of what a file or pipe gives, from where its descriptor stands.

        Items as for ``command``. ``interval`` seconds from one item to the next play a file as if
        it were live. The descriptor is duplicated: yours stays yours.
        """
        fd = file if isinstance(file, int) else file.fileno()
        every = None if interval is None else round(interval * 1e6)
        core = _core.Feed.reader(fd, item_bytes, every, capacity, _fails(policy), meta)
        return cls._of(core)

    @classmethod
    def _of(cls, core: _core.Feed) -> Self:
        feed = cls.__new__(cls)
        feed._core = core
        return feed

    def push(self, item: Any, pts_us: int, *, capture_ts_us: int | None = None) -> bool:
        """An item was captured: bytes, or any other value. Never waits for the consumer.

        Gives False once there is no point in capturing on: the feed was stopped, given up, or has
        overrun. Times are in microseconds; an item was captured now unless told otherwise.
        """
        return self._core.push(item, pts_us, capture_ts_us)

    def fail(self, error: BaseException) -> None:
        """The device failed: what is held is still delivered, then the consumer gets the error.

        An exception that is none of the library's is an Io error with its text.
        """
        if not isinstance(error, SluicegateError):
            error = Io(str(error) or type(error).__qualname__)
        self._core.fail(error)

    def stop(self) -> None:
        """Stops the capture: what is held is still delivered, then the feed ends as it should.

        Told at once, whatever the consumer does. The first end stays.
        """
        self._core.stop()

    def close(self) -> None:
        """Gives the feed up: the source is stopped, and what is held is dropped."""
        self._core.abandon()

    @contextmanager
    def capturing(self) -> Iterator[Self]:
        """For the capture thread: leaving the block ends the feed, an exception fails it."""
        try:
            yield self
        except BaseException as error:
            self.fail(error)
            raise
        self.stop()

    @property
    def stats(self) -> FeedStats:
        """The figures now."""
        return FeedStats(*self._core.stats)

    def __repr__(self) -> str:
        stats = self.stats
        return (
            f"<{type(self).__module__.removesuffix('._feed')}.{type(self).__name__} "
            f"captured={stats.captured} delivered={stats.delivered} dropped={stats.dropped} "
            f"held={stats.held} ended={stats.ended}>"
        )


def _fails(policy: str) -> bool:
    if policy not in ("drop-oldest", "fail"):
        raise InvalidArgument(f"{policy!r} is no policy: it is 'drop-oldest' or 'fail'")
    return policy == "fail"


class Feed(FeedBase, Block):
    """A live feed, for threads. See ``FeedBase`` for its ring and its sources.

    An iterable of items, whose metadata ``FeedMeta.of`` reads, and a context manager that gives
    the feed up when it is left. It has one consumer at a time: while it is served, ``recv`` is
    refused.
    """

    def recv(self, timeout: float | None = None) -> Item:
        """The next item, waited for at most ``timeout`` seconds; None is no limit.

        Raises EndOfStream at the clean end, TimedOut, FeedOverrun, or what the source failed
        with; what was held before is delivered first.
        """
        item = wait(self._core.recv(), Deadline.after(timeout))
        if item is None:
            raise end_of_stream()
        return item

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        item = wait(self._core.recv(), NEVER)
        if item is None:
            raise StopIteration
        return item

    def serve(self, output: OutputStream, timeout: float | None = None) -> None:
        """Delivers the feed to an output until it ends: each item waits here for its credit (L9).

        The stream is opened, unless it is open, as an unbounded sequence (L16); it is left open at
        the end. Raises what the feed failed with, or the reason if the request ends (L13), also
        while the source is silent.
        """
        wait(self._core.serve(output._core), Deadline.after(timeout))

    def _leave(self, raised: BaseException | None) -> None:
        self.close()
