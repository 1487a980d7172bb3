"""How a thread waits: in ``threading``'s own lock, so that Ctrl-C works with no polling.

It is the lock that a ``threading.Condition`` waits in, without the second one round it. An
exception that a signal raises inside ``Condition.wait`` can leave that second lock held, and then
whoever rings would hang; the bare lock has no state between its calls, and ringing never waits.
"""

from __future__ import annotations

import contextlib
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from sluicegate import _core
from sluicegate.errors import InvalidArgument, TimedOut

if TYPE_CHECKING:
    from sluicegate._core import Op

_T = TypeVar("_T")


class Deadline:
    """The moment after which a wait gives up.

    Absolute, so that a wait that is woken early does not start its limit again.
    """

    __slots__ = ("_at",)

    def __init__(self, at: float | None) -> None:
        self._at = at

    @classmethod
    def after(cls, timeout: float | None) -> Deadline:
        """``timeout`` seconds from now; None, infinity and what no clock can tell mean no limit."""
        if timeout is None:
            return cls(None)
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            raise TypeError(f"a timeout is a number of seconds, not {type(timeout).__qualname__}")
        if timeout > threading.TIMEOUT_MAX:
            return cls(None)
        if not timeout >= 0:  # not a number, too
            raise InvalidArgument(f"a timeout of {timeout} seconds: it must be 0 or more")
        return cls(time.monotonic() + timeout)

    def left(self) -> float | None:
        """Seconds until the moment, 0 once it has come; None if there is no limit."""
        if self._at is None:
            return None
        return min(max(self._at - time.monotonic(), 0.0), threading.TIMEOUT_MAX)


NEVER = Deadline(None)


def seconds_of(limit: float | timedelta | None) -> float | None:
    """A limit for a whole call, request or stream, in seconds; None and infinity mean none."""
    if isinstance(limit, timedelta):
        limit = limit.total_seconds()
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, (int, float)):
        kind = type(limit).__qualname__
        raise TypeError(f"a limit is a number of seconds or a timedelta, not {kind}")
    if not limit >= 0:  # not a number, too
        raise InvalidArgument(f"a limit of {limit} seconds: it must be 0 or more")
    return min(float(limit), _LONGEST)


_LONGEST = 1e12
"""Seconds, more than any clock of a machine will see."""


def timed_out() -> TimedOut:
    """What a wait raises when its limit passes first."""
    return TimedOut("the limit of the wait passed first; nothing was taken")


def wait(op: Op[_T], deadline: Deadline) -> _T:
    """Waits on this thread until the operation has answered, and gives its answer.

    A wait that is left early, by its limit, Ctrl-C or another signal handler that raises, gives
    up its place and takes nothing. An interrupt that strikes once it has answered loses nothing
    either: the answer stays in the operation, which gives back what nobody fetches.
    """
    until_answered(op, deadline)
    return op.value


def until_answered(op: Op[Any], deadline: Deadline) -> None:
    """The same, but for the answer, which is left in the operation."""
    try:
        if not op.poll():
            _until_answered(op, deadline)
    except BaseException:
        op.cancel()
        raise


def _until_answered(op: Op[_T], deadline: Deadline) -> None:
    silent = threading.Lock()  # held until the bell rings
    silent.acquire()

    def ring() -> None:
        with contextlib.suppress(RuntimeError):  # it has rung already
            silent.release()

    bell = _core.Bell(ring)
    try:
        while not op.poll(bell):
            if not _acquire(silent, deadline.left()):
                if op.poll():
                    return
                raise timed_out()
    finally:
        bell.withdraw()


def _acquire(lock: threading.Lock, left: float | None) -> bool:
    return lock.acquire() if left is None else lock.acquire(timeout=left)
