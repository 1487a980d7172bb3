"""Relays for ``asyncio``."""

from __future__ import annotations

import os
from collections.abc import Mapping

from sluicegate._block import AsyncBlock
from sluicegate._engine import HasFileno, command_row, descriptor
from sluicegate._relay import HostBase, SwitchBase
from sluicegate._report import Explanation, Loss
from sluicegate._wait import NEVER, Deadline
from sluicegate.aio._engine import Engine, Peer
from sluicegate.aio._wait import wait
from sluicegate.errors import SluicegateError


class Switch(SwitchBase, AsyncBlock):
    """A relay between hosts, which offer caps, and callers. Leaving the block closes it."""

    async def attach(self, name: str, reader: int | HasFileno, writer: int | HasFileno) -> None:
        """Lets one newcomer join over two blocking descriptors, which are duplicated."""
        await wait(self._core.attach(name, descriptor(reader), descriptor(writer)), NEVER)

    async def caller(self, engine: Engine) -> Peer:
        """A caller in this process: calls of the peer go through the switch."""
        return Peer(await wait(self._core.caller(engine._core), NEVER))

    async def explain(self) -> Explanation:
        """Who waits for whom in the hosts, their cartridges and the callers, which are asked."""
        return Explanation(await wait(self._core.explain(), NEVER))

    async def next_loss(self, timeout: float | None = None) -> Loss:
        """Waits for the next notice of frames that were lost here; see ``Engine.next_loss``."""
        return Loss.read(await wait(self._core.next_loss(), Deadline.after(timeout)))

    async def _leave(self, raised: BaseException | None) -> None:
        self.close()


class Host(HostBase, AsyncBlock):
    """Cartridges that are offered to a switch. A context manager: leaving it closes it."""

    async def add(
        self,
        program: str | os.PathLike[str],
        *args: str | os.PathLike[str],
        env: Mapping[str, str | None] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        tee_stderr: bool = False,
    ) -> None:
        """Starts a cartridge now, to learn what it can do, and offers it; see ``Engine.spawn``."""
        await wait(self._core.add(*command_row(program, args, env, cwd, tee_stderr)), NEVER)

    async def attach(self, label: str, reader: int | HasFileno, writer: int | HasFileno) -> None:
        """Offers a cartridge behind two blocking descriptors, which are duplicated."""
        await wait(self._core.attach(label, descriptor(reader), descriptor(writer)), NEVER)

    async def join(self, address: str | os.PathLike[str], timeout: float | None = None) -> None:
        """Joins the switch that listens there; returns once it has taken the host in."""
        await wait(self._core.join(os.fspath(address)), Deadline.after(timeout))

    async def join_over(self, reader: int | HasFileno, writer: int | HasFileno) -> None:
        """Joins a switch over two blocking descriptors, which are duplicated."""
        await wait(self._core.join_over(descriptor(reader), descriptor(writer)), NEVER)

    async def explain(self) -> Explanation:
        """Who waits for whom in the cartridges, which are asked."""
        return Explanation(await wait(self._core.explain(), NEVER))

    async def next_loss(self, timeout: float | None = None) -> Loss:
        """Waits for the next notice of frames that were lost here; see ``Engine.next_loss``."""
        return Loss.read(await wait(self._core.next_loss(), Deadline.after(timeout)))

    async def left(self, timeout: float | None = None) -> SluicegateError:
        """Waits until it is no longer connected to its switch, and says why."""
        return await wait(self._core.left(), Deadline.after(timeout))

    async def close(self, timeout: float | None = None) -> None:
        """Leaves the switch and closes every cartridge."""
        await wait(self._core.close(), Deadline.after(timeout))

    async def _leave(self, raised: BaseException | None) -> None:
        await self.close()
