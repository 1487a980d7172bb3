"""Our switch: the peer's host with the peer's cartridge, our host with ours, calls between them."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from relay import OurSwitch, joined, offered, our_host, our_switch, their_host

from conftest import LIMIT, PYTHON, THEIRS, beside, command, languages, ours
from sluicegate import Call, Peer, errors

PEER = "cap:ip-peer;in=media:json;out=media:blob"
Passed = Callable[[str, str], None]
COLUMN = "our switch, their host, their cartridge"


def scalar(call: Call, media: str, *values: Any) -> None:
    with call.input(media) as stream:
        for value in values:
            stream.emit(value)
    call.finish_input()


def ask(peer: Peer, cap: str, media: str, *values: Any) -> list[Any]:
    call = peer.call(cap)
    with beside(lambda: scalar(call, media, *values)):
        answer = [item.value for item in call.output(LIMIT)]
    call.wait(LIMIT)
    return answer


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[OurSwitch, Peer]]:
    """Our switch, the peer's host with its cartridge, and a caller."""
    with ExitStack() as stack:
        switch = stack.enter_context(our_switch())
        stack.enter_context(their_host(switch.at, [PYTHON, THEIRS]))
        caller = stack.enter_context(switch.caller())
        offered(caller, "cap:ip-echo;in=media:blob;out=media:blob")
        yield switch, caller


def test_echo(both: tuple[OurSwitch, Peer], passed: Passed) -> None:
    values = [0, "grüße", None, -0.5, b"bytes", "end"] * 20
    assert ask(both[1], "cap:ip-echo;in=media:blob;out=media:blob", "media:blob", *values) == values
    passed("echo", COLUMN)


def test_a_producer_stops_at_the_window(both: tuple[OurSwitch, Peer], passed: Passed) -> None:
    peer = both[1]
    call = peer.call("cap:ip-produce;in=media:json;out=media:blob")
    scalar(call, "media:json", b'{"chunks":100}')
    output = call.output(LIMIT)
    echo = "cap:ip-echo;in=media:blob;out=media:blob"
    while output.stats.chunks < 32:
        assert ask(peer, echo, "media:blob", 1) == [1]
    assert ask(peer, echo, "media:blob", 1) == [1]
    assert output.stats.chunks == 32
    assert [item.value for item in output] == list(range(100))
    call.wait(LIMIT)
    passed("producer stops at the window", COLUMN)


def test_a_slow_consumer(both: tuple[OurSwitch, Peer], passed: Passed) -> None:
    cap = "cap:ip-slow;in=media:blob;out=media:json"
    assert b"".join(ask(both[1], cap, "media:blob", *range(150))) == b"150"
    passed("slow consumer", COLUMN)


def test_errors(both: tuple[OurSwitch, Peer], passed: Passed) -> None:
    with pytest.raises(errors.Remote, match="on purpose"):
        ask(both[1], "cap:ip-fail;in=media:blob;out=media:blob", "media:blob", b"on purpose")
    with pytest.raises(errors.NoHandler):
        ask(both[1], "cap:ip-none;in=media:blob;out=media:blob", "media:blob", 1)
    passed("ERR, unknown cap", COLUMN)


def test_a_cancel_ends_the_call_though_their_host_loses_it(
    both: tuple[OurSwitch, Peer], passed: Passed
) -> None:
    """The peer's host drops a CANCEL without a word: the caller still has its answer at once."""
    call = both[1].call("cap:ip-forever;in=media:blob;out=media:blob")
    scalar(call, "media:blob", b"go")
    assert call.output(LIMIT).recv(LIMIT).value == 0
    call.cancel()
    with pytest.raises(errors.Cancelled):
        call.wait(LIMIT)
    assert ask(both[1], "cap:ip-echo;in=media:blob;out=media:blob", "media:blob", 1) == [1]
    passed("cancel (lost in their host)", COLUMN)


@pytest.mark.parametrize("language", languages())
def test_their_handler_calls_our_cartridge(language: str, passed: Passed) -> None:
    """A peer call from the peer's host to ours, and what is left behind at the switch: nothing."""
    with ExitStack() as stack:
        switch = stack.enter_context(our_switch())
        stack.enter_context(their_host(switch.at, [PYTHON, THEIRS]))
        joined(stack.enter_context(our_host(switch.at, [ours(language)])))
        caller = stack.enter_context(switch.caller())
        offered(caller, PEER)
        data = "some text " * 3000
        plan = {
            "cap": "cap:fc-digest;in=media:blob;out=media:json",
            "media": "media:blob",
            "text": data,
        }
        answer = json.loads(b"".join(ask(caller, PEER, "media:json", json.dumps(plan).encode())))
        assert answer["sha256"] == hashlib.sha256(data.encode()).hexdigest()
        plan = {
            "cap": "cap:fc-produce;in=media:json;out=media:blob",
            "media": "media:json",
            "text": '{"chunks":100}',
        }
        assert ask(caller, PEER, "media:json", json.dumps(plan).encode()) == list(range(100))
        stats = switch.stats()
        assert stats["requests"]["active"] == []
        assert stats["drops"]["total"] == 0
    passed("their handler calls our cartridge", f"our switch, their host, our host, our {language}")


