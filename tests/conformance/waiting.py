"""Waiting scripts on gates: grants, closes, giving up."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from model import MAX
from scene import Scene, Script, cancel, close, expire, grant, in_line


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
    yield (
        Scene("a large acquire is not starved by small ones that came later", 2)
        .start("big", 3)
        .start("a", 1)
        .start("b", 1)
        .start("c", 1)
        .attempt(1)
        .grant(1)
        .grant(1)
        .grant(2)
    )
    scene = Scene("hazard G05: ten at once is served before all later ones").start("big", 10)
    for actor in "abcde":
        scene.start(actor, 1)
    for _ in range(15):
        scene.grant(1)
    yield scene
    yield (
        Scene("hazard G11: more than the window is served once grants add up", 3)
        .start("big", 5)
        .grant(1)
        .attempt(1)
        .grant(1)
    )
    yield (
        Scene("more than the window in many small grants")
        .start("big", 8)
        .grant(3)
        .grant(0)
        .grant(3)
        .grant(1)
        .grant(1)
    )
    yield Scene("nothing is set aside for whoever waits", 3).start("big", 4).attempt(0).grant(1)
    yield (
        Scene("the large one goes first, the small one takes the rest", 0)
        .start("big", 4)
        .start("small", 1)
        .grant(5)
    )
    yield (
        Scene("the small one goes first, the large one waits on", 0)
        .start("small", 1)
        .start("big", 4)
        .grant(3)
        .grant(1)
        .grant(1)
    )
    yield (
        Scene("taking nothing never waits, whoever stands in line")
        .start("a", 1)
        .start("zero", 0)
        .attempt(0)
        .start("zero", 0, limit="zero")
        .grant(1)
        .start("zero", 0)
    )
    yield (
        in_line("a try does not overtake the line", "a", 2, n=3)
        .attempt(1)
        .attempt(2)
        .grant(1)
        .attempt(1)
    )
    yield (
        in_line("an actor that was served may come again, at the end of the line", "ab")
        .grant(1)
        .start("a", 1)
        .grant(1)
        .start("b", 1)
        .grant(1)
        .grant(1)
    )
    yield (
        Scene("the largest number waits for all of it")
        .start("all", MAX)
        .grant(MAX - 1)
        .attempt(1)
        .grant(1)
    )
    yield (
        Scene("a full gate serves the largest number, then waits", MAX)
        .start("all", MAX)
        .start("one", 1)
        .grant(MAX)
        .attempt(MAX - 1)
    )
    yield (
        Scene("grants saturate while somebody waits", 2)
        .start("all", MAX)
        .start("one", 1)
        .grant(MAX)
        .grant(1)
    )
    yield (
        Scene("hazard G06: saturated, then the largest signed number")
        .grant(2**63 - 1)
        .grant(2**63 - 1)
        .grant(1)
        .start("a", 1)
        .start("b", 2**63 - 1)
        .start("c", 2**63 - 1)
        .start("d", 1)
        .grant(1)
    )
    yield (
        Scene("two gates have two lines", {"g": 0, "h": 0})
        .start("a", 1, "g")
        .start("b", 1, "h")
        .start("c", 1, "g")
        .grant(1, "h")
        .grant(1, "g")
        .grant(1, "h")
        .grant(1, "g")
        .attempt(1, "h")
    )
    yield (
        Scene("many sizes", 1)
        .start("a", 2)
        .start("b", 3)
        .start("c", 1)
        .start("d", 5)
        .grant(1)
        .grant(2)
        .grant(1)
        .grant(1)
        .grant(4)
        .grant(1)
    )
    yield (
        Scene("a long limit is served like no limit")
        .start("a", 1, limit="long")
        .start("b", 1)
        .grant(1)
        .grant(1)
    )


def ends() -> Iterator[Scene]:
    yield in_line("close wakes the one who waits", "a").close("END")
    yield (
        in_line("hazard G02: close wakes all eight", "abcdefgh")
        .close("CANCELLED")
        .start("late", 1)
        .start("zero", 0)
    )
    yield (
        in_line("the first reason stays", "ab")
        .close("first")
        .close("second")
        .start("c", 1)
        .close("")
    )
    yield in_line("the empty text is a reason", "ab").close("").start("c", 1).attempt(1)
    yield in_line("two closes without a pause: the first reason for all", "abc").step(
        close("first"), close("second")
    )
    yield (
        in_line("a grant after close changes nothing", "a", 2, n=3).close("END").grant(9).attempt(1)
    )
    yield in_line("a grant and a close without a pause: the paid one is served", "ab").step(
        grant(1), close("END")
    )
    yield in_line("a close and a grant without a pause: nobody is served", "ab").step(
        close("END"), grant(2)
    )
    yield in_line("close keeps the count", "a", 4, n=5).close("END").attempt(0)
    yield (
        Scene("closed before anybody came", 3)
        .close("CANCELLED")
        .start("a", 1)
        .start("b", 0)
        .start("c", MAX)
        .start("d", 1, limit="zero")
        .start("e", 1, limit="long")
    )
    yield Scene("a long limit hears the reason").start("a", 1, limit="long").close("PEER_DIED")
    yield (
        Scene("closing one gate leaves the other", {"g": 0, "h": 0})
        .start("a", 1, "g")
        .start("b", 1, "h")
        .close("END", "g")
        .grant(1, "h")
    )
    yield (
        in_line("large and small alike", "", 1)
        .start("big", 100)
        .start("small", 1)
        .start("all", MAX)
        .close("ERR")
    )
    yield in_line("a reason may be any text", "a").close("Grund: käuflich ✓ 門").start("b", 1)
    yield Scene("close at the last chunk", 1).start("a", 1).start("b", 1).close("END").start("c", 1)


def giving_up() -> Iterator[Scene]:
    for leaves in ("expire", "cancel"):
        word = {"expire": "times out", "cancel": "is cancelled"}[leaves]
        leave: Callable[..., Scene] = {"expire": Scene.expire, "cancel": Scene.cancel}[leaves]
        yield (
            leave(Scene(f"one who {word} takes nothing").start("a", 1, leaves=leaves), "a")
            .attempt(1)
            .grant(1)
            .attempt(1)
        )
        yield (
            leave(
                Scene(f"one who {word} leaves the count alone", 2).start("a", 3, leaves=leaves), "a"
            )
            .attempt(3)
            .attempt(2)
        )
        scene = Scene(f"hazard G04: the head {word}, the next is served", 3).start(
            "a", 5, leaves=leaves
        )
        yield leave(scene.start("b", 1), "a").attempt(2)
        scene = Scene(f"the head {word}, all who can be are served", 6).start("a", 7, leaves=leaves)
        for actor, n in (("b", 1), ("c", 2), ("d", 4), ("e", 1)):
            scene.start(actor, n)
        yield leave(scene, "a").grant(1).grant(1)
        scene = in_line(f"one in the middle {word}, the line closes up", "a").start(
            "b", 1, leaves=leaves
        )
        yield leave(scene.start("c", 1), "b").grant(1).grant(1).attempt(1)
        scene = in_line(f"the last {word}", "ab").start("c", 1, leaves=leaves)
        yield leave(scene, "c").grant(2).attempt(1)
        scene = (
            Scene(f"one that {word} behind a large one", 1)
            .start("big", 2)
            .start("a", 1, leaves=leaves)
        )
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
        scene = (
            Scene(f"comes back to the end of the line: {word}")
            .start("a", 1, leaves=leaves)
            .start("b", 1)
        )
        yield leave(scene, "a").start("a", 1).grant(1).grant(1)
        scene = in_line(f"who {word} before the close does not hear it", "a").start(
            "b", 1, leaves=leaves
        )
        yield leave(scene, "b").close("END").start("b", 1)
        scene = (
            Scene(f"the largest number {word}", 5).start("all", MAX, leaves=leaves).start("b", 5)
        )
        yield leave(scene, "all").attempt(1)
        op = {"expire": expire, "cancel": cancel}[leaves]
        scene = Scene(f"a grant races with one who {word}: credit goes to one of two")
        scene.start("a", 1, leaves=leaves).start("b", 1)
        yield scene.race(grant(1), op("a"), grant(1))
        scene = Scene(f"one who {word} races with a grant: credit goes to one of two")
        scene.start("a", 1, leaves=leaves).start("b", 1)
        yield scene.race(op("a"), grant(1), grant(1))
        scene = Scene(f"alone, a grant races with one who {word}: taken or left").start(
            "a", 1, leaves=leaves
        )
        yield scene.race(grant(1), op("a"))
        scene = (
            Scene(f"a close races with one who {word}").start("a", 1, leaves=leaves).start("b", 1)
        )
        yield scene.race(close("CANCELLED"), op("a"))
        scene = Scene(f"the head {word} while a grant comes: it goes to the head or the next", 1)
        scene.start("a", 2, leaves=leaves).start("b", 2)
        yield scene.race(grant(1), op("a"), grant(2))
        scene = Scene(f"three follow, a grant races with the head who {word}").start(
            "a", 1, leaves=leaves
        )
        scene.start("b", 1).start("c", 1).start("d", 1)
        yield scene.race(grant(2), op("a"), grant(2))
    yield (
        Scene("a limit of nothing is a try", 1)
        .start("a", 2, limit="zero")
        .start("b", 1, limit="zero")
        .start("c", 1, limit="zero")
        .attempt(1)
    )
    yield (
        in_line("a limit of nothing does not overtake the line", "a", 1, n=2)
        .start("b", 1, limit="zero")
        .grant(1)
        .start("c", 1, limit="zero")
    )
    yield (
        in_line("a limit of nothing leaves the line as it was", "a", 0, n=2)
        .start("b", 1, limit="zero")
        .grant(1)
        .start("b", 1, limit="zero")
        .grant(1)
    )
    scene = (
        Scene("first one is cancelled, then another times out", 3)
        .start("a", 5, leaves="cancel")
        .start("b", 4)
    )
    yield scene.cancel("a").start("c", 9, leaves="expire").expire("c").grant(1)


def all_scripts() -> dict[str, list[Script]]:
    groups = {"fifo": fifo(), "close": ends(), "giving_up": giving_up()}
    return {name: [scene.script() for scene in scenes] for name, scenes in groups.items()}
