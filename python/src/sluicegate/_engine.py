"""The host, for threads, and what it shares with that of asyncio."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal, Protocol, TypeAlias

from sluicegate import _core
from sluicegate._block import Block
from sluicegate._call import Call
from sluicegate._data import CapInfo, Counters, Limits, Memory
from sluicegate._handle import Handle
from sluicegate._report import Control, Explanation, Loss, place, stats_of
from sluicegate._stream import InputBase, InputStream, OutputBase, OutputStream
from sluicegate._wait import Deadline, wait
from sluicegate.errors import SluicegateError

Policy: TypeAlias = Literal["offline", "no_telemetry", "full"]
"""What cartridges may do on the network."""


class HasFileno(Protocol):
    """A file, pipe or socket."""

    def fileno(self) -> int:
        """Its descriptor."""
        ...


def descriptor(of: int | HasFileno) -> int:
    """The descriptor of a file, pipe or socket."""
    return of if isinstance(of, int) else of.fileno()


_Command: TypeAlias = tuple[str, list[str], list[tuple[str, str | None]], str | None, bool]


def command_row(
    program: str | os.PathLike[str],
    args: tuple[str | os.PathLike[str], ...],
    env: Mapping[str, str | None] | None,
    cwd: str | os.PathLike[str] | None,
    tee_stderr: bool,
) -> _Command:
    """A command as the core takes it."""
    words = [os.fspath(arg) for arg in args]
    where = None if cwd is None else os.fspath(cwd)
    return (os.fspath(program), words, list((env or {}).items()), where, tee_stderr)


class EngineBase(Handle):
    """All of an engine but its waits. Any thread may use it."""

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        handshake_timeout: float = 10.0,
        policy: Policy = "full",
        max_item: int = 64 * 1024 * 1024,
        heartbeat: float | None = 30.0,
        patience: float = 10.0,
        stall: float | None = None,
        quiet_losses: bool = False,
        peer_calls: bool = False,
        protocol: int = 6,
    ) -> None:
        """An engine without cartridges. Times are in seconds.

        ``limits`` are proposed to each cartridge, ``max_item`` is the largest item of a sequence
        stream, in bytes. Each cartridge is asked every ``heartbeat`` whether it lives (None:
        never), and killed if it takes longer than ``patience`` to answer. ``next_stall`` tells of
        streams that stand still for longer than ``stall``, ``next_loss`` of frames that were lost;
        warnings of these are also written to stderr, unless ``quiet_losses``. With ``peer_calls`` a
        cartridge may call the caps of the cartridges of this engine, its own included. Cartridges
        are spoken to in version ``protocol``: 4, 5 or 6.
        """
        row = (limits or Limits()).row()
        health = (heartbeat, patience, stall, quiet_losses)
        self._core = _core.Engine(
            row, handshake_timeout, policy, max_item, health, peer_calls, protocol
        )

    def stats(self) -> dict[str, Any]:
        """What is live and what was lost, in the shape that every language has. Never waits."""
        return stats_of(self._core.stats())

    def serve_control(self, address: str | os.PathLike[str] | None = None) -> Control:
        """Opens a control socket, by which others of the same user ask what this process does.

        It is at ``address``, ``unix:PATH`` or a path with a slash, or else where ``sluicegate
        explain PID`` and ``sluicegate top PID`` look for this process. Never waits.
        """
        return Control(self._core.serve_control(place(address)))

    def _spawn(
        self,
        program: str | os.PathLike[str],
        args: tuple[str | os.PathLike[str], ...],
        env: Mapping[str, str | None] | None,
        cwd: str | os.PathLike[str] | None,
        tee_stderr: bool,
    ) -> _core.Op[_core.Peer]:
        return self._core.spawn(*command_row(program, args, env, cwd, tee_stderr))


class PeerBase(Handle):
    """All of a peer but its waits and calls. Any thread may use it."""

    _closed = False

    def __init__(self, core: _core.Peer) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The command or transport it runs on, for people."""
        return self._core.name

    @property
    def manifest_json(self) -> str:
        """Its manifest."""
        return self._core.manifest_json

    @property
    def caps(self) -> list[CapInfo]:
        """The caps that it serves."""
        return [CapInfo(*row) for row in self._core.caps]

    @property
    def limits(self) -> Limits:
        """The agreed limits."""
        return Limits(*self._core.limits)

    @property
    def live_calls(self) -> int:
        """How many calls are live."""
        return self._core.live_calls

    @property
    def pid(self) -> int | None:
        """Its process id, if it was spawned."""
        return self._core.pid

    @property
    def stderr_tail(self) -> str:
        """The end of what it wrote to stderr, at most 64 KiB; empty if it was not spawned."""
        return self._core.stderr_tail

    @property
    def memory(self) -> Memory | None:
        """Its memory, if it was spawned and lives, where the system tells it."""
        row = self._core.memory
        return None if row is None else Memory(*row)

    @property
    def dead(self) -> SluicegateError | None:
        """Why it is gone; None while it lives."""
        return self._core.dead

    @property
    def counters(self) -> Counters:
        """What was lost on this connection, by family."""
        return Counters(*self._core.counters)

    def stats(self) -> dict[str, Any]:
        """What is live and what was lost on this connection, in every language's shape."""
        return stats_of(self._core.stats())

    def set_policy(self, policy: Policy) -> None:
        """Says anew what the cartridge may do on the network. Never waits."""
        self._core.set_policy(policy)

    def probe(self) -> None:
        """Sends a heartbeat, answered even while all data stands still. Never waits."""
        self._core.probe()

    def kill(self) -> None:
        """Kills its process at once; an attached one is cut off. Its calls raise the reason."""
        self._core.kill()

    def __del__(self) -> None:
        if self._closed:
            return
        # At the end of the interpreter nothing can be imported or warned of any more.
        with contextlib.suppress(SluicegateError, AttributeError, ImportError):
            if self._core.dead is None:
                message = f"unclosed cartridge `{self.name}`"
                warnings.warn(message, ResourceWarning, source=self, stacklevel=2)

    def __repr__(self) -> str:
        return f"<sluicegate.Peer {self.name!r} pid={self.pid} dead={self.dead is not None}>"


