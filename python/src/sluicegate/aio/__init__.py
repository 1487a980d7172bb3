"""The same names for ``asyncio``: what waits is a coroutine, the rest is as in ``sluicegate``.

A cancelled task leaves its place in every line and takes nothing. No call blocks the event loop.
"""

from __future__ import annotations

from sluicegate import errors as errors
from sluicegate._credit import Router as Router
from sluicegate._credit import Turn as Turn
from sluicegate._credit import Window as Window
from sluicegate._credit import negotiate as negotiate
from sluicegate.aio._gate import Gate as Gate

__all__ = ["Gate", "Router", "Turn", "Window", "errors", "negotiate"]
