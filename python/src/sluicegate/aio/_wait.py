"""How a task waits: in an event of its loop, which the notifier thread sets from outside."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

from sluicegate import _core
from sluicegate._wait import Deadline, timed_out

if TYPE_CHECKING:
    from sluicegate._core import Op

_T = TypeVar("_T")


async def wait(op: Op[_T], deadline: Deadline) -> _T:
    """Waits in this task until the operation has answered, and gives its answer.

    A cancelled task gives up its place and takes nothing: there is no ``await`` between the last
    poll and the return.
    """
    await until_answered(op, deadline)
    return op.value


async def until_answered(op: Op[Any], deadline: Deadline) -> None:
    """The same, but for the answer, which is left in the operation."""
    try:
        if not op.poll():
            await _until_answered(op, deadline)
    except BaseException:
        op.cancel()
        raise


async def _until_answered(op: Op[_T], deadline: Deadline) -> None:
    loop = asyncio.get_running_loop()
    rung = asyncio.Event()
    expired = False

    def ring() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(rung.set)

    def expire() -> None:
        nonlocal expired
        expired = True
        rung.set()

    left = deadline.left()
    timer = None if left is None else loop.call_later(left, expire)
    bell = _core.Bell(ring)
    try:
        while not op.poll(bell):
            await rung.wait()
            rung.clear()
            if expired:
                if op.poll():
                    return
                raise timed_out()
    finally:
        bell.withdraw()
        if timer is not None:
            timer.cancel()
