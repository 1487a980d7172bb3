"""What waits for another process in asyncio holds no loop up, and ends with its task."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from conftest import WATCHDOG
from sluicegate import aio
from sluicegate.errors import TimedOut

LONG = 3600.0
"""Seconds that no handshake of these tests ends by."""

Wait = Callable[[aio.Engine, aio.Host, aio.Switch, Path, socket.socket], Awaitable[object]]

WAITS: dict[str, Wait] = {
    "connect": lambda engine, _host, _switch, place, _near: engine.connect(place),
    "attach": lambda engine, _host, _switch, _place, near: engine.attach(near, near),
    "join": lambda _engine, host, _switch, place, _near: host.join(place),
    "join_over": lambda _engine, host, _switch, _place, near: host.join_over(near, near),
    "offer": lambda _engine, host, _switch, _place, near: host.attach("far", near, near),
}
"""Each begins to speak to an end that does not answer."""


@pytest.mark.parametrize("name", WAITS)
def test_a_handshake_ends_with_its_task(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        heard = asyncio.Event()
        ends: list[asyncio.StreamWriter] = []

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            ends.append(writer)
            await reader.readexactly(4)
            heard.set()

        near, far = socket.socketpair()
        place = tmp_path / "s"
        serving = await asyncio.start_unix_server(silent, place)
        at_hand = asyncio.create_task(silent(*await asyncio.open_unix_connection(sock=far)))
        async with (
            aio.Engine(handshake_timeout=LONG) as engine,
            aio.Host(handshake_timeout=LONG) as host,
            aio.Switch(join_timeout=LONG) as switch,
        ):
            waiting = asyncio.ensure_future(WAITS[name](engine, host, switch, place, near))
            await heard.wait()  # the loop runs on
            assert not waiting.done()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            at_hand.cancel()
            near.close()
            for end in ends:
                end.close()
            serving.close()

    asyncio.run(asyncio.wait_for(main(), WATCHDOG))


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


def test_another_process_is_asked_beside_the_loop(tmp_path: Path) -> None:
    """The one that is asked is the loop itself: it could not answer if it were held up."""
    said = {"standing": [], "culprits": [], "silent": ["somebody"]}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        question = await reader.readline()
        told = said if question == b"explain\n" else {"name": "the loop"}
        writer.write(json.dumps(told).encode() + b"\n")
        await writer.drain()
        writer.close()

    async def main() -> None:
        place = tmp_path / "s"
        serving = await asyncio.start_unix_server(answer, place)
        assert (await aio.ask_explain(place)).silent == ["somebody"]
        assert (await aio.ask_stats(place)) == {"name": "the loop"}
        with pytest.raises(TimedOut):
            await aio.ask_stats(place, timeout=0)
        serving.close()

    asyncio.run(asyncio.wait_for(main(), WATCHDOG))


def test_explain_is_a_task_like_any_other() -> None:
    async def main() -> None:
        async with aio.Engine() as engine, aio.Switch() as switch, aio.Host() as host:
            waits = [one.explain() for one in (engine, switch, host)]
            assert all(told.standing == [] for told in await asyncio.gather(*waits))

    asyncio.run(asyncio.wait_for(main(), WATCHDOG))
