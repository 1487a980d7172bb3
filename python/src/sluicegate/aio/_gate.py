"""The gate of asyncio."""

from __future__ import annotations

from sluicegate._credit import GateBase
from sluicegate._wait import Deadline
from sluicegate.aio._wait import wait


class Gate(GateBase):
    """A sender's credit for one stream, in chunks (L9). See ``sluicegate.Gate``."""

    async def acquire(self, n: int = 1, timeout: float | None = None) -> None:
        """Takes ``n`` chunks, waiting for them at most ``timeout`` seconds; None is no limit.

        Raises TimedOut, or the reason of a closed gate; in both cases, and when the task is
        cancelled, nothing was taken.
        """
        await wait(self._core.acquire(n), Deadline.after(timeout))
