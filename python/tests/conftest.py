"""What the tests share: lines that the run ends with, and both ends of a connection."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from sluicegate import Cartridge, Engine, Limits, Peer, _wait

WATCHDOG = 120.0
"""Seconds that nothing takes which comes to an end, on any machine, however busy."""

REFERENCE = Path(__file__).resolve().parents[2] / "tests" / "cartridges" / "python" / "cartridge.py"
"""The reference cartridge of this language."""


class Report:
    """Collects lines for the end of the run, where CI reads them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)


_REPORT = Report()


@pytest.fixture(scope="session")
def report() -> Report:
    return _REPORT


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in _REPORT.lines:
        terminalreporter.write_line(line)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


@pytest.fixture
def reference(engine: Engine) -> Iterator[Peer]:
    """The reference cartridge in a process of its own."""
    with engine.spawn(sys.executable, REFERENCE) as peer:
        yield peer


@contextmanager
def attached(cartridge: Cartridge, limits: Limits | None = None) -> Iterator[Peer]:
    """A cartridge that runs in this process, and the peer that calls it."""
    ours, theirs = socket.socketpair()
    with ours, theirs, Engine(limits=limits) as engine:
        running = threading.Thread(target=cartridge.run, args=(theirs, theirs))
        running.start()
        try:
            with engine.attach(ours, ours) as peer:
                yield peer
        finally:
            ours.shutdown(socket.SHUT_RDWR)
            running.join()


def until(happened: Callable[[], object], seconds: float = WATCHDOG) -> None:
    """Yields until something has happened that nothing can be waited for; fails at the limit."""
    give_up = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < give_up, f"{happened} did not happen within {seconds} s"
        time.sleep(0)


def inside(frame: FrameType | None, call: Callable[..., object]) -> bool:
    """Whether a call of ``call`` is under way in a frame."""
    while frame is not None:
        if frame.f_code is call.__code__:
            return True
        frame = frame.f_back
    return False


def is_asleep(thread: threading.Thread) -> bool:
    """Whether a thread sleeps in a wait of this library.

    Seen many times in a row, with the interpreter let go in between: CPython misses a signal that
    comes between its last look for one and the sleep, in every call that waits for a lock.
    """
    state = Path(f"/proc/self/task/{thread.native_id}/stat")
    for _ in range(20):
        frame = sys._current_frames().get(thread.ident or 0)
        if frame is None or frame.f_code is not _wait._acquire.__code__:
            return False
        if state.read_text().rpartition(")")[2].split()[0] != "S":
            return False
        time.sleep(0)
    return True
