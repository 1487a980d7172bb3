"""One call, at the handler's end, for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

from sluicegate._request import RequestBase
from sluicegate._wait import Deadline
from sluicegate.aio._call import Call
from sluicegate.aio._stream import InputStream, OutputStream, StreamSender
from sluicegate.aio._wait import wait
from sluicegate.errors import SluicegateError


class Request(RequestBase):
    """One call that an ``async`` handler serves; its task is cancelled when it has to stop.

    See ``sluicegate.Request``.
    """

    async def input(self, timeout: float | None = None) -> InputStream:
        """The next argument stream. Raises Protocol if the caller ends its body without one."""
        return InputStream(await wait(self._core.input(), Deadline.after(timeout)))

    async def next_input(self, timeout: float | None = None) -> InputStream | None:
        """The next argument stream, as they open; None when the caller has ended its body."""
        stream = await wait(self._core.next_input(), Deadline.after(timeout))
        return None if stream is None else InputStream(stream)

    async def inputs(self) -> AsyncIterator[InputStream]:
        """The argument streams as they open, until the caller ends its body."""
        while (stream := await self.next_input()) is not None:
            yield stream

    def output(self) -> OutputStream:
        """The main output; the same stream each time."""
        return OutputStream(self._core.output())

    def output_for(self, media: str) -> OutputStream:
        """Another declared output, by its media. Raises InvalidArgument if there is none."""
        return OutputStream(self._core.output_for(media))

    def stream_sender(self) -> StreamSender:
        """A detached emitter on the main output, for another task."""
        return StreamSender(self._core.stream_sender())

    def peer(self, cap: str, *, limit: float | timedelta | None = None) -> Call:
        """Calls a cap through the host. ``limit`` is for the whole call; see ``Call.limit``."""
        call = Call(self._core.peer(cap))
        if limit is not None:
            call.limit(limit)
        return call

    async def cancelled(self, timeout: float | None = None) -> SluicegateError:
        """Waits until the handler has to stop, and says why; Closed if it finished before."""
        return await wait(self._core.cancelled(), Deadline.after(timeout))

    async def finish(
        self,
        progress: float | None = None,
        message: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Ends the request as done, with a final progress of 1 unless given (L3).

        Flushes and closes every output first, which may wait for credit. Raises the reason if the
        request had to stop.
        """
        await wait(self._core.finish(progress, message), Deadline.after(timeout))
