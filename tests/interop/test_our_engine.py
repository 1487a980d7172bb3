"""Our engine and our command with a cartridge of the peer: frames over real pipes."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from capdag.bifaci.frame import FrameType, MessageId
from capdag.bifaci.io import FrameReader, FrameWriter

from conftest import LIMIT, PYTHON, ROGUE, THEIRS, beside, command, process
from sluicegate import Call, Engine, Limits, Peer, errors

ECHO = "cap:ip-echo;in=media:blob;out=media:blob"
ITEMS = "cap:ip-items;in=media:items;out=media:items"
SLOW = "cap:ip-slow;in=media:blob;out=media:json"
PRODUCE = "cap:ip-produce;in=media:json;out=media:blob"
FOREVER = "cap:ip-forever;in=media:blob;out=media:blob"
IDLE = "cap:ip-idle;in=media:blob;out=media:blob"
TWO = "cap:ip-two;in=media:json;out=media:blob"
MULTI = "cap:ip-multi;in=media:blob;out=media:text"
FAIL = "cap:ip-fail;in=media:blob;out=media:blob"
FEED = "cap:ip-feed;in=media:feed-frames;out=media:items"
WINDOWS = [1, 2, 4, 32, 64]
COLUMN = "our engine, their cartridge"


CHUNK = 4096


class Peers:
    """Cartridges of the peer under our engine, one for each window, each started once."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._started: dict[object, Peer] = {}

    def __call__(self, window: int = 32, theirs: int | None = None) -> Peer:
        """Both propose ``window``; theirs never less than its default, unless told so."""
        proposal = theirs or max(window, 32)
        return self._start((window, proposal), window, str(THEIRS), IP_WINDOW=str(proposal))

    def rogue(self, which: str = "") -> Peer:
        return self._start(f"rogue {which}", 8, str(ROGUE))

    def _start(self, key: object, window: int, script: str, **env: str) -> Peer:
        if key not in self._started:
            limits = Limits(initial_credit=window, max_chunk=CHUNK)
            engine = self._stack.enter_context(Engine(limits=limits, handshake_timeout=LIMIT))
            peer = engine.spawn(PYTHON, script, env={"SLOW_MS": "2"} | env)
            self._started[key] = self._stack.enter_context(peer)
        return self._started[key]


@pytest.fixture(scope="module")
def peers() -> Iterator[Peers]:
    with ExitStack() as stack:
        yield Peers(stack)


def scalar(call: Call, media: str, *values: Any) -> None:
    with call.input(media) as stream:
        for value in values:
            stream.emit(value)
    call.finish_input()


def read_all(call: Call) -> None:
    for _ in call.output(LIMIT):
        pass
    call.wait(LIMIT)


def echo_one(peer: Peer) -> None:
    """Shows that the link lives."""
    call = peer.call(ECHO)
    scalar(call, "media:blob", 7)
    assert [item.value for item in call.output(LIMIT)] == [7]
    call.wait(LIMIT)


def ask(peer: Peer, cap: str, media: str, plan: object) -> Call:
    call = peer.call(cap)
    scalar(call, media, json.dumps(plan).encode())
    return call


@pytest.mark.parametrize("window", WINDOWS)
def test_echo_keeps_types(window: int, peers: Peers, passed: Callable[[str, str], None]) -> None:
    values = [0, -5, 2**64 - 1, "grüße", None, True, -0.5, b"bytes", "and", b"x" * 4000, "end"]
    peer = peers(window)
    assert peer.limits.initial_credit == window
    call = peer.call(ECHO)
    with beside(lambda: scalar(call, "media:blob", *values * 10)):
        back = [item.value for item in call.output(LIMIT).collect_items(LIMIT)]
    assert back == values * 10
    assert call.wait(LIMIT).exit_code == 0
    passed(f"echo, scalar, window {window}", COLUMN)


@pytest.mark.parametrize(("ours", "theirs"), [(64, 32), (32, 64), (64, 3)])
def test_the_smaller_proposal_wins(
    ours: int, theirs: int, peers: Peers, passed: Callable[[str, str], None]
) -> None:
    peer = peers(ours, theirs)
    window = min(ours, theirs)
    assert peer.limits.initial_credit == window
    call = ask(peer, PRODUCE, "media:json", {"chunks": 200, "size": 4096})
    output = call.output(LIMIT)
    while output.stats.chunks < window:
        echo_one(peer)
    echo_one(peer)
    assert output.stats.chunks == window
    assert len(output.collect_bytes(LIMIT)) == 200 * 4096
    call.wait(LIMIT)
    passed(f"proposals of {ours} here and {theirs} there", COLUMN)


