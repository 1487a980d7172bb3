"""Replays the junction scripts on real joins and forks, with a thread's waits and a task's.

The scope is a stepped one: nothing runs but what a step makes run, in an order that a seed decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeVar

import pytest

from conftest import Report
from scripts import Failure, File, Step, Totals, count, files, keys, same
from sluicegate import _core
from sluicegate._wait import Deadline, wait
from sluicegate.aio._wait import wait as wait_in_task
from sluicegate.errors import TimedOut
from sluicegate.flow import Flow, Offer, Scope, Sink, Source
from sluicegate.flow._run import offer_of
from sluicegate.flow.testkit import Publisher, Subscriber, publisher, subscriber
from test_flow_scripts import at_once, number, stage

T = TypeVar("T")
Line = list[Flow[Any, Any, Any]]
Joined = Source[Any, Any]
Branch = Sink[Any, Subscriber[Any]]

JUNCTION = "junction"
"""The name of the junction's own counters; a stage's is its line and its place."""

JOINS: dict[str, Callable[[list[Joined]], Joined]] = {
    "zip": lambda all_: all_[0].zip(all_[1]),
    "combine": Source.combine,
    "merge": lambda all_: all_[0].merge(all_[1]) if len(all_) == 2 else Source.merge_all(all_),
    "merge_prefer": lambda all_: all_[0].merge_prefer(all_[1:]),
    "concat": lambda all_: all_[0].concat(all_[1]) if len(all_) == 2 else Source.concat_all(all_),
}

FORKS: dict[str, Callable[[list[Branch]], Sink[Any, list[Subscriber[Any]]]]] = {
    "broadcast": Sink.broadcast,
    "balance": Sink.balance,
    "partition": lambda all_: Sink.partition(all_, lambda n: n % len(all_)),
}


def lines(side: str, told: list[list[Step]]) -> list[Line]:
    """The stages of each line, under their names."""
    return [
        [stage(one).named(f"{side} {at} {place}") for place, one in enumerate(line)]
        for at, line in enumerate(told)
    ]


def counters(seen: Any) -> dict[str, str]:
    """Both counters of a stage, all 0 of one that is gone."""
    demand = seen.demand() if seen else None
    return {
        "owed": str(demand.downstream if demand else 0),
        "asked": str(demand.upstream if demand else 0),
        "held": str(demand.held if demand else 0),
    }


class Above:
    """A publisher, and what the script has done with it."""

    probe: Publisher[Any]

    def __init__(self, at: int) -> None:
        self.next = 1000 * at
        self.ended: str | None = None

    def take(self, probe: Publisher[Any]) -> None:
        self.probe = probe

    def finish(self, first: bool, how: str) -> str:
        if first and self.ended is None:
            self.ended = how
        return "yes" if first else "no"

    def state(self) -> object:
        demand = 0 if self.ended else self.probe.control.demand
        return {"demand": str(demand), "ended": self.ended}


class Below:
    """A subscriber, and what it received in this step."""

    def __init__(self, probe: Subscriber[Any]) -> None:
        self.probe = probe
        self.delivered: list[Any] = []
        self.terminal: str | None = None

    def state(self) -> object:
        state = {"delivered": self.delivered, "terminal": self.terminal}
        self.delivered, self.terminal = [], None
        return state


class Player:
    """Plays the probes round a junction. How it waits differs."""

    def __init__(self, kind: str, inputs: list[Line], outputs: list[Line], seed: int) -> None:
        self.scope = Scope.stepped(seed)
        self.above = [Above(at) for at in range(len(inputs))]
        sources: list[Joined] = [
            reduce(lambda source, flow: source.via(flow), line, self.probe(at))
            for at, line in enumerate(inputs)
        ]
        ends: list[Branch] = [
            reduce(
                lambda sink, flow: flow.to_mat(sink, lambda _, end: end),
                reversed(line),
                subscriber().named("subscriber"),
            )
            for line in outputs
        ]
        if kind in FORKS:
            fork = FORKS[kind](ends).named(JUNCTION)
            self.below = [Below(end) for end in sources[0].to(fork).run(self.scope)]
        elif kind in JOINS:
            join = JOINS[kind](sources).named(JUNCTION)
            self.below = [Below(join.to(ends[0]).run(self.scope))]
        else:
            raise Failure(f"unknown junction {kind!r}")
        self.inputs = [len(line) for line in inputs]
        self.outputs = [len(line) for line in outputs]

    def probe(self, at: int) -> Joined:
        return publisher().named("publisher").map_mat(self.above[at].take)

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
                else:
                    one.terminal = {"complete": "completed", "error": "failed"}[what]
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

    async def play(self, step: Step) -> object:
        answer: object = None
        always = ("op", "answer", "state", "who")
        match step.get("op"):
            case "start":
                keys(step, "op", "answer", "state")
            case "request":
                *_, who, n = keys(step, *always, "n")
                self.below[count(who)].probe.try_request(count(n))
            case "cancel":
                self.below[count(keys(step, *always)[3])].probe.cancel()
            case "next":
                *_, who, k = keys(step, *always, "k")
                answer = await self.send(self.above[count(who)], count(k))
            case "complete":
                one = self.above[count(keys(step, *always)[3])]
                answer = one.finish(one.probe.control.complete(), "completed")
            case "fail":
                one = self.above[count(keys(step, *always)[3])]
                failed = one.probe.control.fail(OSError("the script says so"))
                answer = one.finish(failed, "failed")
            case other:
                raise Failure(f"unknown op {other!r}")
        await self.settle()
        return answer

    def state(self) -> object:
        stages = self.scope.stages()
        seen = {one.name: one for one in stages}

        def of(side: str, lengths: list[int]) -> list[list[dict[str, str]]]:
            return [
                [counters(seen.get(f"{side} {at} {place}")) for place in range(length)]
                for at, length in enumerate(lengths)
            ]

        return {
            "publishers": [one.state() for one in self.above],
            "inputs": of("in", self.inputs),
            "junction": [counters(one) for one in stages if one.name == JUNCTION],
            "outputs": of("out", self.outputs),
            "subscribers": [one.state() for one in self.below],
        }


class TaskPlayer(Player):
    """The same in a task."""

    async def wait(self, op: _core.Op[T]) -> T:
        return await wait_in_task(op, Deadline.after(0))


async def replay(kind: type[Player], seed: int, machine: str, script: Mapping[str, Any]) -> None:
    same("machine", "junction", machine)
    _, junction, told_in, told_out, steps = keys(
        script, "name", "junction", "inputs", "outputs", "steps"
    )
    player = kind(junction, lines("in", told_in), lines("out", told_out), seed)
    for place, step in enumerate(steps):
        try:
            answer = await player.play(step)
            same("answer", step["answer"], answer)
            same("state", step["state"], player.state())
        except (Failure, KeyError, IndexError) as failure:
            raise Failure(f"step {place}: {step.get('op')}: {failure}") from failure


def with_threads(machine: str, script: Mapping[str, Any]) -> None:
    at_once(replay(Player, 0, machine, script))


def all_of(files: list[File]) -> tuple[Totals, Totals]:
    threads = Totals().replay(files, with_threads)
    with asyncio.Runner() as runner:

        def in_a_task(machine: str, script: Mapping[str, Any]) -> None:
            runner.run(replay(TaskPlayer, 1, machine, script))

        tasks = Totals().replay(files, in_a_task)
    return threads, tasks


def test_replays_every_junction_script(report: Report) -> None:
    threads, tasks = all_of(files("junction"))
    for primitive, totals in (("threads", threads), ("asyncio", tasks)):
        said = f"{totals.scripts} scripts {totals.steps} steps, {len(totals.failures)} failures"
        report.line(f"junction python | {primitive}: {said}")
    assert threads.failures == []
    assert tasks.failures == []
    assert threads.scripts == tasks.scripts >= 2000


IDLE = {"owed": "0", "asked": "0", "held": "0"}


def script(junction: str, op: str, demand: str = "0") -> dict[str, Any]:
    """A script of one step, round two publishers."""
    above = {"demand": demand, "ended": None}
    below: dict[str, Any] = {"delivered": [], "terminal": None}
    state = {"publishers": [above, above], "inputs": [[], []], "junction": [IDLE, IDLE]}
    step = {"op": op, "answer": None, "state": {**state, "outputs": [[]], "subscribers": [below]}}
    head = {"name": "broken", "junction": junction, "inputs": [[], []], "outputs": [[]]}
    return {**head, "steps": [step]}


def test_a_junction_script_that_is_broken_is_refused() -> None:
    def said(machine: str, script: dict[str, Any]) -> str:
        try:
            with_threads(machine, script)
        except Failure as failure:
            return str(failure)
        return ""

    assert said("junction", script("merge", "start")) == ""
    assert "step 0: start: state: expected" in said("junction", script("merge", "start", "1"))
    assert "unknown op 'vanish'" in said("junction", script("merge", "vanish"))
    assert "unknown junction 'knot'" in said("junction", script("knot", "start"))
    assert "machine: expected 'junction'" in said("gate", script("merge", "start"))
    assert "keys" in said("junction", {**script("merge", "start"), "colour": "red"})


def test_a_broken_join_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge that prefers its first input is no merge."""
    merges = [file for file in files("junction") if file.name == "merge_walks.json.gz"]
    assert Totals().replay(merges, with_threads).failures == []
    monkeypatch.setitem(JOINS, "merge", JOINS["merge_prefer"])
    failures = Totals().replay(merges, with_threads).failures
    assert failures
    assert "step" in failures[0]
