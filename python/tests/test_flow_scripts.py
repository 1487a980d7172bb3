"""Replays the pipeline scripts on lines of real stages, with a thread's waits and a task's.

The scope is a stepped one: nothing runs but what a step makes run, in an order that a seed decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import pytest

from conftest import Report
from scripts import Failure, File, Step, Totals, count, files, keys, same
from sluicegate import _core
from sluicegate._wait import Deadline, wait
from sluicegate.aio._wait import wait as wait_in_task
from sluicegate.errors import InvalidArgument, TimedOut
from sluicegate.flow import Flow, Offer, Scope, Stage
from sluicegate.flow._run import offer_of
from sluicegate.flow.testkit import publisher, subscriber

T = TypeVar("T")
MASK = 2**64 - 1


def stage(told: Mapping[str, Any]) -> Flow[Any, Any, Any]:
    """One stage of a script. Raises InvalidArgument if it cannot be built."""
    match told.get("stage"):
        case "map_add":
            k = count(keys(told, "stage", "k")[1])
            return Flow.map(lambda n: (n + k) & MASK)
        case "filter_mod":
            _, m, r = keys(told, "stage", "m", "r")
            m, r = count(m), count(r)
            return Flow.filter(lambda n: m != 0 and n % m == r)
        case "take":
            return Flow.take(count(keys(told, "stage", "n")[1]))
        case "drop":
            return Flow.drop(count(keys(told, "stage", "n")[1]))
        case "page":
            _, size, mark = keys(told, "stage", "size", "mark")
            return Flow.page(count(size), count(mark))
        case "expand":
            k = count(keys(told, "stage", "k")[1])
            return Flow.expand(lambda n: ((n * k + i) & MASK for i in range(k)))
        case "batch":
            return Flow.batch(count(keys(told, "stage", "k")[1]))
        case other:
            raise Failure(f"unknown stage {other!r}")


def number(element: Any) -> Any:
    """An element in the words of the scripts."""
    return [number(n) for n in element] if isinstance(element, list | tuple) else str(element)


class Player:
    """Plays the two probes of a line. How it waits, for what is there or never comes, differs."""

    def __init__(self, flows: list[Flow[Any, Any, Any]], seed: int) -> None:
        self.scope = Scope.stepped(seed)
        self.names = [f"it {place}" for place in range(len(flows))]
        line = publisher()
        for name, flow in zip(self.names, flows, strict=True):
            line = line.via(flow.named(name))
        self.source, self.end = line.to_mat(subscriber(), lambda a, b: (a, b)).run(self.scope)
        self.next = 0
        self.ended: str | None = None
        self.delivered: list[Any] = []
        self.terminal: str | None = None

    async def wait(self, op: _core.Op[T]) -> T:
        """Waits no time at all."""
        return wait(op, Deadline.after(0))

    async def offer(self, element: int) -> Offer | None:
        try:
            return offer_of(await self.wait(self.source.control._core.offer(element, 0)))
        except TimedOut:
            return None

    async def settle(self) -> None:
        """Runs the line until it is quiet, taking what comes."""
        more = True
        while more:
            more = False
            self.scope.settle()
            try:
                while True:
                    what, came = await self.wait(self.end._core.event())
                    more = True
                    self.end._core.request(0)  # there is room for another
                    if what == "next":
                        self.delivered.append(number(came))
                    else:
                        self.terminal = {"complete": "completed", "error": "failed"}[what]
            except TimedOut:
                pass
        if self.source.control.is_over and self.ended is None:
            self.ended = "cancelled"

    async def send(self, most: int) -> object:
        sent, refused = 0, None
        while sent < most and refused is None:
            offer = await self.offer(self.next)
            if offer == Offer.ENQUEUED:
                sent += 1
                self.next += 1
                await self.settle()
            else:
                refused = "no_demand" if offer is None else "closed"
        return {"sent": str(sent), "refused": refused}

    def finish(self, first: bool, how: str) -> str:
        if first and self.ended is None:
            self.ended = how
        return "yes" if first else "no"

    async def play(self, step: Step) -> object:
        answer: object = None
        match step.get("op"):
            case "start" | "cancel" as op:
                keys(step, "op", "answer", "state")
                if op == "cancel":
                    self.end.cancel()
            case "request":
                self.end.try_request(count(keys(step, "op", "answer", "state", "n")[3]))
            case "next":
                answer = await self.send(count(keys(step, "op", "answer", "state", "k")[3]))
            case "complete":
                keys(step, "op", "answer", "state")
                answer = self.finish(self.source.control.complete(), "completed")
            case "fail":
                keys(step, "op", "answer", "state")
                failed = self.source.control.fail(OSError("the script says so"))
                answer = self.finish(failed, "failed")
            case other:
                raise Failure(f"unknown op {other!r}")
        await self.settle()
        return answer

    def state(self) -> object:
        seen: dict[str, Stage] = {stage.name: stage for stage in self.scope.stages()}
        stages = []
        for name in self.names:
            demand = seen[name].demand() if name in seen else None
            stages.append(
                {
                    "owed": str(demand.downstream if demand else 0),
                    "asked": str(demand.upstream if demand else 0),
                    "held": str(demand.held if demand else 0),
                }
            )
        state = {
            "demand": str(0 if self.ended else self.source.control.demand),
            "ended": self.ended,
            "delivered": self.delivered,
            "terminal": self.terminal,
            "stages": stages,
        }
        self.delivered, self.terminal = [], None
        return state


class TaskPlayer(Player):
    """The same in a task."""

    async def wait(self, op: _core.Op[T]) -> T:
        return await wait_in_task(op, Deadline.after(0))


async def replay(kind: type[Player], seed: int, machine: str, script: Mapping[str, Any]) -> None:
    same("machine", "pipeline", machine)
    _, told, steps = keys(script, "name", "stages", "steps")
    try:
        flows = [stage(one) for one in told]
    except InvalidArgument:
        same("steps of what cannot be built", 0, len(steps))
        return
    if not steps:
        raise Failure("expected to be refused, came a line")
    player = kind(flows, seed)
    for place, step in enumerate(steps):
        try:
            answer = await player.play(step)
            same("answer", step["answer"], answer)
            same("state", step["state"], player.state())
        except (Failure, KeyError) as failure:
            raise Failure(f"step {place}: {step.get('op')}: {failure}") from failure


def at_once(coroutine: Coroutine[Any, Any, None]) -> None:
    """Runs what never suspends."""
    with pytest.raises(StopIteration):
        coroutine.send(None)


def with_threads(machine: str, script: Mapping[str, Any]) -> None:
    at_once(replay(Player, 0, machine, script))


def all_of(files: list[File]) -> tuple[Totals, Totals]:
    threads = Totals().replay(files, with_threads)
    with asyncio.Runner() as runner:

        def in_a_task(machine: str, script: Mapping[str, Any]) -> None:
            runner.run(replay(TaskPlayer, 1, machine, script))

        tasks = Totals().replay(files, in_a_task)
    return threads, tasks


def test_replays_every_pipeline_script(report: Report) -> None:
    threads, tasks = all_of(files("pipeline"))
    for primitive, totals in (("threads", threads), ("asyncio", tasks)):
        said = f"{totals.scripts} scripts {totals.steps} steps, {len(totals.failures)} failures"
        report.line(f"pipeline python | {primitive}: {said}")
    assert threads.failures == []
    assert tasks.failures == []
    assert threads.scripts == tasks.scripts >= 2000


def test_a_pipeline_script_that_is_broken_is_refused() -> None:
    def said(machine: str, stage: object, op: str, demand: str) -> str:
        idle = {"owed": "0", "asked": "0", "held": "0"}
        state: dict[str, Any] = {"demand": demand, "ended": None, "delivered": [], "terminal": None}
        step = {"op": op, "answer": None, "state": {**state, "stages": [idle]}}
        try:
            with_threads(machine, {"name": "broken", "stages": [stage], "steps": [step]})
        except Failure as failure:
            return str(failure)
        return ""

    take = {"stage": "take", "n": "2"}
    assert said("pipeline", take, "start", "0") == ""
    assert "step 0: start: state: expected" in said("pipeline", take, "start", "1")
    assert "unknown op 'vanish'" in said("pipeline", take, "vanish", "0")
    assert "machine: expected 'pipeline'" in said("gate", take, "start", "0")
    page = {"stage": "page", "size": "0", "mark": "1"}
    assert "steps of what cannot be built" in said("pipeline", page, "start", "0")
    assert "unknown stage 'sort'" in said("pipeline", {"stage": "sort"}, "start", "0")
    assert "colour" in said("pipeline", {"stage": "take", "n": "2", "colour": "red"}, "start", "0")
