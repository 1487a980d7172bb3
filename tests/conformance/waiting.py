"""The waiting scripts: who stands in line, who is served, who comes back with what.

`Scene` is the model of several actors on gates: first come, first served; nothing is set aside for
whoever waits; one who gives up takes nothing and lets the next one through.
"""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

from model import MAX, Answer, Gate, Router, Window

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

    def __init__(self, name: str, gates: dict[str, int] | int = 0, windows: dict[str, int] | None = None) -> None:
        gates = {"g": gates} if isinstance(gates, int) else gates
        self.name, self.head_gates, self.head_windows = name, gates, windows or {}
        self.lines = {gate: Line(window) for gate, window in gates.items()}
        self.windows = {window: Window(size, None) for window, size in self.head_windows.items()}
        self.router = Router({gate: line.gate for gate, line in self.lines.items()})
        self.leaving: dict[str, str] = {}
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
            "returned": [{"actor": actor, "answer": answer} for actor, answer in sorted(returned, key=lambda r: r[0])],
            "blocked": sorted(actor for line in self.lines.values() for actor, _ in line.line),
            "gates": {
                name: {"available": str(line.gate.available), "waiting": str(len(line.line)), "closed": line.gate.closed}
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
            assert actor in given_up or actor not in self.leaving, f"{self.name}: {actor} must come back by leaving"
        for actor in given_up:
            assert actor in self.leaving, f"{self.name}: {actor} was not said to leave"
            del self.leaving[actor]
        waiting_to_leave = [actor for actor in self.standing() if actor in self.leaving]
        if len(waiting_to_leave) > 1:
            self.together = set(waiting_to_leave)
        together = getattr(self, "together", set())
        assert not given_up & together or given_up == together, f"{self.name}: {together} must leave in one step"
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
        keys = [{(r["actor"], str(r["answer"])) for r in outcome["returned"]} for outcome in outcomes]
        for one, other in itertools.permutations(keys, 2):
            assert not one <= other, f"{self.name}: outcomes must be told apart by who returned"
        assert len(outcomes) > 1, f"{self.name}: no race"
        self.steps.append({"do": list(ops), "then": outcomes})
        for line in self.lines.values():
            line.line.clear()
        return self

    # ---- the words that scripts are written in

    def start(self, actor: str, n: int, gate: str = "g", limit: str | None = None, leaves: str | None = None) -> Scene:
        if leaves == "expire":
            limit = "short"
        before = set(self.standing())
        assert actor not in before, f"{self.name}: {actor} waits already"
        self.step({"op": "start", "actor": actor, "gate": gate, "n": str(n), "limit": limit, "leaves": leaves})
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
        return self.step({"op": "route", "request": request, "stream": stream, "n": str(n), "answer": None})

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
            "windows": {name: {"window": str(size), "batch": None} for name, size in self.head_windows.items()},
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


# --------------------------------------------------------------------------------------------- grants


def fifo() -> Iterator[Scene]:
    yield in_line("one waits and is served", "a").grant(1)
    yield in_line("a grant of nothing wakes nobody", "a").grant(0).attempt(0).grant(0).grant(1)
    yield in_line("hazard G01: two grants without a pause serve two", "ab").step(grant(1), grant(1))
    yield in_line("first come, first served", "abcd").grant(1).grant(1).grant(1).grant(1)
    yield in_line("one grant serves as many as it pays for", "abcdef").grant(3).grant(1).grant(5)
    yield in_line("what is left over stays", "ab").grant(7).attempt(5).attempt(1)
    for w in (1, 2, 3, 4, 5, 7, 8):
        scene = Scene(f"window {w}: the chunk after the last one waits", w)
        for number in range(w):
            scene.start(f"a{number}", 1)
        yield scene.attempt(1).start("late", 1).start("later", 1).grant(1).grant(max(1, w // 2))
    yield Scene("a large acquire is not starved by small ones that came later", 2).start("big", 3).start(
        "a", 1).start("b", 1).start("c", 1).attempt(1).grant(1).grant(1).grant(2)
    scene = Scene("hazard G05: ten at once is served before all later ones").start("big", 10)
    for actor in "abcde":
        scene.start(actor, 1)
    for _ in range(15):
        scene.grant(1)
    yield scene
    yield Scene("hazard G11: more than the window is served once grants add up", 3).start("big", 5).grant(1).attempt(
        1).grant(1)
    yield Scene("more than the window in many small grants").start("big", 8).grant(3).grant(0).grant(3).grant(
        1).grant(1)
    yield Scene("nothing is set aside for whoever waits", 3).start("big", 4).attempt(0).grant(1)
    yield Scene("the large one goes first, the small one takes the rest", 0).start("big", 4).start("small", 1).grant(
        5)
    yield Scene("the small one goes first, the large one waits on", 0).start("small", 1).start("big", 4).grant(
        3).grant(1).grant(1)
    yield Scene("taking nothing never waits, whoever stands in line").start("a", 1).start("zero", 0).attempt(
        0).start("zero", 0, limit="zero").grant(1).start("zero", 0)
    yield in_line("a try does not overtake the line", "a", 2, n=3).attempt(1).attempt(2).grant(1).attempt(1)
    yield in_line("an actor that was served may come again, at the end of the line", "ab").grant(1).start(
        "a", 1).grant(1).start("b", 1).grant(1).grant(1)
    yield Scene("the largest number waits for all of it").start("all", MAX).grant(MAX - 1).attempt(1).grant(1)
    yield Scene("a full gate serves the largest number, then waits", MAX).start("all", MAX).start("one", 1).grant(
        MAX).attempt(MAX - 1)
    yield Scene("grants saturate while somebody waits", 2).start("all", MAX).start("one", 1).grant(MAX).grant(1)
    yield Scene("hazard G06: saturated, then the largest signed number").grant(2**63 - 1).grant(2**63 - 1).grant(
        1).start("a", 1).start("b", 2**63 - 1).start("c", 2**63 - 1).start("d", 1).grant(1)
    yield Scene("two gates have two lines", {"g": 0, "h": 0}).start("a", 1, "g").start("b", 1, "h").start(
        "c", 1, "g").grant(1, "h").grant(1, "g").grant(1, "h").grant(1, "g").attempt(1, "h")
    yield Scene("many sizes", 1).start("a", 2).start("b", 3).start("c", 1).start("d", 5).grant(1).grant(2).grant(
        1).grant(1).grant(4).grant(1)
    yield Scene("a long limit is served like no limit").start("a", 1, limit="long").start("b", 1).grant(1).grant(1)


# ---------------------------------------------------------------------------------------------- close


def ends() -> Iterator[Scene]:
    yield in_line("close wakes the one who waits", "a").close("END")
    yield in_line("hazard G02: close wakes all eight", "abcdefgh").close("CANCELLED").start("late", 1).start("zero", 0)
    yield in_line("the first reason stays", "ab").close("first").close("second").start("c", 1).close("")
    yield in_line("the empty text is a reason", "ab").close("").start("c", 1).attempt(1)
    yield in_line("two closes without a pause: the first reason for all", "abc").step(close("first"), close("second"))
    yield in_line("a grant after close changes nothing", "a", 2, n=3).close("END").grant(9).attempt(1)
    yield in_line("a grant and a close without a pause: the paid one is served", "ab").step(grant(1), close("END"))
    yield in_line("a close and a grant without a pause: nobody is served", "ab").step(close("END"), grant(2))
    yield in_line("close keeps the count", "a", 4, n=5).close("END").attempt(0)
    yield Scene("closed before anybody came", 3).close("CANCELLED").start("a", 1).start("b", 0).start(
        "c", MAX).start("d", 1, limit="zero").start("e", 1, limit="long")
    yield Scene("a long limit hears the reason").start("a", 1, limit="long").close("PEER_DIED")
    yield Scene("closing one gate leaves the other", {"g": 0, "h": 0}).start("a", 1, "g").start("b", 1, "h").close(
        "END", "g").grant(1, "h")
    yield in_line("large and small alike", "", 1).start("big", 100).start("small", 1).start("all", MAX).close("ERR")
    yield in_line("a reason may be any text", "a").close("Grund: käuflich ✓ 門").start("b", 1)
    yield Scene("close at the last chunk", 1).start("a", 1).start("b", 1).close("END").start("c", 1)


# --------------------------------------------------------------------------------------------- giving up


def giving_up() -> Iterator[Scene]:
    for leaves in ("expire", "cancel"):
        word = {"expire": "times out", "cancel": "is cancelled"}[leaves]
        leave: Callable[..., Scene] = {"expire": Scene.expire, "cancel": Scene.cancel}[leaves]
        yield leave(Scene(f"one who {word} takes nothing").start("a", 1, leaves=leaves), "a").attempt(1).grant(
            1).attempt(1)
        yield leave(Scene(f"one who {word} leaves the count alone", 2).start("a", 3, leaves=leaves), "a").attempt(
            3).attempt(2)
        scene = Scene(f"hazard G04: the head {word}, the next is served", 3).start("a", 5, leaves=leaves)
        yield leave(scene.start("b", 1), "a").attempt(2)
        scene = Scene(f"the head {word}, all who can be are served", 6).start("a", 7, leaves=leaves)
        for actor, n in (("b", 1), ("c", 2), ("d", 4), ("e", 1)):
            scene.start(actor, n)
        yield leave(scene, "a").grant(1).grant(1)
        scene = in_line(f"one in the middle {word}, the line closes up", "a").start("b", 1, leaves=leaves)
        yield leave(scene.start("c", 1), "b").grant(1).grant(1).attempt(1)
        scene = in_line(f"the last {word}", "ab").start("c", 1, leaves=leaves)
        yield leave(scene, "c").grant(2).attempt(1)
        scene = Scene(f"one that {word} behind a large one", 1).start("big", 2).start("a", 1, leaves=leaves)
        yield leave(scene, "a").grant(1).attempt(1)
        scene = Scene(f"two that give up in one step: {word}", 2).start("a", 3, leaves=leaves)
        scene.start("b", 4, leaves=leaves).start("c", 2)
        yield leave(scene, "a", "b").attempt(1)
        scene = Scene(f"whoever {word} may come again").start("a", 1, leaves=leaves)
        yield leave(scene, "a").start("a", 1).grant(1)
        scene = Scene(f"again and again: {word}", 1)
        for _ in range(3):
            leave(scene.start("a", 2, leaves=leaves), "a")
        yield scene.start("a", 2).grant(1).attempt(1)
        scene = Scene(f"comes back to the end of the line: {word}").start("a", 1, leaves=leaves).start("b", 1)
        yield leave(scene, "a").start("a", 1).grant(1).grant(1)
        scene = in_line(f"who {word} before the close does not hear it", "a").start("b", 1, leaves=leaves)
        yield leave(scene, "b").close("END").start("b", 1)
        scene = Scene(f"the largest number {word}", 5).start("all", MAX, leaves=leaves).start("b", 5)
        yield leave(scene, "all").attempt(1)
        op = {"expire": expire, "cancel": cancel}[leaves]
        scene = Scene(f"a grant races with one who {word}: credit goes to one of two")
        scene.start("a", 1, leaves=leaves).start("b", 1)
        yield scene.race(grant(1), op("a"), grant(1))
        scene = Scene(f"one who {word} races with a grant: credit goes to one of two")
        scene.start("a", 1, leaves=leaves).start("b", 1)
        yield scene.race(op("a"), grant(1), grant(1))
        scene = Scene(f"alone, a grant races with one who {word}: taken or left").start("a", 1, leaves=leaves)
        yield scene.race(grant(1), op("a"))
        scene = Scene(f"a close races with one who {word}").start("a", 1, leaves=leaves).start("b", 1)
        yield scene.race(close("CANCELLED"), op("a"))
        scene = Scene(f"the head {word} while a grant comes: it goes to the head or the next", 1)
        scene.start("a", 2, leaves=leaves).start("b", 2)
        yield scene.race(grant(1), op("a"), grant(2))
        scene = Scene(f"three follow, a grant races with the head who {word}").start("a", 1, leaves=leaves)
        scene.start("b", 1).start("c", 1).start("d", 1)
        yield scene.race(grant(2), op("a"), grant(2))
    yield Scene("a limit of nothing is a try", 1).start("a", 2, limit="zero").start("b", 1, limit="zero").start(
        "c", 1, limit="zero").attempt(1)
    yield in_line("a limit of nothing does not overtake the line", "a", 1, n=2).start("b", 1, limit="zero").grant(
        1).start("c", 1, limit="zero")
    yield in_line("a limit of nothing leaves the line as it was", "a", 0, n=2).start("b", 1, limit="zero").grant(
        1).start("b", 1, limit="zero").grant(1)
    scene = Scene("first one is cancelled, then another times out", 3).start("a", 5, leaves="cancel").start("b", 4)
    yield scene.cancel("a").start("c", 9, leaves="expire").expire("c").grant(1)


# ---------------------------------------------------------------------------------- requests and pairs


def requests() -> Iterator[Scene]:
    three = {"main": 0, "side": 0, "other": 0}

    def registered(name: str, gates: dict[str, int] | None = None) -> Scene:
        scene = Scene(name, gates or three)
        return scene.register("1", "main", "main").register("1", "side", "side").register("2", "main", "other")

    def all_wait(scene: Scene) -> Scene:
        return scene.start("a", 1, "main").start("b", 1, "side").start("c", 1, "other").start("d", 2, "main")

    yield all_wait(registered("the end of a request releases its gates only")).close_request("CANCELLED").route(
        1, "2").route(1, "1", "main").start("e", 1, "side")
    yield all_wait(registered("the empty reason releases as well")).close_request("").close_request("END", "2")
    yield all_wait(registered("the end of the connection releases everybody")).close_all("PEER_DIED").start(
        "e", 1, "other")
    yield all_wait(registered("grants go to the stream they name")).route(1, "1", "side").route(
        1, "2", "side").route(1, "1", None).route(1, "2", None).route(1, "1", "main").route(1, "1", "").route(
        2, "1", "main")
    yield all_wait(registered("an unknown request grants to nobody")).route(9, "3").route(9, "3", "main").close_all(
        "END")
    yield all_wait(registered("a closed request's first reason stays")).close("early", "main").close_request(
        "late").start("e", 1, "main").start("f", 1, "side").close_all("END")
    yield Scene("the request's only stream gets a grant without a name").register("1", "a", "g").start("a", 1).route(
        1).start("b", 2).route(1, "1", "a").route(1)
    yield Scene("the absent name gets a grant without a name", {"g": 0, "h": 0}).register("1", None, "g").register(
        "1", "a", "h").start("a", 1, "g").start("b", 1, "h").route(1).route(1, "1", "a")
    yield Scene("the empty name is a name", {"g": 0, "h": 0}).register("1", "", "g").register("1", "a", "h").start(
        "a", 1, "g").start("b", 1, "h").route(1).route(1, "1", "").route(1, "1", "a")
    yield Scene("a replaced gate releases its waiters", {"g": 0, "h": 0}).register("1", "a", "g").start(
        "a", 1, "g").start("b", 1, "g").register("1", "a", "h").start("c", 1, "h").route(1).start("d", 1, "g")
    yield Scene("a stream taken out waits on until its gate is closed", {"g": 0, "h": 0}).register(
        "1", "a", "g").register("1", "b", "h").start("a", 1, "g").start("b", 1, "h").unregister("1", "a").route(
        1, "1", "a").route(1).close_request("END").close("END", "g")
    yield Scene("a grant of nothing through the router wakes nobody").register("1", "a", "g").start("a", 1).route(
        0).route(0, "1", "a").route(1)
    yield Scene("one gate under two names", {"g": 0}).register("1", "a", "g").register("1", "b", "g").start(
        "a", 1).start("b", 1).route(1).route(1, "1", "a").route(1, "1", "b")
    scene = Scene("one who gives up and a request that ends", {"g": 2, "h": 0}).register("1", "a", "g").register(
        "1", "b", "h").start("a", 3, "g", leaves="expire").start("b", 2, "g").start("c", 1, "h")
    yield scene.expire("a").close_request("ERR")
    for w in (1, 2, 3, 4, 5, 8):
        yield crossing(w, w, 2 * w + 3)
    yield crossing(1, 4, 6)
    yield crossing(2, 5, 9)
    for w in (1, 2, 3):
        scene = Scene(f"an item of {w + 3} chunks through a window of {w}", w, {"w": w}).register("1", "s", "g")
        for number in range(w + 3):
            scene.start(f"c{number}", 1)
            if number < w:
                scene.window("arrive")
            elif scene.standing():
                scene.route(int(scene.window("continued")), "1", "s").window("arrive")
        for _ in range(w - 1):
            scene.window("continued")
        due = int(scene.window("consumed")) + int(scene.window("flush"))
        yield scene.route(due)
    scene = Scene("an overrun is a violation and changes nothing", 3, {"w": 2}).register("1", "s", "g")
    for actor in "abc":
        scene.start(actor, 1)
        scene.window("arrive")
    scene.start("d", 1).window("flush")
    yield scene.close_request("CREDIT_VIOLATION")


def crossing(sender: int, receiver: int, chunks: int) -> Scene:
    """A producer ahead of a consumer that takes one chunk, flushing before it would wait."""
    scene = Scene(f"{chunks} chunks from a window of {sender} to one of {receiver}", sender, {"w": receiver})
    scene.register("1", "s", "g")
    sent = arrived = taken = 0
    while taken < chunks:
        while sent < chunks and not scene.standing():
            scene.start(f"c{sent}", 1)
            sent += 1
        while arrived < sent - len(scene.standing()):
            assert scene.window("arrive") == "accepted"
            arrived += 1
        assert arrived > taken, "a blocked sender is always waited for"
        due = int(scene.window("consumed"))
        taken += 1
        if not due and taken == arrived:
            due = int(scene.window("flush"))
        if due:
            scene.route(due, "1", None if taken % 2 else "s")
    return scene


# ---------------------------------------------------------------------------------------------- random


def walks() -> Iterator[Scene]:
    dice = random.Random(0x11FE)
    for number in range(40):
        gates = {name: dice.randrange(4) for name in "gh"[: dice.choice([1, 1, 2])]}
        scene = Scene(f"random walk {number}", gates)
        named = 0
        for _ in range(dice.choice([10, 16, 24])):
            gate = dice.choice(list(gates))
            leaver = next((a for a in scene.standing() if a in scene.leaving), None)
            roll = dice.random()
            if roll < 0.45:
                actor, n = f"a{named}", dice.choice([0, 1, 1, 1, 1, 2, 2, 3, 6])
                named += 1
                line = scene.lines[gate]
                would_wait = line.gate.closed is None and n > 0 and (line.line or n > line.gate.available)
                leaves = dice.choice(["expire", "cancel"]) if would_wait and not leaver and dice.random() < 0.3 else None
                limit = dice.choice([None, None, None, "long", "zero"]) if leaves is None else None
                scene.start(actor, n, gate, limit, leaves)
            elif roll < 0.55:
                scene.attempt(dice.choice([0, 1, 2]), gate)
            elif roll < 0.65 and leaver:
                scene.cancel(leaver) if scene.leaving[leaver] == "cancel" else scene.expire(leaver)
            else:
                op = close(dice.choice(["END", ""]), gate) if roll > 0.98 else grant(dice.choice([0, 1, 1, 2, 3]), gate)
                trial = copy.deepcopy(scene)
                if all(actor != leaver for actor, _ in trial.perform(op)[1]):
                    scene.step(op)
        for leaver in [a for a in scene.standing() if a in scene.leaving]:
            scene.cancel(leaver) if scene.leaving[leaver] == "cancel" else scene.expire(leaver)
        for gate in gates:
            scene.close(f"end of {gate}", gate)
        yield scene


def all_scripts() -> dict[str, list[Script]]:
    groups = {"fifo": fifo(), "close": ends(), "giving_up": giving_up(), "requests": requests(), "walks": walks()}
    return {name: [scene.script() for scene in scenes] for name, scenes in groups.items()}
