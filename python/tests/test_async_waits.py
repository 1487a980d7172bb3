"""What waits for another process in asyncio holds no loop up, and ends with its task."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

import pytest

from conftest import WATCHDOG
from sluicegate import aio

LONG = 3600.0
"""Seconds that no handshake of these tests ends by."""


def test_a_newcomer_that_says_nothing_holds_no_loop_up() -> None:
    async def main() -> None:
        near, far = socket.socketpair()
        with near, far:
            async with aio.Switch(join_timeout=LONG) as switch:
                waiting = asyncio.create_task(switch.attach("silent", near, near))
                await asyncio.sleep(0)
                assert not waiting.done()
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
                far.shutdown(socket.SHUT_RDWR)

    asyncio.run(asyncio.wait_for(main(), WATCHDOG))


def test_a_cartridge_that_says_nothing_is_left_by_its_task(tmp_path: Path) -> None:
    begun, over = tmp_path / "begun", tmp_path / "over"
    os.mkfifo(over)
    says = f"open({str(begun)!r}, 'x'); open({str(over)!r}).read()"

    async def main() -> None:
        async with aio.Host(handshake_timeout=LONG) as host:
            waiting = asyncio.create_task(host.add(sys.executable, "-c", says))
            while not begun.exists():
                await asyncio.sleep(0)
            assert not waiting.done()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await asyncio.to_thread(lambda: over.open("w").close())

    asyncio.run(asyncio.wait_for(main(), WATCHDOG))


def test_explain_is_a_task_like_any_other() -> None:
    async def main() -> None:
        async with aio.Engine() as engine, aio.Switch() as switch, aio.Host() as host:
            waits = [one.explain() for one in (engine, switch, host)]
            assert all(told.standing == [] for told in await asyncio.gather(*waits))

    asyncio.run(asyncio.wait_for(main(), WATCHDOG))
