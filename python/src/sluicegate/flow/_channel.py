"""Queues as sources and sinks, those of threads and those of asyncio.

A wait at a queue is work of ``map_async``: one element for each that is asked for, and none ahead.
"""

from __future__ import annotations

import asyncio
import queue as threads
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import repeat
from typing import Any, TypeAlias, TypeVar

from sluicegate import _core
from sluicegate.errors import Closed
from sluicegate.flow._edge import LEFT, RIGHT
from sluicegate.flow._task import loop_of_the_run, starter

T = TypeVar("T")

Channel: TypeAlias = threads.Queue[T] | asyncio.Queue[T]

_OVER = object()
"""What comes of a queue that was shut down."""


class _Never(Exception):
    """Stands for an exception that this Python does not have yet."""


_Shut: type[Exception] = getattr(threads, "ShutDown", _Never)
_AsyncShut: type[Exception] = getattr(asyncio, "QueueShutDown", _Never)

_Job: TypeAlias = Callable[[], None]
_Start: TypeAlias = Callable[[Any, _core.FlowPromise], Callable[[], object]]


class _Worker:
    """A thread of one run that waits at its queue. It begins with the first wait."""

    def __init__(self) -> None:
        self._jobs: threads.SimpleQueue[_Job | None] = threads.SimpleQueue()
        self._begun = False

    def do(self, job: _Job) -> None:
        if not self._begun:
            self._begun = True
            name = "sluicegate-channel"
            threading.Thread(target=_work, args=(self._jobs,), name=name, daemon=True).start()
        self._jobs.put(job)

    def __del__(self) -> None:
        self._jobs.put(None)


def _work(jobs: threads.SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # it holds an element


class _Wait:
    """One wait until a queue can be used, which can be ended from outside."""

    def __init__(self, queue: threads.Queue[Any], put: bool) -> None:
        self._queue, self._put = queue, put
        self._changed = queue.not_full if put else queue.not_empty
        self._stopped = False

    def _ready(self) -> bool:
        queue = self._queue
        if self._stopped or getattr(queue, "is_shutdown", False):
            return True
        return queue._qsize() < queue.maxsize if self._put else queue._qsize() > 0

    def until_ready(self) -> bool:
        """False once it was stopped."""
        with self._changed:
            self._changed.wait_for(self._ready)
        return not self._stopped

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


def _nothing() -> None:
    pass


def _start(
    queue: threads.Queue[Any], put: bool, attempt: Callable[[Any, _core.FlowPromise], bool]
) -> _Start:
    """Attempts now, or on a thread that waits."""
    worker = _Worker()

    def start(element: Any, promise: _core.FlowPromise) -> Callable[[], object]:
        if attempt(element, promise):
            return _nothing
        wait = _Wait(queue, put)

        def job() -> None:
            while wait.until_ready():
                if attempt(element, promise):
                    return

        worker.do(job)
        return wait.stop

    return start


def _take(queue: threads.Queue[Any]) -> _Start:
    def attempt(_: Any, promise: _core.FlowPromise) -> bool:
        try:
            promise.try_success(queue.get_nowait())
        except threads.Empty:
            return False
        except _Shut:
            promise.try_success(_OVER)
        except BaseException as raised:
            promise.try_failure(raised)
        return True

    return _start(queue, False, attempt)


def _give(queue: threads.Queue[Any]) -> _Start:
    def attempt(element: Any, promise: _core.FlowPromise) -> bool:
        try:
            queue.put_nowait(element)
            promise.try_success(None)
        except threads.Full:
            return False
        except BaseException as raised:
            promise.try_failure(_closed(raised))
        return True

    return _start(queue, True, attempt)


def _closed(raised: BaseException) -> BaseException:
    if not isinstance(raised, (_Shut, _AsyncShut)):
        return raised
    closed = Closed("nobody receives any more: the queue is shut down")
    closed.__cause__ = raised.with_traceback(None)  # which would hold the promise that holds it
    return closed


def _take_async(queue: asyncio.Queue[Any]) -> Callable[[Any], Any]:
    async def take(_: Any) -> Any:
        with suppress(_AsyncShut):
            return await queue.get()
        return _OVER

    return take


def _give_async(queue: asyncio.Queue[Any]) -> Callable[[Any], Any]:
    async def give(element: Any) -> None:
        try:
            await queue.put(element)
        except _AsyncShut as raised:
            raise _closed(raised) from raised

    return give


def _waiting(
    queue: Channel[Any], loop: asyncio.AbstractEventLoop | None, put: bool
) -> _core.FlowStage:
    """The stage that waits at the queue, one element at a time."""
    start: Callable[..., Any]
    if isinstance(queue, asyncio.Queue):
        work = _give_async(queue) if put else _take_async(queue)
        there = loop_of_the_run(loop)
        start = work if there is None else starter(work, there)
    else:
        start = _give(queue) if put else _take(queue)
    return _core.FlowStage.map_async(1, True, start).named("channel")


def _checked(queue: object) -> None:
    if not isinstance(queue, (threads.Queue, asyncio.Queue)):
        kind = type(queue).__qualname__
        raise TypeError(f"a channel is a queue.Queue or an asyncio.Queue, not {kind}")


def channel_source(
    queue: Channel[Any], end: object, loop: asyncio.AbstractEventLoop | None
) -> Callable[[], _core.FlowSource]:
    """Makes a source of what comes through a queue."""
    _checked(queue)

    def goes_on(element: Any) -> bool:
        return element is not _OVER and element is not end

    def make() -> _core.FlowSource:
        turns = _core.FlowSource.iter(repeat(None)).named("turns")
        elements = turns.via(_waiting(queue, loop, put=False), LEFT)
        return elements.via(_core.FlowStage.take_while(goes_on).named("end"), LEFT)

    return make


def channel_sink(
    queue: Channel[Any], loop: asyncio.AbstractEventLoop | None
) -> Callable[[], _core.FlowSink]:
    """Makes a sink into a queue."""
    _checked(queue)
    return lambda: _waiting(queue, loop, put=True).to(_core.FlowSink.ignore(), RIGHT)


NO_END = object()
"""No element that ends a source."""
