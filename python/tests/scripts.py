"""The conformance scripts: reading them, and what every runner of this language shares."""

from __future__ import annotations

import gzip
import json
import os
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from sluicegate import Router, SluicegateError, Window, negotiate
from sluicegate._credit import GateBase
from sluicegate.errors import CreditViolation

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "conformance"
WATCHDOG = 120.0
FIRST_LIMIT = 0.002

Step = dict[str, Any]
G = TypeVar("G", bound=GateBase)


class Failure(AssertionError):
    """A step answered something that the script does not allow."""


class StartOver(Exception):
    """The clock was faster than the runner; this replay shows nothing."""


def repeats(text: str | None) -> int:
    """How often the waiting scripts are replayed, of what ``SLUICEGATE_REPEAT`` says."""
    if text is None:
        return 1
    if not (text.isdecimal() and int(text) > 0):
        raise Failure(f'SLUICEGATE_REPEAT is "{text}", not a whole number from 1')
    return int(text)


REPEAT = repeats(os.environ.get("SLUICEGATE_REPEAT"))


@dataclass
class File:
    """A file of scripts."""

    name: str
    machine: str
    scripts: list[dict[str, Any]]


def read(path: Path) -> File:
    """A file of scripts, ``.json.gz`` or ``.json``."""
    try:
        text = path.read_bytes()
        if path.name.endswith(".json.gz"):
            text = gzip.decompress(text)
        elif path.suffix != ".json":
            raise Failure("neither .json.gz nor .json")
        _, machine, scripts = keys(json.loads(text), "generated", "machine", "scripts")
    except (OSError, EOFError, zlib.error, ValueError, Failure) as error:
        raise Failure(f"{path.name}: {error}") from error
    return File(path.name, machine, scripts)


def files(kind: str) -> list[File]:
    """All files of a folder, in order of their names. Whatever lies there is one."""
    found = sorted((FOLDER / kind).iterdir())
    if not found:
        raise Failure(f"no scripts in {FOLDER / kind}")
    return [read(path) for path in found]


def keys(where: Mapping[str, Any], *wanted: str) -> tuple[Any, ...]:
    """The values of exactly these keys: a key too many or too few is a failure."""
    if set(where) != set(wanted):
        raise Failure(f"keys {sorted(where)} where {sorted(wanted)} were expected")
    return tuple(where[key] for key in wanted)


def count(text: str) -> int:
    """A number of a script."""
    if not (isinstance(text, str) and text.isdecimal()):
        raise Failure(f"{text!r} is not a number of a script")
    return int(text)


def same(what: str, wanted: object, got: object) -> None:
    """Compares one answer."""
    if wanted != got or type(wanted) is not type(got):
        raise Failure(f"{what}: expected {wanted!r}, got {got!r}")


def closed(gate: GateBase) -> str | None:
    """The reason a gate was closed with, None while open."""
    same("is_closed", gate.reason is not None, gate.is_closed)
    return gate.reason.code if gate.reason else None


def try_acquire(gate: GateBase, n: int) -> object:
    """What a try answers, in the words of the scripts."""
    try:
        return "acquired" if gate.try_acquire(n) else "wait"
    except SluicegateError as error:
        return {"closed": error.code}


def window_step(window: Window, op: str) -> str:
    """One operation on a window, in the words of the scripts."""
    match op:
        case "arrive":
            try:
                window.arrive()
            except CreditViolation:
                return "violation"
            return "accepted"
        case "consumed":
            return str(window.consumed())
        case "flush":
            return str(window.flush())
        case "continued":
            return str(window.continued())
    raise Failure(f"unknown op {op!r}")


def open_window(opened: Mapping[str, Any], window: type[Window] = Window) -> Window:
    """A window of a script."""
    size, batch = keys(opened, "window", "batch")
    return window(count(size), batch=None if batch is None else count(batch))


def router_step(router: Router, gates: Mapping[str, GateBase], step: Step) -> object:
    """One operation on a router, in the words of the scripts."""
    match step["op"]:
        case "register":
            _, request, stream, gate = keys(step, "op", "request", "stream", "gate")
            router.register(request, stream, gates[gate])
        case "unregister":
            _, request, stream = keys(step, "op", "request", "stream")
            router.unregister(request, stream)
        case "grant":
            _, request, stream, n = keys(step, "op", "request", "stream", "n")
            return router.grant(request, stream, count(n))
        case "close_request":
            _, request, reason = keys(step, "op", "request", "reason")
            router.close_request(request, reason)
        case "close_all":
            _, reason = keys(step, "op", "reason")
            router.close_all(reason)
        case other:
            raise Failure(f"unknown op {other!r}")
    return None


ENOUGH = 10
"""So many failures tell enough; more would each wait for the watchdog."""


