"""What the tests share: where programs are, limits on time, and what passed against what."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from matrix import Matrix

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
THEIRS = HERE / "cartridge.py"
PYTHON = sys.executable
ROGUE = HERE / "rogue.py"
ASKER = HERE / "asker.py"
LIMIT = 120.0
"""Seconds that anything at all may take."""

RUN = 3600.0
"""Seconds after which no process of a run is left."""

T = TypeVar("T")


def languages() -> list[str]:
    """Every language that has a reference cartridge."""
    every = ["c", "go", "python", "rust", "swift"]
    if os.environ.get("SLUICEGATE_SWIFT") == "off":
        every.remove("swift")
    return every


def ours(language: str) -> Path:
    """Our reference cartridge in a language."""
    program = ROOT / "target" / "cartridges" / language
    assert program.exists(), f"{program} is missing: run `cargo xtask build`"
    return program


def command() -> Path:
    """The command, as it was built."""
    named = os.environ.get("SLUICEGATE_COMMAND")
    program = Path(named) if named else ROOT / "target" / "release" / "sluicegate"
    assert program.exists(), f"{program} is missing: run `cargo xtask build`"
    return program


def in_time(what: str, work: Callable[[], T], limit: float = LIMIT) -> T:
    """What ``work`` gives, on a thread of its own; fails after ``limit`` seconds."""
    answers: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name=what)
    thread.start()
    thread.join(limit)
    if thread.is_alive():
        frame = sys._current_frames().get(thread.ident or 0)
        where = "".join(traceback.format_stack(frame)) if frame else ""
        pytest.fail(f"{what}: still not done after {limit} s, but at\n{where}", pytrace=False)
    if errors:
        raise errors[0]
    return answers[0]


@contextlib.contextmanager
def beside(work: Callable[[], object], what: str = "beside") -> Iterator[None]:
    """Runs ``work`` on a thread while the block runs; its error is the block's."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name=what)
    thread.start()
    yield
    thread.join(LIMIT)
    assert not thread.is_alive(), f"{what}: still not done after {LIMIT} s"
    if errors:
        raise errors[0]


@contextlib.contextmanager
def process(
    *words: str | Path, env: dict[str, str] | None = None, **pipes: int
) -> Iterator[subprocess.Popen[bytes]]:
    """A program with its stdin and stdout as pipes; gone when the block is left."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE} | pipes
    child = subprocess.Popen([str(word) for word in words], env=os.environ | (env or {}), **pipes)
    killer = threading.Timer(RUN, child.kill)
    killer.daemon = True
    killer.start()
    try:
        yield child
    finally:
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        killer.cancel()


_MATRIX = Matrix()


@pytest.fixture
def passed(request: pytest.FixtureRequest) -> Iterator[Callable[[str, str], None]]:
    """Enters what a test shows, and against whom, once the test has passed."""
    noted: list[tuple[str, str]] = []
    yield lambda row, column: noted.append((row, column))
    report = getattr(request.node, "rep_call", None)
    for row, column in noted:
        _MATRIX.enter(row, column, report is not None and report.passed)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    setattr(item, f"rep_{report.when}", report)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--matrix", metavar="FILE", help="write what passed into this page")


def pytest_sessionfinish(session: pytest.Session) -> None:
    page = session.config.getoption("--matrix")
    if page:
        _MATRIX.write(Path(page))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(_MATRIX.summary())
