"""A value that comes once: the promise is kept on one side, awaited on the other."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Callable, Generator
from enum import Enum
from typing import Any, Generic, TypeVar

from sluicegate import _core
from sluicegate._handle import Handle
from sluicegate._wait import NEVER, Deadline, until_answered, wait
from sluicegate.aio._wait import wait as wait_in_task
from sluicegate.flow._told import Told

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Status(Enum):
    """Where a completion stands. Everything but PENDING is final."""

    PENDING = 0
    SUCCESS = 1
    FAILURE = 2
    CANCELLED = 3


class Completion(Handle, Generic[T_co]):
    """The side that waits. Any thread or task may wait; every waiter gets the same answer.

    A stream that failed because a function of yours raised raises that same exception here, with
    a note that names the stage.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.FlowCompletion | Told) -> None:
        self._core = core

    def result(self, timeout: float | None = None) -> T_co:
        """The value, waited for at most ``timeout`` seconds; None is no limit.

        Raises TimedOut if it is pending still, what it failed with, or Cancelled or ScopeShutDown.
        """
        try:
            value: T_co = wait(self._core.wait(), Deadline.after(timeout))
        except BaseException as raised:
            self._tell(raised)
            raise
        return value

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What it failed with, waited for like the result; None if it has a value."""
        until_answered(self._core.wait(), Deadline.after(timeout))
        try:
            self._core.now()
        except BaseException as raised:
            self._tell(raised)
            return raised
        return None

    def _tell(self, raised: BaseException) -> None:
        """Notes what it has failed with, if ``raised`` is that, and lets the core's go."""
        core, traceback = self._core, raised.__traceback__
        if isinstance(core, Told) or self.is_pending:
            return
        try:
            core.now()
        except BaseException as settled:
            if settled is raised:
                self._core = Told(raised.with_traceback(traceback), core.status)

    def __await__(self) -> Generator[Any, None, T_co]:
        try:
            value: T_co = yield from wait_in_task(self._core.wait(), NEVER).__await__()
        except BaseException as raised:
            self._tell(raised)
            raise
        return value

    @property
    def status(self) -> Status:
        """Where it stands."""
        return Status(self._core.status)

    @property
    def is_pending(self) -> bool:
        """True until it is settled."""
        return self.status is Status.PENDING

    @property
    def is_success(self) -> bool:
        """True once it has its value."""
        return self.status is Status.SUCCESS

    @property
    def is_failure(self) -> bool:
        """True once it has failed."""
        return self.status is Status.FAILURE

    @property
    def is_cancelled(self) -> bool:
        """True once it was cancelled."""
        return self.status is Status.CANCELLED

    def add_done_callback(self, callback: Callable[[Completion[T_co]], object]) -> None:
        """Calls ``callback`` once, when it is settled: on the thread that settles it, or now.

        The callback must not wait. What it raises is reported like an exception in ``__del__``.
        """
        self._core.on_settled(lambda: callback(self))

    def to_concurrent(self) -> concurrent.futures.Future[T_co]:
        """The same as a ``concurrent.futures.Future``. Cancelling that one cancels nothing here."""
        future: concurrent.futures.Future[T_co] = concurrent.futures.Future()
        future.set_running_or_notify_cancel()

        def settle(_: object) -> None:
            try:
                now = self._core.now()
                assert now is not None
                future.set_result(now[0])
            except BaseException as raised:
                self._tell(raised)
                future.set_exception(raised)

        self.add_done_callback(settle)
        return future

    def to_asyncio(self) -> asyncio.Future[T_co]:
        """The same as a future of the running loop. Cancelling that one cancels nothing here."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T_co] = loop.create_future()

        def settle() -> None:
            if future.done():
                return
            try:
                now = self._core.now()
                assert now is not None
                future.set_result(now[0])
            except BaseException as raised:
                self._tell(raised)
                future.set_exception(raised)

        def tell(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle)

        self.add_done_callback(tell)
        return future

    @staticmethod
    def of(future: asyncio.Future[T] | concurrent.futures.Future[T]) -> Completion[T]:
        """The completion of another future: its value, its exception, or that it was cancelled.

        Of a future of asyncio it is made on the thread of that future's loop.
        """
        promise: Promise[T] = Promise()

        def settle(done: asyncio.Future[T] | concurrent.futures.Future[T]) -> None:
            if done.cancelled():
                promise.try_cancel()
            elif (raised := done.exception()) is not None:
                promise.try_failure(raised)
            else:
                promise.try_success(done.result())

        future.add_done_callback(settle)
        return promise.completion

    def __repr__(self) -> str:
        return f"<sluicegate.flow.Completion {self.status.name.lower()}>"


class Promise(Handle, Generic[T]):
    """The side that settles. One transition wins; a promise that is let go of is cancelled."""

    __slots__ = ("_core",)

    def __init__(self) -> None:
        self._core: _core.FlowPromise | Told = _core.FlowPromise()

    @property
    def completion(self) -> Completion[T]:
        """The side that waits."""
        return Completion(self._core.completion)

    def try_success(self, value: T) -> bool:
        """Keeps the promise. False if it was settled before: nothing changes."""
        return self._core.try_success(value)

    def try_failure(self, error: BaseException) -> bool:
        """Fails the promise. False if it was settled before."""
        won = self._core.try_failure(error)
        if won:
            self._core = Told(error, Status.FAILURE.value)
        return won

    def try_cancel(self, reason: BaseException | None = None) -> bool:
        """Cancels the promise. False if it was settled before."""
        won = self._core.try_cancel(reason)
        if won and reason is not None:
            self._core = Told(reason, Status.CANCELLED.value)
        return won

    def success(self, value: T) -> None:
        """Keeps the promise. Raises InvalidArgument if it was settled before."""
        self._once(self.try_success(value))

    def failure(self, error: BaseException) -> None:
        """Fails the promise. Raises InvalidArgument if it was settled before."""
        self._once(self.try_failure(error))

    def cancel(self, reason: BaseException | None = None) -> None:
        """Cancels the promise. Raises InvalidArgument if it was settled before."""
        self._once(self.try_cancel(reason))

    def _once(self, won: bool) -> None:
        if not won:
            self._core.settled_before()

    def __repr__(self) -> str:
        return f"<sluicegate.flow.Promise {self.completion.status.name.lower()}>"
