"""Streams of a request, for threads, and what they share with those of asyncio."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sluicegate import _core
from sluicegate._block import Block
from sluicegate._core import Item
from sluicegate._data import StreamInfo, StreamStats
from sluicegate._handle import Handle
from sluicegate._wait import NEVER, Deadline, seconds_of, wait
from sluicegate.errors import EndOfStream, WrongMode

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


def end_of_stream() -> EndOfStream:
    """What a receive raises at the clean end."""
    return EndOfStream("the stream has ended; there is nothing more to read")


def chunk_of(item: Item) -> bytes:
    """The bytes of an item; a stream of anything else is the wrong one."""
    value = item.value
    if not isinstance(value, bytes):
        raise WrongMode(f"a stream of bytes was expected, {type(value).__name__} came")
    return value


class InputBase(Handle):
    """All of an input stream but its waits. Any number of threads may use it at once."""

    def __init__(self, core: _core.InputStream) -> None:
        self._core = core

    @property
    def info(self) -> StreamInfo:
        """What is known of the stream."""
        return StreamInfo(*self._core.info)

    @property
    def stats(self) -> StreamStats:
        """The stream's figures now."""
        return StreamStats(*self._core.stats)

    def try_recv(self) -> Item | None:
        """The next item if it is there, None if not. Raises EndOfStream at the clean end."""
        return self._core.try_recv()

    def limit(self, limit: float | timedelta | None) -> None:
        """Allows the stream so many seconds from now until its end has come; None is no limit.

        Then its request ends as by ``Call.limit`` or ``Request.limit``, whether somebody waits
        for an item or items lie unread. Never waits.
        """
        self._core.limit(seconds_of(limit))

    def cancel(self) -> None:
        """Stops reading: a caller's request is cancelled, a handler's input is left alone.

        Harmless on a stream that has ended, and when called again.
        """
        self._core.cancel()

    def __repr__(self) -> str:
        info, stats = self.info, self.stats
        return (
            f"<{type(self).__module__.removesuffix('._stream')}.{type(self).__name__} "
            f"{info.media} chunks={stats.chunks} ended={stats.ended}>"
        )


class InputStream(InputBase, Block):
    """Values in; consuming them is what grants credit to the sender (L10).

    An iterable of items, and a context manager that stops reading when it is left. Memory held is
    at most the window and the one item being put together. A stream that fails raises the same
    error from every later call; what came before is delivered first.
    """

    def recv(self, timeout: float | None = None) -> Item:
        """The next item, waited for at most ``timeout`` seconds; None is no limit.

        Raises EndOfStream at the clean end, TimedOut, or what the stream failed with. A wait that
        is given up, also by Ctrl-C, loses no item.
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

    def values(self) -> Iterator[Any]:
        """The values as they come, without their metadata."""
        for item in self:
            yield item.value

    def chunks(self) -> Iterator[bytes]:
        """The byte strings as they come. Raises WrongMode for any other value."""
        for item in self:
            yield chunk_of(item)

    def views(self) -> Iterator[memoryview]:
        """The byte strings as they come, without a copy: read-only views that pin their chunk."""
        for item in self:
            yield item.view

    def collect_bytes(self, timeout: float | None = None) -> bytes:
        """Everything as one byte string. Raises Unbounded for a stream without end (L16)."""
        return wait(self._core.collect_bytes(), Deadline.after(timeout))

    def collect_text(self, timeout: float | None = None) -> str:
        """Everything as one text. Raises Unbounded for a stream without end (L16)."""
        return wait(self._core.collect_text(), Deadline.after(timeout))

    def collect_items(self, timeout: float | None = None) -> list[Item]:
        """Everything as a list of items. Raises Unbounded for a stream without end (L16)."""
        return wait(self._core.collect_items(), Deadline.after(timeout))

    def reader(self) -> io.BufferedReader:
        """The byte strings as a file to read from; closing it stops reading."""
        return io.BufferedReader(_Reader(self))

    def _leave(self, raised: BaseException | None) -> None:
        self.cancel()


class _Reader(io.RawIOBase):
    """An input stream as a raw file."""

    def __init__(self, stream: InputStream) -> None:
        self._stream = stream
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: WriteableBuffer) -> int:
        into = memoryview(target).cast("B")
        while not self._rest and into:
            item = wait(self._stream._core.recv(), NEVER)
            if item is None:
                return 0
            self._rest = item.view
        count = min(len(into), len(self._rest))
        into[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        if not self.closed:
            self._rest = memoryview(b"")
            self._stream.cancel()
        super().close()


class OutputBase(Handle):
    """All of an output stream but its waits. Any number of threads may use it at once."""

    def __init__(self, core: _core.OutputStream) -> None:
        self._core = core

    @property
    def info(self) -> StreamInfo:
        """What is known of the stream; mode and flags are the defaults until it is started."""
        return StreamInfo(*self._core.info)

    @property
    def stats(self) -> StreamStats:
        """The stream's figures now."""
        return StreamStats(*self._core.stats)

    def start(
        self, *, sequence: bool = False, unbounded: bool = False, meta: dict[str, Any] | None = None
    ) -> None:
        """Opens the stream, to choose what its first emission cannot: unbounded, or metadata.

        Never waits. Without it the first emission opens the stream in the mode of that call.
        """
        self._core.start(sequence, unbounded, meta)

    def limit(self, limit: float | timedelta | None) -> None:
        """Allows the stream so many seconds from now until it is closed; None is no limit.

        Then its request ends as by ``Call.limit`` or ``Request.limit``, whether credit is waited
        for, room on the link, or nothing just now. Never waits.
        """
        self._core.limit(seconds_of(limit))

    def __repr__(self) -> str:
        info, stats = self.info, self.stats
        return (
            f"<{type(self).__module__.removesuffix('._stream')}.{type(self).__name__} "
            f"{info.media} chunks={stats.chunks} window={stats.window} ended={stats.ended}>"
        )


