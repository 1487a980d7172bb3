"""Live feeds, for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator

from sluicegate._block import AsyncBlock
from sluicegate._core import Item
from sluicegate._feed import FeedBase
from sluicegate._stream import end_of_stream
from sluicegate._wait import NEVER, Deadline
from sluicegate.aio._stream import OutputStream
from sluicegate.aio._wait import wait


class Feed(FeedBase, AsyncBlock):
    """A live feed. See ``sluicegate.Feed``; pushing is the same, from any thread."""

    async def recv(self, timeout: float | None = None) -> Item:
        """The next item, waited for at most ``timeout`` seconds; None is no limit."""
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

    async def serve(self, output: OutputStream, timeout: float | None = None) -> None:
        """Delivers the feed to an output until it ends; each item waits for its credit (L9)."""
        await wait(self._core.serve(output._core), Deadline.after(timeout))

    async def _leave(self, raised: BaseException | None) -> None:
        self.close()
