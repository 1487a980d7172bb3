"""The probes that a script plays by hand, and the replay of a set of such scripts.

The scope is a stepped one: nothing runs but what a step makes run, in an order that a seed decides.
Each script is replayed with a thread's waits and with a task's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Protocol, TypeVar

import pytest

from conftest import Report
from scripts import Failure, File, Step, Totals, count, files, keys, same
from sluicegate import _core
from sluicegate._wait import Deadline, wait
from sluicegate.aio._wait import wait as wait_in_task
from sluicegate.errors import BufferOverflow, TimedOut
from sluicegate.flow import Flow, Offer, Scope
from sluicegate.flow._run import offer_of
from sluicegate.flow.testkit import Publisher, Subscriber

T = TypeVar("T")
MASK = 2**64 - 1
State = dict[str, object]


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


def failed_as(error: object) -> str:
    """What a script calls the end with this error."""
    return "overflowed" if isinstance(error, BufferOverflow) else "failed"


class Above:
    """A publisher, and what the script has done with it."""

    def __init__(self, probe: Publisher[Any], first: int) -> None:
        self.probe = probe
        self.next = first
        self.ended: str | None = None

    def finish(self, first: bool, how: str) -> str:
        if first and self.ended is None:
            self.ended = how
        return "yes" if first else "no"

    def state(self) -> State:
        demand = 0 if self.ended else self.probe.control.demand
        return {"demand": str(demand), "ended": self.ended}


class Below:
    """A subscriber, and what it received in this step."""

    def __init__(self, probe: Subscriber[Any]) -> None:
        self.probe = probe
        self.delivered: list[Any] = []
        self.terminal: str | None = None

    def state(self) -> State:
        state: State = {"delivered": self.delivered, "terminal": self.terminal}
        self.delivered, self.terminal = [], None
        return state


OPS: dict[str, tuple[str, ...]] = {
    "start": (),
    "request": ("n",),
    "next": ("k",),
    "complete": (),
    "fail": (),
    "cancel": (),
}
"""What can be done to a probe, and the key of its number."""


def told(step: Step, *also: str) -> tuple[str, list[int]]:
    """The operation of a step, and its numbers: those under ``also``, and its own."""
    op = step.get("op")
    if op not in OPS:
        raise Failure(f"unknown op {op!r}")
    _, _, _, *numbers = keys(step, "op", "answer", "state", *also, *OPS[op])
    return op, [count(n) for n in numbers]


class Probes:
    """All probes of a script. How they wait, for what is there or never comes, differs."""

    def __init__(
        self, scope: Scope, above: Iterable[Publisher[Any]], below: Iterable[Subscriber[Any]]
    ) -> None:
        self.scope = scope
        self.above = [Above(probe, 1000 * at) for at, probe in enumerate(above)]
        self.below = [Below(probe) for probe in below]

    async def wait(self, op: _core.Op[T]) -> T:
        """Waits no time at all."""
        return wait(op, Deadline.after(0))

    async def settle(self) -> None:
        """Runs everything until it is quiet, taking what comes."""
        more = True
        while more:
            self.scope.settle()
            more = False
            for one in self.below:
                more = await self.take(one) or more
        for each in self.above:
            if each.probe.control.is_over and each.ended is None:
                each.ended = "cancelled"

    async def take(self, one: Below) -> bool:
        """Takes what a subscriber was given; whether there was anything."""
        came = False
        try:
            while True:
                what, element = await self.wait(one.probe._core.event())
                came = True
                one.probe._core.request(0)  # there is room for another
                if what == "next":
                    one.delivered.append(number(element))
                elif what == "complete":
                    one.terminal = "completed"
                else:
                    one.terminal = failed_as(element)
        except TimedOut:
            return came

    async def send(self, one: Above, most: int) -> object:
        sent, refused = 0, None
        while sent < most and refused is None:
            try:
                offer = offer_of(await self.wait(one.probe.control._core.offer(one.next, 0)))
            except TimedOut:
                refused = "no_demand"
                continue
            if offer == Offer.ENQUEUED:
                sent += 1
                one.next += 1
                await self.settle()
            else:
                refused = "closed"
        return {"sent": str(sent), "refused": refused}

    async def play(self, op: str, who: int = 0, n: int = 0) -> object:
        """What the probe number ``who`` is told to do, and all that follows from it."""
        answer: object = None
        probes = self.above if op in ("next", "complete", "fail") else self.below
        if who >= len(probes) and op != "start":
            raise Failure(f"there is no number {who} of {len(probes)}")
        match op:
            case "request":
                self.below[who].probe.try_request(n)
            case "cancel":
                self.below[who].probe.cancel()
            case "next":
                answer = await self.send(self.above[who], n)
            case "complete":
                one = self.above[who]
                answer = one.finish(one.probe.control.complete(), "completed")
            case "fail":
                one = self.above[who]
                failed = one.probe.control.fail(OSError("the script says so"))
                answer = one.finish(failed, "failed")
        await self.settle()
        return answer

    def seen(self) -> dict[str, list[State]]:
        """The counters of all stages that are there now, by name."""
        seen: dict[str, list[State]] = {}
        for stage in self.scope.stages():
            demand = stage.demand()
            counters = (demand.downstream, demand.upstream, demand.held)
            seen.setdefault(stage.name, []).append(spelled(*counters))
        return seen


class TaskProbes(Probes):
    """The same in a task."""

    async def wait(self, op: _core.Op[T]) -> T:
        return await wait_in_task(op, Deadline.after(0))


def spelled(owed: int, asked: int, held: int) -> State:
    """The counters of a stage in the words of the scripts."""
    return {"owed": str(owed), "asked": str(asked), "held": str(held)}


GONE = spelled(0, 0, 0)
"""The counters of a stage that is gone."""


class Player(Protocol):
    """What a script is played on."""

    async def play(self, step: Step) -> object:
        """Plays one step, and answers what the script is to answer."""

    def state(self) -> State:
        """What can be seen now. Forgets what was received."""


async def replay_steps(player: Player, steps: Iterable[Step]) -> None:
    """Plays the steps of a script, and compares what is answered and seen."""
    for place, step in enumerate(steps):
        try:
            answer = await player.play(step)
            same("answer", step["answer"], answer)
            same("state", step["state"], player.state())
        except (Failure, KeyError) as failure:
            raise Failure(f"step {place}: {step.get('op')}: {failure}") from failure


Replay = Callable[[type[Probes], int, str, Mapping[str, Any]], Coroutine[Any, Any, None]]
"""Replays a script of a machine with probes of this class, in an order that the number decides."""


def with_threads(replay: Replay) -> Callable[[str, Mapping[str, Any]], None]:
    """Replays a script with a thread's waits, none of which lasts."""

    def at_once(machine: str, script: Mapping[str, Any]) -> None:
        with pytest.raises(StopIteration):
            replay(Probes, 0, machine, script).send(None)

    return at_once


def both_ways(files: list[File], replay: Replay) -> dict[str, Totals]:
    """Replays all scripts with a thread's waits, and with a task's."""
    threads = Totals().replay(files, with_threads(replay))
    with asyncio.Runner() as runner:

        def in_a_task(machine: str, script: Mapping[str, Any]) -> None:
            runner.run(replay(TaskProbes, 1, machine, script))

        return {"threads": threads, "asyncio": Totals().replay(files, in_a_task)}


def replay_set(report: Report, name: str, replay: Replay, least: int) -> None:
    """Replays all scripts of a set, of which there are so many at least, and reports them."""
    ways = both_ways(files(name), replay)
    for primitive, totals in ways.items():
        said = f"{totals.scripts} scripts {totals.steps} steps, {len(totals.failures)} failures"
        report.line(f"{name} python | {primitive}: {said}")
    for totals in ways.values():
        assert totals.failures == []
    assert ways["threads"].scripts == ways["asyncio"].scripts >= least


def refusal(replay: Replay, machine: str, script: Mapping[str, Any]) -> str:
    """What is said of a script that is broken; nothing if it is replayed."""
    try:
        with_threads(replay)(machine, script)
    except Failure as failure:
        return str(failure)
    return ""
