"""The peer's switch: its host with our cartridges, and our host."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from capdag.bifaci.cartridge_runtime import RemoteError
from capdag.bifaci.frame import FrameType
from relay import TheirSwitch, joined, our_host, their_host, their_switch

from conftest import ASKER, LIMIT, PYTHON, THEIRS, beside, languages, ours

ECHO = "cap:fc-echo;in=media:blob;out=media:blob"
ITEMS = "cap:fc-items;in=media:items;out=media:items"
PRODUCE = "cap:fc-produce;in=media:json;out=media:blob"
SLOW = "cap:fc-slow;in=media:blob;out=media:json"
DIGEST = "cap:fc-digest;in=media:blob;out=media:json"
MULTI = "cap:fc-multi;in=media:blob;out=media:text"
FOREVER = "cap:fc-forever;in=media:blob;out=media:blob"
PEER = "cap:ip-peer;in=media:json;out=media:blob"

Passed = Callable[[str, str], None]


@pytest.fixture(scope="module", params=["their", "our"])
def host(request: pytest.FixtureRequest) -> str:
    """Whose host stands between the peer's switch and our cartridge."""
    return str(request.param)


@pytest.fixture(scope="module", params=languages())
def stack(request: pytest.FixtureRequest, host: str) -> Iterator[tuple[str, TheirSwitch]]:
    """The peer's switch, a host, and our cartridge in one language."""
    language = str(request.param)
    column = f"their switch, {host} host, our {language}"
    with ExitStack() as stack:
        switch = stack.enter_context(their_switch())
        join(stack, switch, host, [ours(language)])
        yield column, switch


def join(stack: ExitStack, switch: TheirSwitch, host: str, *cartridges: list) -> None:  # type: ignore[type-arg]
    if host == "their":
        stack.enter_context(their_host(switch.at, *cartridges))
        switch.join()
    else:
        child = stack.enter_context(our_host(switch.at, *cartridges))
        switch.join()
        joined(child)


def test_echo_produce_slow_items_digest(stack: tuple[str, TheirSwitch], passed: Passed) -> None:
    column, switch = stack
    link = switch.link
    assert link is not None
    request = link.call(ECHO)
    values = [0, "grüße", None, -0.5, b"bytes", "end"]
    request.send("media:blob", *values)
    assert request.values() == values
    request = link.call(PRODUCE)
    request.send("media:json", json.dumps({"chunks": 150}).encode())
    assert request.values() == list(range(150))
    request = link.call(SLOW)
    with beside(lambda: request.send("media:blob", *range(100))):
        assert b"".join(request.values()) == b"100"
    items = [{"n": n, "data": bytes([n]) * 100} for n in range(30)]
    request = link.call(ITEMS)
    with beside(lambda: request.send_items("media:items", items, [None] * 30)):
        assert request.values() == items
    data = bytes(n * 7 % 256 for n in range(500_000))
    request = link.call(DIGEST)
    with beside(lambda: request.send("media:blob", data)):
        assert json.loads(b"".join(request.values()))["sha256"] == hashlib.sha256(data).hexdigest()
    assert link.ledger.least >= 0
    stats = switch.stats()
    assert stats["requests"]["active"] == [], "no state is left behind"
    assert stats["drops"]["total"] == 0
    passed("echo, produce, slow, items, digest; no drops, no state left", column)


DEMOS = {
    "c": ("count", b"some Text"),
    "go": ("rot13", b"fbzr Grkg"),
    "python": ("upper", b"SOME TEXT"),
    "rust": ("checksum", b"some Text"),
    "swift": ("xor", bytes(byte ^ 0x5A for byte in b"some Text")),
}


def test_caps_whose_name_comes_last(stack: tuple[str, TheirSwitch], passed: Passed) -> None:
    """It knows a pool by the canonical spelling of its cap: `in` comes before `upper`."""
    column, switch = stack
    link = switch.link
    assert link is not None
    name, wanted = DEMOS[column.rpartition(" ")[2]]
    request = link.call(f"cap:{name};in=media:blob;out=media:blob")
    request.send("media:blob", b"some Text")
    assert b"".join(request.values()) == wanted
    passed("a cap whose name comes last", column)


def test_log_progress_and_errors(stack: tuple[str, TheirSwitch], passed: Passed) -> None:
    column, switch = stack
    link = switch.link
    assert link is not None
    request = link.call(MULTI)
    request.send("media:blob", b"x")
    items = request.items()
    assert [i.log.log_message() for i in items if i.is_log] == ["working", "half"]
    assert {i.output: i.data_value for i in items if not i.is_log} == {
        None: "main",
        "media:second": "second",
    }
    assert request.last().final_message() == "done"
    request = link.call(PRODUCE)
    request.send("media:json", b"not a plan")
    with pytest.raises(RemoteError):
        request.values()
    assert link.ledger.least >= 0
    passed("log, progress, two outputs, ERR", column)


