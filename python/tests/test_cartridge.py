"""The reference cartridge by its table, handlers that fail, cartridges that are none."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from conftest import REFERENCE, WATCHDOG, attached, until
from sluicegate import (
    Call,
    Cartridge,
    Counters,
    Engine,
    Limits,
    Log,
    Peer,
    Progress,
    Request,
    aio,
    forward,
)
from sluicegate.errors import (
    Cancelled,
    Handshake,
    InvalidArgument,
    NoHandler,
    PeerDied,
    Remote,
    SluicegateError,
    Spawn,
)

BLOB = "in=media:blob;out=media:blob"
PRODUCE = "cap:fc-produce;in=media:json;out=media:blob"
DIGEST = "cap:fc-digest;in=media:blob;out=media:json"


def ask(peer: Peer, cap: str, *argument: Any) -> Call:
    call = peer.call(cap)
    with call.input("media:blob") as stream:
        for value in argument:
            stream.emit(value)
    call.finish_input()
    return call


def pattern(size: int) -> bytes:
    return bytes((i * 31 + 7) % 251 for i in range(size))


def test_produce_integers(reference: Peer) -> None:
    call = ask(reference, PRODUCE, b'{"chunks": 1000}')
    assert list(call.output().values()) == list(range(1000))
    assert call.wait().progress == 1.0


def test_produce_starts_after_the_first_value(reference: Peer) -> None:
    with reference.call(PRODUCE) as call:
        stream = call.input("media:json")
        stream.write(b'{"chunks": 5, "size": 70000}')
        stream.flush()
        assert call.output().collect_bytes() == pattern(350_000)


@pytest.mark.parametrize("cap", ["fc-sink", "fc-slow"])
def test_sink_and_slow_count(engine: Engine, cap: str) -> None:
    with engine.spawn(sys.executable, REFERENCE, env={"SLOW_MS": "1"}) as peer:
        call = peer.call(f"cap:{cap};in=media:blob;out=media:json")
        with call.input("media:blob") as stream:
            for number in range(100):
                stream.emit(number)
        call.finish_input()
        assert json.loads(call.output().collect_bytes()) == 100


def test_digest(reference: Peer) -> None:
    data = pattern(1_000_000)
    call = reference.call(DIGEST)
    with call.input("media:blob") as stream:
        stream.write(data)
    call.finish_input()
    answer = json.loads(call.output().collect_bytes())
    assert answer["bytes"] == len(data)
    assert answer["sha256"] == hashlib.sha256(data).hexdigest()
    assert answer["chunks"] >= 4


def test_forever_until_cancelled(reference: Peer) -> None:
    call = ask(reference, f"cap:fc-forever;{BLOB}")
    output = call.output()
    for number, value in zip(range(1000), output.values(), strict=False):
        assert number == value
    call.cancel()
    with pytest.raises(Cancelled):
        call.wait(timeout=WATCHDOG)
    assert json.loads(ask(reference, DIGEST).output().collect_bytes())["bytes"] == 0


def test_two_outputs(reference: Peer) -> None:
    call = ask(reference, "cap:fc-two;in=media:json;out=media:blob", b'{"chunks": 500}')
    got: dict[str | None, list[object]] = {}
    readers = []
    for stream in call.outputs():
        values = got.setdefault(stream.info.output, [])
        reader = threading.Thread(target=lambda v=values, s=stream: v.extend(s.values()))
        reader.start()
        readers.append(reader)
    for reader in readers:
        reader.join()
    assert got == {None: list(range(500)), "media:second": list(range(500))}


def test_multi(reference: Peer) -> None:
    call = reference.call("cap:fc-multi;in=media:blob;out=media:text")
    call.finish_input()  # no stream was opened: it reads none, and may be over
    texts = {stream.info.output: stream.collect_text() for stream in call.outputs()}
    assert texts == {None: "main", "media:second": "second"}
    assert list(call.events()) == [Log("info", "internal", "working"), Progress(0.5, "half")]
    end = call.wait()
    assert (end.exit_code, end.progress, end.message) == (0, 0.9, "done")


def test_hz_c13_stderr_is_drained(reference: Peer) -> None:
    call = reference.call("cap:fc-stderr;in=media:blob;out=media:text")
    call.finish_input()
    assert call.output(timeout=WATCHDOG).collect_text() == "done"
    until(lambda: len(reference.stderr_tail) == 64 * 1024)
    assert set(reference.stderr_tail) == {"x", "\n"}


def test_a_chain_moves_everything(engine: Engine) -> None:
    with (
        engine.spawn(sys.executable, REFERENCE) as first,
        engine.spawn(sys.executable, REFERENCE) as second,
    ):
        produce = ask(first, PRODUCE, b'{"chunks": 64, "size": 65536}')
        digest = second.call(DIGEST)

        def chain() -> None:
            assert forward(produce.output(), digest.input("media:blob")) > 0
            digest.finish_input()

        chaining = threading.Thread(target=chain)
        chaining.start()
        answer = json.loads(digest.output().collect_bytes())
        chaining.join()
        assert answer["bytes"] == 64 * 65536
        assert answer["sha256"] == hashlib.sha256(pattern(64 * 65536)).hexdigest()
        digest.wait()
        produce.wait()


def test_the_same_chain_in_asyncio() -> None:
    async def main() -> None:
        async with (
            aio.Engine() as engine,
            await engine.spawn(sys.executable, REFERENCE) as first,
            await engine.spawn(sys.executable, REFERENCE) as second,
        ):
            produce, digest = first.call(PRODUCE), second.call(DIGEST)
            async with produce.input("media:json") as stream:
                await stream.write(b'{"chunks": 64, "size": 65536}')
            await produce.finish_input()

            async def chain() -> None:
                await aio.forward(await produce.output(), digest.input("media:blob"))
                await digest.finish_input()

            chaining = asyncio.create_task(chain())
            answer = json.loads(await (await digest.output()).collect_bytes())
            await chaining
            assert answer["sha256"] == hashlib.sha256(pattern(64 * 65536)).hexdigest()
            await digest.wait()

    asyncio.run(main())


def test_all_waits_of_asyncio() -> None:
    async def main() -> None:
        async with aio.Engine() as engine, await engine.spawn(sys.executable, REFERENCE) as peer:
            call = peer.call("cap:fc-items;in=media:items;out=media:items")
            async with call.input("media:items") as stream:
                await stream.emit_item([1], {"n": 1})
                await stream.sender().emit_item("two")
                await stream.flush()
            await call.finish_input()
            async for output in call.outputs():
                got = [(item.value, item.meta) async for item in output]
                assert got == [([1], {"n": 1}), ("two", None)]
            assert [event async for event in call.events()] == []
            assert (await call.wait()).exit_code == 0

            call = peer.call(f"cap:fc-echo;{BLOB}")
            async with call.input("media:blob") as stream:
                await stream.write(b"abc")
            await call.finish_input()
            async with await call.output() as output:
                assert [bytes(view) async for view in output.views()] == [b"abc"]

            call = peer.call("cap:fc-multi;in=media:blob;out=media:text")
            await call.finish_input()
            texts = [await output.collect_text() async for output in call.outputs()]
            assert sorted(texts) == ["main", "second"]
            assert await call.next_event() == Log("info", "internal", "working")

    asyncio.run(main())


def failing() -> Cartridge:
    cartridge = Cartridge("failing", "2.0", description="fails", limits=Limits(initial_credit=8))

    @cartridge.cap("cap:raises;out=media:blob", title="Raises")
    def raises(_: Request) -> None:
        raise LookupError("no such thing")

    @cartridge.cap("cap:araises;out=media:blob")
    async def araises(_: aio.Request) -> None:
        raise LookupError("no such thing")

    @cartridge.cap("cap:typed;out=media:blob")
    def typed(_: Request) -> None:
        raise InvalidArgument("bad colour", code="BAD_COLOUR", class_="user")

    @cartridge.cap("cap:exits;out=media:blob")
    def exits(_: Request) -> None:
        sys.exit("gone")

    @cartridge.cap("cap:needs;in=media:blob;out=media:blob")
    def needs(request: Request) -> None:
        request.input()

    @cartridge.cap("cap:fine;out=media:blob")
    def fine(request: Request) -> None:
        request.output().write(b"fine")

    return cartridge


@pytest.mark.parametrize("cap", ["cap:raises;out=media:blob", "cap:araises;out=media:blob"])
def test_what_a_handler_raises_fails_its_call_alone(
    cap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with attached(failing()) as peer:
        call, other = peer.call(cap), peer.call("cap:fine;out=media:blob")
        with pytest.raises(Remote, match="LookupError: no such thing") as caught:
            call.wait(timeout=WATCHDOG)
        assert (caught.value.code, caught.value.class_) == ("HANDLER_ERROR", "internal")
        assert other.output().collect_bytes() == b"fine"
    assert "LookupError" in capsys.readouterr().err


def test_an_error_of_ours_keeps_its_code_and_class() -> None:
    with attached(failing()) as peer:
        with pytest.raises(SluicegateError) as caught:
            peer.call("cap:typed;out=media:blob").wait(timeout=WATCHDOG)
        assert (caught.value.code, caught.value.class_) == ("BAD_COLOUR", "user")
        assert caught.value.message == "bad colour"
        with pytest.raises(Remote, match="SystemExit"):
            peer.call("cap:exits;out=media:blob").wait(timeout=WATCHDOG)
        with pytest.raises(NoHandler):
            peer.call("cap:unknown").wait(timeout=WATCHDOG)
        missing = peer.call("cap:needs;in=media:blob;out=media:blob")
        missing.finish_input()
        with pytest.raises(SluicegateError) as caught:
            missing.wait(timeout=WATCHDOG)
        assert caught.value.code == "MISSING_ARGUMENT"


def test_facts_of_a_peer() -> None:
    with attached(failing()) as peer:
        assert json.loads(peer.manifest_json)["name"] == "failing"
        caps = {cap.urn: cap for cap in peer.caps}
        assert caps["cap:raises;out=media:blob"].title == "Raises"
        assert caps["cap:needs;in=media:blob;out=media:blob"].in_media == "media:blob"
        assert peer.limits.initial_credit == 8
        assert peer.pid is None
        assert peer.memory is None
        assert peer.dead is None
        peer.probe()
        peer.set_policy("offline")
        with pytest.raises(InvalidArgument, match="policy"):
            peer.set_policy("none")  # type: ignore[arg-type]
        assert peer.counters == Counters({}, {}, 0)


def test_a_cap_is_registered_once() -> None:
    cartridge = failing()
    with pytest.raises(InvalidArgument):
        cartridge.cap("cap:fine;out=media:blob")
    with pytest.raises(InvalidArgument):
        cartridge.run(0)


def test_facts_of_a_process(reference: Peer) -> None:
    assert reference.pid is not None
    memory = reference.memory
    assert memory is not None
    assert 0 < memory.resident <= memory.peak
    assert "cartridge.py" in reference.name
    reference.kill()
    assert isinstance(reference.died(timeout=WATCHDOG), PeerDied)
    with pytest.raises(PeerDied):
        reference.call(DIGEST).wait(timeout=WATCHDOG)


def test_a_killed_cartridge_ends_its_call() -> None:
    """No heartbeat tells of it: nothing but its death ends the call."""
    with Engine(heartbeat=None) as engine, engine.spawn(sys.executable, REFERENCE) as peer:
        output = ask(peer, f"cap:fc-forever;{BLOB}").output()
        output.recv()
        os.kill(peer.pid or 0, 9)
        with pytest.raises(PeerDied, match=r"cartridge\.py"):
            for _ in output:
                pass


SCRIPTS = {
    "exits early": "import sys; sys.stderr.write('the reason\\n'); sys.exit(3)",
    "writes garbage": "print('hello, I am no cartridge' * 100, flush=True); input()",
    "closes its pipe": "import os, time; os.close(1); time.sleep(3600)",
    "says nothing": "import time; time.sleep(3600)",
    "too long": "import os; os.write(1, b'\\xff' * 4); input()",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_is_no_cartridge_is_refused(script: str, tmp_path: Path) -> None:
    program = tmp_path / "cartridge.py"
    program.write_text(SCRIPTS[script])
    # Only the one that says nothing is to reach the limit, however slowly the others start.
    limit = 1 if script == "says nothing" else 3600
    with Engine(handshake_timeout=limit) as engine:
        with pytest.raises(SluicegateError, match=r"cartridge\.py") as caught:
            engine.spawn(sys.executable, program)
        if script == "exits early":
            assert isinstance(caught.value, PeerDied)
            assert "the reason" in caught.value.message
            assert "3" in caught.value.message
        if script == "says nothing":
            assert isinstance(caught.value, Handshake)


def test_what_cannot_be_started_is_told(tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("text")
    with Engine() as engine:
        for program in (plain, tmp_path / "missing"):
            with pytest.raises(Spawn, match=program.name):
                engine.spawn(program)


def test_environment_and_folder_of_a_cartridge(tmp_path: Path, engine: Engine) -> None:
    program = tmp_path / "cartridge.py"
    program.write_text(
        "import os\n"
        "from sluicegate import Cartridge\n"
        "cartridge = Cartridge('env')\n"
        "@cartridge.cap('cap:env;out=media:text')\n"
        "def env(request):\n"
        "    print('this goes to stderr')\n"
        "    seen = os.environ.get('SET'), os.environ.get('HOME'), os.getcwd()\n"
        "    request.output().emit(str(seen))\n"
        "cartridge.run()\n"
    )
    env = {"SET": "yes", "HOME": None}
    with engine.spawn(sys.executable, program, env=env, cwd=tmp_path) as peer:
        call = peer.call("cap:env;out=media:text")
        assert call.output().collect_text() == str(("yes", None, str(tmp_path)))
        call.wait()
    assert "this goes to stderr" in peer.stderr_tail


def test_peer_calls_need_a_host_that_routes_them() -> None:
    cartridge = Cartridge("caller")

    @cartridge.cap("cap:calls;out=media:blob")
    def calls(request: Request) -> None:
        with request.peer("cap:other;out=media:blob") as call:
            call.finish_input()
            call.wait()

    with attached(cartridge) as peer, pytest.raises(NoHandler):
        peer.call("cap:calls;out=media:blob").wait(timeout=WATCHDOG)


def test_a_handler_hears_that_it_has_to_stop() -> None:
    cartridge = Cartridge("stops")
    heard: list[object] = []
    begun, done = threading.Event(), threading.Event()

    @cartridge.cap("cap:stops;out=media:blob")
    def stops(request: Request) -> None:
        assert request.stopped is None
        begun.set()
        heard.append(request.cancelled())
        heard.append(request.stopped)
        done.set()

    with attached(cartridge) as peer:
        call = peer.call("cap:stops;out=media:blob")
        assert begun.wait(WATCHDOG)
        call.cancel(Cancelled("enough", class_="user"))
        assert done.wait(WATCHDOG)
    for error in heard:
        assert isinstance(error, Cancelled)
        assert (error.message, error.class_) == ("enough", "user")


def test_hz_l02_what_crosses_an_end_is_a_straggler(reference: Peer) -> None:
    # Until one has crossed: it need not each time.
    for _ in range(1000):
        call = ask(reference, f"cap:fc-forever;{BLOB}")
        call.output().recv()
        call.cancel()
        if reference.counters.stragglers.get("chunk", 0) > 0:
            break
    assert json.loads(ask(reference, DIGEST).output().collect_bytes())["bytes"] == 0
    counters = reference.counters
    assert counters.drops == {}
    assert counters.stragglers.get("chunk", 0) > 0
    assert reference.dead is None