@dataclass
class Totals:
    """What was replayed of one kind, and what failed."""

    scripts: int = 0
    steps: int = 0
    failures: list[str] = field(default_factory=list)

    def replay(self, files: list[File], one: Callable[[str, dict[str, Any]], None]) -> Totals:
        """Replays every script of ``files`` with ``one(machine, script)``."""
        for file in files:
            for script in file.scripts:
                if len(self.failures) >= ENOUGH:
                    return self
                try:
                    one(file.machine, script)
                except Exception as error:
                    self.failures.append(f"{file.name}, {script.get('name')!r}, {error}")
                self.scripts += 1
                self.steps += len(script.get("steps", ()))
        return self


class Pure:
    """Replays a pure script on one thread."""

    def __init__(
        self,
        gate: type[GateBase],
        machine: str,
        script: Mapping[str, Any],
        window: type[Window] = Window,
    ) -> None:
        if machine == "negotiate":
            _, self.steps = keys(script, "name", "steps")
        else:
            _, opened, self.steps = keys(script, "name", "open", "steps")
        match machine:
            case "gate":
                self.one = gate(count(*keys(opened, "window")))
                self.run = self.on_gate
            case "window":
                self.window = open_window(opened, window)
                self.run = self.on_window
            case "negotiate":
                self.run = self.on_negotiate
            case "grant_target" | "router":
                (gates,) = keys(opened, "gates")
                self.gates = {name: gate(count(window)) for name, window in gates.items()}
                self.router = Router()
                self.run = self.on_router
            case other:
                raise Failure(f"unknown machine {other!r}")

    def on_gate(self, step: Step) -> None:
        answer: object = None
        match step.get("op"):
            case "acquire":
                _, n, wanted, state = keys(step, "op", "n", "answer", "state")
                answer = try_acquire(self.one, count(n))
            case "grant":
                _, n, wanted, state = keys(step, "op", "n", "answer", "state")
                self.one.grant(count(n))
            case "close":
                _, why, wanted, state = keys(step, "op", "reason", "answer", "state")
                self.one.close(why)
            case other:
                raise Failure(f"unknown op {other!r}")
        same("answer", wanted, answer)
        available, reason = keys(state, "available", "closed")
        same("available", count(available), self.one.available)
        same("closed", reason, closed(self.one))

    def on_window(self, step: Step) -> None:
        op, wanted, state = keys(step, "op", "answer", "state")
        remaining, pending, batch = keys(state, "remaining", "pending", "batch")
        same("answer", wanted, window_step(self.window, op))
        same("remaining", count(remaining), self.window.remaining)
        same("pending", count(pending), self.window.pending)
        same("batch", count(batch), self.window.batch)

    def on_negotiate(self, step: Step) -> None:
        op, ours, theirs, wanted = keys(step, "op", "ours", "theirs", "answer")
        same("operation", "negotiate", op)
        agreed = negotiate(count(ours), count(theirs))
        same("answer", wanted, None if agreed is None else str(agreed))

    def on_router(self, step: Step) -> None:
        rest = {key: value for key, value in step.items() if key not in ("answer", "state")}
        same("answer", step["answer"], router_step(self.router, self.gates, rest))
        (gates,) = keys(step["state"], "gates")
        same("gates", sorted(gates), sorted(self.gates))
        for name, state in gates.items():
            available, reason = keys(state, "available", "closed")
            same(f"{name} available", count(available), self.gates[name].available)
            same(f"{name} closed", reason, closed(self.gates[name]))


def replay_pure(
    gate: type[GateBase], machine: str, script: Mapping[str, Any], window: type[Window] = Window
) -> None:
    """Replays a pure script with one class of gates."""
    pure = Pure(gate, machine, script, window)
    for number, step in enumerate(pure.steps):
        try:
            pure.run(step)
        except Exception as error:
            raise Failure(f"step {number}: {step.get('op')}: {error}") from error


@dataclass
class Started:
    """One acquire of an actor."""

    limit: float | None
    leaves: str | None
    at: float = field(default_factory=time.monotonic)
    let_go: bool = False
    """Its ``expire`` or ``cancel`` has come."""


