"""Flow control you can link: one credit window, in every language.

``Gate`` is the sender's store of credit, ``Window`` the receiver's side of it, ``Router`` brings
grants to gates; any transport can use the three alone. Every wait is in Python's own condition,
without the interpreter lock, and ends at once at Ctrl-C. ``sluicegate.aio`` has the same names for
``asyncio``.
"""

from __future__ import annotations

from sluicegate import errors as errors
from sluicegate._core import __version__ as __version__
from sluicegate._credit import Router as Router
from sluicegate._credit import Turn as Turn
from sluicegate._credit import Window as Window
from sluicegate._credit import negotiate as negotiate
from sluicegate._gate import Gate as Gate
from sluicegate.errors import SluicegateError as SluicegateError

__all__ = [
    "Gate",
    "Router",
    "SluicegateError",
    "Turn",
    "Window",
    "__version__",
    "errors",
    "negotiate",
]
