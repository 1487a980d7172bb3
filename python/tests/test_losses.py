"""What is lost is told: to whoever waits for it, and on stderr unless that is to stay quiet."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from conftest import WATCHDOG
from raw import CHUNK, POLICY, RELAY_NOTIFY, RawHost, fnv
from sluicegate import Cartridge, Engine, Host, Loss, Request, Switch, aio
from sluicegate.errors import TimedOut

CHATTER = "cap:chatter;in=media:blob;out=media:blob"


def stray(peer: RawHost) -> None:
    """A chunk of a request that there never was."""
    peer.send(CHUNK, 99, k6=b"\x00", k11="in", k14=0, k16=fnv(b"\x00"))


def expect_stray(lost: Loss, party: str) -> None:
    assert lost == Loss("warning", party, "no_route", "chunk", 1, 1)


@contextmanager
def played(run: Callable[[socket.socket], object]) -> Iterator[RawHost]:
    """The far end of a connection whose near end runs on a thread."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        running = threading.Thread(target=run, args=(theirs,))
        running.start()
        try:
            yield RawHost.over(ours)
        finally:
            ours.shutdown(socket.SHUT_RDWR)
            running.join()


def test_an_engine_tells_what_is_lost() -> None:
    made = Cartridge("chatters", "1.0.0")

    @made.cap(CHATTER)
    def chatter(request: Request) -> None:
        for _ in range(3):
            request.log("x" * 700_000)  # of one megabyte that the caller keeps

    ours, theirs = socket.socketpair()
    with ours, theirs, Engine(heartbeat=None, quiet_losses=True) as engine:
        with pytest.raises(TimedOut):
            engine.next_loss(timeout=0)
        running = threading.Thread(target=made.run, args=(theirs, theirs))
        running.start()
        with engine.attach(ours, ours) as peer:
            peer.call(CHATTER).wait(timeout=WATCHDOG)
            total = 0
            while total < 2:
                lost = engine.next_loss(timeout=WATCHDOG)
                if lost.reason == "straggler":
                    continue  # a grant may have crossed the end of the call
                assert (lost.severity, lost.party) == ("warning", peer.name)
                assert (lost.reason, lost.frame_type) == ("event_unread", "log")
                total += lost.count
                assert lost.total == total
        ours.shutdown(socket.SHUT_RDWR)
        running.join()


@pytest.mark.parametrize("quiet", [True, False])
def test_a_cartridge_tells_what_is_lost(
    quiet: bool, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICEGATE_LOG", "warning")
    made = Cartridge("loses", "1.0.0", quiet_losses=quiet)
    with pytest.raises(TimedOut):
        made.next_loss(timeout=0)
    with played(lambda near: made.run(near, near)) as host:
        host.hello()
        stray(host)
        expect_stray(made.next_loss(timeout=WATCHDOG), "loses")
    told = "sluicegate: warning: loses: 1 chunk frame lost, no_route (1 in all)"
    assert (told in capfd.readouterr().err) is not quiet  # it is written before it is told


def test_a_switch_tells_what_is_lost() -> None:
    with Switch(quiet_losses=True) as switch:
        with pytest.raises(TimedOut):
            switch.next_loss(timeout=0)
        with played(lambda near: switch.attach("caller", near, near)) as caller:
            caller.hello()
            stray(caller)
            expect_stray(switch.next_loss(timeout=WATCHDOG), "switch")


def test_a_host_tells_what_is_lost() -> None:
    with Host(quiet_losses=True) as host:
        with pytest.raises(TimedOut):
            host.next_loss(timeout=0)
        with played(lambda near: host.join_over(near, near)) as switch:
            assert switch.receive()[1] == RELAY_NOTIFY
            switch.send(POLICY, 0, k5={"network": "full", "routable": True})
            stray(switch)
            expect_stray(host.next_loss(timeout=WATCHDOG), "host")


def test_what_is_lost_is_told_to_tasks() -> None:
    made = aio.Cartridge("loses", "1.0.0", quiet_losses=True)

    async def main() -> None:
        async with aio.Engine(quiet_losses=True) as engine, aio.Host(quiet_losses=True) as host:
            for one in (engine, host, made):
                with pytest.raises(TimedOut):
                    await one.next_loss(timeout=0)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            running = asyncio.create_task(made.run(theirs, theirs))
            waiting = asyncio.create_task(made.next_loss())
            played = RawHost.over(ours)
            await asyncio.to_thread(played.hello)
            stray(played)
            expect_stray(await waiting, "loses")
            ours.shutdown(socket.SHUT_RDWR)
            await running
        ours, theirs = socket.socketpair()
        async with aio.Switch(quiet_losses=True) as switch:
            with ours, theirs:
                joining = asyncio.create_task(switch.attach("caller", theirs, theirs))
                caller = RawHost.over(ours)
                await asyncio.to_thread(caller.hello)
                await joining
                stray(caller)
                expect_stray(await switch.next_loss(), "switch")

    asyncio.run(asyncio.wait_for(main(), WATCHDOG))


def test_a_cartridge_tells_of_each_of_its_runs() -> None:
    made = Cartridge("loses", "1.0.0", quiet_losses=True)
    for _ in range(2):
        with played(lambda near: made.run(near, near)) as host:
            host.hello()
            stray(host)
            expect_stray(made.next_loss(timeout=WATCHDOG), "loses")