class StreamSender(Handle):
    """A detached emitter, for a thread that outlives the handler's own.

    Its calls raise the reason once the request has ended (L13).
    """

    def __init__(self, core: _core.StreamSender | _core.OutputStream) -> None:
        self._emitter = core

    def write(self, data: ReadableBuffer, timeout: float | None = None) -> int:
        """Writes bytes to a scalar stream and gives their number.

        Waits for credit (L9), at most ``timeout`` seconds. The buffer is not copied before it is
        laid into chunks: leave it alone until the call is over. Small writes are held and sent
        together.
        """
        wait(self._emitter.write(data), Deadline.after(timeout))
        return memoryview(data).nbytes

    def emit(self, value: Any, timeout: float | None = None) -> None:
        """Emits one value to a scalar stream, waiting for credit (L9)."""
        wait(self._emitter.emit(value), Deadline.after(timeout))

    def emit_item(
        self, value: Any, meta: dict[str, Any] | None = None, timeout: float | None = None
    ) -> None:
        """Emits one item, of any size, to a sequence stream, waiting for credit (L9)."""
        wait(self._emitter.emit_item(value, meta), Deadline.after(timeout))

    def flush(self, timeout: float | None = None) -> None:
        """Sends what is held."""
        wait(self._emitter.flush(), Deadline.after(timeout))


class OutputStream(OutputBase, StreamSender, Block):
    """Values out, one credit a chunk (L9). Any thread may emit; each emission is whole.

    The first emission opens the stream: ``write`` and ``emit`` as scalar, ``emit_item`` as a
    sequence. An emission waits while the receiver has granted nothing. A timeout or Ctrl-C keeps
    what earlier calls wrote; of the given-up call's bytes a part may have been sent.

    A context manager: leaving it closes the stream, unless an error does the leaving.
    """

    def __init__(self, core: _core.OutputStream) -> None:
        OutputBase.__init__(self, core)
        StreamSender.__init__(self, core)

    def close(self, timeout: float | None = None) -> None:
        """Sends what is held and ends the stream. Calling it again is harmless."""
        wait(self._core.close(), Deadline.after(timeout))

    def sender(self) -> StreamSender:
        """A detached emitter for another thread."""
        return StreamSender(self._core.sender())

    def _leave(self, raised: BaseException | None) -> None:
        if raised is None:
            self.close()
