"""Streams of a request, for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from sluicegate import _core
from sluicegate._block import AsyncBlock
from sluicegate._core import Item
from sluicegate._handle import Handle
from sluicegate._stream import InputBase, OutputBase, chunk_of, end_of_stream
from sluicegate._wait import NEVER, Deadline
from sluicegate.aio._wait import wait

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class InputStream(InputBase, AsyncBlock):
    """Values in; consuming them is what grants credit to the sender (L10).

    An asynchronous iterable of items, and a context manager that stops reading when it is left.
    See ``sluicegate.InputStream``.
    """

    async def recv(self, timeout: float | None = None) -> Item:
        """The next item, waited for at most ``timeout`` seconds; None is no limit.

        Raises EndOfStream at the clean end, TimedOut, or what the stream failed with. A wait that
        is given up, also by a cancelled task, loses no item.
        """
        item = await wait(self._core.recv(), Deadline.after(timeout))
        if item is None:
            raise end_of_stream()
        return item

    def __aiter__(self) -> AsyncIterator[Item]:
        return self

    async def __anext__(self) -> Item:
        item = await wait(self._core.recv(), NEVER)
        if item is None:
            raise StopAsyncIteration
        return item

    async def values(self) -> AsyncIterator[Any]:
        """The values as they come, without their metadata."""
        async for item in self:
            yield item.value

    async def chunks(self) -> AsyncIterator[bytes]:
        """The byte strings as they come. Raises WrongMode for any other value."""
        async for item in self:
            yield chunk_of(item)

    async def views(self) -> AsyncIterator[memoryview]:
        """The byte strings as they come, without a copy: read-only views that pin their chunk."""
        async for item in self:
            yield item.view

    async def collect_bytes(self, timeout: float | None = None) -> bytes:
        """Everything as one byte string. Raises Unbounded for a stream without end (L16)."""
        return await wait(self._core.collect_bytes(), Deadline.after(timeout))

    async def collect_text(self, timeout: float | None = None) -> str:
        """Everything as one text. Raises Unbounded for a stream without end (L16)."""
        return await wait(self._core.collect_text(), Deadline.after(timeout))

    async def collect_items(self, timeout: float | None = None) -> list[Item]:
        """Everything as a list of items. Raises Unbounded for a stream without end (L16)."""
        return await wait(self._core.collect_items(), Deadline.after(timeout))

    async def _leave(self, raised: BaseException | None) -> None:
        self.cancel()


class StreamSender(Handle):
    """A detached emitter, for a task that outlives the handler's own."""

    def __init__(self, core: _core.StreamSender | _core.OutputStream) -> None:
        self._emitter = core

    async def write(self, data: ReadableBuffer, timeout: float | None = None) -> int:
        """Writes bytes to a scalar stream, waiting for credit (L9), and gives their number.

        The buffer is not copied before it is laid into chunks: leave it alone until the call is
        over.
        """
        await wait(self._emitter.write(data), Deadline.after(timeout))
        return memoryview(data).nbytes

    async def emit(self, value: Any, timeout: float | None = None) -> None:
        """Emits one value to a scalar stream, waiting for credit (L9)."""
        await wait(self._emitter.emit(value), Deadline.after(timeout))

    async def emit_item(
        self, value: Any, meta: dict[str, Any] | None = None, timeout: float | None = None
    ) -> None:
        """Emits one item, of any size, to a sequence stream, waiting for credit (L9)."""
        await wait(self._emitter.emit_item(value, meta), Deadline.after(timeout))

    async def flush(self, timeout: float | None = None) -> None:
        """Sends what is held."""
        await wait(self._emitter.flush(), Deadline.after(timeout))


class OutputStream(OutputBase, StreamSender, AsyncBlock):
    """Values out, one credit a chunk (L9). See ``sluicegate.OutputStream``."""

    def __init__(self, core: _core.OutputStream) -> None:
        OutputBase.__init__(self, core)
        StreamSender.__init__(self, core)

    async def close(self, timeout: float | None = None) -> None:
        """Sends what is held and ends the stream. Calling it again is harmless."""
        await wait(self._core.close(), Deadline.after(timeout))

    def sender(self) -> StreamSender:
        """A detached emitter for another task."""
        return StreamSender(self._core.sender())

    async def _leave(self, raised: BaseException | None) -> None:
        if raised is None:
            await self.close()
