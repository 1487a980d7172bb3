"""Relays, statistics, explanations, stall notices, control sockets."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from conftest import REFERENCE, WATCHDOG, attached, until
from sluicegate import (
    Cartridge,
    Engine,
    Explanation,
    Host,
    Peer,
    Request,
    Switch,
    aio,
    ask_explain,
    ask_stats,
    trace,
)
from sluicegate.errors import Io, Malformed, NoHandler, TimedOut

ECHO = "cap:echo;in=media:blob;out=media:blob"
MANY = "cap:many;in=media:blob;out=media:blob"
DIGEST = "cap:fc-digest;in=media:blob;out=media:json"


def digest(peer: Peer, cap: str = DIGEST) -> object:
    call = peer.call(cap)
    with call.input("media:blob") as stream:
        stream.emit(b"x" * 100_000)
    call.finish_input()
    return next(iter(call.output())).value


def cartridge() -> Cartridge:
    made = Cartridge("says", "1.0.0")

    @made.cap(MANY)
    def many(request: Request) -> None:
        while True:
            request.output().emit(b"x")

    return made


def test_a_call_goes_through_a_switch_and_a_host(tmp_path: Path) -> None:
    with Switch() as switch, Host() as host, Engine() as engine:
        address = switch.listen(tmp_path / "s")
        assert address == f"unix:{tmp_path / 's'}"
        host.add(sys.executable, REFERENCE)
        host.join(address)
        until(lambda: DIGEST in switch.caps)
        with engine.spawn(sys.executable, REFERENCE) as direct:
            expected = digest(direct)
        with engine.connect(address) as peer:
            assert digest(peer) == expected
        with switch.caller(engine) as peer:
            assert digest(peer) == expected
        switch.set_state(b"kept")
        assert switch.stats()["drops"]["total"] == 0
        assert host.stats()["drops"]["total"] == 0
        until(lambda: switch.explain().culprits == [])
        until(lambda: host.explain().silent == [])  # one that is busy may be late with its answer
        assert len(host.pids) == 1
        assert host.dead is None
        assert not host.retire("nobody")
        switch.close()
        assert host.left(timeout=WATCHDOG) is not None


def test_a_call_goes_through_relays_of_asyncio(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.Switch() as switch, aio.Host() as host, aio.Engine() as engine:
            address = switch.listen(tmp_path / "s")
            await host.add(sys.executable, REFERENCE)
            await host.join(address)
            until(lambda: DIGEST in switch.caps)
            async with await engine.connect(address) as peer:
                call = peer.call(DIGEST)
                async with call.input("media:blob") as stream:
                    await stream.emit(b"hello")
                await call.finish_input()
                assert await (await call.output()).recv() is not None
            for either in (switch, engine):
                while (await either.explain()).culprits != []:
                    await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_matcher_says_which_cap_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[BaseException | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: raised.append(told.exc_value))
    seen: list[tuple[str, str, list[str]]] = []

    def serves(offered: str, asked: str) -> bool:
        if asked == "cap:broken":
            raise KeyError("mine")
        seen.append((offered, asked, switch.caps))
        return (offered, asked) == (DIGEST, "cap:anything")

    with Switch(matcher=serves) as switch, Host() as host, Engine() as engine:
        ours, theirs = socket.socketpair()
        with ours, theirs, switch.caller(engine) as peer:
            offering = threading.Thread(target=switch.attach, args=("host", theirs, theirs))
            offering.start()
            host.add(sys.executable, REFERENCE)
            host.join_over(ours, ours)
            offering.join()
            until(lambda: DIGEST in switch.caps)
            for asked in ("cap:broken", DIGEST):
                with pytest.raises(NoHandler):
                    peer.call(asked).wait(timeout=WATCHDOG)
            with engine.spawn(sys.executable, REFERENCE) as direct:
                assert digest(peer, "cap:anything") == digest(direct)
    assert raised
    assert {type(error) for error in raised} == {KeyError}
    assert (DIGEST, DIGEST) in [(offered, asked) for offered, asked, _ in seen]
    assert all(offered in caps for offered, _, caps in seen)


def test_what_is_no_matcher() -> None:
    async def later(*_: str) -> bool:
        return True

    wrong: list[Any] = [later, "cap:x"]
    for matcher in wrong:
        with pytest.raises(TypeError, match="a matcher is"):
            Switch(matcher=matcher)


def test_what_stands_still_is_told(tmp_path: Path) -> None:
    with Engine(stall=0.05, heartbeat=None) as engine:
        with pytest.raises(TimedOut):
            engine.next_stall(timeout=0)
        mine = cartridge()
        assert mine.stats() is None
        assert mine.explain() is None
        here, there = os.pipe(), os.pipe()
        thread = threading.Thread(target=mine.run, args=(here[0], there[1]))
        thread.start()
        peer = engine.attach(there[0], here[1])
        call = peer.call(MANY)
        output = call.output()
        told = engine.next_stall(timeout=WATCHDOG)
        while [culprit.waits_for for culprit in told.culprits] != ["unread"]:
            told = engine.next_stall(timeout=WATCHDOG)  # it may stand in a queue before it begins
        (culprit,) = told.culprits
        assert culprit.party == "this process"
        assert culprit.since_ms >= 50
        assert told.of_request(call.id).culprits == [culprit]
        assert told.of_request("other").standing == []
        assert str(told).startswith("HOLDS THE OTHERS UP: this process has not read")
        assert Explanation(told.json) == told
        assert engine.stats()["cartridges"][0]["requests"][0]["rid"] == call.id
        assert peer.stats()["overruns_total"] == 0
        own = mine.stats()
        assert own is not None
        assert own["name"] == "says"
        with engine.serve_control(tmp_path / "c") as control:
            assert ask_explain(control.address).culprits
            assert ask_stats(control.address)["cartridges"]
        with pytest.raises(Io):
            ask_stats(control.address)
        with engine.serve_control():
            assert ask_stats(os.getpid(), timeout=WATCHDOG)["cartridges"]
        del output
        peer.close()
        for fd in (*here, *there):
            os.close(fd)
        thread.join(WATCHDOG)
        assert not thread.is_alive()


def test_a_cartridge_has_a_control_socket(tmp_path: Path) -> None:
    mine = cartridge()
    mine.serve_control(tmp_path / "c")
    names: list[str] = []

    def answers() -> bool:
        with suppress(Io):  # the socket opens behind the handshake
            names.append(ask_stats(tmp_path / "c")["name"])
        return bool(names)

    with attached(mine):
        until(answers)
    assert names == ["says"]


def test_what_is_no_explanation() -> None:
    with pytest.raises(Malformed):
        Explanation("{")


def test_a_trace_names_its_file(tmp_path: Path) -> None:
    with pytest.raises(Io, match="no-such-folder"):
        trace(tmp_path / "no-such-folder" / "trace", json_lines=True)
