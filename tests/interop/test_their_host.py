"""The peer's host on a direct link with our cartridge in each language; every frame is counted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import cbor2
import pytest
from capdag.bifaci.cartridge_runtime import RemoteError
from capdag.bifaci.frame import AttributionClass, Frame, FrameType, compute_checksum
from direct import Link, Links, Request

from conftest import LIMIT, beside, languages

ECHO = "cap:fc-echo;in=media:blob;out=media:blob"
ITEMS = "cap:fc-items;in=media:items;out=media:items"
PRODUCE = "cap:fc-produce;in=media:json;out=media:blob"
SINK = "cap:fc-sink;in=media:blob;out=media:json"
SLOW = "cap:fc-slow;in=media:blob;out=media:json"
DIGEST = "cap:fc-digest;in=media:blob;out=media:json"
FOREVER = "cap:fc-forever;in=media:blob;out=media:blob"
TWO = "cap:fc-two;in=media:json;out=media:blob"
MULTI = "cap:fc-multi;in=media:blob;out=media:text"
WINDOWS = [1, 2, 4, 32, 64]

Passed = Callable[[str, str], None]


@pytest.fixture(scope="module")
def links() -> Iterator[Links]:
    with ExitStack() as stack:
        yield Links(stack)


@pytest.fixture(params=languages())
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def column(language: str) -> str:
    return f"their host, our {language}"


def plan(link: Link, cap: str, **wanted: int) -> Request:
    request = link.call(cap)
    request.send("media:json", json.dumps(wanted).encode())
    return request


def echo_one(link: Link) -> None:
    """Shows that the link lives."""
    request = link.call(ECHO)
    request.send("media:blob", 7)
    assert request.values() == [7]


def test_handshake_identity_and_manifest(links: Links, language: str, passed: Passed) -> None:
    link = links(language, 32)
    assert link.limits.initial_credit == 32
    echo_one(link)
    passed("handshake, identity, policy", column(language))


@pytest.mark.parametrize("window", WINDOWS)
def test_echo_and_every_window(links: Links, language: str, window: int, passed: Passed) -> None:
    values = [0, -5, 2**64 - 1, "grüße", None, True, -0.5, b"bytes", "and", b"x" * 4000, "end"]
    link = links(language, window)
    assert link.limits.initial_credit == window
    request = link.call(ECHO)
    with beside(lambda: request.send("media:blob", *values * 10)):
        assert request.values() == values * 10
    assert request.last().exit_code() == 0
    assert 0 <= link.ledger.least < window, "the window was used, and never overrun"
    passed(f"echo, scalar, window {window}", column(language))


@pytest.mark.parametrize("window", [2, 4, 32])
def test_items_with_their_meta(links: Links, language: str, window: int, passed: Passed) -> None:
    """Its receiver takes no item of several chunks in a window of one."""
    items = [{"n": n, "data": bytes([n]) * (n * 1000)} for n in range(30)]
    metas = [{"n": n} if n % 2 else None for n in range(30)]
    link = links(language, window)
    request = link.call(ITEMS)
    with beside(lambda: request.send_items("media:items", items, metas)):
        found = [item for item in request.items() if not item.is_log]
    assert [item.data_value for item in found] == items
    assert [item.data_meta for item in found] == metas
    assert link.ledger.least >= 0
    passed(f"items of up to 8 chunks with meta, window {window}", column(language))


@pytest.mark.parametrize("window", WINDOWS)
def test_a_producer_stops_at_the_window(
    links: Links, language: str, window: int, passed: Passed
) -> None:
    link = links(language, window)
    request = plan(link, PRODUCE, chunks=300)
    while request.kinds().count(FrameType.CHUNK) < window:
        echo_one(link)  # the producer has the time
    echo_one(link)
    assert request.kinds().count(FrameType.CHUNK) == window, "nothing was taken, nothing granted"
    assert request.values() == list(range(300))
    assert link.ledger.least == 0
    passed(f"producer stops at the window of {window}", column(language))


@pytest.mark.parametrize("window", [1, 32])
def test_sink_and_slow_give_back_what_they_take(
    links: Links, language: str, window: int, passed: Passed
) -> None:
    link = links(language, window)
    for cap, count in ((SINK, 200), (SLOW, 50)):
        request = link.call(cap)
        with beside(partial(request.send, "media:blob", *range(count))):
            assert b"".join(request.values()) == str(count).encode()
        kinds = [f for f in request.frames if f.frame_type == FrameType.CREDIT]
        assert sum(f.credit_count() or 0 for f in kinds) <= count, "no more than was consumed"
    assert link.ledger.least >= 0
    passed(f"sink, slow consumer, window {window}", column(language))


def test_digest(links: Links, language: str, passed: Passed) -> None:
    data = bytes(n * 7 % 256 for n in range(1_000_000))
    link = links(language, 32)
    request = link.call(DIGEST)
    with beside(lambda: request.send("media:blob", data)):
        answer = json.loads(b"".join(request.values()))
    assert answer["bytes"] == len(data)
    assert answer["sha256"] == hashlib.sha256(data).hexdigest()
    passed("1 MB, SHA-256", column(language))


@pytest.mark.parametrize("window", [1, 32])
def test_two_outputs(links: Links, language: str, window: int, passed: Passed) -> None:
    link = links(language, window)
    items = plan(link, TWO, chunks=50).items()
    for output in (None, "media:second"):
        assert [i.data_value for i in items if i.output == output] == list(range(50)), output
    assert link.ledger.least >= 0
    passed(f"two outputs, window {window}", column(language))


def test_log_progress_and_the_last_word(links: Links, language: str, passed: Passed) -> None:
    link = links(language, 32)
    request = link.call(MULTI)
    request.send("media:blob", b"x")
    items = request.items()
    logs = [item.log for item in items if item.is_log]
    assert (logs[0].log_level(), logs[0].log_message()) == ("info", "working")
    assert logs[0].attribution_class() == AttributionClass.INTERNAL
    assert (logs[1].log_progress(), logs[1].log_message()) == (0.5, "half")
    values = {item.output: item.data_value for item in items if not item.is_log}
    assert values == {None: "main", "media:second": "second"}
    end = request.last()
    assert (end.exit_code(), end.final_progress(), end.final_message()) == (0, 0.9, "done")
    passed("log, progress, final progress", column(language))


@pytest.mark.parametrize("window", [1, 32])
def test_cancel_mid_stream(links: Links, language: str, window: int, passed: Passed) -> None:
    link = links(language, window)
    request = link.call(FOREVER)
    request.send("media:blob", b"go")
    for n in range(100):
        item = request.recv()
        assert item is not None
        assert item.data_value == n
    request.cancel()
    last = request.last()
    assert last.frame_type == FrameType.ERR
    assert (last.error_code(), last.attribution_class()) == ("CANCELLED", AttributionClass.USER)
    echo_one(link)
    assert request.frames[-1] is last, "nothing of a flow comes after its terminal"
    assert link.ledger.least >= 0
    passed(f"cancel mid-stream, window {window}", column(language))


def test_errors_have_a_class_that_it_knows(links: Links, language: str, passed: Passed) -> None:
    link = links(language, 32)
    request = link.call("cap:fc-none;in=media:blob;out=media:blob")
    request.finish()
    with pytest.raises(RemoteError) as raised:
        request.values()
    assert raised.value.failure_code() == "NO_HANDLER"
    assert raised.value.attribution_class() == AttributionClass.ENVIRONMENT
    request = link.call(PRODUCE)
    request.send("media:json", b"not a plan")
    with pytest.raises(RemoteError) as raised:
        request.values()
    assert raised.value.attribution_class() == AttributionClass.INPUT
    passed("ERR code and class", column(language))


def test_a_heartbeat_is_answered_while_all_data_stands_still(
    links: Links, language: str, passed: Passed
) -> None:
    link = links(language, 1)
    request = plan(link, PRODUCE, chunks=20)
    meta = link.heartbeat().meta
    assert {"drops_total", "stragglers_total", "overruns_total", "pools"} <= set(meta)
    assert request.values() == list(range(20))
    passed("heartbeat at window zero", column(language))


def raw_chunk(request: Request, stream: str, index: int) -> Frame:
    payload = cbor2.dumps(index)
    return Frame.chunk(request.id, stream, 0, payload, index, compute_checksum(payload))


BROKEN = {
    "overrun": "CREDIT_VIOLATION",
    "checksum": None,
    "twice": None,
    "unopened": None,
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_fails_that_request_alone(
    links: Links, language: str, rule: str, passed: Passed
) -> None:
    """The raw writer has no gate and counts nothing: the ledger stays that of good manners."""
    link = links(language, 4)
    request = link.call(SLOW)
    start = Frame.stream_start(request.id, "raw", "media:blob")
    write = link.raw.write
    match rule:
        case "overrun":
            write(start)
            for index in range(200):
                write(raw_chunk(request, "raw", index))
        case "checksum":
            write(start)
            bad = raw_chunk(request, "raw", 0)
            bad.checksum = 1
            write(bad)
            write(Frame.stream_end(request.id, "raw", 1))
            write(Frame.end(request.id))
        case "twice":
            write(start)
            write(start)
        case "unopened":
            write(raw_chunk(request, "raw", 0))
    last = request.last()
    assert last.frame_type == FrameType.ERR
    assert last.attribution_class() in set(AttributionClass)
    assert BROKEN[rule] is None or last.error_code() == BROKEN[rule]
    echo_one(link)
    passed(f"violation by their side: {rule}", column(language))


def test_many_at_once(links: Links, language: str, passed: Passed) -> None:
    link = links(language, 4)
    requests = [link.call(ECHO) for _ in range(20)]
    for n, request in enumerate(requests):
        request.send("media:blob", n)
    for n, request in enumerate(requests):
        assert request.values() == [n]
        assert request.over.wait(LIMIT)
    passed("20 requests at once", column(language))
