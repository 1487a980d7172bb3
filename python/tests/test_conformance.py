"""Replays every conformance script through the public classes, with threads and with asyncio."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from conftest import Report
from scripts import (
    FIRST_LIMIT,
    REPEAT,
    WATCHDOG,
    Failure,
    StartOver,
    Step,
    Totals,
    Waiting,
    files,
    keys,
    replay_pure,
)
from sluicegate import Gate, SluicegateError, aio
from sluicegate._credit import GateBase
from sluicegate.errors import TimedOut

Replay = Callable[[Mapping[str, Any], float, list[int]], None]


def answer_of(error: SluicegateError) -> object:
    return "timed_out" if isinstance(error, TimedOut) else {"closed": error.code}


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
                match op["op"]:
                    case "start":
                        self.start(op)
                    case "expire" | "cancel":
                        self.let_go(op)
                    case _:
                        self.main(op)
            self.settle(outcomes)
            self.next_step()

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
                match op["op"]:
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


def replay_waiting(replay: Replay, totals: Totals) -> None:
    for file, content in files("waiting"):
        _, machine, scripts = keys(content, "generated", "machine", "scripts")
        assert machine == "waiting"
        for script in scripts:
            for _ in range(REPEAT):
                where = [0]
                try:
                    with_limits(replay, script, where)
                except Exception as error:
                    place = f"{file}, {script['name']!r}, step {where[0]}"
                    raise Failure(f"{place}: {error!r}") from error
            totals.waiting += 1
            totals.waiting_steps += len(script["steps"])


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


def run(language: str, gate: type[GateBase], replay: Replay, report: Report) -> None:
    totals = Totals(language)
    replay_pure(gate, totals)
    replay_waiting(replay, totals)
    report.line(str(totals))


def test_threads(report: Report) -> None:
    run("python-threads", Gate, replay_on_threads, report)


def test_asyncio(report: Report) -> None:
    run("python-asyncio", aio.Gate, replay_in_tasks, report)
