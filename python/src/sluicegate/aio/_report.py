"""Asking running processes, for ``asyncio``."""

from __future__ import annotations

import os
from typing import Any

from sluicegate import _core
from sluicegate._report import Explanation, stats_of, target
from sluicegate._wait import Deadline
from sluicegate.aio._wait import wait


async def ask_explain(
    of: int | str | os.PathLike[str], timeout: float | None = None
) -> Explanation:
    """Asks a running process, by its id or its control socket, who waits for whom."""
    return Explanation(await wait(_core.ask(target(of), "explain"), Deadline.after(timeout)))


async def ask_stats(
    of: int | str | os.PathLike[str], timeout: float | None = None
) -> dict[str, Any]:
    """Asks a running process, by its id or its control socket, what is live and what was lost."""
    return stats_of(await wait(_core.ask(target(of), "stats"), Deadline.after(timeout)))
