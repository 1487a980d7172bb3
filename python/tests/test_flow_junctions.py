"""Replays the junction scripts on real joins and forks, with a thread's waits and a task's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

import pytest

from conftest import Report
from probes import (
    GONE,
    Probes,
    State,
    refusal,
    replay_set,
    replay_steps,
    spelled,
    stage,
    told,
    with_threads,
)
from scripts import Failure, Step, Totals, files, keys, same
from sluicegate.flow import Flow, Scope, Sink, Source
from sluicegate.flow.testkit import Publisher, Subscriber, publisher, subscriber

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


class Junction:
    """A join or a fork between probes."""

    def __init__(
        self, kind: type[Probes], junction: str, inputs: list[Line], outputs: list[Line], seed: int
    ) -> None:
        scope = Scope.stepped(seed)
        above: dict[int, Publisher[Any]] = {}
        sources: list[Joined] = [
            reduce(
                lambda source, flow: source.via(flow),
                line,
                publisher().named("publisher").map_mat(partial(above.__setitem__, at)),
            )
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
        if junction in FORKS:
            fork = FORKS[junction](ends).named(JUNCTION)
            below = sources[0].to(fork).run(scope)
        elif junction in JOINS:
            join = JOINS[junction](sources).named(JUNCTION)
            below = [join.to(ends[0]).run(scope)]
        else:
            raise Failure(f"unknown junction {junction!r}")
        self.probes = kind(scope, [above[at] for at in range(len(inputs))], below)
        self.inputs = [len(line) for line in inputs]
        self.outputs = [len(line) for line in outputs]

    async def play(self, step: Step) -> object:
        op, numbers = told(step) if step.get("op") == "start" else told(step, "who")
        return await self.probes.play(op, *numbers)

    def state(self) -> State:
        seen = self.probes.seen()

        def of(side: str, lengths: list[int]) -> list[list[State]]:
            return [
                [seen.get(f"{side} {at} {place}", [GONE])[0] for place in range(length)]
                for at, length in enumerate(lengths)
            ]

        return {
            "publishers": [one.state() for one in self.probes.above],
            "inputs": of("in", self.inputs),
            "junction": seen.get(JUNCTION, []),
            "outputs": of("out", self.outputs),
            "subscribers": [one.state() for one in self.probes.below],
        }


async def replay(kind: type[Probes], seed: int, machine: str, script: Mapping[str, Any]) -> None:
    same("machine", "junction", machine)
    _, junction, inputs, outputs, steps = keys(
        script, "name", "junction", "inputs", "outputs", "steps"
    )
    player = Junction(kind, junction, lines("in", inputs), lines("out", outputs), seed)
    await replay_steps(player, steps)


def test_replays_every_junction_script(report: Report) -> None:
    replay_set(report, "junction", replay, 4000)


def script(junction: str, op: str, demand: str = "0") -> dict[str, Any]:
    """A script of one step, round two publishers."""
    above = {"demand": demand, "ended": None}
    below: dict[str, Any] = {"delivered": [], "terminal": None}
    state = {"publishers": [above, above], "inputs": [[], []], "junction": [spelled(0, 0, 0)] * 2}
    step = {"op": op, "answer": None, "state": {**state, "outputs": [[]], "subscribers": [below]}}
    head = {"name": "broken", "junction": junction, "inputs": [[], []], "outputs": [[]]}
    return {**head, "steps": [step]}


def test_a_junction_script_that_is_broken_is_refused() -> None:
    said = partial(refusal, replay)
    assert said("junction", script("merge", "start")) == ""
    assert "step 0: start: state: expected" in said("junction", script("merge", "start", "1"))
    assert "unknown op 'vanish'" in said("junction", script("merge", "vanish"))
    assert "unknown junction 'knot'" in said("junction", script("knot", "start"))
    assert "machine: expected 'junction'" in said("gate", script("merge", "start"))
    assert "keys" in said("junction", {**script("merge", "start"), "colour": "red"})


def test_a_broken_join_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge that prefers its first input is no merge."""
    merges = [file for file in files("junction") if file.name == "merge_walks.json.gz"]
    assert Totals().replay(merges, with_threads(replay)).failures == []
    monkeypatch.setitem(JOINS, "merge", JOINS["merge_prefer"])
    failures = Totals().replay(merges, with_threads(replay)).failures
    assert failures
    assert "step" in failures[0]
