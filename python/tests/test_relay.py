"""Relays, statistics, explanations, stall notices, control sockets."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

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
from sluicegate.errors import Io, Malformed, TimedOut

ECHO = "cap:echo;in=media:blob;out=media:blob"
MANY = "cap:many;in=media:blob;out=media:blob"
DIGEST = "cap:fc-digest;in=media:blob;out=media:json"


def digest(peer: Peer) -> object:
    call = peer.call(DIGEST)
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
