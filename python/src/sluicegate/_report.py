"""What a process says of itself: explanations, control sockets."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

from sluicegate import _core
from sluicegate._block import Block
from sluicegate._handle import Handle
from sluicegate._wait import Deadline, wait

Cause: TypeAlias = Literal["credit", "room", "unread", "data", "queue", "pool"]
"""What a stream, or a whole request, waits for."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One stream that stands still, or one request, whose ``stream`` is empty.

    ``party`` says where, ``side`` is "caller" or "handler", ``waits_for`` what it waits for: a
    sender for credit or for room on its link, values to be read ("unread"), a reader for data, a
    request to be taken ("queue") or for a place in its handler's pool, with so many requests
    ``ahead`` of it.
    ``place`` tells parties of one name apart, ``connection`` is what one is reached by; this
    process has neither.
    """

    party: str
    request: str
    cap: str
    side: str
    stream: str
    waits_for: Cause
    since_ms: int
    chunks: int
    window: int
    unread: int
    ahead: int = 0
    place: str | None = None
    connection: str | None = None

    @classmethod
    def of(cls, row: dict[str, Any]) -> Self:
        """What JSON says of it; fields of later versions are left out."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__ if name in row})


@dataclass(frozen=True, slots=True)
class StageStanding:
    """How one stage of a scope stands that tells the engine: see ``flow.Scope.tell``.

    ``downstream`` elements were asked for below and not handed down yet, ``upstream`` asked for
    above and not arrived yet, ``held`` arrived and not left yet. ``passed`` were handed down so
    far, ``late`` came after the end and were dropped, ``lost`` were discarded by an overflow
    strategy. ``waits_for`` says whom it waits for, ``says`` has it all in words.
    """

    scope: str
    stage: str
    downstream: int
    upstream: int
    held: int
    passed: int
    late: int
    lost: int
    waits_for: Literal["consumer", "source", "itself"]
    says: str

    @classmethod
    def of(cls, row: dict[str, Any]) -> Self:
        """What JSON says of it; fields of later versions are left out."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__ if name in row})


class Explanation:
    """Who waits for whom. ``str`` says it in words, the culprits first."""

    __slots__ = ("_json",)

    def __init__(self, json_text: str) -> None:
        """Reads an explanation in JSON, as every language and the command writes it."""
        _core.explanation_text(json_text)  # Malformed unless it is one
        self._json = json_text

    @property
    def json(self) -> str:
        """As every language writes it."""
        return self._json

    def as_dict(self) -> dict[str, Any]:
        """The JSON, read."""
        told: dict[str, Any] = json.loads(self._json)
        return told

    @property
    def standing(self) -> list[Standing]:
        """Everything that stands still."""
        return [Standing.of(row) for row in self.as_dict()["standing"]]

    @property
    def culprits(self) -> list[Standing]:
        """What holds the others up, the longest first."""
        return [Standing.of(row) for row in self.as_dict()["culprits"]]

    @property
    def silent(self) -> list[str]:
        """Who gave no answer."""
        return list(self.as_dict()["silent"])

    @property
    def stages(self) -> list[StageStanding]:
        """The stages of the scopes that tell the engine, in the order they were made."""
        return [StageStanding.of(row) for row in self.as_dict().get("stages", [])]

    def of_request(self, request: str) -> Explanation:
        """What of it is about one request, by its ``id``."""
        return Explanation(_core.explanation_of(self._json, request))

    def __str__(self) -> str:
        return _core.explanation_text(self._json)

    def __repr__(self) -> str:
        return f"<sluicegate.Explanation {self._json}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Explanation) and self.as_dict() == other.as_dict()

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Loss:
    """Frames of one type that were lost for one reason since the last notice of them.

    ``severity`` is "warning" for drops: something went wrong. It is "debug" for frames that crossed
    the end of their request in flight, which is benign; their ``reason`` is "straggler". ``party``
    says where, ``count`` how many since the last notice, ``total`` how many in all.
    """

    severity: Literal["warning", "debug"]
    party: str
    reason: str
    frame_type: str
    count: int
    total: int

    @classmethod
    def read(cls, text: str) -> Self:
        """Reads the JSON of the core; fields of later versions are left out."""
        row = json.loads(text)
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})


class Control(Handle, Block):
    """An open control socket, by which other processes of the same user ask what this one does.

    A context manager: leaving it closes it.
    """

    def __init__(self, core: _core.Control) -> None:
        self._core = core

    @property
    def address(self) -> str:
        """Where it listens: ``unix:PATH``."""
        return self._core.address

    def close(self) -> None:
        """Closes it; calling it again is harmless. Never waits."""
        self._core.close()

    def _leave(self, raised: BaseException | None) -> None:
        self.close()


def place(address: str | os.PathLike[str] | None) -> str | None:
    """The text of an address, or None for this process's own place."""
    return None if address is None else os.fspath(address)


def target(of: int | str | os.PathLike[str]) -> str:
    """The text of a process id or the address of a control socket."""
    return str(of) if isinstance(of, int) else os.fspath(of)


def stats_of(text: str) -> dict[str, Any]:
    """Figures, from the JSON of the core."""
    figures: dict[str, Any] = json.loads(text)
    return figures


def ask_explain(of: int | str | os.PathLike[str], timeout: float | None = None) -> Explanation:
    """Asks a running process, by its id or its control socket, who waits for whom."""
    return Explanation(wait(_core.ask(target(of), "explain"), Deadline.after(timeout)))


def ask_stats(of: int | str | os.PathLike[str], timeout: float | None = None) -> dict[str, Any]:
    """Asks a running process, by its id or its control socket, what is live and what was lost."""
    return stats_of(wait(_core.ask(target(of), "stats"), Deadline.after(timeout)))


def trace(to: str | os.PathLike[str], *, json_lines: bool = False) -> None:
    """Writes down every frame that this process sends and receives, as SLUICEGATE_TRACE does.

    ``to`` is a file, which is appended to, or ``"stderr"``. Lengths and keys are shown, no
    payloads. A link never waits for it: what finds no room is left out and counted. Call it before
    the first frame, once.
    """
    _core.trace(os.fspath(to), json_lines)
