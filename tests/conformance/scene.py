"""`Scene`: the model of several actors on gates, and the words that waiting scripts are written in.

First come, first served; nothing is set aside for whoever waits; one who gives up takes nothing and
lets the next one through.
"""

from __future__ import annotations

import copy
import itertools
from typing import Any

from model import Answer, Gate, Router, Window

Op = dict[str, Any]
Script = dict[str, Any]


class Line:
    """A gate with those who wait for it."""

    def __init__(self, window: int) -> None:
        self.gate = Gate(window)
        self.line: list[tuple[str, int]] = []

    def serve(self) -> list[tuple[str, Answer]]:
        back = []
        while self.line:
            actor, n = self.line[0]
            answer = self.gate.acquire(n)
            if answer == "wait":
                break
            self.line.pop(0)
            back.append((actor, answer))
        return back


class Scene:
    """Builds one script and knows what must happen at each step."""

    def __init__(
        self, name: str, gates: dict[str, int] | int = 0, windows: dict[str, int] | None = None
    ) -> None:
        gates = {"g": gates} if isinstance(gates, int) else gates
        self.name, self.head_gates, self.head_windows = name, gates, windows or {}
        self.lines = {gate: Line(window) for gate, window in gates.items()}
        self.windows = {window: Window(size, None) for window, size in self.head_windows.items()}
        self.router = Router({gate: line.gate for gate, line in self.lines.items()})
        self.leaving: dict[str, str] = {}
        self.together: set[str] = set()
        self.steps: list[dict[str, Any]] = []

    # ---- what an operation does, at once

    def perform(self, op: Op) -> tuple[Answer, list[tuple[str, Answer]]]:
        """The operation's own answer, and who comes back because of it."""
        match op["op"]:
            case "start":
                line, n = self.lines[op["gate"]], int(op["n"])
                if line.line and n > 0 and line.gate.closed is None:
                    answer: Answer = "wait"
                else:
                    answer = line.gate.acquire(n)
                if answer != "wait":
                    return None, [(op["actor"], answer)]
                if op["limit"] == "zero":
                    return None, [(op["actor"], "timed_out")]
                line.line.append((op["actor"], n))
                if op["leaves"]:
                    self.leaving[op["actor"]] = op["leaves"]
                return None, []
            case "cancel" | "expire" as how:
                for line in self.lines.values():
                    for place in line.line:
                        if place[0] == op["actor"]:
                            line.line.remove(place)
                            answer = "cancelled" if how == "cancel" else "timed_out"
                            return None, [(op["actor"], answer), *line.serve()]
                return None, []
            case "try":
                line, n = self.lines[op["gate"]], int(op["n"])
                if line.line and n > 0 and line.gate.closed is None:
                    return "wait", []
                return line.gate.acquire(n), []
            case "grant":
                self.lines[op["gate"]].gate.grant(int(op["n"]))
                return None, self.lines[op["gate"]].serve()
            case "close":
                self.lines[op["gate"]].gate.close(op["reason"])
                return None, self.lines[op["gate"]].serve()
            case "register":
                self.router.register(op["request"], op["stream"], op["gate"])
            case "unregister":
                self.router.unregister(op["request"], op["stream"])
            case "route":
                answer = self.router.grant(op["request"], op["stream"], int(op["n"]))
                return answer, self.serve_all()
            case "close_request":
                self.router.close_request(op["request"], op["reason"])
            case "close_all":
                self.router.close_all(op["reason"])
            case other:
                return getattr(self.windows[op["window"]], other)(), []
        return None, self.serve_all()

    def serve_all(self) -> list[tuple[str, Answer]]:
        return [back for line in self.lines.values() for back in line.serve()]

    def outcome(self, returned: list[tuple[str, Answer]]) -> dict[str, Any]:
        return {
            "returned": [
                {"actor": actor, "answer": answer}
                for actor, answer in sorted(returned, key=lambda r: r[0])
            ],
            "blocked": sorted(actor for line in self.lines.values() for actor, _ in line.line),
            "gates": {
                name: {
                    "available": str(line.gate.available),
                    "waiting": str(len(line.line)),
                    "closed": line.gate.closed,
                }
                for name, line in self.lines.items()
            },
            "windows": {
                name: {"remaining": str(window.remaining), "pending": str(window.pending)}
                for name, window in self.windows.items()
            },
        }

    def standing(self) -> list[str]:
        return [actor for line in self.lines.values() for actor, _ in line.line]

    # ---- steps

    def step(self, *ops: Op) -> Scene:
        """Operations done one after the other, the last of them with one possible outcome."""
        returned: list[tuple[str, Answer]] = []
        done = []
        for op in ops:
            answer, back = self.perform(op)
            done.append({**op, "answer": answer} if "answer" in op else op)
            returned += back
        given_up = {op["actor"] for op in ops if op["op"] in ("cancel", "expire")}
        for actor, _ in returned:
            assert actor in given_up or actor not in self.leaving, (
                f"{self.name}: {actor} must come back by leaving"
            )
        for actor in given_up:
            assert actor in self.leaving, f"{self.name}: {actor} was not said to leave"
            del self.leaving[actor]
        waiting_to_leave = [actor for actor in self.standing() if actor in self.leaving]
        if len(waiting_to_leave) > 1:
            self.together = set(waiting_to_leave)
        if given_up & self.together:
            assert given_up == self.together, f"{self.name}: {given_up} must leave in one step"
            self.together = set()
        self.steps.append({"do": done, "then": [self.outcome(returned)]})
        return self

    def race(self, *ops: Op) -> Scene:
        """Operations of which the cancels and expiries may happen at any moment of the step.

        The last step of a script: whatever happened, everybody is back after it."""
        free = [i for i, op in enumerate(ops) if op["op"] in ("cancel", "expire")]
        fixed = [i for i in range(len(ops)) if i not in free]
        outcomes: list[dict[str, Any]] = []
        for order in itertools.permutations(range(len(ops))):
            if [i for i in order if i in fixed] != fixed:
                continue
            scene = copy.deepcopy(self)
            returned = [back for i in order for back in scene.perform(ops[i])[1]]
            assert not scene.standing(), f"{self.name}: a race leaves nobody behind"
            outcome = scene.outcome(returned)
            if outcome not in outcomes:
                outcomes.append(outcome)
        keys = [
            {(r["actor"], str(r["answer"])) for r in outcome["returned"]} for outcome in outcomes
        ]
        for one, other in itertools.permutations(keys, 2):
            assert not one <= other, f"{self.name}: outcomes must be told apart by who returned"
        assert len(outcomes) > 1, f"{self.name}: no race"
        self.steps.append({"do": list(ops), "then": outcomes})
        for line in self.lines.values():
            line.line.clear()
        return self

    # ---- the words that scripts are written in

    def start(
        self,
        actor: str,
        n: int,
        gate: str = "g",
        limit: str | None = None,
        leaves: str | None = None,
    ) -> Scene:
        if leaves == "expire":
            limit = "short"
        before = set(self.standing())
        assert actor not in before, f"{self.name}: {actor} waits already"
        self.step(
            {
                "op": "start",
                "actor": actor,
                "gate": gate,
                "n": str(n),
                "limit": limit,
                "leaves": leaves,
            }
        )
        assert not leaves or actor in self.standing(), f"{self.name}: {actor} has nothing to leave"
        return self

    def grant(self, n: int, gate: str = "g") -> Scene:
        return self.step(grant(n, gate))

    def close(self, reason: str, gate: str = "g") -> Scene:
        return self.step(close(reason, gate))

    def cancel(self, *actors: str) -> Scene:
        return self.step(*(cancel(actor) for actor in actors))

    def expire(self, *actors: str) -> Scene:
        return self.step(*(expire(actor) for actor in actors))

    def attempt(self, n: int, gate: str = "g") -> Scene:
        return self.step({"op": "try", "gate": gate, "n": str(n), "answer": None})

    def register(self, request: str, stream: str | None, gate: str) -> Scene:
        return self.step({"op": "register", "request": request, "stream": stream, "gate": gate})

    def unregister(self, request: str, stream: str | None) -> Scene:
        return self.step({"op": "unregister", "request": request, "stream": stream})

    def route(self, n: int, request: str = "1", stream: str | None = None) -> Scene:
        return self.step(
            {"op": "route", "request": request, "stream": stream, "n": str(n), "answer": None}
        )

    def close_request(self, reason: str, request: str = "1") -> Scene:
        return self.step({"op": "close_request", "request": request, "reason": reason})

    def close_all(self, reason: str) -> Scene:
        return self.step({"op": "close_all", "reason": reason})

    def window(self, op: str, window: str = "w") -> Answer:
        self.step({"op": op, "window": window, "answer": None})
        return self.steps[-1]["do"][0]["answer"]

    def script(self) -> Script:
        for line in self.lines.values():
            assert not line.line, f"{self.name}: ends with somebody blocked"
        return {
            "name": self.name,
            "gates": {gate: str(window) for gate, window in self.head_gates.items()},
            "windows": {
                name: {"window": str(size), "batch": None}
                for name, size in self.head_windows.items()
            },
            "steps": self.steps,
        }


def grant(n: int, gate: str = "g") -> Op:
    return {"op": "grant", "gate": gate, "n": str(n)}


def close(reason: str, gate: str = "g") -> Op:
    return {"op": "close", "gate": gate, "reason": reason}


def cancel(actor: str) -> Op:
    return {"op": "cancel", "actor": actor}


def expire(actor: str) -> Op:
    return {"op": "expire", "actor": actor}


def in_line(name: str, actors: str, gates: dict[str, int] | int = 0, n: int = 1) -> Scene:
    """A scene in which each letter of `actors` stands in line for `n`."""
    scene = Scene(name, gates)
    for actor in actors:
        scene.start(actor, n)
    return scene
