"""Faults for tests, all from one seed: links that split, delay, end, and change places."""

from __future__ import annotations

import os
import random
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self

from sluicegate import _core
from sluicegate._handle import Handle
from sluicegate.errors import InvalidArgument

VARIABLE = "SLUICEGATE_SEED"
"""The variable that says which schedule to run again."""


class Seed:
    """The seed of one test, from 0 to 2**64 - 1.

    A context manager: an exception that leaves it says how to run the same schedule again, on
    stderr and in a note of its own.
    """

    __slots__ = ("_value",)

    def __init__(self, value: int) -> None:
        _core.fork_seed(value, "")  # raises what is wrong with it
        self._value = value

    @property
    def value(self) -> int:
        """The number itself, for ``Scope.stepped``."""
        return self._value

    def fork(self, what: str) -> int:
        """A number of its own for ``what``: the same each time, and unlike that of another name."""
        return _core.fork_seed(self._value, what)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        if raised is not None:
            again = f"this schedule again: {VARIABLE}={self._value}"
            raised.add_note(again)
            print(again, file=sys.stderr)

    def __repr__(self) -> str:
        return f"Seed({self._value})"


def seed() -> Seed:
    """The seed that the variable ``SLUICEGATE_SEED`` says, in decimal, or one of its own.

    Raises InvalidArgument if the variable is no such number: a schedule that was asked for is not
    replaced by another.
    """
    text = os.environ.get(VARIABLE)
    if text is None:
        return Seed(random.SystemRandom().getrandbits(64))
    with suppress(ValueError):
        return Seed(int(text))
    raise InvalidArgument(f"{VARIABLE}={text!r} is no seed")


class Shuffle(Handle):
    """Links whose reads and writes change places.

    Each waits until some of the others have taken place, or for ``limit`` seconds, for they may
    all be idle.
    """

    __slots__ = ("_core",)

    def __init__(self, limit: float = 0.001) -> None:
        self._core = _core.FlowShuffle(limit)


@dataclass(frozen=True)
class Faults:
    """What goes wrong with one link, drawn from ``seed``. Without any fault it is the link itself.

    Immutable: each method gives another one. The same seed gives the same faults.
    """

    seed: int
    delay: float = 0.0
    split: bool = False
    cut: int | None = None
    shuffle: Shuffle | None = None

    def delays(self, most: float) -> Faults:
        """Each read and write waits first, up to ``most`` seconds."""
        return replace(self, delay=most)

    def splits(self) -> Faults:
        """Reads and writes take a part of what they could, one byte at least."""
        return replace(self, split=True)

    def cut_after(self, n: int) -> Faults:
        """Once ``n`` bytes have gone in one direction the link ends, in both: wherever that is."""
        return replace(self, cut=n)

    def shuffled(self, shuffle: Shuffle) -> Faults:
        """Reads and writes wait for those of the other links of ``shuffle``."""
        return replace(self, shuffle=shuffle)

    def apply(self, link: socket.socket) -> socket.socket:
        """A socket that leads to ``link``, with these faults in both directions.

        ``link`` is a connected stream socket that blocks; it is duplicated, so the caller closes
        its own. Threads carry the bytes until both ends are closed.
        """
        core = None if self.shuffle is None else self.shuffle._core
        fd = _core.faulty_link(link.fileno(), self.seed, self.delay, self.split, self.cut, core)
        return socket.socket(fileno=fd)