class Waiting(Generic[G]):
    """A waiting script in replay: everything but how the actors wait."""

    def __init__(self, gate: type[G], script: Mapping[str, Any], short: float) -> None:
        _, gates, windows, self.steps = keys(script, "name", "gates", "windows", "steps")
        self.gates = {name: gate(count(window)) for name, window in gates.items()}
        self.windows = {name: open_window(window) for name, window in windows.items()}
        self.router = Router()
        self.short = short
        self.actors: dict[str, Started] = {}
        self.returned: dict[str, object] = {}

    def begin(self, step: Step, *, has_cancel: bool) -> tuple[str, G, int, float | None]:
        """An actor that starts: its name, its gate, how much it takes and its limit."""
        _, actor, gate, n, limit, leaves = keys(step, "op", "actor", "gate", "n", "limit", "leaves")
        if actor in self.actors:
            raise Failure(f"{actor} is started while it waits")
        given_up = leaves == "cancel" and not has_cancel
        match limit:
            case None:
                seconds = self.short if given_up else None
            case "zero":
                seconds = 0.0
            case "short":
                seconds = self.short
            case "long":
                seconds = self.short if given_up else 1.7976931348623157e308
            case other:
                raise Failure(f"unknown limit {other!r}")
        self.actors[actor] = Started(seconds, leaves, let_go=limit == "zero")
        return actor, self.gates[gate], count(n), seconds

    def let_go(self, step: Step) -> str:
        """``expire`` and ``cancel``: the actor of it may now come back without its credit."""
        _, actor = keys(step, "op", "actor")
        if started := self.actors.get(actor):
            started.let_go = True
        return str(actor)

    def came_back(self, actor: str, answer: object, *, has_cancel: bool) -> None:
        """An actor's acquire returned or raised."""
        started = self.actors.pop(actor)
        if answer == "timed_out":
            passed = time.monotonic() - started.at
            if started.limit is None or passed < started.limit:
                raise Failure(f"{actor} gave up after {passed} s of {started.limit} s")
            if not started.let_go:
                raise StartOver
            if started.leaves == "cancel" and not has_cancel:
                answer = "cancelled"
        self.returned[actor] = answer

    def main(self, step: Step) -> None:
        """An operation of the main line."""
        op = step["op"]
        match op:
            case "try":
                _, gate, n, wanted = keys(step, "op", "gate", "n", "answer")
                same("answer", wanted, try_acquire(self.gates[gate], count(n)))
            case "grant":
                _, gate, n = keys(step, "op", "gate", "n")
                self.gates[gate].grant(count(n))
            case "close":
                _, gate, reason = keys(step, "op", "gate", "reason")
                self.gates[gate].close(reason)
            case "route":
                _, request, stream, n, wanted = keys(step, "op", "request", "stream", "n", "answer")
                same("answer", wanted, self.router.grant(request, stream, count(n)))
            case "arrive" | "consumed" | "flush" | "continued":
                _, window, wanted = keys(step, "op", "window", "answer")
                same("answer", wanted, window_step(self.windows[window], op))
            case _:
                router_step(self.router, self.gates, step)

    def settled(self, outcomes: list[Step]) -> Literal["yes", "returns", "line"]:
        """Whether one outcome of a step has come about, or what is missing."""
        missing: Literal["returns", "line"] = "returns"
        possible = False
        for outcome in outcomes:
            returned, blocked, gates, windows = keys(
                outcome, "returned", "blocked", "gates", "windows"
            )
            due = dict(keys(back, "actor", "answer") for back in returned)
            if any(self.returned[actor] != due.get(actor) for actor in self.returned):
                continue
            possible = True
            if len(self.returned) < len(due):
                continue
            missing = "line"
            if all(self.gates[name].waiting == count(g["waiting"]) for name, g in gates.items()):
                self.compare(blocked, gates, windows)
                return "yes"
        if not possible:
            raise Failure(f"returned: expected one of {outcomes}, got {self.returned}")
        return missing

    def compare(
        self, blocked: list[str], gates: Mapping[str, Any], windows: Mapping[str, Any]
    ) -> None:
        """Compares the rest of an outcome."""
        same("blocked", sorted(blocked), sorted(self.actors))
        same("gates", sorted(self.gates), sorted(gates))
        for name, state in gates.items():
            available, _, reason = keys(state, "available", "waiting", "closed")
            same(f"{name} available", count(available), self.gates[name].available)
            same(f"{name} closed", reason, closed(self.gates[name]))
        same("windows", sorted(self.windows), sorted(windows))
        for name, state in windows.items():
            remaining, pending = keys(state, "remaining", "pending")
            same(f"{name} remaining", count(remaining), self.windows[name].remaining)
            same(f"{name} pending", count(pending), self.windows[name].pending)

    def clock_interfered(self) -> bool:
        """Whether an actor may have left the line before the script lets it go."""
        now = time.monotonic()
        return any(
            not started.let_go and started.limit is not None and now - started.at >= started.limit
            for started in self.actors.values()
        )

    def next_step(self) -> None:
        """Forgets the returns that a step explained."""
        self.returned.clear()

    def nobody_is_left(self) -> None:
        """At the end of a script, everybody has come back."""
        if self.actors:
            raise Failure(f"still blocked at the end: {sorted(self.actors)}")

    def release(self) -> None:
        """Lets everybody go who still waits."""
        for gate in self.gates.values():
            gate.close("the replay is over")