def test_the_ledger_of_their_switch(stack: tuple[str, TheirSwitch], passed: Passed) -> None:
    """Its own count of every window, taken while a stream stands still at its end."""
    column, switch = stack
    link = switch.link
    assert link is not None
    request = link.call(PRODUCE)
    request.send("media:json", json.dumps({"chunks": 100}).encode())
    while request.kinds().count(FrameType.CHUNK) < 32:
        other = link.call(ECHO)
        other.send("media:blob", 1)
        assert other.values() == [1]
    [active] = switch.stats()["requests"]["active"]
    figures = {s["stream_id"]: s["credit_outstanding"] for s in active["streams"] if s["stream_id"]}
    assert all(left >= 0 for left in figures.values()), figures
    assert 0 in figures.values(), "the producer has used its whole window"
    assert request.values() == list(range(100))
    passed("credit_outstanding in their ledger", column)


def test_cancel(stack: tuple[str, TheirSwitch], host: str, passed: Passed) -> None:
    """Their host drops a CANCEL without a word, and the handler goes on; ours passes it on."""
    column, switch = stack
    link = switch.link
    assert link is not None
    request = link.call(FOREVER)
    request.send("media:blob", b"go")
    assert request.recv() is not None
    request.cancel()
    if host == "their":
        values = [item.data_value for item in (request.recv() for _ in range(100)) if item]
        assert values == list(range(1, 101))
        passed("a CANCEL is lost in their host", column)
        return
    last = request.last()
    assert (last.frame_type, last.error_code()) == (FrameType.ERR, "CANCELLED")
    passed("cancel", column)


@pytest.mark.parametrize(("caller", "callee"), [("their", "our"), ("our", "their"), ("our", "our")])
def test_a_peer_call_from_host_to_host(caller: str, callee: str, passed: Passed) -> None:
    """A handler behind one host calls a cap behind the other, through the peer's switch."""
    with ExitStack() as stack:
        switch = stack.enter_context(their_switch())
        join(stack, switch, caller, [PYTHON, THEIRS])
        join(stack, switch, callee, [ours("rust")])
        link = switch.link
        assert link is not None
        request = link.call(PEER)
        plan = {"cap": PRODUCE, "media": "media:json", "text": '{"chunks":100}'}
        request.send("media:json", json.dumps(plan).encode())
        assert request.values() == list(range(100))
        request.over.wait(LIMIT)
        assert switch.stats()["requests"]["active"] == []
    passed(f"peer call, {caller} host to {callee} host", "their switch")


def test_a_peer_call_within_our_host(passed: Passed) -> None:
    """Both ends behind our one host: the answer comes back with the number of the request."""
    with ExitStack() as stack:
        switch = stack.enter_context(their_switch())
        join(stack, switch, "our", [PYTHON, THEIRS], [ours("rust")])
        link = switch.link
        assert link is not None
        for cap, text, answer in (
            (PRODUCE, '{"chunks":100}', list(range(100))),
            (ECHO, "over and back", [b"over and back"]),
        ):
            request = link.call(PEER)
            media = "media:json" if cap == PRODUCE else "media:blob"
            plan = {"cap": cap, "media": media, "text": text}
            request.send("media:json", json.dumps(plan).encode())
            assert request.values() == answer
        assert switch.stats()["requests"]["active"] == []
    passed("peer call within our host", "their switch")


PLAN = {"cap": PRODUCE, "media": "media:json", "text": '{"chunks":100}'}
OVERRUN = "CREDIT_VIOLATION"

UNEQUAL = {
    # The window of the end that calls, that of the other, what is called, and what comes of it.
    "the answer, from 4 to 32": (32, 4, PLAN | {"reads": True}, (None, 100)),
    "the answer, from 32 to 4": (4, 32, PLAN | {"reads": False}, (OVERRUN, None)),
    "the argument, from 4 to 32": (
        *(4, 32, {"cap": SLOW, "media": "media:blob", "count": 100, "reads": True}),
        (None, 1),
    ),
    "the argument, from 32 to 4": (
        *(32, 4, {"cap": FOREVER, "media": "media:blob", "count": 100, "reads": False}),
        (OVERRUN, None),
    ),
}


@pytest.mark.parametrize("case", UNEQUAL)
def test_unequal_windows_meet_in_their_switch(case: str, passed: Passed) -> None:
    """Their switch joins two ends of ours, whatever their windows, and passes every grant on.

    A sender with the smaller window is never ahead of the other's: all arrives. One with the larger
    overruns whoever takes its time, and the end that counts it says so: that request ends, and no
    other. Our own switch does not join such ends (``test_our_relay.py``).
    """
    asks, answers, plan, (code, values) = UNEQUAL[case]
    with ExitStack() as stack:
        switch = stack.enter_context(their_switch())
        for cartridge, window in (([PYTHON, ASKER], asks), ([ours("rust")], answers)):
            child = stack.enter_context(our_host(switch.at, cartridge, window=window))
            switch.join()
            joined(child)
        link = switch.link
        assert link is not None
        for _ in range(2):  # the second on what the first has left
            request = link.call("cap:ask;in=media:json;out=media:json")
            request.send("media:json", json.dumps(plan).encode())
            answer = json.loads(b"".join(request.values()))
            assert (answer["code"], answer.get("values")) == (code, values), answer
        request = link.call(ECHO)
        request.send("media:blob", 7)
        assert request.values() == [7]
    passed(f"unequal windows of our two hosts: {case}", "their switch")
