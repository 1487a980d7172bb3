"""What something has failed with, held where the garbage collector sees it.

The core holds what a function raised. That holds the frames that it went through, and these hold
whoever waited in them: a cycle through the core, which no collector sees. So what was told once is
held here, in the place of the core's handle.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn, cast

from sluicegate import _core
from sluicegate.flow._edge import OfferStatus


def _of_the_function(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this package that waited."""
    while traceback is not None:
        if not traceback.tb_frame.f_globals.get("__name__", "").startswith("sluicegate."):
            break
        traceback = traceback.tb_next
    return traceback


def _settled() -> _core.FlowPromise:
    promise = _core.FlowPromise()
    promise.try_cancel(None)
    return promise


class Told:
    """Stands for a handle of the core that has failed, and answers as that would.

    It is that of a completion, of a promise, of an outlet, and of an operation of theirs.
    """

    __slots__ = ("_raised", "_traceback", "status")

    held = 0

    def __init__(self, raised: BaseException, status: int) -> None:
        self._raised, self.status = raised, status
        self._traceback = _of_the_function(raised.__traceback__)

    def now(self) -> NoReturn:
        raise self._raised.with_traceback(self._traceback)

    def wait(self) -> _core.Op[Any]:
        return cast("_core.Op[Any]", self)

    recv = wait

    def poll(self, bell: object = None) -> bool:
        return True

    @property
    def value(self) -> NoReturn:
        self.now()

    def cancel(self) -> None:
        pass

    def on_settled(self, callback: Callable[[], object]) -> None:
        _settled().completion.on_settled(callback)

    @property
    def completion(self) -> Told:
        return self

    def try_success(self, value: object) -> bool:
        return False

    def try_failure(self, error: object) -> bool:
        return False

    def try_cancel(self, reason: object) -> bool:
        return False

    def settled_before(self) -> None:
        _settled().settled_before()


class Failed:
    """Stands for the handle of a source that was failed by hand, and answers as that would."""

    __slots__ = ("_held", "_raised", "demand", "lost")

    is_over = True

    def __init__(self, core: _core.FlowManual, raised: BaseException) -> None:
        self._raised, self._held = raised, core.held_apart()
        self.demand, self.lost = core.demand, core.lost  # which change no more

    @property
    def held(self) -> int:
        return self._held()

    def offer(self, element: object, size: int) -> _core.Op[Any]:
        return cast("_core.Op[Any]", _Answered(self.try_offer(element, size)))

    def try_offer(self, element: object, size: int) -> tuple[int, BaseException]:
        return (OfferStatus.FAILURE.value, self._raised)

    def complete(self) -> bool:
        return False

    def fail(self, error: object) -> bool:
        return False

    def ready(self, n: int) -> _core.Op[bool]:
        return cast("_core.Op[bool]", _Answered(False))


class _Answered:
    """Stands for an operation that has answered."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def poll(self, bell: object = None) -> bool:
        return True

    def cancel(self) -> None:
        pass
