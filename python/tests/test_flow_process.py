"""The streams layer in a process: Ctrl-C, forks, the interpreter's lock and its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from conftest import until
from sluicegate.errors import Forked
from sluicegate.flow import EdgeOptions, Manual, Promise, Scope, Sink, Source
from sluicegate.flow.testkit import publisher, subscriber
from test_ctrl_c import interrupt

SOON = 120.0


def pair(left: Any, right: Any) -> tuple[Any, Any]:
    return left, right


def test_ctrl_c_ends_every_wait_and_consumes_nothing() -> None:
    with Scope("struck") as scope:
        source: Source[int, Manual[int]] = Source.manual(EdgeOptions(1))
        control, outlet = source.to_mat(Sink[int, Any].outlet(EdgeOptions(1)), pair).run(scope)
        interrupt(outlet.recv)
        interrupt(lambda: next(outlet))
        control << 1
        assert outlet.recv(SOON) == 1
        # Full, once nothing is on its way between the two edges.
        until(lambda: control.try_offer(0) is None and (control.held, outlet.held) == (1, 1))
        interrupt(lambda: control.offer(99))
        control.complete()
        assert 99 not in list(outlet)
        promise: Promise[int] = Promise()
        interrupt(promise.completion.result)
        feed, end = publisher().to_mat(subscriber(), pair).run(scope)
        interrupt(lambda: end.expect_next(1, limit=SOON))
        interrupt(lambda: feed.expect_demand(1, limit=SOON))
        interrupt(lambda: feed.offer(1))
        inside = threading.Event()
        leave = threading.Event()

        def stay(_: int) -> None:
            inside.set()
            leave.wait(SOON)

        stuck = Source.single(1).to(Sink.foreach(stay)).run(scope)
        assert inside.wait(SOON)
        interrupt(scope.shutdown)
        leave.set()
        del stuck


def test_what_was_made_before_a_fork_is_refused_in_the_child() -> None:
    with Scope("parent") as scope:
        source: Source[int, Manual[int]] = Source.manual()
        control, result = source.to_mat(Sink[int, Any].collect(), pair).run(scope)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for call in (control.complete, result.result, scope.settle):
                    with pytest.raises(Forked):
                        call()
                with Scope("child") as fresh:
                    doubled = source.map(lambda n: 2 * n)
                    again, numbers = doubled.to_mat(Sink[int, Any].collect(), pair).run(fresh)
                    again << 7
                    again.complete()
                    assert numbers.result(SOON) == [14]
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        control << 1
        control.complete()
        assert result.result(SOON) == [1]


@pytest.mark.parametrize(
    "program",
    [
        # Left behind while it works, waits, or holds elements.
        """
from sluicegate.flow import Scope, Sink, Source
import itertools
scope = Scope("left")
kept = Source.make(itertools.count).map(lambda n: n + 1).to(Sink.ignore()).run(scope)
""",
        """
from sluicegate.flow import Scope, Sink, Source
scope = Scope("left")
control, kept = Source.manual().to_mat(Sink.collect(), lambda a, b: (a, b)).run(scope)
control << object()
""",
        """
import threading
from sluicegate.flow import Scope, Sink, Source
scope, inside = Scope("left"), threading.Event()
def stay(n):
    inside.set()
    threading.Event().wait()
kept = Source.single(1).to(Sink.foreach(stay)).run(scope)
inside.wait()
""",
        # In a read of stdin, whose lock the interpreter wants when it closes it.
        """
import sys, threading
from sluicegate.flow import Scope, Sink, Source
scope, inside = Scope("left"), threading.Event()
kept = Source.lines(sys.stdin.buffer).to(Sink.foreach(lambda _: inside.set())).run(scope)
inside.wait()
""",
        # At a queue, in both directions.
        """
import queue
from sluicegate.flow import Scope, Sink, Source
scope, full = Scope("left"), queue.Queue(1)
kept = Source.channel(queue.Queue()).to(Sink.ignore()).run(scope)
also = Source.iter(range(10)).to(Sink.channel(full)).run(scope)
full.get()
""",
    ],
)
def test_a_program_that_ends_leaves_nothing_hanging(program: str) -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program + "\nprint('end')"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("a line\n")
        process.stdin.flush()
        try:
            code = process.wait(300)  # its stdin is open as long
        finally:
            process.kill()
        assert (code, process.stdout.read(), process.stderr.read()) == (0, "end\n", "")


def struck(process: subprocess.Popen[str]) -> int:
    """Strikes until it ends: CPython misses a signal between its last look and its sleep."""
    for _ in range(20):
        process.send_signal(signal.SIGINT)
        try:
            return process.wait(10)
        except subprocess.TimeoutExpired:
            pass
    raise AssertionError("it does not end at SIGINT")


@pytest.mark.parametrize(
    "wait",
    [
        "Source.channel(queue.Queue()).to(Sink.ignore()).run(scope).result()",
        "next(Source.channel(queue.Queue()).run(scope))",
        "Source.manual(EdgeOptions(1)).to_mat(subscriber(), pair).run(scope)[0] << 1 << 2",
        "(promise := Promise()).completion.result()",
        "asyncio.run(task())",
    ],
)
def test_a_process_that_waits_ends_at_sigint(wait: str) -> None:
    """A real signal to a program of its own: it leaves its scope and says KeyboardInterrupt."""
    program = f"""
import asyncio, queue
from sluicegate.flow import EdgeOptions, Promise, Scope, Sink, Source
from sluicegate.flow.testkit import subscriber
pair = lambda a, b: (a, b)
async def task():
    async with Scope("tasks") as scope:
        await Source.channel(asyncio.Queue()).to(Sink.ignore()).run(scope)
with Scope("struck") as scope:
    print("waits", flush=True)
    {wait}
"""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        try:
            code = struck(process)
        finally:
            process.kill()
        assert process.stderr is not None
        said = process.stderr.read()
    assert code == -signal.SIGINT, said
    assert "KeyboardInterrupt" in said.splitlines(), said


def test_a_wait_holds_no_lock_of_the_interpreter() -> None:
    with Scope("free") as scope:
        source: Source[int, Manual[int]] = Source.manual(EdgeOptions(1))
        control, outlet = source.to_mat(Sink[int, Any].outlet(), pair).run(scope)
        taken: list[int] = []
        reader = threading.Thread(target=lambda: taken.append(outlet.recv(SOON)))
        reader.start()
        steps = sum(1 for _ in range(100_000))  # this thread goes on while the other waits
        control << steps
        reader.join(SOON)
        assert taken == [100_000]