@pytest.mark.parametrize("window", [2, 4, 32])
def test_items_wider_than_the_window(
    window: int, peers: Peers, passed: Callable[[str, str], None]
) -> None:
    items = [{"n": n, "data": bytes([n]) * (n * 1000)} for n in range(30)]
    peer = peers(window)
    call = peer.call(ITEMS)

    def feed() -> None:
        with call.input("media:items") as stream:
            for item in items:
                stream.emit_item(item)
        call.finish_input()

    with beside(feed):
        back = [item.value for item in call.output(LIMIT).collect_items(LIMIT)]
    assert back == items
    call.wait(LIMIT)
    passed(f"items of up to 8 chunks, window {window}", COLUMN)


def test_a_window_of_one_with_a_wide_item_stops_on_their_side_and_a_deadline_tells(
    peers: Peers,
    passed: Callable[[str, str], None],
) -> None:
    """Its receiver holds back the credit of an item's first chunk: with one credit, for ever.

    We do not hang with it: the wait ends at its deadline, a cancel ends the call, others live on.
    """
    peer = peers(1)
    call = peer.call(ITEMS)
    stream = call.input("media:items")
    with pytest.raises(errors.TimedOut):
        stream.emit_item(b"x" * 3 * CHUNK, timeout=1.0)
    assert stream.stats.chunks == 1, "one chunk went, the second waits for credit"
    call.cancel("CANCELLED")
    with pytest.raises(errors.Cancelled):
        call.wait(LIMIT)
    echo_one(peer)
    passed("their lock-up with wide items in a window of 1 is told, not shared", COLUMN)


@pytest.mark.parametrize("window", [1, 2, 32, 64])
def test_a_slow_consumer_holds_us_back(
    window: int, peers: Peers, passed: Callable[[str, str], None]
) -> None:
    peer = peers(window)
    call = peer.call(SLOW)
    with beside(lambda: scalar(call, "media:blob", *range(200))):
        assert call.output(LIMIT).collect_bytes(LIMIT) == b"200"
    call.wait(LIMIT)
    passed(f"slow consumer, window {window}", COLUMN)


@pytest.mark.parametrize("window", WINDOWS)
def test_a_producer_stops_at_the_window(
    window: int, peers: Peers, passed: Callable[[str, str], None]
) -> None:
    peer = peers(window)
    call = ask(peer, PRODUCE, "media:json", {"chunks": window + 50, "size": 4096})
    output = call.output(LIMIT)

    while output.stats.chunks < window:
        echo_one(peer)
    # Another request goes by on the same link: the producer had the time, and not the credit.
    echo_one(peer)
    assert output.stats.chunks == window
    assert len(output.collect_bytes(LIMIT)) == (window + 50) * 4096
    call.wait(LIMIT)
    passed(f"producer stops at the window of {window}", COLUMN)


def test_bulk(peers: Peers, passed: Callable[[str, str], None]) -> None:
    peer = peers()
    size, chunks = 65_536, 32
    call = ask(peer, PRODUCE, "media:json", {"chunks": chunks, "size": size})
    data = call.output(LIMIT).collect_bytes(LIMIT)
    assert data == b"".join(bytes([n]) * size for n in range(chunks))
    call.wait(LIMIT)
    passed("2 MiB", COLUMN)


@pytest.mark.parametrize("window", [1, 4, 32])
def test_several_outputs(window: int, peers: Peers, passed: Callable[[str, str], None]) -> None:
    peer = peers(window)
    call = ask(peer, TWO, "media:json", {"chunks": 100})
    first, second = call.next_output(LIMIT), call.next_output(LIMIT)
    assert first is not None
    assert second is not None
    assert {first.info.output, second.info.output} == {None, "media:second"}
    got: dict[str | None, list[int]] = {first.info.output: [], second.info.output: []}
    with beside(lambda: got[first.info.output].extend(i.value for i in first)):
        got[second.info.output].extend(item.value for item in second)
    assert got == {None: list(range(100)), "media:second": list(range(1000, 1100))}
    call.wait(LIMIT)
    passed(f"two outputs, window {window}", COLUMN)


def test_log_progress_and_the_last_word(peers: Peers, passed: Callable[[str, str], None]) -> None:
    peer = peers()
    call = peer.call(MULTI)
    scalar(call, "media:blob", b"x")
    assert [item.value for item in call.output(LIMIT)] == ["main"]
    end = call.wait(LIMIT)
    assert (end.progress, end.message) == (0.9, "done")
    log, progress = list(call.events())
    assert (log.level, log.message) == ("info", "working")  # type: ignore[union-attr]
    assert (progress.value, progress.message) == (0.5, "half")  # type: ignore[union-attr]
    passed("log, progress, final progress", COLUMN)


