"""What owns something is a context manager: leaving the block lets it go."""

from __future__ import annotations

import abc
import contextlib
from types import TracebackType
from typing import Self

from sluicegate.errors import Forked


class Block(abc.ABC):
    """A context manager. In a forked child, leaving leaves what is the parent's alone."""

    @abc.abstractmethod
    def _leave(self, raised: BaseException | None) -> None:
        """Lets go, after an exception or normally."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(Forked):
            self._leave(raised)


class AsyncBlock(abc.ABC):
    """A context manager for ``async with``."""

    @abc.abstractmethod
    async def _leave(self, raised: BaseException | None) -> None:
        """Lets go, after an exception or normally."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(Forked):
            await self._leave(raised)
