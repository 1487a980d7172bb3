"""HZ-L10: a limit ends a call or a stream wherever it stands still, and the peer is told."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import timedelta
from itertools import repeat
from typing import Any

import pytest

from conftest import REFERENCE, WATCHDOG, attached, is_asleep, until
from sluicegate import Call, Cartridge, Engine, Limits, OutputStream, Peer, Request, aio
from sluicegate.errors import Cancelled, InvalidArgument, TimedOut

LIMIT = 0.3
LONGER = [LIMIT, 1.2, 4.8, 19.2, 76.8]
"""Limits to try where one begins before the wait does: until one does not pass before."""
ECHO = "cap:fc-echo;in=media:blob;out=media:blob"
FOREVER = "cap:fc-forever;in=media:blob;out=media:blob"
SINK = "cap:fc-sink;in=media:blob;out=media:json"
HOLD = "cap:hold;in=media:blob;out=media:blob"


def passed(begun: float, error: BaseException | None, what: str, limit: float = LIMIT) -> None:
    """Checks what a wait raises whose call or stream had a limit."""
    assert time.monotonic() - begun >= limit
    assert isinstance(error, TimedOut)
    assert error.code == "DEADLINE_EXCEEDED"
    assert what in error.message
    assert "300ms" in error.message or limit != LIMIT


def waiting(wait: Callable[[], object]) -> Future[object]:
    """Waits on a thread of its own, where it does when this returns."""
    ended: Future[object] = Future()

    def run() -> None:
        try:
            ended.set_result(wait())
        except BaseException as error:
            ended.set_exception(error)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: is_asleep(thread))
    return ended


def fill(stream: OutputStream) -> None:
    """Writes until something stops it."""
    for value in repeat(7):
        stream.emit(value)


def written(call: Call) -> tuple[BaseException, float]:
    """Writes what nobody reads: what ended it, and how long there was no credit."""
    try:
        stream = call.input("media:blob")
    except TimedOut as error:
        return error, 0.0
    with pytest.raises(TimedOut) as late:
        fill(stream)
    return late.value, stream.stats.stalled


async def fill_in_task(stream: aio.OutputStream) -> None:
    """Writes until something stops it."""
    for value in repeat(7):
        await stream.emit(value)


def goes_on(peer: Peer) -> None:
    """The connection serves another call, and nothing of the late one is left."""
    with peer.call(ECHO) as call:
        call.input("media:blob").emit("on")
        call.finish_input()
        assert call.output().collect_text() == "on"
        call.wait()
    until(lambda: peer.live_calls == 0)


@pytest.mark.parametrize(
    "kind", [float, lambda limit: timedelta(seconds=limit)], ids=["seconds", "timedelta"]
)
def test_a_writer_without_credit(reference: Peer, kind: Callable[[float], Any]) -> None:
    for limit in LONGER:
        begun = time.monotonic()
        with reference.call(FOREVER, limit=kind(limit)) as call:
            late, stalled = written(call)
            with pytest.raises(TimedOut) as ended:
                call.wait()
        if stalled >= limit / 2:
            break
    for error in (late, ended.value):
        passed(begun, error, "has waited for credit", limit)
    goes_on(reference)


def test_a_stream_without_credit(reference: Peer) -> None:
    with reference.call(FOREVER) as call:
        stream = call.input("media:blob")
        ended = waiting(lambda: fill(stream))  # nobody reads it
        until(lambda: stream.stats.stalled > 0)
        begun = time.monotonic()
        stream.limit(LIMIT)
        passed(begun, ended.exception(WATCHDOG), "has waited for credit")
    goes_on(reference)


def test_a_reader_without_values(reference: Peer) -> None:
    with reference.call(ECHO) as call:
        call.input("media:blob").emit(7)
        output = call.output()
        output.limit(WATCHDOG)  # the last that is set counts
        assert output.recv().value == 7
        with pytest.raises(TimedOut):
            output.recv(timeout=0)  # that wait alone
        ended = waiting(output.recv)
        begun = time.monotonic()
        output.limit(LIMIT)
        passed(begun, ended.exception(WATCHDOG), "has waited for a value")
    goes_on(reference)


def test_a_reader_that_does_not_read(reference: Peer) -> None:
    with reference.call(FOREVER) as call:
        output = call.output()
        until(lambda: output.stats.chunks > 0)
        begun = time.monotonic()
        call.limit(LIMIT)
        with pytest.raises(TimedOut) as late:
            call.wait()
        passed(begun, late.value, "have waited to be read")
        with pytest.raises(TimedOut) as forgotten:
            output.recv()
        assert forgotten.value.message == late.value.message
    goes_on(reference)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def holding(told: list[str]) -> Iterator[Peer]:
    """A cartridge whose handler says with what code it had to stop."""
    cartridge = Cartridge("hold", "1")

    @cartridge.cap(HOLD)
    def hold(request: Request) -> None:
        request.output().emit("ready")
        told.append(request.cancelled().code)

    with attached(cartridge, Limits(initial_credit=2)) as peer:
        yield peer


def test_the_handler_is_told(holding: Peer, told: list[str]) -> None:
    with holding.call(HOLD) as call:
        output = call.output()
        assert output.recv().value == "ready"
        ended = waiting(output.recv)
        begun = time.monotonic()
        call.limit(LIMIT)
        passed(begun, ended.exception(WATCHDOG), "has waited for a value")
    until(lambda: told == ["DEADLINE_EXCEEDED"])


def test_hz_c02_a_call_that_nobody_knows_any_more_is_cancelled(
    holding: Peer, told: list[str]
) -> None:
    call = holding.call(HOLD)
    output = call.output()
    assert output.recv().value == "ready"
    del call
    gc.collect()
    assert told == []
    assert holding.live_calls == 1, "its stream is known still"
    del output
    gc.collect()
    until(lambda: told == ["CANCELLED"])
    until(lambda: holding.live_calls == 0)
    ended = holding.stats()["terminated_by_kind"]
    assert ended["cancelled"] == 1


def test_a_handlers_limit_is_told_to_its_caller() -> None:
    cartridge = Cartridge("limited", "1")
    released: list[str] = []

    @cartridge.cap(HOLD)
    def hold(request: Request) -> None:
        stream = request.input()
        request.limit(stream.recv().value)
        try:
            for _ in stream:
                pass
        except TimedOut as error:
            released.append(error.code)
            raise

    with attached(cartridge) as peer:
        for limit in LONGER:
            released.clear()
            begun = time.monotonic()
            with peer.call(HOLD) as call:
                call.input("media:blob").emit(limit)
                with pytest.raises(TimedOut) as late:
                    call.wait()
            until(lambda: released == ["DEADLINE_EXCEEDED"])
            if "none of its streams was waited on" not in late.value.message:
                break
        passed(begun, late.value, "has waited for a value", limit)


def test_a_limit_that_is_taken_back_or_not_reached(reference: Peer) -> None:
    for limit in LONGER:
        begun = time.monotonic()
        call = reference.call(ECHO, limit=limit)
        call.limit(None)
        if time.monotonic() - begun < limit:
            break  # it was taken back before it passed
    with call:
        stream = call.input("media:blob")
        stream.limit(timedelta(days=1))
        output = None
        stop = time.monotonic() + 2 * limit
        while time.monotonic() < stop:
            stream.emit(7)
            output = output or call.output()
            assert output.recv().value == 7
        call.finish_input()
        call.wait()
    goes_on(reference)


@pytest.mark.parametrize("limit", [-1, float("nan"), timedelta(seconds=-1)])
def test_what_is_no_limit_is_refused(reference: Peer, limit: float | timedelta) -> None:
    with reference.call(ECHO) as call, pytest.raises(InvalidArgument):
        call.limit(limit)
    for wrong in (True, "1"):
        with reference.call(ECHO) as call, pytest.raises(TypeError):
            call.limit(wrong)  # type: ignore[arg-type]


def test_asyncio_timeout_ends_a_wait_for_credit_and_cancels_the_call() -> None:
    async def main() -> None:
        async with aio.Engine() as engine, await engine.spawn(sys.executable, REFERENCE) as peer:
            begun = time.monotonic()
            call = peer.call(ECHO)
            stream = call.input("media:blob")

            async def limited() -> None:
                async with asyncio.timeout(LIMIT), call:
                    await fill_in_task(stream)

            with pytest.raises(TimeoutError):
                await limited()
            assert time.monotonic() - begun >= LIMIT
            with pytest.raises(Cancelled):
                await call.wait()
            with pytest.raises(Cancelled):
                await stream.emit(7)
            async with peer.call(FOREVER) as call:
                stream = call.input("media:blob")
                filling = asyncio.create_task(fill_in_task(stream))
                while not stream.stats.stalled:
                    await asyncio.sleep(0)
                begun = time.monotonic()
                call.limit(timedelta(seconds=LIMIT))
                await asyncio.wait([filling])
                passed(begun, filling.exception(), "has waited for credit")
            async with peer.call(SINK) as call:
                await call.input("media:blob").emit(7)
                await call.finish_input()
                assert await (await call.output()).collect_bytes() == b"1"
                await call.wait()

    asyncio.run(main())


def test_a_cancelled_task_cancels_its_call(holding: Peer, told: list[str]) -> None:
    async def main() -> None:
        # Over the other connection, in this process too: what the handler was told is here.
        call = aio.Call(holding._core.call(HOLD))

        async def use() -> None:
            async with call:
                output = await call.output()
                await output.recv()
                ready.set()
                await output.recv()

        ready = asyncio.Event()
        task = asyncio.create_task(use())
        await ready.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert call.ended

    asyncio.run(main())
    until(lambda: told == ["CANCELLED"])


def test_one_limit_does_not_touch_another_call(engine: Engine) -> None:
    with (
        engine.spawn(sys.executable, REFERENCE) as peer,
        peer.call(ECHO) as lives,
        peer.call(ECHO, limit=LIMIT) as late,
    ):
        with pytest.raises(TimedOut):
            late.wait()
        lives.input("media:blob").emit("on")
        lives.finish_input()
        assert lives.output().collect_text() == "on"