class Peer(PeerBase, Block):
    """A cartridge that an engine can call. A context manager: leaving it closes it."""

    def call(self, cap: str, *, limit: float | timedelta | None = None) -> Call:
        """Calls a cap. An unknown cap fails the call, not this.

        ``limit`` is for the whole call, in seconds or as a timedelta; see ``Call.limit``.
        """
        call = Call(self._core.call(cap))
        if limit is not None:
            call.limit(limit)
        return call

    def died(self, timeout: float | None = None) -> SluicegateError:
        """Waits until it is gone, and says why."""
        return wait(self._core.died(), Deadline.after(timeout))

    def close(self, timeout: float | None = None) -> None:
        """Closes it: its stdin is closed, it gets 2 s to exit, then it is killed.

        Its calls end with Closed. Waits until it is gone; calling it again is harmless.
        """
        self._closed = True
        wait(self._core.close(), Deadline.after(timeout))

    def _leave(self, raised: BaseException | None) -> None:
        self.close()


class Engine(EngineBase, Block):
    """A host of cartridges. A context manager: leaving it closes them all."""

    def spawn(
        self,
        program: str | os.PathLike[str],
        *args: str | os.PathLike[str],
        env: Mapping[str, str | None] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        tee_stderr: bool = False,
    ) -> Peer:
        """Starts a cartridge and waits until it has proved its identity.

        A bare name is looked up on the PATH. ``env`` sets variables, or takes them out with None.
        ``tee_stderr`` passes its stderr on as well as keeping the end of it. Raises Spawn,
        Handshake, PeerDied, Malformed or FrameTooLarge, each naming the cartridge.
        """
        return Peer(wait(self._spawn(program, args, env, cwd, tee_stderr), Deadline.after(None)))

    def attach(self, reader: int | HasFileno, writer: int | HasFileno) -> Peer:
        """Attaches to a cartridge over two descriptors, or twice the same socket.

        They must be blocking; they are duplicated, so the caller closes its own.
        """
        op = self._core.attach(descriptor(reader), descriptor(writer))
        return Peer(wait(op, Deadline.after(None)))

    def connect(self, address: str | os.PathLike[str]) -> Peer:
        """Attaches to the switch that listens there, as its caller.

        The peer stands for all the cartridges behind it.
        """
        return Peer(wait(_core.connect(self._core, os.fspath(address)), Deadline.after(None)))

    def explain(self) -> Explanation:
        """Who waits for whom: here, and in the cartridges, which are asked.

        Takes a second at most; one that does not answer is named in ``silent``.
        """
        return Explanation(wait(self._core.explain(), Deadline.after(None)))

    def next_stall(self, timeout: float | None = None) -> Explanation:
        """Waits for the next notice that something has stood still for longer than ``stall``.

        Each stall is told once, until the stream has moved; 16 are kept, the oldest makes room.
        """
        return Explanation(wait(self._core.next_stall(), Deadline.after(timeout)))

    def next_loss(self, timeout: float | None = None) -> Loss:
        """Waits for the next notice of frames that were dropped, or that came late.

        There is one a second at most for each reason and type of frame; 64 are kept, the oldest
        makes room.
        """
        return Loss.read(wait(self._core.next_loss(), Deadline.after(timeout)))

    def close(self, timeout: float | None = None) -> None:
        """Closes every cartridge; calls end with an error. Waits until all are gone."""
        wait(self._core.close(), Deadline.after(timeout))

    def _leave(self, raised: BaseException | None) -> None:
        self.close()


def forward_op(source: InputBase, target: OutputBase) -> _core.Op[int]:
    """The operation behind ``forward``."""
    return _core.forward(source._core, target._core)


def forward(source: InputStream, target: OutputStream, timeout: float | None = None) -> int:
    """Moves everything from one stream to another and closes that; gives the number of chunks.

    Credit is end to end (L11): a chunk is given back upstream once it was taken downstream.
    Nothing is decoded on the way.
    """
    return wait(forward_op(source, target), Deadline.after(timeout))
