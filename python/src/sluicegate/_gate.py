"""The gate of threads."""

from __future__ import annotations

from sluicegate._credit import GateBase
from sluicegate._wait import Deadline, wait


class Gate(GateBase):
    """A sender's credit for one stream, in chunks (L9).

    First come, first served: a large acquire is served before small ones that came later. A
    waiter that gives up takes nothing and lets the next one through. Closing wakes everybody with
    the reason (L13).
    """

    def acquire(self, n: int = 1, timeout: float | None = None) -> None:
        """Takes ``n`` chunks, waiting for them at most ``timeout`` seconds; None is no limit.

        More than the window holds is waited for until grants have added up to it. Raises TimedOut,
        or the reason of a closed gate; in both cases, and at Ctrl-C, nothing was taken.
        """
        wait(self._core.acquire(n), Deadline.after(timeout))
