"""Replays every conformance script through the public classes, with threads and with asyncio."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from conftest import Report
from scripts import (
    FIRST_LIMIT,
    FOLDER,
    REPEAT,
    WATCHDOG,
    Failure,
    StartOver,
    Step,
    Totals,
    Waiting,
    files,
    keys,
    read,
    repeats,
    replay_pure,
)
from sluicegate import Gate, SluicegateError, Window, aio
from sluicegate._credit import GateBase
from sluicegate.errors import TimedOut

Replay = Callable[[Mapping[str, Any], float, list[int]], None]


def answer_of(error: SluicegateError) -> object:
    return "timed_out" if isinstance(error, TimedOut) else {"closed": error.code}


@contextmanager
def named(op: Step) -> Iterator[None]:
    """Says in which operation something failed."""
    try:
        yield
    except Failure as failure:
        raise Failure(f"{op.get('op')}: {failure}") from failure
    except KeyError as missing:
        raise Failure(f"{op.get('op')}: there is no {missing}") from missing


class Threads(Waiting[Gate]):
    """An actor is a thread. A blocking call has no cancel: it is given up by its limit."""

    def __init__(self, script: Mapping[str, Any], short: float) -> None:
        super().__init__(Gate, script, short)
        self.news = threading.Condition()
        self.mailbox: list[tuple[str, object]] = []
        self.threads: list[threading.Thread] = []

    def act(self, actor: str, gate: Gate, n: int, limit: float | None) -> None:
        answer: object = "acquired"
        try:
            gate.acquire(n, timeout=limit)
        except SluicegateError as error:
            answer = answer_of(error)
        with self.news:
            self.mailbox.append((actor, answer))
            self.news.notify()

    def start(self, step: Step) -> None:
        actor, gate, n, limit = self.begin(step, has_cancel=False)
        thread = threading.Thread(target=self.act, args=(actor, gate, n, limit), daemon=True)
        thread.start()
        self.threads.append(thread)

    def collect(self) -> None:
        with self.news:
            mail, self.mailbox = self.mailbox, []
        for actor, answer in mail:
            self.came_back(actor, answer, has_cancel=False)

    def settle(self, outcomes: list[Step]) -> None:
        give_up = time.monotonic() + WATCHDOG
        while True:
            self.collect()
            missing = self.settled(outcomes)
            if missing == "yes":
                return
            left = give_up - time.monotonic()
            if left <= 0:
                raise Failure(f"hangs: returned {self.returned}, waited for {outcomes}")
            if missing == "returns":
                with self.news:
                    self.news.wait_for(lambda: self.mailbox, left)
            else:
                time.sleep(0)  # yields, until the actor stands in line

    def replay(self, where: list[int]) -> None:
        for number, step in enumerate(self.steps):
            where[0] = number
            ops, outcomes = keys(step, "do", "then")
            for op in ops:
                with named(op):
                    match op.get("op"):
                        case "start":
                            self.start(op)
                        case "expire" | "cancel":
                            self.let_go(op)
                        case _:
                            self.main(op)
            self.settle(outcomes)
            self.next_step()
        self.nobody_is_left()

    def finish(self) -> None:
        self.release()
        for thread in self.threads:
            thread.join(WATCHDOG)
            if thread.is_alive():
                raise Failure("a closed gate did not release a waiter")


class Tasks(Waiting[aio.Gate]):
    """An actor is a task."""

    def __init__(self, script: Mapping[str, Any], short: float) -> None:
        super().__init__(aio.Gate, script, short)
        self.news = asyncio.Event()
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.mailbox: list[tuple[str, object]] = []

    async def act(self, actor: str, gate: aio.Gate, n: int, limit: float | None) -> None:
        answer: object = "acquired"
        try:
            await gate.acquire(n, timeout=limit)
        except SluicegateError as error:
            answer = answer_of(error)
        except asyncio.CancelledError:
            answer = "cancelled"
        self.mailbox.append((actor, answer))
        self.news.set()

    def start(self, step: Step) -> None:
        actor, gate, n, limit = self.begin(step, has_cancel=True)
        self.tasks[actor] = asyncio.create_task(self.act(actor, gate, n, limit))

    def collect(self) -> None:
        mail, self.mailbox = self.mailbox, []
        self.news.clear()
        for actor, answer in mail:
            self.came_back(actor, answer, has_cancel=True)

    async def settle(self, outcomes: list[Step]) -> None:
        give_up = time.monotonic() + WATCHDOG
        while True:
            self.collect()
            missing = self.settled(outcomes)
            if missing == "yes":
                return
            left = give_up - time.monotonic()
            if left <= 0:
                raise Failure(f"hangs: returned {self.returned}, waited for {outcomes}")
            if missing == "returns":
                async with asyncio.timeout(left):
                    await self.news.wait()
            else:
                await asyncio.sleep(0)  # yields, until the actor stands in line

    async def replay(self, where: list[int]) -> None:
        for number, step in enumerate(self.steps):
            where[0] = number
            ops, outcomes = keys(step, "do", "then")
            for op in ops:
                with named(op):
                    match op.get("op"):
                        case "start":
                            self.start(op)
                        case "expire":
                            self.let_go(op)
                        case "cancel":
                            self.tasks[self.let_go(op)].cancel()
                        case _:
                            self.main(op)
            await self.settle(outcomes)
            self.next_step()
        self.nobody_is_left()

    async def finish(self) -> None:
        self.release()
        async with asyncio.timeout(WATCHDOG):
            await asyncio.gather(*self.tasks.values())


def replay_on_threads(script: Mapping[str, Any], short: float, where: list[int]) -> None:
    replay = Threads(script, short)
    try:
        replay.replay(where)
    except Failure:
        if replay.clock_interfered():
            raise StartOver from None
        raise
    finally:
        replay.finish()


def replay_in_tasks(script: Mapping[str, Any], short: float, where: list[int]) -> None:
    async def main() -> None:
        replay = Tasks(script, short)
        try:
            await replay.replay(where)
        except Failure:
            if replay.clock_interfered():
                raise StartOver from None
            raise
        finally:
            await replay.finish()

    asyncio.run(main())


def replay_waiting(replay: Replay, machine: str, script: Mapping[str, Any]) -> None:
    """Replays a waiting script, as often as asked for."""
    if machine != "waiting":
        raise Failure(f"unknown machine {machine!r}")
    for _ in range(REPEAT):
        where = [0]
        try:
            with_limits(replay, script, where)
        except Exception as error:
            raise Failure(f"step {where[0]}: {error}") from error


def with_limits(replay: Replay, script: Mapping[str, Any], where: list[int]) -> None:
    short = FIRST_LIMIT
    while short <= WATCHDOG:
        try:
            replay(script, short, where)
        except StartOver:
            short *= 2
        else:
            return
    raise Failure("the runner is slower than the watchdog allows")


def run(primitive: str, gate: type[GateBase], replay: Replay, report: Report) -> None:
    pure = Totals().replay(files("pure"), partial(replay_pure, gate))
    waiting = Totals().replay(files("waiting"), partial(replay_waiting, replay))
    failures = pure.failures + waiting.failures
    report.line(
        f"conformance python | {primitive}: pure {pure.scripts} scripts {pure.steps} steps, "
        f"waiting {waiting.scripts} scripts {waiting.steps} steps, {len(failures)} failures"
    )
    assert not failures, "\n".join(failures)


def test_threads(report: Report) -> None:
    run("threads", Gate, replay_on_threads, report)


def test_asyncio(report: Report) -> None:
    run("asyncio", aio.Gate, replay_in_tasks, report)


def test_a_count_that_would_replay_nothing_is_refused() -> None:
    assert (repeats(None), repeats("1000")) == (1, 1000)
    for text in ("0", "-1", "many", ""):
        with pytest.raises(Failure) as refused:
            repeats(text)
        assert str(refused.value) == f'SLUICEGATE_REPEAT is "{text}", not a whole number from 1'


SAID = json.loads((FOLDER / "broken" / "said.json").read_bytes())


@pytest.mark.parametrize("replay", [replay_on_threads, replay_in_tasks])
@pytest.mark.parametrize("name", SAID)
def test_a_broken_script_is_refused_and_named(name: str, replay: Replay) -> None:
    def one(machine: str, script: dict[str, Any]) -> None:
        if machine == "waiting":
            replay_waiting(replay, machine, script)
        else:
            replay_pure(Gate, machine, script)

    try:
        said = Totals().replay([read(FOLDER / "broken" / name)], one).failures
    except Failure as error:
        said = [str(error)]
    assert said, "it was replayed as if it were good"
    for text in SAID[name]:
        assert text in said[0]


def test_every_broken_file_stands_in_the_table() -> None:
    there = {path.name for path in (FOLDER / "broken").iterdir()}
    assert there == {*SAID, "said.json"}


class Forgetful(Window):
    """A window that forgets to empty what is pending when a grant has become due."""

    forgotten = 0

    def consumed(self) -> int:
        due = super().consumed()
        self.forgotten += due
        return due

    @property
    def pending(self) -> int:
        return super().pending + self.forgotten


def test_a_broken_window_is_caught_by_name_and_step() -> None:
    file = read(FOLDER / "pure" / "window.json.gz")
    file.scripts = [
        script for script in file.scripts if script["name"].startswith("window 4: a full")
    ]
    said = Totals().replay([file], partial(replay_pure, Gate, window=Forgetful)).failures
    # Five arrivals, then the second one consumed makes a grant of 2 due.
    assert said == [
        "window.json.gz, 'window 4: a full cycle and a chunk too many', "
        "step 6: consumed: pending: expected 0, got 2"
    ]
    assert not Totals().replay([file], partial(replay_pure, Gate)).failures
