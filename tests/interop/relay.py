"""Switches and hosts, theirs and ours, over Unix sockets."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from capdag.bifaci.frame import Frame
from capdag.bifaci.host_runtime import CartridgeHost
from capdag.bifaci.policy import HostPolicy, NetworkPolicy
from capdag.bifaci.relay_switch import RelaySwitch, SocketPair, UnknownRequestError
from direct import Link

from conftest import LIMIT, command, in_time, process
from sluicegate import Engine, Limits, Peer, errors


@contextlib.contextmanager
def their_host(at: Path, *cartridges: list[str | Path]) -> Iterator[CartridgeHost]:
    """The peer's host with these cartridges, joined to the switch at ``at``."""
    with contextlib.ExitStack() as stack:
        host = CartridgeHost()
        for words in cartridges:
            child = stack.enter_context(process(*words, env={"SLOW_MS": "2"}))
            in_time("attach", lambda child=child: host.attach_cartridge(child.stdout, child.stdin))
        joined = stack.enter_context(socket.socket(socket.AF_UNIX))
        joined.connect(str(at))
        reader, writer = joined.makefile("rb"), joined.makefile("wb")

        def run() -> None:
            with contextlib.suppress(Exception):  # it raises when its switch goes
                host.run(reader, writer)

        running = threading.Thread(target=run, daemon=True)
        running.start()
        yield host
        joined.shutdown(socket.SHUT_RDWR)
        running.join(LIMIT)


@contextlib.contextmanager
def our_host(
    at: Path, *cartridges: list[str | Path], window: int = 32
) -> Iterator[subprocess.Popen[bytes]]:
    """`sluicegate host` with these cartridges, joined to the switch at ``at``."""
    lines = [" ".join(map(str, words)) for words in cartridges]
    words = [command(), "host", "--join", f"unix:{at}", "--handshake-seconds", int(LIMIT), *lines]
    env = {"SLOW_MS": "2", "SLUICEGATE_WINDOW": str(window), "FC_WINDOW": str(max(window, 32))}
    with process(*map(str, words), env=env) as child:
        yield child
        child.terminate()


def joined(host: subprocess.Popen[bytes]) -> None:
    """Waits until our host has joined."""
    assert host.stdout is not None
    line = in_time("our host joins", host.stdout.readline)
    assert line.startswith(b"joined "), line


class OurSwitch:
    """`sluicegate switch`, and a caller that is connected to it."""

    def __init__(self, at: Path, child: subprocess.Popen[bytes]) -> None:
        self.at, self._child = at, child

    @contextlib.contextmanager
    def caller(self, window: int = 32) -> Iterator[Peer]:
        limits = Limits(initial_credit=window)
        with socket.socket(socket.AF_UNIX) as ours, Engine(limits=limits) as engine:
            ours.connect(str(self.at))
            with engine.attach(ours, ours) as peer:
                yield peer

    def stats(self) -> Any:
        """Ends it, and says what went through."""
        import json

        self._child.terminate()
        assert self._child.stdout is not None
        return json.loads(in_time("the switch ends", self._child.stdout.read))


def offered(peer: Peer, cap: str) -> None:
    """Waits until a host that offers ``cap`` was let in."""

    def ask() -> None:
        while True:
            call = peer.call(cap)
            try:
                call.finish_input(LIMIT)
                call.wait(LIMIT)
            except errors.NoHandler:
                continue
            except errors.Remote:
                pass  # it was reached
            return

    in_time(f"somebody offers {cap}", ask)


@contextlib.contextmanager
def our_switch(window: int = 32) -> Iterator[OurSwitch]:
    with tempfile.TemporaryDirectory() as place:
        at = Path(place) / "switch"
        words = [command(), "switch", "--listen", f"unix:{at}", "--stats"]
        with process(*words, env={"SLUICEGATE_WINDOW": str(window)}) as child:
            assert child.stdout is not None
            line = in_time("the switch listens", child.stdout.readline)
            assert line.startswith(b"listening at "), line
            yield OurSwitch(at, child)
            child.terminate()


class TheirSwitch:
    """The peer's switch. Hosts connect to ``at``; ``join`` takes the next one in."""

    def __init__(self, at: Path) -> None:
        self.at = at
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(at))
        self._listener.listen()
        self._sockets: list[socket.socket] = []
        self.switch: RelaySwitch | None = None
        self.link: Link | None = None

    def join(self) -> Link:
        """Takes in the next host that connects; answers the link for callers."""

        def take() -> None:
            taken, _ = self._listener.accept()
            self._sockets.append(taken)
            name = f"host{len(self._sockets)}"
            pair = SocketPair(name, taken.makefile("rb"), taken.makefile("wb"))
            if self.switch is None:
                self.switch = RelaySwitch([pair], HostPolicy(NetworkPolicy.FULL))
            else:
                self.switch.add_master(pair)

        in_time("their switch takes a host in", take)
        assert self.switch is not None
        if self.link is None:
            # The true figure is in RELAY_NOTIFY; with cartridges that propose 32 they agree.
            self.link = Link(self.switch.read_from_masters, self, self.switch.limits())
        return self.link

    def write(self, frame: Frame) -> None:
        assert self.switch is not None
        # What is for a request that has ended, a grant or the rest of its arguments, is moot.
        with contextlib.suppress(UnknownRequestError):
            self.switch.send_to_master(frame)

    def stats(self) -> Any:
        assert self.switch is not None
        return self.switch.protocol_stats().to_dict()

    def close(self) -> None:
        if self.link is not None:
            self.link.check()
            self.link.closing = True
        for taken in self._sockets:
            with contextlib.suppress(OSError):
                taken.shutdown(socket.SHUT_RDWR)
            taken.close()
        self._listener.close()


@contextlib.contextmanager
def their_switch() -> Iterator[TheirSwitch]:
    with tempfile.TemporaryDirectory() as place:
        switch = TheirSwitch(Path(place) / "switch")
        try:
            yield switch
        finally:
            switch.close()
