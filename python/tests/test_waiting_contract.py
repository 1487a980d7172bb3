"""The wait/wake contract of docs/waiting.md, sentence by sentence, for threads and for tasks."""

from __future__ import annotations

import asyncio
import threading

from conftest import WATCHDOG, until
from sluicegate import Gate, _core, aio


def test_wake_fires_once() -> None:
    gate, rings, rung = _core.Gate(0), list[int](), threading.Event()

    def ring() -> None:
        rings.append(threading.get_ident())
        rung.set()

    op, bell = gate.acquire(1), _core.Bell(ring)
    assert not op.poll(bell)
    wakers = [threading.Thread(target=gate.grant, args=(1,)) for _ in range(4)]
    for waker in wakers:
        waker.start()
    for waker in wakers:
        waker.join()
    gate.close("DONE")
    assert rung.wait(WATCHDOG)
    assert op.poll()

    # All rings go through one notifier, in order: once this one came, no other is on its way.
    later = threading.Event()
    last = _core.Bell(later.set)
    last.ring()
    assert later.wait(WATCHDOG)
    assert len(rings) == 1
    bell.withdraw()


def test_wake_fires_once_in_a_task() -> None:
    async def main() -> None:
        gate = aio.Gate(0)
        woken = 0

        async def wait() -> None:
            nonlocal woken
            await gate.acquire()
            woken += 1

        task = asyncio.create_task(wait())
        while gate.waiting < 1:
            await asyncio.sleep(0)
        await asyncio.gather(*(asyncio.to_thread(gate.grant, 1) for _ in range(4)))
        await asyncio.wait_for(task, WATCHDOG)
        assert woken == 1
        assert gate.available == 3

    asyncio.run(main())


def test_withdraw_joins() -> None:
    gate, stop, late = _core.Gate(0), threading.Event(), list[int]()

    def grant() -> None:
        while not stop.is_set():
            gate.grant(1)
            gate.try_acquire(1)

    granter = threading.Thread(target=grant)
    granter.start()
    try:
        for number in range(3000):
            withdrawn = threading.Event()

            def ring(number: int = number, withdrawn: threading.Event = withdrawn) -> None:
                for _ in range(20):  # long enough to be caught in its middle
                    if withdrawn.is_set():
                        late.append(number)

            op, bell = gate.acquire(1), _core.Bell(ring)
            op.poll(bell)
            bell.withdraw()
            withdrawn.set()
            op.cancel()
    finally:
        stop.set()
        granter.join()
    assert late == []


def test_withdraw_joins_in_a_task() -> None:
    async def main() -> None:
        gate = aio.Gate(0)
        for _ in range(300):
            task = asyncio.create_task(gate.acquire())
            while gate.waiting < 1:
                await asyncio.sleep(0)
            granting = asyncio.create_task(asyncio.to_thread(gate.grant, 1))
            task.cancel()
            outcome = (await asyncio.gather(task, return_exceptions=True))[0]
            await granting
            assert gate.waiting == 0
            taken = not isinstance(outcome, asyncio.CancelledError)
            assert gate.available == (0 if taken else 1)
            if not taken:
                assert gate.try_acquire()

    asyncio.run(main())


def test_leaving_hands_on() -> None:
    gate = Gate(0)
    head = gate.on_ready(1, lambda: None)
    behind = threading.Thread(target=gate.acquire)
    behind.start()
    until(lambda: gate.waiting == 2)
    gate.grant(1)
    assert gate.waiting == 1, "the turn is the head's"
    head.close()
    behind.join(WATCHDOG)
    assert not behind.is_alive()
    assert gate.available == 0


def test_leaving_hands_on_in_a_task() -> None:
    async def main() -> None:
        for served in (False, True):
            gate = aio.Gate(0 if served else 1)
            head = asyncio.create_task(gate.acquire(1 if served else 2))
            while gate.waiting < 1:
                await asyncio.sleep(0)
            behind = asyncio.create_task(gate.acquire())
            while gate.waiting < 2:
                await asyncio.sleep(0)
            if served:
                gate.grant(1)  # the head's, who is cancelled before the loop comes to it
            head.cancel()
            await asyncio.wait([head])
            if not head.cancelled():
                gate.grant(1)
            await asyncio.wait_for(behind, WATCHDOG)
            assert gate.available == 0

    asyncio.run(main())
