"""What a gate, a window, a router and `negotiate` answer: the model, stated on its own.

Arithmetic on whole numbers without a bound, held at 2^64 - 1 where a number is added to.
"""

from __future__ import annotations

from typing import Any

MAX = 2**64 - 1

Answer = Any


class Gate:
    """The sender's side: (available, open or closed with a reason)."""

    def __init__(self, window: int) -> None:
        self.available = window
        self.closed: str | None = None

    def acquire(self, n: int) -> Answer:
        if self.closed is not None:
            return {"closed": self.closed}
        if n > self.available:
            return "wait"
        self.available -= n
        return "acquired"

    def grant(self, n: int) -> None:
        if self.closed is None:
            self.available = min(MAX, self.available + n)

    def close(self, reason: str) -> None:
        if self.closed is None:
            self.closed = reason

    def state(self) -> dict[str, Answer]:
        return {"available": str(self.available), "closed": self.closed}


class Window:
    """The receiver's side: (remaining, pending, batch)."""

    def __init__(self, window: int, batch: int | None) -> None:
        default = max(1, window // 2)
        self.remaining = window
        self.pending = 0
        self.batch = default if batch is None else max(1, min(batch, default))

    def arrive(self) -> Answer:
        if self.remaining == 0:
            return "violation"
        self.remaining -= 1
        return "accepted"

    def consumed(self) -> Answer:
        if self.pending + 1 < self.batch:
            self.pending += 1
            return "0"
        return self._give(self.pending + 1)

    def flush(self) -> Answer:
        return self._give(self.pending)

    def continued(self) -> Answer:
        pending = self.pending
        answer = self._give(1)
        self.pending = pending
        return answer

    def _give(self, n: int) -> Answer:
        self.remaining = min(MAX, self.remaining + n)
        self.pending = 0
        return str(n)

    def state(self) -> dict[str, Answer]:
        return {
            "remaining": str(self.remaining),
            "pending": str(self.pending),
            "batch": str(self.batch),
        }


def negotiate(ours: int, theirs: int) -> int | None:
    """The smaller proposal, none if one is zero."""
    if ours == 0 or theirs == 0:
        return None
    return min(ours, theirs)


def grant_target(names: list[str | None], named: str | None) -> list[str | None]:
    """The stream that a grant credits, as a list of one, or nothing."""
    if named is not None:
        return [named] if named in names else []
    if None in names:
        return [None]
    return names if len(names) == 1 else []


class Router:
    """Gates by request and stream name."""

    def __init__(self, gates: dict[str, Gate]) -> None:
        self.gates = gates
        self.requests: dict[str, dict[str | None, str]] = {}

    def register(self, request: str, stream: str | None, gate: str) -> Answer:
        streams = self.requests.setdefault(request, {})
        if stream in streams:
            assert streams[stream] != gate, "no script registers a gate in its own place"
            self.gates[streams[stream]].close("REPLACED")
        streams[stream] = gate

    def unregister(self, request: str, stream: str | None) -> Answer:
        streams = self.requests.get(request, {})
        streams.pop(stream, None)
        if not streams:
            self.requests.pop(request, None)

    def grant(self, request: str, stream: str | None, n: int) -> Answer:
        if request not in self.requests:
            return "no_request"
        for target in grant_target(list(self.requests[request]), stream):
            self.gates[self.requests[request][target]].grant(n)
            return "granted"
        return "no_stream"

    def close_request(self, request: str, reason: str) -> Answer:
        for gate in self.requests.pop(request, {}).values():
            self.gates[gate].close(reason)

    def close_all(self, reason: str) -> Answer:
        for request in list(self.requests):
            self.close_request(request, reason)

    def state(self) -> dict[str, Answer]:
        return {name: gate.state() for name, gate in self.gates.items()}