def test_an_error_keeps_its_code_and_class(
    peers: Peers, passed: Callable[[str, str], None]
) -> None:
    peer = peers()
    call = peer.call(FAIL)
    scalar(call, "media:blob", b"on purpose")
    with pytest.raises(errors.Remote, match="on purpose") as raised:
        call.wait(LIMIT)
    assert (raised.value.code, raised.value.class_) == ("HANDLER_ERROR", "internal")
    call = peer.call("cap:ip-none;in=media:blob;out=media:blob")
    with pytest.raises(errors.SluicegateError) as raised:
        call.wait(LIMIT)
    assert (raised.value.code, raised.value.class_) == ("NO_HANDLER", "environment")
    passed("error, unknown cap", COLUMN)


@pytest.mark.parametrize("window", [1, 32])
def test_cancel_in_the_middle_of_an_endless_stream(
    window: int, peers: Peers, passed: Callable[[str, str], None]
) -> None:
    peer = peers(window)
    call = peer.call(FOREVER)
    scalar(call, "media:blob", b"go")
    output = call.output(LIMIT)
    assert output.info.unbounded
    with pytest.raises(errors.Unbounded):
        output.collect_items(LIMIT)
    assert [output.recv(LIMIT).value for _ in range(100)] == list(range(100))
    call.cancel()
    with pytest.raises(errors.Cancelled):
        call.wait(LIMIT)
    echo_one(peer)
    passed(f"cancel mid-stream, window {window}", COLUMN)


def test_cancel_reaches_a_handler_that_waits_for_input(
    peers: Peers,
    passed: Callable[[str, str], None],
) -> None:
    peer = peers()
    call = peer.call(IDLE)
    stream = call.input("media:blob")
    assert call.output(LIMIT).recv(LIMIT).value == "here"
    call.cancel()
    with pytest.raises(errors.Cancelled) as raised:
        call.wait(LIMIT)
    assert raised.value.class_ == "user"
    with pytest.raises(errors.SluicegateError):
        stream.emit(1, timeout=LIMIT)
    passed("cancel of a waiting handler", COLUMN)


def test_a_live_feed_with_losses(peers: Peers, passed: Callable[[str, str], None]) -> None:
    """Thirty captured into a ring of two: what was not delivered is in the gaps."""
    peer = peers()
    call = peer.call(FEED)
    selector = {"params": {"items": 30, "interval_ms": 0, "ring": 2}}
    scalar(call, "media:live;synthetic", json.dumps(selector).encode())
    metas = [item.value for item in call.output(LIMIT)]
    call.wait(LIMIT)
    dropped = sum(meta["gap"]["dropped"] for meta in metas if "gap" in meta)
    assert len(metas) + dropped == 30, "captured = delivered + dropped"
    expected = 0
    for meta in metas:
        expected += meta.get("gap", {"dropped": 0})["dropped"]
        assert meta["seq"] == expected
        expected += 1
    passed("live feed, gaps add up", COLUMN)


def test_a_heartbeat_is_answered_while_all_data_stands_still(
    peers: Peers,
    passed: Callable[[str, str], None],
) -> None:
    peer = peers(1)
    call = ask(peer, PRODUCE, "media:json", {"chunks": 20})
    output = call.output(LIMIT)
    while output.stats.chunks < 1:
        echo_one(peer)
    peer.probe()
    echo_one(peer)
    call.cancel()
    with pytest.raises(errors.Cancelled):
        call.wait(LIMIT)
    assert peer.dead is None
    passed("heartbeat at window zero", COLUMN)


def test_many_calls_at_once(peers: Peers, passed: Callable[[str, str], None]) -> None:
    peer = peers(4)
    calls = [peer.call(ECHO) for _ in range(20)]
    for n, call in enumerate(calls):
        scalar(call, "media:blob", n)
    for n, call in enumerate(calls):
        assert [item.value for item in call.output(LIMIT)] == [n]
        call.wait(LIMIT)
    passed("20 calls at once", COLUMN)


