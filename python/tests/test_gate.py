"""What is native about the gate: callbacks, context managers, threads beside tasks."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time

import pytest

from conftest import WATCHDOG, until
from sluicegate import Gate, aio
from sluicegate.errors import Closed, TimedOut


def test_hz_g01_no_grant_is_lost() -> None:
    for _ in range(500):
        gate = Gate(0)
        waiters = [threading.Thread(target=gate.acquire) for _ in range(2)]
        for waiter in waiters:
            waiter.start()
        if random.random() < 0.5:
            time.sleep(random.random() / 10_000)  # jitter between the waits and the grants
        gate.grant(1)
        gate.grant(1)
        for waiter in waiters:
            waiter.join(WATCHDOG)
            assert not waiter.is_alive()
        assert gate.available == 0


def test_hz_g02_a_close_wakes_everybody_with_the_reason() -> None:
    gate, reasons = Gate(0), list[str]()

    def wait() -> None:
        with pytest.raises(Closed) as caught:
            gate.acquire()
        reasons.append(caught.value.code)

    waiters = [threading.Thread(target=wait) for _ in range(8)]
    for waiter in waiters:
        waiter.start()
    until(lambda: gate.waiting == 8)
    gate.close("CANCELLED")
    for waiter in waiters:
        waiter.join(WATCHDOG)
    wait()
    assert reasons == ["CANCELLED"] * 9


def test_hz_g04_a_head_that_gives_up_lets_the_next_through() -> None:
    limit, both = 0.05, False
    while not both:  # again with a longer limit if it had passed before the next stood in line
        gate = Gate(3)

        def give_up(gate: Gate = gate, limit: float = limit) -> None:
            with pytest.raises(TimedOut):
                gate.acquire(5, timeout=limit)

        head = threading.Thread(target=give_up)
        behind = threading.Thread(target=gate.acquire)
        head.start()
        while gate.waiting < 1 and head.is_alive():
            time.sleep(0)
        behind.start()
        while not both and head.is_alive():
            both = gate.waiting == 2
            time.sleep(0)
        head.join()
        behind.join(WATCHDOG)
        assert not behind.is_alive()
        assert gate.available == 2
        limit *= 4


def test_hz_g09_a_callback_may_use_the_gate() -> None:
    gate, seen, done = Gate(0), list[object](), threading.Event()

    def again() -> None:
        seen.append("again")
        done.set()

    def ready() -> None:
        gate.grant(3)
        seen.append(gate.available)
        turns.append(gate.on_ready(1, again))

    turns = [gate.on_ready(1, ready)]
    gate.grant(1)
    assert done.wait(WATCHDOG)
    assert seen == [3, "again"]
    assert [turn.take() for turn in turns] == [True, True]
    assert gate.available == 2


def test_a_callback_for_what_is_ready_fires_at_once() -> None:
    gate, rung = Gate(1), threading.Event()
    with gate.on_ready(1, rung.set) as turn:
        assert rung.wait(WATCHDOG)
        assert turn.take()
    assert gate.available == 0


def test_a_turn_that_is_given_up_takes_nothing() -> None:
    gate, rung = Gate(1), threading.Event()
    with gate.on_ready(1, rung.set):
        assert rung.wait(WATCHDOG)
    assert gate.available == 1
    with gate.on_ready(5, rung.set):
        assert gate.waiting == 1
    assert gate.waiting == 0


def test_a_turn_of_a_closed_gate_raises_the_reason() -> None:
    gate, rung = Gate(0), threading.Event()
    with gate.on_ready(1, rung.set) as turn:
        assert not turn.take()
        gate.close("WHY")
        assert rung.wait(WATCHDOG)
        with pytest.raises(Closed, match="WHY"):
            turn.take()


def test_leaving_the_block_closes_the_gate() -> None:
    with Gate(1) as gate:
        gate.acquire()
    assert gate.is_closed
    with pytest.raises(KeyError), Gate(1) as gate:
        raise KeyError
    assert gate.reason is not None
    assert gate.reason.code == "KeyError"


def test_a_thread_and_a_task_stand_in_one_line() -> None:
    async def main() -> None:
        gate = Gate(0)
        order: list[str] = []

        def wait() -> None:
            gate.acquire(2)
            order.append("thread")

        thread = threading.Thread(target=wait)
        thread.start()
        while gate.waiting < 1:
            await asyncio.sleep(0)
        task = asyncio.create_task(aio.Gate(gate).acquire(1))
        while gate.waiting < 2:
            await asyncio.sleep(0)
        gate.grant(1)
        assert not task.done()
        gate.grant(1)
        await asyncio.to_thread(thread.join)
        assert order == ["thread"]
        gate.grant(1)
        await asyncio.wait_for(task, WATCHDOG)

    asyncio.run(main())


def test_hz_g05_a_large_acquire_is_not_starved() -> None:
    gate = Gate(0)
    stop = threading.Event()

    def small() -> None:
        with contextlib.suppress(Closed):
            while not stop.is_set():
                gate.acquire(1)

    large = threading.Thread(target=gate.acquire, args=(10,))
    large.start()
    until(lambda: gate.waiting == 1)
    smalls = [threading.Thread(target=small) for _ in range(5)]
    for thread in smalls:
        thread.start()
    until(lambda: gate.waiting == 6)
    for _ in range(10):
        gate.grant(1)
    large.join(WATCHDOG)
    assert not large.is_alive()
    stop.set()
    gate.close("over")
    for thread in smalls:
        thread.join(WATCHDOG)
