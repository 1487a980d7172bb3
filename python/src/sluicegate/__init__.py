"""Flow control you can link: one credit window, in every language.

``Gate`` is the sender's store of credit, ``Window`` the receiver's side of it, ``Router`` brings
grants to gates; any transport can use the three alone. ``Cartridge`` is a plugin, ``Engine`` its
host; their streams hold credit end to end.

Every wait is in Python's own lock, detached from the interpreter, and ends at once at Ctrl-C.
``sluicegate.aio`` has the same names for ``asyncio``.
"""

from __future__ import annotations

from sluicegate import errors as errors
from sluicegate import values as values
from sluicegate._call import Call as Call
from sluicegate._cartridge import Cartridge as Cartridge
from sluicegate._core import Item as Item
from sluicegate._core import __version__ as __version__
from sluicegate._credit import Router as Router
from sluicegate._credit import Turn as Turn
from sluicegate._credit import Window as Window
from sluicegate._credit import negotiate as negotiate
from sluicegate._data import CapInfo as CapInfo
from sluicegate._data import Counters as Counters
from sluicegate._data import Event as Event
from sluicegate._data import Limits as Limits
from sluicegate._data import Log as Log
from sluicegate._data import Memory as Memory
from sluicegate._data import Progress as Progress
from sluicegate._data import StreamInfo as StreamInfo
from sluicegate._data import StreamStats as StreamStats
from sluicegate._data import Terminal as Terminal
from sluicegate._engine import Engine as Engine
from sluicegate._engine import Peer as Peer
from sluicegate._engine import forward as forward
from sluicegate._feed import Feed as Feed
from sluicegate._feed import FeedMeta as FeedMeta
from sluicegate._feed import FeedStats as FeedStats
from sluicegate._feed import OverrunPolicy as OverrunPolicy
from sluicegate._gate import Gate as Gate
from sluicegate._relay import Host as Host
from sluicegate._relay import Switch as Switch
from sluicegate._report import Control as Control
from sluicegate._report import Explanation as Explanation
from sluicegate._report import Loss as Loss
from sluicegate._report import StageStanding as StageStanding
from sluicegate._report import Standing as Standing
from sluicegate._report import ask_explain as ask_explain
from sluicegate._report import ask_stats as ask_stats
from sluicegate._report import trace as trace
from sluicegate._request import Request as Request
from sluicegate._stream import InputStream as InputStream
from sluicegate._stream import OutputStream as OutputStream
from sluicegate._stream import StreamSender as StreamSender
from sluicegate.errors import SluicegateError as SluicegateError

__all__ = [
    "Call",
    "CapInfo",
    "Cartridge",
    "Control",
    "Counters",
    "Engine",
    "Event",
    "Explanation",
    "Feed",
    "FeedMeta",
    "FeedStats",
    "Gate",
    "Host",
    "InputStream",
    "Item",
    "Limits",
    "Log",
    "Loss",
    "Memory",
    "OutputStream",
    "OverrunPolicy",
    "Peer",
    "Progress",
    "Request",
    "Router",
    "SluicegateError",
    "StageStanding",
    "Standing",
    "StreamInfo",
    "StreamSender",
    "StreamStats",
    "Switch",
    "Terminal",
    "Turn",
    "Window",
    "__version__",
    "ask_explain",
    "ask_stats",
    "errors",
    "forward",
    "negotiate",
    "trace",
    "values",
]
