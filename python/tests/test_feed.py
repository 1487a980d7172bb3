"""Live feeds: what is lost is counted and told in its place, and the source is never held up."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from conftest import WATCHDOG, attached, until
from sluicegate import Cartridge, Engine, Feed, FeedMeta, Item, Limits, Peer, Request, aio
from sluicegate.errors import (
    Cancelled,
    Closed,
    EndOfStream,
    FeedOverrun,
    InvalidArgument,
    Io,
    Malformed,
    PeerDied,
    SluicegateError,
    TimedOut,
    Unbounded,
)

ITEMS = "cap:fc-items;in=media:items;out=media:items"
FEED = "cap:feed;in=media:void;out=media:frames"


def gaps(items: Iterable[Item]) -> tuple[int, int]:
    """How many came and how many are missing; each gap against the numbers (HZ-V02)."""
    count = missing = expected = 0
    for item in items:
        meta = FeedMeta.of(item)
        assert meta.seq - expected == meta.dropped
        assert item.value == meta.seq
        expected = meta.seq + 1
        count += 1
        missing += meta.dropped
    return count, missing


def conserved(feed: Feed | aio.Feed) -> None:
    stats = feed.stats
    assert stats.captured == stats.delivered + stats.dropped + stats.held


def serving(feed: Feed) -> Cartridge:
    """A cartridge whose one cap serves a feed."""
    cartridge = Cartridge("feeds", "1.0.0")

    @cartridge.cap(FEED, output_sequence=True, streaming=True)
    def serve(request: Request) -> None:
        feed.serve(request.output())

    return cartridge


def test_a_loss_is_told_with_the_next_item() -> None:
    feed = Feed(2)
    assert all(feed.push(n, n * 10, capture_ts_us=n) for n in range(5))
    first = FeedMeta.of(feed.recv(WATCHDOG))
    assert first == FeedMeta(seq=3, pts_us=30, capture_ts_us=3, dropped=3, duration_us=0)
    assert feed.push(5, 50)
    assert feed.push(6, 60)
    second = FeedMeta.of(feed.recv(WATCHDOG))
    assert (second.seq, second.dropped, second.duration_us) == (5, 1, 20)
    feed.stop()
    assert not feed.push(7, 70)
    assert [item.value for item in feed] == [6]
    with pytest.raises(EndOfStream):
        feed.recv(WATCHDOG)
    conserved(feed)
    assert feed.stats.overruns == 4


def test_hz_v01_an_overrun_fails_a_feed_that_says_so() -> None:
    feed = Feed(2, policy="fail")
    assert [feed.push(n, n) for n in range(4)] == [True, True, False, False]
    assert [feed.recv(WATCHDOG).value for _ in range(2)] == [0, 1]
    with pytest.raises(FeedOverrun) as overrun:
        feed.recv(WATCHDOG)
    assert (overrun.value.code, overrun.value.class_) == ("FEED_OVERRUN", "resource")
    conserved(feed)


def test_hz_v03_the_losses_of_a_feed_are_those_of_its_connection(
    engine: Engine, reference: Peer
) -> None:
    feed = Feed(2)
    assert all(feed.push(n, n) for n in range(8))
    feed.stop()
    with reference.call(ITEMS) as call:
        feed.serve(call.input("media:items"))
        call.finish_input()
        assert gaps(call.output()) == (2, 6)
        call.wait()
    assert feed.stats.overruns == feed.stats.dropped == 6
    for stats in (reference.stats(), engine.stats()["cartridges"][0]):
        assert stats["overruns_total"] == 6
        assert stats["drops"]["total"] == 0
    conserved(feed)


def test_hz_v04_a_failed_source_is_no_clean_end() -> None:
    feed = Feed()

    def capture() -> None:
        with feed.capturing():
            feed.push(0, 0)
            raise OSError("unplugged")

    with pytest.raises(OSError, match="unplugged"):
        capture()
    assert feed.recv(WATCHDOG).value == 0
    with pytest.raises(Io, match="unplugged"):
        feed.recv(WATCHDOG)
    clean = Feed()
    with clean.capturing():
        clean.push(0, 0)
    assert gaps(clean) == (1, 0)


def test_leaving_gives_the_feed_up() -> None:
    with Feed() as feed:
        assert feed.push(b"held", 0)
        with pytest.raises(TimedOut):
            Feed().recv(0)
    assert not feed.push(b"late", 1)
    assert (feed.stats.dropped, feed.stats.overruns) == (1, 0)
    with pytest.raises(Closed):
        feed.recv(WATCHDOG)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InvalidArgument):
        Feed(0)
    with pytest.raises(InvalidArgument):
        Feed(policy="wait")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        Feed().push(b"", -1)
    with pytest.raises(TypeError):
        Feed().push(object(), 0)
    with Feed.command("true") as feed, pytest.raises(InvalidArgument):
        feed.push(b"", 0)


def test_hz_v01_gaps_add_up_through_a_cartridge() -> None:
    feed = Feed(8)
    with attached(serving(feed), Limits(initial_credit=2)) as peer:
        call = peer.call(FEED)
        call.finish_input(WATCHDOG)
        output = call.output(WATCHDOG)
        assert output.info.unbounded
        assert output.info.is_sequence
        with pytest.raises(Unbounded):
            output.collect_items(WATCHDOG)
        assert all(feed.push(n, n * 1000) for n in range(3000))  # nothing was read: never held up
        feed.stop()
        count, missing = gaps(output)
        call.wait(WATCHDOG)
    assert count + missing == 3000
    assert missing > 2000
    assert (feed.stats.delivered, feed.stats.dropped) == (count, missing)
    conserved(feed)


def test_a_stop_is_prompt_while_the_consumer_stalls() -> None:
    feed = Feed(4)
    pushed = 0

    def capture() -> None:
        nonlocal pushed
        while feed.push(pushed, pushed):
            pushed += 1

    with attached(serving(feed), Limits(initial_credit=1)) as peer:
        call = peer.call(FEED)
        call.finish_input(WATCHDOG)
        output = call.output(WATCHDOG)
        source = threading.Thread(target=capture)
        source.start()
        until(lambda: pushed > 1000)
        call.close_stream(output.info.id)
        source.join(WATCHDOG)
        assert not source.is_alive()
        count, missing = gaps(output)
        assert count + missing == pushed
        call.wait(WATCHDOG)


def test_hz_l06_a_silent_feed_notices_a_cancel() -> None:
    feed = Feed()
    ended: list[BaseException] = []
    cartridge = Cartridge("feeds", "1.0.0")

    @cartridge.cap(FEED, output_sequence=True, streaming=True)
    def serve(request: Request) -> None:
        try:
            feed.serve(request.output())
        except SluicegateError as error:
            ended.append(error)
            raise

    with attached(cartridge) as peer:
        call = peer.call(FEED)
        call.finish_input(WATCHDOG)
        call.output(WATCHDOG)
        call.cancel()
        until(lambda: ended)
    assert isinstance(ended[0], Cancelled)


def test_a_command_is_a_source() -> None:
    with Feed.command("sh", "-c", "printf abcdef", item_bytes=3) as feed:
        assert [item.value for item in feed] == [b"abc", b"def"]
    with Feed.command("sh", "-c", "echo x; echo broken >&2; exit 3") as feed:
        assert feed.recv(WATCHDOG).value == b"x"
        with pytest.raises(PeerDied, match="broken"):
            feed.recv(WATCHDOG)


def test_leaving_kills_the_command() -> None:
    with Feed.command("sh", "-c", "echo $$; exec sleep 1000") as feed:
        pid = int(feed.recv(WATCHDOG).value)
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_files_and_pipes_are_sources(tmp_path: Path) -> None:
    path = tmp_path / "clip"
    path.write_bytes(b"abcde")
    with path.open("rb") as file, Feed.reader(file, item_bytes=2, interval=0.002) as feed:
        assert [FeedMeta.of(feed.recv(WATCHDOG)).pts_us for _ in range(2)] == [0, 2000]
        with pytest.raises(Malformed):
            feed.recv(WATCHDOG)
    ours, theirs = os.pipe()
    feed = Feed.reader(ours)
    os.close(ours)
    os.write(theirs, b"line\n")
    assert feed.recv(WATCHDOG).value == b"line"
    os.close(theirs)
    with pytest.raises(EndOfStream):
        feed.recv(WATCHDOG)


def test_asyncio_waits_without_taking() -> None:
    async def run() -> None:
        async with aio.Feed(4) as feed:
            waiting = asyncio.ensure_future(feed.recv())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            source = threading.Thread(target=lambda: [feed.push(n, n) for n in range(10)])
            source.start()
            first = FeedMeta.of(await feed.recv(WATCHDOG))
            source.join()
            feed.stop()
            rest = [FeedMeta.of(item) async for item in feed]
            metas = [first, *rest]
            assert sum(1 + meta.dropped for meta in metas) == 10
            assert [meta.seq for meta in metas] == sorted(meta.seq for meta in metas)
            conserved(feed)

    asyncio.run(run())
