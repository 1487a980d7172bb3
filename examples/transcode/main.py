"""A live feed goes through a cartridge in another process, and what comes back through a pipeline.

The feed cannot wait: what nobody takes in time is dropped, and counted. Everything behind its ring
can, and does: one demand from the list at the end to the ring at the beginning.
"""

import sys
from pathlib import Path

from sluicegate import Engine, Feed, FeedMeta, Item
from sluicegate.flow import Scope, Sink, Source

CARTRIDGE = Path(__file__).resolve().parents[2] / "tests" / "cartridges" / "python" / "cartridge.py"
CAP = "cap:fc-items;in=media:items;out=media:items"
FRAMES = 20


def shout(item: Item) -> tuple[str, int]:
    """The value in capitals, and which frame it was."""
    return item.value.upper(), FeedMeta.of(item).seq


def main() -> None:
    feed = Feed(64)
    for number in range(FRAMES):  # a clock of its own: a frame each 40 ms of its time
        feed.push(f"frame {number}", 40_000 * number)
    feed.stop()

    with (
        Scope("transcode") as scope,
        Engine() as engine,
        engine.spawn(sys.executable, CARTRIDGE) as peer,
        peer.call(CAP) as call,
    ):
        frames = call.input("media:items")
        frames.start(sequence=True, unbounded=True, meta={"what": "frames"})
        sent = Source.feed(feed).to(Sink.wire_items(frames)).run(scope)
        back = Source.wire(call.output()).map(shout).to(Sink.collect()).run(scope)
        sent.result(60)
        call.finish_input(60)
        came = back.result(60)
        call.wait(60)

    in_order = came == [(f"FRAME {number}", number) for number in range(FRAMES)]
    print(f"{len(came)} frames came back, in order: {in_order}".lower())
    stats = feed.stats
    kept = stats.captured == stats.delivered + stats.dropped
    print(f"captured {stats.captured}, captured = delivered + dropped: {kept}".lower())


if __name__ == "__main__":
    main()
