"""HZ-F02: no wait holds the interpreter lock, and no native lock is held while it is taken."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from conftest import WATCHDOG, attached, is_asleep, until
from sluicegate import Cartridge, Gate, Limits, Peer, Request, aio
from sluicegate.errors import SluicegateError

CAP = "cap:still;in=media:blob;out=media:blob"
SECONDS = float(os.environ.get("SLUICEGATE_MIX_SECONDS", "3"))


@pytest.fixture
def still() -> Iterator[Peer]:
    cartridge = Cartridge("still")

    @cartridge.cap(CAP)
    def stay(request: Request) -> None:
        request.output().start()
        raise request.cancelled()

    with attached(cartridge, Limits(initial_credit=1)) as peer:
        yield peer


def test_others_run_while_a_call_waits(still: Peer) -> None:
    gate = Gate(0)
    call = still.call(CAP)
    output, stream = call.output(), call.input("media:blob")
    stream.emit(0)
    waits: list[Callable[[], object]] = [
        gate.acquire,
        output.recv,
        output.collect_bytes,
        lambda: stream.emit(1),
        stream.flush,
        call.wait,
        call.next_event,
        call.next_output,
        still.died,
    ]

    def run(wait: Callable[[], object]) -> None:
        with pytest.raises(SluicegateError):
            wait()

    threads = [threading.Thread(target=run, args=(wait,)) for wait in waits[:6]]
    threads += [threading.Thread(target=wait) for wait in waits[6:7]]
    threads += [threading.Thread(target=run, args=(wait,)) for wait in waits[7:8]]
    threads += [threading.Thread(target=wait) for wait in waits[8:]]
    for thread in threads:
        thread.start()
    for thread in threads:
        until(lambda thread=thread: is_asleep(thread))  # type: ignore[misc]
    counted = sum(1 for _ in range(1_000_000))  # this thread runs, and so does none of them
    assert counted == 1_000_000
    gate.close("over")
    call.cancel()
    still.kill()
    for thread in threads:
        thread.join(WATCHDOG)
        assert not thread.is_alive()


def test_64_threads_mix_all_calls() -> None:
    cartridge = Cartridge("mix")

    @cartridge.cap("cap:echo;in=media:blob;out=media:blob")
    def echo(request: Request) -> None:
        for item in request.input():
            request.output().emit(item.value)

    @cartridge.cap("cap:tasks;in=media:blob;out=media:blob")
    async def tasks(request: aio.Request) -> None:
        async for item in await request.input():
            await request.output().emit(item.value)

    stop = time.monotonic() + SECONDS
    gates = [Gate(1) for _ in range(4)]
    rounds = [0] * 64
    failures: list[BaseException] = []

    def on_gates(place: int) -> None:
        gate = gates[place % 4]
        gate.acquire()
        gate.grant(1)

    def on_callbacks(place: int) -> None:
        gate, rung = gates[place % 4], threading.Event()
        with gate.on_ready(1, rung.set) as turn:
            rung.wait()
            if turn.take():
                gate.grant(1)

    def on_calls(peer: Peer, cap: str) -> None:
        with peer.call(cap) as call:
            stream = call.input("media:blob")
            for number in range(4):  # what fits the window: nobody reads meanwhile
                stream.emit(number)
            call.finish_input()
            assert list(call.output().values()) == list(range(4))
            call.wait()

    def on_loop(place: int) -> None:
        async def main() -> None:
            gate = aio.Gate(gates[place % 4])
            await asyncio.gather(*(gate.acquire() for _ in range(1)))
            gate.grant(1)

        asyncio.run(main())

    with attached(cartridge, Limits(initial_credit=4)) as peer:

        def run(place: int) -> None:
            kinds: list[Callable[[], object]] = [
                lambda: on_gates(place),
                lambda: on_callbacks(place),
                lambda: on_calls(peer, "cap:echo;in=media:blob;out=media:blob"),
                lambda: on_calls(peer, "cap:tasks;in=media:blob;out=media:blob"),
                lambda: on_loop(place),
            ]
            try:
                while rounds[place] == 0 or time.monotonic() < stop:
                    kinds[(place + rounds[place]) % 5]()
                    rounds[place] += 1
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=run, args=(place,)) for place in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS + WATCHDOG)
            assert not thread.is_alive(), "a thread hangs"
    assert not failures, failures[0]
    assert min(rounds) > 0
    assert [gate.available for gate in gates] == [1, 1, 1, 1]