RULES = {
    "overrun": (errors.CreditViolation, "CREDIT_VIOLATION"),
    "checksum": (errors.Checksum, None),
    "twice": (errors.Protocol, None),
    "unopened": (errors.Protocol, None),
    "err": (errors.Remote, "SOME"),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_broken_rule_fails_that_call_alone(
    rule: str, peers: Peers, passed: Callable[[str, str], None]
) -> None:
    peer = peers.rogue()
    call = peer.call(FOREVER)
    scalar(call, "media:blob", rule)
    kind, code = RULES[rule]
    # Nothing is given back while nothing is read, so a chunk more is one too many.
    learn = (lambda: call.wait(LIMIT)) if rule == "overrun" else (lambda: read_all(call))
    with pytest.raises(kind) as raised:
        learn()
    assert code is None or raised.value.code == code
    echo_one(peer)
    assert peer.dead is None
    passed(f"violation by their side: {rule}", COLUMN)


def test_a_frame_that_is_none_ends_the_link(
    peers: Peers, passed: Callable[[str, str], None]
) -> None:
    peer = peers.rogue("frame")
    call = peer.call(FOREVER)
    scalar(call, "media:blob", "frame")
    with pytest.raises(errors.SluicegateError):
        call.wait(LIMIT)
    assert peer.died(LIMIT) is not None
    passed("violation by their side: malformed frame", COLUMN)


def run(*words: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [str(command()), *map(str, words)], input=given, capture_output=True, timeout=LIMIT
    )


@pytest.mark.parametrize("window", [1, 32])
def test_the_command_calls(window: int, passed: Callable[[str, str], None]) -> None:
    cartridge = f"{PYTHON} {THEIRS}"
    data = bytes(range(256)) * 800
    ran = run("call", cartridge, ECHO, "--arg", "media:blob=-", "--window", window, given=data)
    assert (ran.returncode, ran.stdout) == (0, data), ran.stderr
    ran = run("call", cartridge, MULTI, "--text", "media:blob=x")
    assert (ran.returncode, ran.stdout) == (0, b'"main"\n'), ran.stderr
    assert b"info: working" in ran.stderr
    assert b"half" in ran.stderr
    ran = run("call", cartridge, FAIL, "--text", "media:blob=on purpose")
    assert ran.returncode != 0
    assert b"on purpose" in ran.stderr
    passed(f"`sluicegate call`, window {window}", "our command, their cartridge")


def test_the_command_pipes_through_both(passed: Callable[[str, str], None]) -> None:
    stage = [PYTHON, THEIRS, f"@{ECHO}"]
    data = bytes(range(256)) * 2000
    ran = run("pipe", "--", *stage, "--", *stage, given=data)
    assert (ran.returncode, ran.stdout) == (0, data), ran.stderr
    passed("`sluicegate pipe` through two", "our command, their cartridge")


def test_what_their_runtime_says_of_an_overrun(passed: Callable[[str, str], None]) -> None:
    """Every chunk of the call goes to their cartridge twice: that is more than it granted."""
    ours, far = socket.socketpair()
    with ours, far, ExitStack() as stack:
        child = stack.enter_context(process(PYTHON, THEIRS, env={"SLOW_MS": "1000"}))
        e = stack.enter_context(Engine(limits=Limits(initial_credit=2), handshake_timeout=LIMIT))
        threading.Thread(target=pass_doubled, args=(far, child.stdin), daemon=True).start()
        threading.Thread(target=pass_on, args=(child.stdout, far), daemon=True).start()
        with e.attach(ours, ours) as peer:
            call = peer.call(SLOW)
            stream = call.input("media:blob")
            for number in range(2):  # which go without a grant, and arrive as four
                stream.emit(number, timeout=LIMIT)
            with pytest.raises(errors.CreditViolation) as raised:
                call.wait(LIMIT)
            assert raised.value.code == "HANDLER_ERROR"
            echo_one(peer)
        ours.shutdown(socket.SHUT_RDWR)
    passed("violation that their side finds", COLUMN)


def pass_doubled(source: socket.socket, target: Any) -> None:
    """Passes frames on, the chunks of slow calls twice: four for two, and all of them at once."""
    reader, writer = FrameReader(source.makefile("rb")), FrameWriter(target)
    doubled: set[MessageId] = set()
    together = io.BytesIO()
    held, chunks = FrameWriter(together), 0
    with contextlib.suppress(Exception):  # one of the two ends is gone
        while (frame := reader.read()) is not None:
            if frame.cap == SLOW:
                doubled.add(frame.id)
            if frame.frame_type != FrameType.CHUNK or frame.id not in doubled:
                writer.write(frame)
                continue
            held.write(frame)
            held.write(frame)
            chunks += 1
            if chunks == 2:
                target.write(together.getvalue())
                target.flush()


def pass_on(source: Any, target: socket.socket) -> None:
    with contextlib.suppress(OSError, ValueError):
        while data := source.read1(65_536):
            target.sendall(data)
