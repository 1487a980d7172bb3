"""One call, at the caller's end, for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator

from sluicegate._block import AsyncBlock
from sluicegate._call import CallBase
from sluicegate._data import Event, Terminal, event_of
from sluicegate._wait import NEVER, Deadline
from sluicegate.aio._stream import InputStream, OutputStream
from sluicegate.aio._wait import wait


class Call(CallBase, AsyncBlock):
    """One call of a cap. Feed it in one task and read it in another (L15).

    Leaving it as a context manager before its end cancels it. See ``sluicegate.Call``.
    """

    def input(self, media: str) -> OutputStream:
        """Opens an argument stream."""
        return OutputStream(self._core.input(media))

    async def finish_input(self, timeout: float | None = None) -> None:
        """Ends the arguments: closes their streams, which may wait for credit, and the body."""
        await wait(self._core.finish_input(), Deadline.after(timeout))

    async def output(self, timeout: float | None = None) -> InputStream:
        """The next result stream. Raises Protocol if the call ends without one."""
        return InputStream(await wait(self._core.output(), Deadline.after(timeout)))

    async def next_output(self, timeout: float | None = None) -> InputStream | None:
        """The next result stream, as they open; None once the call has succeeded."""
        stream = await wait(self._core.next_output(), Deadline.after(timeout))
        return None if stream is None else InputStream(stream)

    async def outputs(self) -> AsyncIterator[InputStream]:
        """The result streams as they open, until the call has succeeded."""
        while (stream := await self.next_output()) is not None:
            yield stream

    async def next_event(self, timeout: float | None = None) -> Event | None:
        """The next log or progress; None after the end. The last 1024 wait for a late reader."""
        row = await wait(self._core.next_event(), Deadline.after(timeout))
        return None if row is None else event_of(row)

    async def events(self) -> AsyncIterator[Event]:
        """The logs and progress as they come, until the end."""
        while (row := await wait(self._core.next_event(), NEVER)) is not None:
            yield event_of(row)

    async def wait(self, timeout: float | None = None) -> Terminal:
        """Waits for the end. Raises why the call failed."""
        return Terminal(*await wait(self._core.wait(), Deadline.after(timeout)))

    async def _leave(self, raised: BaseException | None) -> None:
        self.cancel()
