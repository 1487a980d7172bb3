"""The pure scripts: one machine, nothing waits."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from model import MAX, Gate, Router, Window, negotiate

WINDOWS = [0, 1, 2, 3, 4, 5, 7, 8, 31, 32, 33]
EDGES = [0, 1, 2, 3, 8, 32, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, MAX - 1, MAX]

Script = dict[str, Any]
Step = dict[str, Any]


GateOp = tuple[str, Any]


def gate_script(name: str, window: int, ops: Iterable[GateOp]) -> Script:
    gate = Gate(window)
    steps: list[Step] = []
    for op, argument in ops:
        if op == "acquire":
            step = {"op": op, "n": str(argument), "answer": gate.acquire(argument)}
        elif op == "grant":
            gate.grant(argument)
            step = {"op": op, "n": str(argument), "answer": None}
        else:
            gate.close(argument)
            step = {"op": "close", "reason": argument, "answer": None}
        steps.append({**step, "state": gate.state()})
    return {"name": name, "open": {"window": str(window)}, "steps": steps}


def take(n: int) -> GateOp:
    return "acquire", n


def grant(n: int) -> GateOp:
    return "grant", n


def close(reason: str) -> GateOp:
    return "close", reason


def gate_scripts() -> list[Script]:
    scripts = []
    for w in WINDOWS:
        drain = [take(1)] * (w + 2)
        scripts.append(
            gate_script(
                f"window {w} drains chunk by chunk and comes back",
                w,
                [
                    *drain,
                    take(0),
                    grant(0),
                    take(1),
                    grant(1),
                    take(1),
                    take(1),
                    grant(w),
                    take(w),
                    take(w + 1),
                    grant(w + 1),
                    take(w + 1),
                    take(0),
                ],
            )
        )
        scripts.append(
            gate_script(
                f"window {w} closed keeps its count and its first reason",
                w,
                [
                    take(0),
                    close("first"),
                    take(0),
                    take(1),
                    take(w),
                    grant(5),
                    close("second"),
                    take(1),
                    close(""),
                    grant(MAX),
                    take(MAX),
                ],
            )
        )
    scripts += [
        gate_script(
            "taking nothing from an empty open gate succeeds", 0, [take(0), take(1), take(0)]
        ),
        gate_script(
            "more than the window waits until grants add up",
            3,
            [take(5), grant(1), take(5), take(4), take(5), grant(4), take(5), grant(1), take(5)],
        ),
        gate_script("a refused acquire takes nothing", 2, [take(3), take(MAX), take(2), take(1)]),
        gate_script("the empty text is a reason", 4, [close(""), take(1), close("late"), take(0)]),
        gate_script("a reason may be any text", 4, [close("Grund: käuflich ✓ 門"), take(1)]),
        gate_script("close an empty gate", 0, [take(1), close("END"), take(1), take(0)]),
        gate_script(
            "grants saturate",
            1,
            [grant(MAX), grant(MAX), grant(1), take(1), take(MAX), grant(1), take(MAX), grant(7)],
        ),
        gate_script(
            "hazard G06 with the largest signed number",
            0,
            [
                grant(2**63 - 1),
                grant(2**63 - 1),
                grant(1),
                take(1),
                take(2**63 - 1),
                take(2**63 - 1),
                take(1),
            ],
        ),
        gate_script(
            "a full gate never falls by a grant",
            MAX,
            [
                grant(1),
                grant(MAX),
                grant(0),
                take(MAX),
                take(1),
                grant(MAX),
                take(MAX - 1),
                take(1),
                take(1),
            ],
        ),
        gate_script(
            "one below full",
            MAX - 1,
            [grant(1), take(1), grant(2), take(2), grant(1), take(MAX), take(MAX - 1), take(0)],
        ),
        gate_script("full and closed", MAX, [close("END"), grant(1), take(MAX)]),
    ]
    for n in EDGES:
        scripts.append(
            gate_script(
                f"the number {n} is never narrowed",
                n,
                [
                    take(n),
                    take(1),
                    grant(n),
                    take(n),
                    grant(n),
                    grant(n),
                    take(n),
                    take(n),
                    take(1),
                    take(0),
                ],
            )
        )
    for m in (0, 1, 4, 9):
        for n in (0, 1, 5):
            scripts.append(
                gate_script(
                    f"grants add up: {m} and {n}",
                    0,
                    [grant(m), grant(n), take(m + n + 1), take(m + n), take(1)],
                )
            )
    dice = random.Random(0x5107CE)
    for number in range(30):
        window = dice.choice([*WINDOWS, 2**32, 2**63 - 1, MAX])
        ops: list[GateOp] = []
        for _ in range(40):
            small = dice.randrange(0, 7)
            n = dice.choice([small, small, small, window // 2, window, dice.choice(EDGES)])
            n = min(n, MAX)
            ops.append(dice.choice([take, take, take, grant, grant])(n))
        if number % 3 == 0:
            ops.insert(dice.randrange(len(ops)), close(dice.choice(["END", "", "CANCELLED"])))
        scripts.append(gate_script(f"random walk {number} from {window}", window, ops))
    return scripts


def window_script(name: str, window: int, batch: int | None, ops: Iterable[str]) -> Script:
    machine = Window(window, batch)
    steps = []
    for op in ops:
        answer = getattr(machine, op)()
        steps.append({"op": op, "answer": answer, "state": machine.state()})
    wish = None if batch is None else str(batch)
    return {"name": name, "open": {"window": str(window), "batch": wish}, "steps": steps}


def window_scripts() -> list[Script]:
    scripts = []
    for w in WINDOWS:
        scripts.append(
            window_script(
                f"window {w}: a full cycle and a chunk too many",
                w,
                None,
                [*["arrive"] * (w + 1), *["consumed"] * w, "flush", "flush"],
            )
        )
        scripts.append(
            window_script(
                f"window {w}: each chunk given back by a flush",
                w,
                None,
                [*["arrive", "consumed", "flush"] * 4],
            )
        )
        scripts.append(
            window_script(
                f"window {w}: an item wider than the window",
                w,
                None,
                [*["arrive", "continued"] * (min(w, 8) + 3), "arrive", "consumed", "flush"],
            )
        )
        scripts.append(
            window_script(
                f"window {w}: continued neither needs nor touches what is pending",
                w,
                None,
                [
                    "arrive",
                    "consumed",
                    "continued",
                    "consumed",
                    "continued",
                    "flush",
                    "continued",
                    "arrive",
                ],
            )
        )
    half = [*["arrive"] * 18, *["consumed"] * 18, "flush"]
    scripts += [
        window_script(f"window 32 with a batch of {batch}", 32, batch, half)
        for batch in (0, 1, 2, 3, 15, 16, 17, 100, MAX)
    ]
    for window, batch in (
        (0, 5),
        (1, 5),
        (2, 5),
        (3, 5),
        (4, 1),
        (5, 2),
        (8, 3),
        (8, 4),
        (8, 5),
        (7, 0),
    ):
        scripts.append(
            window_script(
                f"window {window} with a batch of {batch}",
                window,
                batch,
                [
                    *["arrive"] * (window + 1),
                    *["consumed"] * (window + 1),
                    "flush",
                    "consumed",
                    "flush",
                ],
            )
        )
    scripts += [
        window_script(
            "a violation leaves the window untouched",
            2,
            None,
            [
                "arrive",
                "arrive",
                "arrive",
                "arrive",
                "flush",
                "arrive",
                "consumed",
                "arrive",
                "arrive",
            ],
        ),
        window_script(
            "continued on an exhausted window",
            4,
            None,
            [*["arrive"] * 4, "consumed", "continued", "arrive", "arrive", "consumed"],
        ),
        window_script(
            "consumed is total: more often than arrive it lets the window grow",
            4,
            None,
            ["arrive", *["consumed"] * 6],
        ),
        window_script(
            "an empty window that is given something",
            0,
            None,
            ["arrive", "flush", "continued", "arrive", "arrive", "consumed", "arrive", "arrive"],
        ),
        window_script(
            "a full window does not wrap",
            MAX,
            None,
            ["continued", "arrive", "continued", "continued"],
        ),
        window_script(
            "a very large window",
            MAX,
            None,
            ["arrive", "consumed", "consumed", "flush", "flush", "arrive"],
        ),
        window_script(
            "the largest signed window",
            2**63 - 1,
            3,
            ["arrive", "consumed", "consumed", "consumed", "continued", "flush"],
        ),
    ]
    dice = random.Random(0x717D0)
    for w in WINDOWS:
        for honest in (True, False):
            machine, ops, held = Window(w, None), [], 0
            for _ in range(60):
                op = dice.choice(["arrive"] * 5 + ["consumed"] * 4 + ["flush", "continued"])
                if honest and op in ("consumed", "continued"):
                    if not held:
                        continue
                    held -= 1
                if getattr(machine, op)() == "accepted":
                    held += 1
                ops.append(op)
            how = "each accepted chunk given back once at most" if honest else "any order"
            scripts.append(window_script(f"random walk of window {w}, {how}", w, None, ops))
    return scripts


def negotiate_scripts() -> list[Script]:
    scripts = []
    for ours in [5, *EDGES]:
        steps = []
        for theirs in [5, *EDGES]:
            agreed = negotiate(ours, theirs)
            answer = None if agreed is None else str(agreed)
            steps.append(
                {"op": "negotiate", "ours": str(ours), "theirs": str(theirs), "answer": answer}
            )
        scripts.append({"name": f"{ours} against all", "steps": steps})
    return scripts


def router_script(name: str, gates: dict[str, int], ops: Iterable[tuple[Any, ...]]) -> Script:
    router = Router({gate: Gate(window) for gate, window in gates.items()})
    steps = []
    for op, *arguments in ops:
        answer = getattr(router, op)(*arguments)
        keys = {
            "register": ("request", "stream", "gate"),
            "unregister": ("request", "stream"),
            "grant": ("request", "stream", "n"),
            "close_request": ("request", "reason"),
            "close_all": ("reason",),
        }[op]
        step = {"op": op, **dict(zip(keys, arguments, strict=True))}
        if op == "grant":
            step["n"] = str(step["n"])
        steps.append({**step, "answer": answer, "state": {"gates": router.state()}})
    return {"name": name, "open": {"gates": {g: str(w) for g, w in gates.items()}}, "steps": steps}


def show(name: str | None) -> str:
    return "absent" if name is None else f"'{name}'"


def target_scripts() -> list[Script]:
    names: list[str | None] = [None, "", "a", "b"]
    scripts = []
    for bits in range(16):
        chosen = [name for i, name in enumerate(names) if bits >> i & 1]
        orders = [chosen] if len(chosen) < 2 else [chosen, chosen[::-1]]
        for order in orders:
            gates = {f"g{i}": 0 for i in range(len(order))} | {"other": 0}
            ops: list[tuple[Any, ...]] = [
                ("register", "1", name, f"g{i}") for i, name in enumerate(order)
            ]
            ops.append(("register", "2", "a", "other"))
            ops += [
                ("grant", "1", named, i + 1) for i, named in enumerate([*names, "c", "A", "a "])
            ]
            title = "open " + (", ".join(map(show, order)) or "nothing")
            scripts.append(router_script(title, gates, ops))
    return scripts


def router_scripts() -> list[Script]:
    scripts = [
        router_script(
            "a request that is not known",
            {"g": 1},
            [
                ("grant", "1", None, 3),
                ("grant", "1", "a", 3),
                ("register", "1", "a", "g"),
                ("grant", "2", "a", 3),
                ("grant", "2", None, 3),
                ("grant", "1", "a", 3),
            ],
        ),
        router_script(
            "registering a name again replaces the gate",
            {"old": 2, "new": 0},
            [
                ("register", "1", "a", "old"),
                ("grant", "1", "a", 1),
                ("register", "1", "a", "new"),
                ("grant", "1", "a", 4),
                ("grant", "1", None, 5),
                ("close_request", "1", "END"),
                ("grant", "1", "a", 6),
            ],
        ),
        router_script(
            "the absent name is replaced like any other",
            {"old": 2, "new": 0},
            [
                ("register", "1", None, "old"),
                ("register", "1", None, "new"),
                ("grant", "1", None, 4),
                ("grant", "1", "a", 5),
            ],
        ),
        router_script(
            "an ended request releases its gates and no other's",
            {"a": 1, "b": 2, "c": 3, "d": 4},
            [
                ("register", "1", "a", "a"),
                ("register", "1", "b", "b"),
                ("register", "1", None, "c"),
                ("register", "2", "a", "d"),
                ("close_request", "1", "CANCELLED"),
                ("grant", "1", "a", 9),
                ("grant", "1", None, 9),
                ("grant", "2", "a", 9),
                ("close_request", "1", "late"),
                ("close_request", "2", ""),
                ("grant", "2", "a", 1),
            ],
        ),
        router_script(
            "closing what is not known does nothing",
            {"g": 1},
            [
                ("close_request", "7", "END"),
                ("close_all", "END"),
                ("register", "7", "a", "g"),
                ("grant", "7", "a", 1),
            ],
        ),
        router_script(
            "a stream that is taken out is credited no more and stays open",
            {"a": 0, "b": 0},
            [
                ("register", "1", "a", "a"),
                ("register", "1", "b", "b"),
                ("grant", "1", None, 1),
                ("unregister", "1", "a"),
                ("grant", "1", "a", 2),
                ("grant", "1", None, 3),
                ("unregister", "1", "a"),
                ("unregister", "1", "b"),
                ("grant", "1", None, 4),
                ("close_request", "1", "END"),
                ("unregister", "1", "b"),
                ("register", "1", "b", "b"),
                ("grant", "1", "b", 5),
            ],
        ),
        router_script(
            "everything ends at once",
            {"a": 1, "b": 2, "c": 3},
            [
                ("register", "1", "a", "a"),
                ("register", "2", None, "b"),
                ("close_all", "PEER_DIED"),
                ("grant", "1", "a", 1),
                ("grant", "2", None, 1),
                ("register", "1", "a", "c"),
                ("grant", "1", None, 1),
            ],
        ),
        router_script(
            "grants of nothing and of very much",
            {"a": 1},
            [
                ("register", "1", "a", "a"),
                ("grant", "1", "a", 0),
                ("grant", "1", None, 0),
                ("grant", "1", "a", 2**63),
                ("grant", "1", None, 2**63),
                ("grant", "1", "a", MAX),
                ("grant", "1", "a", 1),
            ],
        ),
        router_script(
            "a gate that is closed already keeps its first reason",
            {"a": 1, "b": 1},
            [
                ("register", "1", "a", "a"),
                ("close_request", "1", "first"),
                ("register", "2", "a", "a"),
                ("grant", "2", "a", 5),
                ("register", "2", "a", "b"),
                ("grant", "2", "a", 5),
                ("close_all", "last"),
            ],
        ),
        router_script(
            "a request may begin again after its end",
            {"a": 0, "b": 0},
            [
                ("register", "1", None, "a"),
                ("close_request", "1", "END"),
                ("register", "1", None, "b"),
                ("grant", "1", None, 2),
                ("grant", "1", "x", 2),
            ],
        ),
        router_script(
            "names are texts: case, space and script matter",
            {"a": 0, "b": 0, "c": 0},
            [
                ("register", "1", "main", "a"),
                ("register", "1", "Main", "b"),
                ("register", "1", "größe 門", "c"),
                ("grant", "1", "MAIN", 1),
                ("grant", "1", "main", 2),
                ("grant", "1", "Main", 3),
                ("grant", "1", " main", 4),
                ("grant", "1", "größe 門", 5),
                ("grant", "1", "grosse", 6),
            ],
        ),
    ]
    dice = random.Random(0x20073)
    for number in range(14):
        gates = {f"g{i}": dice.randrange(4) for i in range(5)}
        placed: set[tuple[Any, ...]] = set()
        ops: list[tuple[Any, ...]] = []
        while len(ops) < 40:
            request, stream = str(dice.randrange(1, 3)), dice.choice([None, "", "a", "b"])
            op = dice.choice(
                ["register"] * 5 + ["grant"] * 12 + ["unregister", "unregister", "close_request"]
            )
            if op == "register":
                gate = dice.choice(list(gates))
                if (request, stream, gate) in placed:
                    continue
                placed.add((request, stream, gate))
                ops.append((op, request, stream, gate))
            elif op == "unregister":
                ops.append((op, request, stream))
            elif op == "grant":
                ops.append((op, request, stream, dice.randrange(5)))
            elif dice.random() < 0.3:
                ops.append((op, request, dice.choice(["END", "", "ERR"])))
        ops.append(("close_all", "PEER_DIED"))
        scripts.append(router_script(f"random walk {number}", gates, ops))
    return scripts


def all_scripts() -> dict[str, list[Script]]:
    return {
        "gate": gate_scripts(),
        "window": window_scripts(),
        "negotiate": negotiate_scripts(),
        "grant_target": target_scripts(),
        "router": router_scripts(),
    }
