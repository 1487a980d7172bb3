"""Replays the pipeline scripts on lines of real stages, with a thread's waits and a task's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conftest import Report
from probes import GONE, Probes, State, refusal, replay_set, replay_steps, spelled, stage, told
from scripts import Failure, Step, keys, same
from sluicegate.errors import InvalidArgument
from sluicegate.flow import Flow, Scope
from sluicegate.flow.testkit import publisher, subscriber


class Pipeline:
    """A line of stages between two probes."""

    def __init__(self, kind: type[Probes], flows: list[Flow[Any, Any, Any]], seed: int) -> None:
        scope = Scope.stepped(seed)
        self.names = [f"it {place}" for place in range(len(flows))]
        line = publisher()
        for name, flow in zip(self.names, flows, strict=True):
            line = line.via(flow.named(name))
        source, end = line.to_mat(subscriber(), lambda a, b: (a, b)).run(scope)
        self.probes = kind(scope, [source], [end])

    async def play(self, step: Step) -> object:
        op, numbers = told(step)
        return await self.probes.play(op, 0, *numbers)

    def state(self) -> State:
        seen = self.probes.seen()
        stages = [seen.get(name, [GONE])[0] for name in self.names]
        above, below = self.probes.above[0], self.probes.below[0]
        return {**above.state(), **below.state(), "stages": stages}


async def replay(kind: type[Probes], seed: int, machine: str, script: Mapping[str, Any]) -> None:
    same("machine", "pipeline", machine)
    _, stages, steps = keys(script, "name", "stages", "steps")
    try:
        flows = [stage(one) for one in stages]
    except InvalidArgument:
        same("steps of what cannot be built", 0, len(steps))
        return
    if not steps:
        raise Failure("expected to be refused, came a line")
    await replay_steps(Pipeline(kind, flows, seed), steps)


def test_replays_every_pipeline_script(report: Report) -> None:
    replay_set(report, "pipeline", replay, 2000)


def test_a_pipeline_script_that_is_broken_is_refused() -> None:
    def said(machine: str, stage: object, op: str, demand: str) -> str:
        state: dict[str, Any] = {"demand": demand, "ended": None, "delivered": [], "terminal": None}
        step = {"op": op, "answer": None, "state": {**state, "stages": [spelled(0, 0, 0)]}}
        return refusal(replay, machine, {"name": "broken", "stages": [stage], "steps": [step]})

    take = {"stage": "take", "n": "2"}
    assert said("pipeline", take, "start", "0") == ""
    assert "step 0: start: state: expected" in said("pipeline", take, "start", "1")
    assert "unknown op 'vanish'" in said("pipeline", take, "vanish", "0")
    assert "machine: expected 'pipeline'" in said("gate", take, "start", "0")
    page = {"stage": "page", "size": "0", "mark": "1"}
    assert "steps of what cannot be built" in said("pipeline", page, "start", "0")
    assert "unknown stage 'sort'" in said("pipeline", {"stage": "sort"}, "start", "0")
    assert "colour" in said("pipeline", {"stage": "take", "n": "2", "colour": "red"}, "start", "0")
