"""Replays the hub scripts on a real broadcast hub, with a thread's waits and a task's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

import pytest

from conftest import Report
from probes import (
    GONE,
    Below,
    Probes,
    State,
    refusal,
    replay_set,
    replay_steps,
    told,
    with_threads,
)
from scripts import Failure, Step, Totals, count, files, keys, same
from sluicegate.errors import InvalidArgument
from sluicegate.flow import Hub, HubPolicy, Scope, Sink
from sluicegate.flow.testkit import publisher, subscriber

HUB = "hub"
"""The name of the hub's own counters; a subscriber's is its number."""

POLICIES = {policy.name.lower(): policy for policy in HubPolicy}


class Listening(NamedTuple):
    """How one subscriber listens."""

    policy: HubPolicy
    patience: int | None
    capacity: int


Reading = Callable[[Listening], Listening]
"""What a runner makes of how one listens."""


def listening(step: Step) -> Listening:
    """How a script says that one listens."""
    _, name, limit, capacity, *_ = keys(
        step, "op", "policy", "patience", "capacity", "answer", "state"
    )
    policy = POLICIES.get(name)
    if policy is None or (limit is not None and policy != HubPolicy.WAIT):
        raise Failure(f"unknown policy {name!r} for {limit!r}")
    return Listening(policy, None if limit is None else count(limit), count(capacity))


class Sharing:
    """A hub between a publisher and subscribers that come and go."""

    def __init__(
        self, kind: type[Probes], capacity: int, again: int, seed: int, read: Reading
    ) -> None:
        scope = Scope.stepped(seed)
        sink: Sink[Any, Hub[Any]] = Sink.broadcast_hub(capacity, replay=again).named(HUB)
        graph = publisher().to_mat(sink, lambda source, hub: (source, hub))
        source, self.hub = graph.run(scope)
        self.probes = kind(scope, [source], [])
        self.read = read

    def subscribe(self, how: Listening) -> None:
        below = self.probes.below
        source = self.hub.subscribe(
            how.policy,
            capacity=how.capacity,
            wait_at_most=None if how.patience is None else how.patience / 1e6,
        )
        line = source.named(str(len(below))).to_mat(subscriber(), lambda _, end: end)
        below.append(Below(line.run(self.probes.scope)))

    async def play(self, step: Step) -> object:
        match step.get("op"):
            case "subscribe":
                self.subscribe(self.read(listening(step)))
            case "advance":
                micros = count(keys(step, "op", "answer", "state", "micros")[3])
                self.probes.scope.advance(timedelta(microseconds=micros))
            case "request" | "cancel":
                op, numbers = told(step, "who")
                return await self.probes.play(op, *numbers)
            case _:
                op, numbers = told(step)
                return await self.probes.play(op, 0, *numbers)
        await self.probes.settle()
        return None

    def state(self) -> State:
        listeners = [
            {
                "name": one.name,
                "demand": str(one.demand),
                "held": str(one.held),
                "lost": str(one.lost),
            }
            for one in self.hub.subscribers()
        ]
        return {
            "publisher": self.probes.above[0].state(),
            "queued": self.probes.seen().get(HUB, [GONE])[0]["held"],
            "over": "yes" if self.hub.is_over else "no",
            "listeners": listeners,
            "subscribers": [one.state() for one in self.probes.below],
        }


async def replay(
    kind: type[Probes],
    seed: int,
    machine: str,
    script: Mapping[str, Any],
    *,
    read: Reading = lambda how: how,
) -> None:
    same("machine", "hub", machine)
    _, capacity, again, steps = keys(script, "name", "capacity", "replay", "steps")
    try:
        player = Sharing(kind, count(capacity), count(again), seed, read)
    except InvalidArgument:
        same("steps of what cannot be built", 0, len(steps))
        return
    if not steps:
        raise Failure("expected to be refused, came a hub")
    await replay_steps(player, steps)


def test_replays_every_hub_script(report: Report) -> None:
    replay_set(report, "hub", replay, 2500)


def script(capacity: str, demand: str, /, **step: object) -> dict[str, Any]:
    """A script of one step that changes nothing to be seen."""
    above = {"demand": demand, "ended": None}
    state: dict[str, Any] = {"publisher": above, "queued": "0", "over": "no", "listeners": []}
    steps = [{**step, "answer": None, "state": {**state, "subscribers": []}}]
    return {"name": "broken", "capacity": capacity, "replay": "0", "steps": steps}


def test_a_hub_script_that_is_broken_is_refused() -> None:
    said = partial(refusal, replay)
    assert said("hub", script("2", "0", op="start")) == ""
    assert "step 0: start: state: expected" in said("hub", script("2", "1", op="start"))
    assert "steps of what cannot be built" in said("hub", script("0", "0", op="start"))
    assert "machine: expected 'hub'" in said("gate", script("2", "0", op="start"))
    assert "no number 0" in said("hub", script("2", "0", op="cancel", who="0"))
    assert "unknown op 'vanish'" in said("hub", script("2", "0", op="vanish"))
    assert "keys" in said("hub", script("2", "0", op="start", who="0"))
    for policy, patience in (("nod", None), ("disconnect", "1")):
        step = {"op": "subscribe", "policy": policy, "patience": patience, "capacity": "1"}
        assert "unknown policy" in said("hub", script("2", "0", **step))


def instead(wanted: HubPolicy, given: HubPolicy) -> Reading:
    """Takes one policy, without a limit, for another."""

    def read(how: Listening) -> Listening:
        is_it = how.policy == wanted and how.patience is None
        return how._replace(policy=given) if is_it else how

    return read


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(instead(HubPolicy.WAIT, HubPolicy.DISCONNECT), id="nobody is waited for"),
        pytest.param(instead(HubPolicy.DROP_TAIL, HubPolicy.DROP_HEAD), id="the oldest goes"),
        pytest.param(instead(HubPolicy.DISCONNECT, HubPolicy.WAIT), id="the slow is waited for"),
        pytest.param(lambda how: how._replace(patience=None), id="a limit is none"),
    ],
)
def test_a_broken_hub_is_caught(read: Reading) -> None:
    walks = [file for file in files("hub") if file.name == "walks.json.gz"]
    failures = Totals().replay(walks, with_threads(partial(replay, read=read))).failures
    assert failures
    assert "step" in failures[0]
