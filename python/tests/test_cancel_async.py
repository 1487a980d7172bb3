"""HZ-F11, HZ-F12: a task that is cancelled takes nothing and leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import tracemalloc
from collections.abc import Awaitable, Callable

import pytest

from conftest import REFERENCE, WATCHDOG
from sluicegate import _core, aio
from sluicegate.errors import Cancelled, Closed, PeerDied, SluicegateError, TimedOut

FOREVER = "cap:fc-forever;in=media:blob;out=media:blob"
SLOW = "cap:fc-slow;in=media:blob;out=media:json"


def bells() -> int:
    return sum(isinstance(thing, _core.Bell) for thing in gc.get_objects())


def test_hz_f11_ten_thousand_waits_are_cancelled() -> None:
    async def main() -> None:
        gate = aio.Gate(0)

        async def round_of(count: int) -> None:
            tasks = [asyncio.create_task(gate.acquire()) for _ in range(count)]
            while gate.waiting < count:
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
            assert gate.waiting == 0

        await round_of(1000)
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        threads = threading.active_count()
        for _ in range(10):
            await round_of(1000)
        await asyncio.sleep(0)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert after - before < 256 * 1024
        while bells():
            await asyncio.sleep(0)
        assert threading.active_count() <= threads
        assert gate.available == 0

        live = asyncio.create_task(gate.acquire())
        while gate.waiting < 1:
            await asyncio.sleep(0)
        gate.grant(1)
        await asyncio.wait_for(live, WATCHDOG)

    asyncio.run(main())


def test_hz_f11_a_grant_that_meets_a_cancel_is_kept_or_handed_on() -> None:
    async def main() -> None:
        taken = 0
        gate = aio.Gate(0)
        for turn in range(1000):
            first = asyncio.create_task(gate.acquire())
            second = asyncio.create_task(gate.acquire())
            while gate.waiting < 2:
                await asyncio.sleep(0)
            if turn % 2:
                gate.grant(1)
                first.cancel()
            else:
                first.cancel()
                gate.grant(1)
            outcome = (await asyncio.gather(first, return_exceptions=True))[0]
            if outcome is None:
                taken += 1
                gate.grant(1)
            await asyncio.wait_for(second, WATCHDOG)
            assert (gate.available, gate.waiting) == (0, 0)
        assert taken == 0  # a cancel comes to the task before its next step: nothing was taken

    asyncio.run(main())


def test_a_cancelled_receive_loses_no_item() -> None:
    async def main() -> int:
        async with aio.Engine() as engine, await engine.spawn(sys.executable, REFERENCE) as peer:
            call = peer.call("cap:fc-produce;in=media:json;out=media:blob")
            async with call.input("media:json") as stream:
                await stream.write(b'{"chunks": 2000}')
            await call.finish_input()
            output = await call.output()
            got: list[int] = []
            cancelled = 0
            while True:
                receive = asyncio.create_task(output.recv())
                await asyncio.sleep(0)
                if len(got) % 3 == cancelled % 3:
                    receive.cancel()
                try:
                    got.append((await receive).value)
                except asyncio.CancelledError:
                    cancelled += 1
                except EOFError:
                    break
            assert got == list(range(2000))
            return cancelled

    # A receive that finds its item at once is not cancelled: on to a run where some had to wait.
    assert any(asyncio.run(main()) > 0 for _ in range(20))


async def starts(gate: aio.Gate, task: asyncio.Task[None]) -> None:
    while gate.waiting < 1 and not task.done():
        await asyncio.sleep(0)


def test_hz_f12_each_end_of_a_wait_resumes_once() -> None:
    async def main() -> None:
        resumed: list[str] = []

        async def wait(gate: aio.Gate, limit: float | None = None) -> None:
            try:
                await gate.acquire(timeout=limit)
                resumed.append("success")
            except Closed:
                resumed.append("closed")
            except TimedOut:
                resumed.append("deadline")
            except asyncio.CancelledError:
                resumed.append("cancelled")

        async def end(*ends: Callable[[aio.Gate, asyncio.Task[None]], object]) -> str:
            gate = aio.Gate(0)
            task = asyncio.create_task(wait(gate))
            await starts(gate, task)
            for one in ends:
                one(gate, task)
            await asyncio.wait_for(task, WATCHDOG)
            for _ in range(3):
                await asyncio.sleep(0)
            assert gate.waiting == 0
            assert len(resumed) == 1
            return resumed.pop()

        def grant(gate: aio.Gate, _: object) -> None:
            gate.grant(1)

        def close(gate: aio.Gate, _: object) -> None:
            gate.close("X")

        def cancel(_: object, task: asyncio.Task[None]) -> None:
            task.cancel()

        for _ in range(100):
            assert await end(grant) == "success"
            assert await end(close) == "closed"
            assert await end(cancel) == "cancelled"
            assert await end(grant, close) == "success"
            assert await end(close, grant) == "closed"
            assert await end(grant, cancel) == "cancelled"
            assert await end(close, cancel) == "cancelled"
        await wait(aio.Gate(0), 0.01)
        assert resumed == ["deadline"]

    asyncio.run(main(), debug=True)


def test_hz_f12_a_deadline_that_meets_a_grant() -> None:
    async def main() -> None:
        for _ in range(100):
            gate = aio.Gate(0)
            asyncio.get_running_loop().call_later(0.001, gate.grant, 1)
            try:
                await gate.acquire(timeout=0.001)
            except TimedOut:
                while gate.available == 0:
                    await asyncio.sleep(0)
                assert gate.try_acquire()
            assert (gate.available, gate.waiting) == (0, 0)

    asyncio.run(main())


def test_hz_f12_a_dead_peer_resumes_every_wait() -> None:
    async def main() -> None:
        async with aio.Engine() as engine, await engine.spawn(sys.executable, REFERENCE) as peer:
            call = peer.call(SLOW)
            stream = call.input("media:blob")

            async def fill() -> None:
                while True:
                    await stream.emit(0)

            waits: list[Awaitable[object]] = [
                call.wait(),
                call.next_output(),
                call.output(),
                fill(),
            ]
            tasks = [asyncio.ensure_future(wait) for wait in waits]
            while not stream.stats.chunks:
                await asyncio.sleep(0)
            died = asyncio.create_task(peer.died())
            peer.kill()
            outcomes = await asyncio.wait_for(
                asyncio.gather(*tasks, return_exceptions=True), WATCHDOG
            )
            assert all(isinstance(outcome, PeerDied) for outcome in outcomes), outcomes
            assert isinstance(await died, PeerDied)

    asyncio.run(main(), debug=True)


def test_a_cancelled_call_releases_its_waits() -> None:
    async def main() -> None:
        async with aio.Engine() as engine, await engine.spawn(sys.executable, REFERENCE) as peer:
            call = peer.call(SLOW)
            waiting = asyncio.create_task(call.wait())
            await asyncio.sleep(0)
            call.cancel("WHY")
            with pytest.raises(Cancelled) as caught:
                await asyncio.wait_for(waiting, WATCHDOG)
            assert caught.value.code == "WHY"

    asyncio.run(main())


def test_the_task_of_an_async_handler_is_cancelled() -> None:
    seen: list[str] = []

    async def main() -> None:
        import socket

        cartridge = aio.Cartridge("tasks")

        @cartridge.cap("cap:sleep;out=media:blob")
        async def sleep(_: aio.Request) -> None:
            try:
                seen.append("begun")
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        ours, theirs = socket.socketpair()
        with ours, theirs:
            running = asyncio.create_task(cartridge.run(theirs, theirs))
            async with aio.Engine() as engine, await engine.attach(ours, ours) as peer:
                call = peer.call("cap:sleep;out=media:blob")
                while not seen:
                    await asyncio.sleep(0)
                call.cancel()
                with pytest.raises(SluicegateError):
                    await call.wait(timeout=WATCHDOG)
                while len(seen) < 2:
                    await asyncio.sleep(0)
            ours.shutdown(socket.SHUT_RDWR)
            await asyncio.wait_for(running, WATCHDOG)

    asyncio.run(main(), debug=True)
    assert seen == ["begun", "cancelled"]


def test_a_loop_that_is_closed_is_no_trouble() -> None:
    gate = aio.Gate(0)
    loop = asyncio.new_event_loop()
    task = loop.create_task(gate.acquire())
    loop.run_until_complete(asyncio.sleep(0))
    assert gate.waiting == 1
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()
    gate.grant(1)
    assert gate.available == 1


@pytest.mark.parametrize("count", [1000])
def test_many_tasks_wait_on_one_thread(count: int) -> None:
    async def main() -> None:
        gate = aio.Gate(0)
        threads = threading.active_count()
        tasks = [asyncio.create_task(gate.acquire()) for _ in range(count)]
        while gate.waiting < count:
            await asyncio.sleep(0)
        assert threading.active_count() <= threads
        gate.grant(count)
        await asyncio.wait_for(asyncio.gather(*tasks), WATCHDOG)

    asyncio.run(main())
