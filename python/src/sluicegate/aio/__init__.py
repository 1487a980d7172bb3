"""The same names for ``asyncio``: what waits is a coroutine, the rest is as in ``sluicegate``.

A cancelled task leaves its place in every line and takes nothing. No call blocks the event loop.
"""

from __future__ import annotations

from sluicegate import errors as errors
from sluicegate import values as values
from sluicegate._core import Item as Item
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
from sluicegate._feed import FeedMeta as FeedMeta
from sluicegate._feed import FeedStats as FeedStats
from sluicegate._feed import OverrunPolicy as OverrunPolicy
from sluicegate._report import Control as Control
from sluicegate._report import Explanation as Explanation
from sluicegate._report import Loss as Loss
from sluicegate._report import StageStanding as StageStanding
from sluicegate._report import Standing as Standing
from sluicegate._report import trace as trace
from sluicegate.aio._call import Call as Call
from sluicegate.aio._cartridge import Cartridge as Cartridge
from sluicegate.aio._engine import Engine as Engine
from sluicegate.aio._engine import Peer as Peer
from sluicegate.aio._engine import forward as forward
from sluicegate.aio._feed import Feed as Feed
from sluicegate.aio._gate import Gate as Gate
from sluicegate.aio._relay import Host as Host
from sluicegate.aio._relay import Switch as Switch
from sluicegate.aio._report import ask_explain as ask_explain
from sluicegate.aio._report import ask_stats as ask_stats
from sluicegate.aio._request import Request as Request
from sluicegate.aio._stream import InputStream as InputStream
from sluicegate.aio._stream import OutputStream as OutputStream
from sluicegate.aio._stream import StreamSender as StreamSender
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
    "ask_explain",
    "ask_stats",
    "errors",
    "forward",
    "negotiate",
    "trace",
    "values",
]
