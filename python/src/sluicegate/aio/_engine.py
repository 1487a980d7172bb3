"""The host, for asyncio."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta

from sluicegate import _core
from sluicegate._block import AsyncBlock
from sluicegate._engine import EngineBase, HasFileno, PeerBase, descriptor, forward_op
from sluicegate._report import Explanation, Loss
from sluicegate._wait import NEVER, Deadline
from sluicegate.aio._call import Call
from sluicegate.aio._stream import InputStream, OutputStream
from sluicegate.aio._wait import wait
from sluicegate.errors import SluicegateError


class Peer(PeerBase, AsyncBlock):
    """A cartridge that an engine can call. A context manager: leaving it closes it."""

    def call(self, cap: str, *, limit: float | timedelta | None = None) -> Call:
        """Calls a cap. An unknown cap fails the call, not this.

        ``limit`` is for the whole call, in seconds or as a timedelta; see ``Call.limit``.
        """
        call = Call(self._core.call(cap))
        if limit is not None:
            call.limit(limit)
        return call

    async def died(self, timeout: float | None = None) -> SluicegateError:
        """Waits until it is gone, and says why."""
        return await wait(self._core.died(), Deadline.after(timeout))

    async def close(self, timeout: float | None = None) -> None:
        """Closes it: its stdin is closed, it gets 2 s to exit, then it is killed."""
        self._closed = True
        await wait(self._core.close(), Deadline.after(timeout))

    async def _leave(self, raised: BaseException | None) -> None:
        await self.close()


class Engine(EngineBase, AsyncBlock):
    """A host of cartridges. A context manager: leaving it closes them all."""

    async def spawn(
        self,
        program: str | os.PathLike[str],
        *args: str | os.PathLike[str],
        env: Mapping[str, str | None] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        tee_stderr: bool = False,
    ) -> Peer:
        """Starts a cartridge and waits until it has proved its identity.

        See ``sluicegate.Engine.spawn``.
        """
        return Peer(await wait(self._spawn(program, args, env, cwd, tee_stderr), NEVER))

    async def attach(self, reader: int | HasFileno, writer: int | HasFileno) -> Peer:
        """Attaches to a cartridge over two blocking descriptors, or twice the same socket."""
        return Peer(await wait(self._core.attach(descriptor(reader), descriptor(writer)), NEVER))

    async def connect(self, address: str | os.PathLike[str]) -> Peer:
        """Attaches to the switch that listens there, as its caller."""
        return Peer(await wait(_core.connect(self._core, os.fspath(address)), NEVER))

    async def explain(self) -> Explanation:
        """Who waits for whom: here, and in the cartridges, which are asked."""
        return Explanation(await wait(self._core.explain(), NEVER))

    async def next_stall(self, timeout: float | None = None) -> Explanation:
        """Waits for the next notice that something has stood still for longer than ``stall``."""
        return Explanation(await wait(self._core.next_stall(), Deadline.after(timeout)))

    async def next_loss(self, timeout: float | None = None) -> Loss:
        """Waits for the next notice of frames that were dropped, or that came late."""
        return Loss.read(await wait(self._core.next_loss(), Deadline.after(timeout)))

    async def close(self, timeout: float | None = None) -> None:
        """Closes every cartridge; calls end with an error. Waits until all are gone."""
        await wait(self._core.close(), Deadline.after(timeout))

    async def _leave(self, raised: BaseException | None) -> None:
        await self.close()


async def forward(source: InputStream, target: OutputStream, timeout: float | None = None) -> int:
    """Moves everything from one stream to another and closes that; gives the number of chunks.

    Credit is end to end (L11). See ``sluicegate.forward``.
    """
    return await wait(forward_op(source, target), Deadline.after(timeout))
