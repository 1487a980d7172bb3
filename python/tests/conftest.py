"""What the tests share: lines that the run ends with, and both ends of a connection."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sluicegate import Cartridge, Engine, Limits, Peer

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


def until(happened: Callable[[], object], seconds: float = 10.0) -> None:
    """Yields until something has happened that nothing can be waited for; fails at the limit."""
    give_up = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < give_up, f"{happened} did not happen within {seconds} s"
        time.sleep(0)


def is_waiting(thread: threading.Thread) -> bool:
    """Whether a thread waits in a condition of Python."""
    frame = sys._current_frames().get(thread.ident or 0)
    return frame is not None and frame.f_code is threading.Condition.wait.__code__
