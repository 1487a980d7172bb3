"""Coroutines of the user beside threads of a scope."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from sluicegate import _core
from sluicegate.flow._scope import BUILDING

if TYPE_CHECKING:
    from sluicegate.flow._run import Manual

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741


def loop_of_the_run(loop: asyncio.AbstractEventLoop | None) -> asyncio.AbstractEventLoop | None:
    """The loop that was named, or that runs where the graph is run; None before there is one."""
    if loop is not None or BUILDING.scope is None:
        return loop
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        message = "a stage of coroutines is run where no event loop is running; name its loop"
        raise RuntimeError(message) from None


def start_task(work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop | None) -> None:
    """Has the loop do the work."""
    try:
        loop = loop_of_the_run(loop)
        assert loop is not None
    except BaseException:
        work.close()
        raise
    asyncio.run_coroutine_threadsafe(work, loop)


async def read_into(make: Callable[[], AsyncIterable[T]], control: Manual[T]) -> None:
    """Offers what an iterable gives, until one of the two ends."""
    try:
        items = make()
        try:
            async for item in items:
                if not (await control.offer_async(item)).is_open:
                    return
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()
    except BaseException as raised:
        control.fail(raised)
        if not isinstance(raised, Exception):
            raise
    else:
        control.complete()
    finally:
        del control  # it holds what was raised, as the promise of ``starter`` does


def starter(
    function: Callable[[I], Awaitable[T]], loop: asyncio.AbstractEventLoop
) -> Callable[[I, _core.FlowPromise], Callable[[], object]]:
    """Begins a coroutine in the loop, and answers what cancels it."""

    async def work(element: I, promise: _core.FlowPromise) -> None:
        try:
            promise.try_success(await function(element))
        except BaseException as raised:
            promise.try_failure(raised)
            if not isinstance(raised, Exception):
                raise
        finally:
            # The promise holds what was raised, which holds this frame: nothing would collect them.
            del element, promise

    def start(element: I, promise: _core.FlowPromise) -> Callable[[], object]:
        coroutine = work(element, promise)
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        except BaseException:
            coroutine.close()
            raise

        def stop() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                future.cancel()

        return stop

    return start
