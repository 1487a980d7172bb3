"""Waiting scripts on requests, on gates with windows, and random walks."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator

from scene import Scene, Script, close, grant


def requests() -> Iterator[Scene]:
    three = {"main": 0, "side": 0, "other": 0}

    def registered(name: str, gates: dict[str, int] | None = None) -> Scene:
        scene = Scene(name, gates or three)
        return (
            scene.register("1", "main", "main")
            .register("1", "side", "side")
            .register("2", "main", "other")
        )

    def all_wait(scene: Scene) -> Scene:
        return (
            scene.start("a", 1, "main")
            .start("b", 1, "side")
            .start("c", 1, "other")
            .start("d", 2, "main")
        )

    yield (
        all_wait(registered("the end of a request releases its gates only"))
        .close_request("CANCELLED")
        .route(1, "2")
        .route(1, "1", "main")
        .start("e", 1, "side")
    )
    yield (
        all_wait(registered("the empty reason releases as well"))
        .close_request("")
        .close_request("END", "2")
    )
    yield (
        all_wait(registered("the end of the connection releases everybody"))
        .close_all("PEER_DIED")
        .start("e", 1, "other")
    )
    yield (
        all_wait(registered("grants go to the stream they name"))
        .route(1, "1", "side")
        .route(1, "2", "side")
        .route(1, "1", None)
        .route(1, "2", None)
        .route(1, "1", "main")
        .route(1, "1", "")
        .route(2, "1", "main")
    )
    yield (
        all_wait(registered("an unknown request grants to nobody"))
        .route(9, "3")
        .route(9, "3", "main")
        .close_all("END")
    )
    yield (
        all_wait(registered("a closed request's first reason stays"))
        .close("early", "main")
        .close_request("late")
        .start("e", 1, "main")
        .start("f", 1, "side")
        .close_all("END")
    )
    yield (
        Scene("the request's only stream gets a grant without a name")
        .register("1", "a", "g")
        .start("a", 1)
        .route(1)
        .start("b", 2)
        .route(1, "1", "a")
        .route(1)
    )
    yield (
        Scene("the absent name gets a grant without a name", {"g": 0, "h": 0})
        .register("1", None, "g")
        .register("1", "a", "h")
        .start("a", 1, "g")
        .start("b", 1, "h")
        .route(1)
        .route(1, "1", "a")
    )
    yield (
        Scene("the empty name is a name", {"g": 0, "h": 0})
        .register("1", "", "g")
        .register("1", "a", "h")
        .start("a", 1, "g")
        .start("b", 1, "h")
        .route(1)
        .route(1, "1", "")
        .route(1, "1", "a")
    )
    yield (
        Scene("a replaced gate releases its waiters", {"g": 0, "h": 0})
        .register("1", "a", "g")
        .start("a", 1, "g")
        .start("b", 1, "g")
        .register("1", "a", "h")
        .start("c", 1, "h")
        .route(1)
        .start("d", 1, "g")
    )
    yield (
        Scene("a stream taken out waits on until its gate is closed", {"g": 0, "h": 0})
        .register("1", "a", "g")
        .register("1", "b", "h")
        .start("a", 1, "g")
        .start("b", 1, "h")
        .unregister("1", "a")
        .route(1, "1", "a")
        .route(1)
        .close_request("END")
        .close("END", "g")
    )
    yield (
        Scene("a grant of nothing through the router wakes nobody")
        .register("1", "a", "g")
        .start("a", 1)
        .route(0)
        .route(0, "1", "a")
        .route(1)
    )
    yield (
        Scene("one gate under two names", {"g": 0})
        .register("1", "a", "g")
        .register("1", "b", "g")
        .start("a", 1)
        .start("b", 1)
        .route(1)
        .route(1, "1", "a")
        .route(1, "1", "b")
    )
    scene = (
        Scene("one who gives up and a request that ends", {"g": 2, "h": 0})
        .register("1", "a", "g")
        .register("1", "b", "h")
        .start("a", 3, "g", leaves="expire")
        .start("b", 2, "g")
        .start("c", 1, "h")
    )
    yield scene.expire("a").close_request("ERR")
    for w in (1, 2, 3, 4, 5, 8):
        yield crossing(w, w, 2 * w + 3)
    yield crossing(1, 4, 6)
    yield crossing(2, 5, 9)
    for w in (1, 2, 3):
        scene = Scene(f"an item of {w + 3} chunks through a window of {w}", w, {"w": w}).register(
            "1", "s", "g"
        )
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
    scene = Scene("an overrun is a violation and changes nothing", 3, {"w": 2}).register(
        "1", "s", "g"
    )
    for actor in "abc":
        scene.start(actor, 1)
        scene.window("arrive")
    scene.start("d", 1).window("flush")
    yield scene.close_request("CREDIT_VIOLATION")


def crossing(sender: int, receiver: int, chunks: int) -> Scene:
    """A producer ahead of a consumer that takes one chunk, flushing before it would wait."""
    scene = Scene(
        f"{chunks} chunks from a window of {sender} to one of {receiver}", sender, {"w": receiver}
    )
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
                would_wait = (
                    line.gate.closed is None and n > 0 and (line.line or n > line.gate.available)
                )
                leaves = None
                if would_wait and not leaver and dice.random() < 0.3:
                    leaves = dice.choice(["expire", "cancel"])
                limit = dice.choice([None, None, None, "long", "zero"]) if leaves is None else None
                scene.start(actor, n, gate, limit, leaves)
            elif roll < 0.55:
                scene.attempt(dice.choice([0, 1, 2]), gate)
            elif roll < 0.65 and leaver:
                scene.cancel(leaver) if scene.leaving[leaver] == "cancel" else scene.expire(leaver)
            else:
                op = (
                    close(dice.choice(["END", ""]), gate)
                    if roll > 0.98
                    else grant(dice.choice([0, 1, 1, 2, 3]), gate)
                )
                trial = copy.deepcopy(scene)
                if all(actor != leaver for actor, _ in trial.perform(op)[1]):
                    scene.step(op)
        for leaver in [a for a in scene.standing() if a in scene.leaving]:
            scene.cancel(leaver) if scene.leaving[leaver] == "cancel" else scene.expire(leaver)
        for gate in gates:
            scene.close(f"end of {gate}", gate)
        yield scene


def all_scripts() -> dict[str, list[Script]]:
    groups = {"requests": requests(), "walks": walks()}
    return {name: [scene.script() for scene in scenes] for name, scenes in groups.items()}
