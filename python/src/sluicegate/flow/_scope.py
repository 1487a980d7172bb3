"""Scopes: who owns the threads, edges and completions of what runs."""

from __future__ import annotations

import atexit
import contextlib
import json
import sys
import threading
import weakref
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from sluicegate import _core
from sluicegate._handle import Handle
from sluicegate._wait import NEVER, wait
from sluicegate.aio._wait import wait as wait_in_task
from sluicegate.errors import Forked, SluicegateError, TimedOut

if TYPE_CHECKING:
    from sluicegate._engine import EngineBase

GRACE = 10.0
"""Seconds that leaving a scope waits for functions of yours that still run."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The two counters of a stage, and what lies between them, in elements.

    ``downstream`` was asked for below and not handed down yet, ``upstream`` asked for above and
    not arrived yet, ``held`` arrived and not left yet.
    """

    downstream: int
    upstream: int
    held: int


@dataclass(frozen=True, slots=True)
class Stage:
    """What was seen of a running stage: exact at a quiet point, a close guess while it works.

    ``passed`` elements were handed down so far, ``lost`` were discarded by an overflow strategy,
    ``late`` signals came after the end and were dropped.
    """

    name: str
    counters: Demand
    passed: int
    late: int
    lost: int

    def demand(self) -> Demand:
        """The two counters."""
        return self.counters


class Scope(Handle):
    """Owns what runs: a thread for each run of fused stages. Any thread may use it.

    A context manager, for ``with`` and ``async with``. Leaving it, and letting go of it, stops
    everything: elements in edges are released, whoever waits to offer is told, completions that
    are pending are cancelled.
    """

    def __init__(self, name: str = "scope", *, by_hand: bool = False) -> None:
        """``by_hand`` gives it a clock that stands still until ``advance`` is called."""
        self._open(_core.FlowScope(name, None, by_hand), stepped=False)

    @classmethod
    def stepped(cls, seed: int = 0, name: str = "scope") -> Self:
        """A scope without threads, for tests: what it runs, it runs in ``settle``.

        ``seed`` decides the order, the same one each time; the clock is moved by hand.
        """
        scope = cls.__new__(cls)
        scope._open(_core.FlowScope(name, seed, True), stepped=True)
        return scope

    def _open(self, core: _core.FlowScope, *, stepped: bool) -> None:
        self._core = core
        self._stepped = stepped
        _LIVING.add(self)

    @property
    def name(self) -> str:
        """The scope's name, for errors."""
        return self._core.name

    @property
    def now(self) -> float:
        """Seconds since the scope's clock began."""
        return self._core.now

    @property
    def running(self) -> int:
        """How many runs of fused stages are running now."""
        return self._core.running

    def stages(self) -> list[Stage]:
        """Every stage that is running now, in the order they were made."""
        return [
            Stage(name, Demand(below, above, held), passed, late, lost)
            for name, below, above, held, passed, late, lost in self._core.stages()
        ]

    def explain(self) -> str:
        """Which stage waits for whom, now, in words: a stage a line. Disturbs nothing."""
        return self._core.explain(False)

    def explain_json(self) -> dict[str, Any]:
        """The same as data: ``scope``, ``islands``, and ``stages`` with their counters.

        Each stage's ``waits_for`` is ``consumer``, ``source`` or ``itself``.
        """
        explanation: dict[str, Any] = json.loads(self._core.explain(True))
        return explanation

    def tell(self, engine: EngineBase) -> None:
        """Has ``engine.explain()`` tell of this scope's stages too, in its ``stages``.

        For as long as the scope lives; once more for the same engine it changes nothing. ``engine``
        is an ``Engine``, or one of ``sluicegate.aio``. Never waits.
        """
        self._core.tell(engine._core)

    def settle(self) -> int:
        """Runs what can run until nothing can, in a stepped scope; gives the number of turns."""
        return self._core.settle()

    def advance(self, by: float | timedelta) -> bool:
        """Moves a clock that is moved by hand, by seconds, and in a stepped scope settles.

        False, and nothing else, for the machine's clock.
        """
        return self._core.advance(by.total_seconds() if isinstance(by, timedelta) else by)

    def shutdown(self, timeout: float = GRACE) -> None:
        """Stops everything and waits until all of it has stopped. May be called again.

        A function of yours that is running is not interrupted: TimedOut says which stages are
        still in one after ``timeout`` seconds.
        """
        wait(self._core.shutdown(timeout, False), NEVER)

    async def shutdown_async(self, timeout: float = GRACE) -> None:
        """The same in a task."""
        await wait_in_task(self._core.shutdown(timeout, False), NEVER)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Forked):
            self.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(Forked):
            await self.shutdown_async()

    def __repr__(self) -> str:
        return f"<sluicegate.flow.Scope {self.name!r} running={self.running}>"


_LIVING: weakref.WeakSet[Scope] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """No function of a stage is called once the interpreter ends."""
    for scope in list(_LIVING):
        try:
            wait(scope._core.shutdown(1.0, True), NEVER)
        except TimedOut:
            # One that reads from stdin holds its lock, and CPython aborts where it closes stdin.
            _core.keep_for_good((sys.stdin, sys.__stdin__))
        except SluicegateError:
            pass


class _Building(threading.local):
    """The scope that this thread is running a graph on, while that is being made."""

    scope: Scope | None = None


BUILDING = _Building()
