"""Relays: a switch that hosts and callers connect to, and hosts that offer cartridges to it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

from sluicegate import _core
from sluicegate._block import Block
from sluicegate._cartridge import CartridgeBase
from sluicegate._data import Limits
from sluicegate._engine import (
    Engine,
    HasFileno,
    Peer,
    Policy,
    command_row,
    descriptor,
)
from sluicegate._handle import Handle
from sluicegate._report import Control, Explanation, Loss, place, stats_of
from sluicegate._wait import NEVER, Deadline, wait
from sluicegate.errors import SluicegateError


class SwitchBase(Handle):
    """All of a switch but its waits. Any thread may use it."""

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        join_timeout: float = 10.0,
        policy: Policy = "full",
        quiet_losses: bool = False,
        matcher: Callable[[str, str], bool] | None = None,
    ) -> None:
        """A switch that nobody is connected to.

        ``limits`` are proposed to callers; the windows at both ends of a request must be equal.
        ``join_timeout``, in seconds, is how long a newcomer may take to prove who it is.
        Warnings of lost frames, which ``next_loss`` tells of, are also written to stderr, unless
        ``quiet_losses``.

        ``matcher(offered_urn, asked_urn)`` says whether the cap that a host offers serves the one
        that a request asks for; the request goes on under the offered one. Without it the two must
        have the same tags, in any order. It is called by the switch's threads, on several at once,
        for one cap after the other until one serves. It may use the switch, but must not wait:
        that holds up whoever asks, and a call through the same switch would never end. An
        exception means no, and is given to ``sys.unraisablehook``. One that holds its own switch
        keeps it alive.
        """
        if inspect.iscoroutinefunction(matcher):
            raise TypeError("a matcher is asked by threads: it is a plain function, not async")
        if not (matcher is None or callable(matcher)):
            raise TypeError(f"a matcher is a function, not {type(matcher).__qualname__}")
        row = (limits or Limits()).row()
        self._core = _core.Switch(row, join_timeout, policy, quiet_losses, matcher)

    def listen(self, address: str | os.PathLike[str]) -> str:
        """Lets whoever connects join; gives where it listens. Never waits.

        An address is ``unix:PATH``, ``tcp:HOST:PORT`` or a path with a slash; port 0 takes a free
        port.
        """
        return self._core.listen(os.fspath(address))

    @property
    def caps(self) -> list[str]:
        """The caps that hosts offer now, sorted."""
        return self._core.caps

    def set_state(self, state: bytes) -> None:
        """Gives every host something to keep. Never waits."""
        self._core.set_state(state)

    def stats(self) -> dict[str, Any]:
        """What goes through it and what was lost, in the shape that every language has."""
        return stats_of(self._core.stats())

    def serve_control(self, address: str | os.PathLike[str] | None = None) -> Control:
        """Opens a control socket; see ``Engine.serve_control``."""
        return Control(self._core.serve_control(place(address)))

    def close(self) -> None:
        """Ends every connection; every request fails with Closed. Never waits."""
        self._core.close()


class Switch(SwitchBase, Block):
    """A relay between hosts, which offer caps, and callers. Leaving the block closes it.

    A caller takes it for one large cartridge. Credit is end to end (L11).
    """

    def attach(self, name: str, reader: int | HasFileno, writer: int | HasFileno) -> None:
        """Lets one newcomer join over two blocking descriptors, which are duplicated."""
        op = self._core.attach(name, descriptor(reader), descriptor(writer))
        wait(op, NEVER)

    def caller(self, engine: Engine) -> Peer:
        """A caller in this process: calls of the peer go through the switch."""
        return Peer(wait(self._core.caller(engine._core), NEVER))

    def explain(self) -> Explanation:
        """Who waits for whom in the hosts, their cartridges and the callers, which are asked."""
        return Explanation(wait(self._core.explain(), NEVER))

    def next_loss(self, timeout: float | None = None) -> Loss:
        """Waits for the next notice of frames that were lost here; see ``Engine.next_loss``."""
        return Loss.read(wait(self._core.next_loss(), Deadline.after(timeout)))

    def _leave(self, raised: BaseException | None) -> None:
        self.close()


class HostBase(Handle):
    """All of a host but its waits. Any thread may use it."""

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        handshake_timeout: float = 10.0,
        policy: Policy = "full",
        max_item: int = 64 * 1024 * 1024,
        heartbeat: float | None = 30.0,
        patience: float = 10.0,
        quiet_losses: bool = False,
        idle: float | None = None,
    ) -> None:
        """A host without cartridges; the options are those of an engine.

        A cartridge that has had no request for ``idle`` seconds is stopped, and started again
        when it is needed.
        """
        row = (limits or Limits()).row()
        health = (heartbeat, patience, None, quiet_losses)
        self._core = _core.Host(row, handshake_timeout, policy, max_item, health, idle)

    def add_lazy(
        self,
        manifest: str | CartridgeBase,
        program: str | os.PathLike[str],
        *args: str | os.PathLike[str],
        env: Mapping[str, str | None] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        tee_stderr: bool = False,
    ) -> None:
        """Offers a cartridge that is started by the first request for it. Never waits.

        ``manifest`` says what it can do: JSON, or a cartridge that declares the same.
        """
        text = manifest if isinstance(manifest, str) else manifest.manifest()
        self._core.add_lazy(text, *command_row(program, args, env, cwd, tee_stderr))

    def retire(self, label: str) -> bool:
        """Takes no new requests for a cartridge, and stops it once the old ones are answered.

        ``label`` is the command it runs on; False if there is none. Never waits.
        """
        return self._core.retire(label)

    @property
    def state(self) -> bytes | None:
        """What the switch gave this host to keep, if it has."""
        return self._core.state

    @property
    def pids(self) -> list[int]:
        """The processes of the cartridges that run now."""
        return self._core.pids

    @property
    def dead(self) -> SluicegateError | None:
        """Why it is no longer connected to its switch, if it is not."""
        return self._core.dead

    def stats(self) -> dict[str, Any]:
        """What goes through it and what was lost, in the shape that every language has."""
        return stats_of(self._core.stats())

    def serve_control(self, address: str | os.PathLike[str] | None = None) -> Control:
        """Opens a control socket; see ``Engine.serve_control``."""
        return Control(self._core.serve_control(place(address)))


class Host(HostBase, Block):
    """Cartridges that are offered to a switch. A context manager: leaving it closes it.

    A cartridge that dies fails its requests, and the next request starts it again.
    """

    def add(
        self,
        program: str | os.PathLike[str],
        *args: str | os.PathLike[str],
        env: Mapping[str, str | None] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        tee_stderr: bool = False,
    ) -> None:
        """Starts a cartridge now, to learn what it can do, and offers it; see ``Engine.spawn``."""
        wait(self._core.add(*command_row(program, args, env, cwd, tee_stderr)), NEVER)

    def attach(self, label: str, reader: int | HasFileno, writer: int | HasFileno) -> None:
        """Offers a cartridge behind two blocking descriptors, which are duplicated."""
        wait(self._core.attach(label, descriptor(reader), descriptor(writer)), NEVER)

    def join(self, address: str | os.PathLike[str], timeout: float | None = None) -> None:
        """Joins the switch that listens there; returns once it has taken the host in."""
        wait(self._core.join(os.fspath(address)), Deadline.after(timeout))

    def join_over(self, reader: int | HasFileno, writer: int | HasFileno) -> None:
        """Joins a switch over two blocking descriptors, which are duplicated."""
        wait(self._core.join_over(descriptor(reader), descriptor(writer)), NEVER)

    def explain(self) -> Explanation:
        """Who waits for whom in the cartridges, which are asked."""
        return Explanation(wait(self._core.explain(), NEVER))

    def next_loss(self, timeout: float | None = None) -> Loss:
        """Waits for the next notice of frames that were lost here; see ``Engine.next_loss``."""
        return Loss.read(wait(self._core.next_loss(), Deadline.after(timeout)))

    def left(self, timeout: float | None = None) -> SluicegateError:
        """Waits until it is no longer connected to its switch, and says why."""
        return wait(self._core.left(), Deadline.after(timeout))

    def close(self, timeout: float | None = None) -> None:
        """Leaves the switch and closes every cartridge."""
        wait(self._core.close(), Deadline.after(timeout))

    def _leave(self, raised: BaseException | None) -> None:
        self.close()
