"""The plugin's runtime in a program that runs an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from sluicegate import _core
from sluicegate._cartridge import GRACE, CartridgeBase, Crew, fail, plainly
from sluicegate._engine import HasFileno
from sluicegate._report import Loss
from sluicegate._wait import NEVER, Deadline
from sluicegate.aio._request import Request
from sluicegate.aio._wait import wait
from sluicegate.errors import Cancelled, SluicegateError


class Cartridge(CartridgeBase):
    """A plugin whose ``async`` handlers are tasks of the running loop; others run on threads."""

    async def run(
        self, reader: int | HasFileno | None = None, writer: int | HasFileno | None = None
    ) -> None:
        """Serves the host on stdin and stdout, or two descriptors, until the host closes them.

        See ``sluicegate.Cartridge.run``.
        """
        with plainly(reader):
            session = await wait(self._serve(reader, writer), NEVER)
        crew = Crew()
        tasks: set[asyncio.Task[None]] = set()
        try:
            with self._serving(session):
                while (request := await wait(session.next_request(), NEVER)) is not None:
                    if handler := self._handler_of(request):
                        if inspect.iscoroutinefunction(handler):
                            task = asyncio.create_task(serve(request, handler))
                            tasks.add(task)
                            task.add_done_callback(tasks.discard)
                        else:
                            crew.start(request, handler)
        finally:
            if tasks:
                await asyncio.wait(tasks, timeout=GRACE)
            await asyncio.to_thread(crew.finish, GRACE)

    async def next_loss(self, timeout: float | None = None) -> Loss:
        """Waits for the next notice of frames that were lost here; see ``Engine.next_loss``.

        It may be asked before ``run`` and after it; notices of all runs are kept.
        """
        return Loss.read(await wait(self._heard().next(), Deadline.after(timeout)))


async def serve(core: _core.Request, handler: Callable[[Any], Coroutine[Any, Any, object]]) -> None:
    """Runs an ``async`` handler; cancels it when the request has to stop."""
    request = Request(core)
    task = asyncio.ensure_future(handler(request))
    stop = asyncio.ensure_future(_cancel_when_stopped(request, task))
    try:
        await task
    except asyncio.CancelledError:
        request.fail(Cancelled("the handler's task was cancelled"))
    except BaseException as raised:
        fail(request, raised)
    else:
        stop.cancel()
        with contextlib.suppress(SluicegateError):  # the caller is told of it
            await request.finish()
    finally:
        stop.cancel()
        task.cancel()


async def _cancel_when_stopped(request: Request, task: asyncio.Future[object]) -> None:
    await request.cancelled()
    task.cancel()