def test_our_host_has_both_ends(passed: Passed) -> None:
    with ExitStack() as stack:
        switch = stack.enter_context(our_switch())
        joined(stack.enter_context(our_host(switch.at, [PYTHON, THEIRS], [ours("rust")])))
        caller = stack.enter_context(switch.caller())
        plan = {
            "cap": "cap:fc-echo;in=media:blob;out=media:blob",
            "media": "media:blob",
            "text": "over and back",
        }
        answer = ask(caller, PEER, "media:json", json.dumps(plan).encode())
        assert answer == [b"over and back"]
    passed("peer call within our host", "our switch")


def test_a_host_that_dies_fails_its_requests(passed: Passed) -> None:
    with ExitStack() as stack:
        switch = stack.enter_context(our_switch())
        host = stack.enter_context(our_host(switch.at, [PYTHON, THEIRS]))
        joined(host)
        caller = stack.enter_context(switch.caller())
        call = caller.call("cap:ip-idle;in=media:blob;out=media:blob")
        assert call.output(LIMIT).recv(LIMIT).value == "here"
        host.kill()
        with pytest.raises(errors.SluicegateError):
            call.wait(LIMIT)
        # Until the switch has seen that the connection is over, the call goes to it and fails.
        with pytest.raises((errors.NoHandler, errors.PeerDied)):
            ask(caller, "cap:ip-idle;in=media:blob;out=media:blob", "media:blob", 1)
    passed("a host that dies", "our switch")


def test_the_command_calls_through_it(both: tuple[OurSwitch, Peer], passed: Passed) -> None:
    words = [command(), "call", "--via", f"unix:{both[0].at}", "--arg", "media:blob=-"]
    data = bytes(range(256)) * 800
    ran = subprocess.run(
        [*map(str, words), "cap:ip-echo;in=media:blob;out=media:blob"],
        input=data,
        capture_output=True,
        timeout=LIMIT,
    )
    assert (ran.returncode, ran.stdout) == (0, data), ran.stderr
    passed("`sluicegate call --via`", COLUMN)


def test_unequal_windows_are_not_joined(both: tuple[OurSwitch, Peer], passed: Passed) -> None:
    """Their host takes 32; a caller with another window is told both, and others are served."""
    echo = "cap:ip-echo;in=media:blob;out=media:blob"
    with both[0].caller(4) as caller:
        with pytest.raises(errors.Remote, match=r"windows of 32.* has 4") as raised:
            ask(caller, echo, "media:blob", 1)
        assert raised.value.code == "WINDOW_MISMATCH"
    with both[0].caller(64) as caller:
        assert caller.limits.initial_credit == 32, "the switch proposes no more"
        assert ask(caller, echo, "media:blob", 1) == [1]
    assert ask(both[1], echo, "media:blob", 1) == [1]
    passed("unequal windows: refused, both are named", COLUMN)


@pytest.mark.parametrize("window", [4, 64])
def test_unequal_windows_of_two_hosts_are_not_joined(window: int, passed: Passed) -> None:
    """A handler behind their host, which takes 32, calls a cap behind ours, which takes another."""
    with ExitStack() as stack:
        switch = stack.enter_context(our_switch(64))
        stack.enter_context(their_host(switch.at, [PYTHON, THEIRS]))
        joined(stack.enter_context(our_host(switch.at, [ours("rust")], window=window)))
        caller = stack.enter_context(switch.caller())
        offered(caller, PEER)
        plan = {
            "cap": "cap:fc-produce;in=media:json;out=media:blob",
            "media": "media:json",
            "text": '{"chunks":10}',
        }
        with pytest.raises(errors.Remote, match=f"windows of {window}.* has 32"):
            ask(caller, PEER, "media:json", json.dumps(plan).encode())
        assert ask(caller, "cap:ip-echo;in=media:blob;out=media:blob", "media:blob", 1) == [1]
        assert switch.stats()["requests"]["active"] == []
    row = f"their handler calls behind a host of window {window}: refused, both are named"
    passed(row, "our switch")
