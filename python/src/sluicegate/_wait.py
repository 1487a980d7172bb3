"""How a thread waits: in ``threading``'s own condition, so that Ctrl-C works with no polling."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeVar

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


def timed_out() -> TimedOut:
    """What a wait raises when its limit passes first."""
    return TimedOut("the limit of the wait passed first; nothing was taken")


def wait(op: Op[_T], deadline: Deadline) -> _T:
    """Waits on this thread until the operation has answered, and gives its answer.

    A wait that is left early, by its limit, Ctrl-C or another signal handler that raises, gives
    up its place and takes nothing. There is no call between the last poll and the return, hence
    no point where an interrupt could strike and lose the answer.
    """
    try:
        if not op.poll():
            _until_answered(op, deadline)
    except BaseException:
        op.cancel()
        raise
    return op.value


def _until_answered(op: Op[_T], deadline: Deadline) -> None:
    rung = threading.Event()
    bell = _core.Bell(rung.set)
    try:
        while not op.poll(bell):
            if rung.wait(deadline.left()):
                rung.clear()
            elif op.poll():
                return
            else:
                raise timed_out()
    finally:
        bell.withdraw()
