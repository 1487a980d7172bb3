"""Plain facts: limits, what is known of a stream, how a call ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from sluicegate import _core

_DEFAULTS = _core.default_limits()


@dataclass(frozen=True, slots=True)
class Limits:
    """What an end proposes at the handshake; the smaller proposal of each wins.

    ``max_frame`` and ``max_chunk`` are in bytes, ``initial_credit`` is the window of each stream
    in chunks (L9), ``max_reorder_buffer`` counts frames held at a relay.
    """

    max_frame: int = _DEFAULTS[0]
    max_chunk: int = _DEFAULTS[1]
    max_reorder_buffer: int = _DEFAULTS[2]
    initial_credit: int = _DEFAULTS[3]

    def row(self) -> tuple[int, int, int, int]:
        """The four numbers in their order."""
        return (self.max_frame, self.max_chunk, self.max_reorder_buffer, self.initial_credit)


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """What is known of a stream.

    ``id`` is its name within the request and direction, ``output`` the output it is if not the
    main one, ``is_sequence`` whether it carries items with boundaries and metadata, ``unbounded``
    that it makes no promise to end by itself (L16).
    """

    id: str | None
    media: str
    output: str | None
    is_sequence: bool
    unbounded: bool
    meta: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class StreamStats:
    """One stream's figures at one moment.

    ``chunks`` and payload ``bytes`` so far, chunks left in the ``window`` that was opened with
    ``initial_credit``, seconds ``stalled`` for credit (output) or with nothing to read (input).
    """

    chunks: int
    bytes: int
    window: int
    initial_credit: int
    stalled: float
    ended: bool


@dataclass(frozen=True, slots=True)
class Terminal:
    """The end of a call that succeeded: final progress, 0 to 1, and what the handler said."""

    exit_code: int
    progress: float
    message: str | None


@dataclass(frozen=True, slots=True)
class Log:
    """A message for people, about whoever ``class_`` names."""

    level: str
    class_: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a handler is, 0 to 1, and what it is doing."""

    value: float
    message: str


Event: TypeAlias = Log | Progress
"""What a handler says while it works."""


def event_of(row: tuple[Any, ...]) -> Event:
    """The event of a row of the core."""
    return Progress(*row[1:]) if row[0] == "progress" else Log(*row[1:])


@dataclass(frozen=True, slots=True)
class CapInfo:
    """One cap of a cartridge, as its manifest declares it; ``outputs`` has the main one first."""

    urn: str
    title: str
    in_media: str | None
    out_media: str | None
    in_sequence: bool
    out_sequence: bool
    outputs: list[str]


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a process, in bytes: what it holds now, and the most it ever held."""

    resident: int
    peak: int


@dataclass(frozen=True, slots=True)
class Counters:
    """What a connection lost, in three families that are never mixed.

    ``drops`` went wrong, by reason and frame type; ``stragglers`` crossed the end of their request
    and are benign, by frame type; ``overruns`` are items that a live source had to discard.
    """

    drops: dict[str, dict[str, int]]
    stragglers: dict[str, int]
    overruns: int
