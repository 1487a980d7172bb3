"""The credit objects: what the gates of threads and of asyncio share, and what never waits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal, TypeAlias

from sluicegate import _core
from sluicegate._block import Block
from sluicegate._handle import Handle
from sluicegate.errors import SluicegateError

Reason: TypeAlias = str | SluicegateError
"""Why something is closed: a text, which becomes the code of the error, or an error."""

RequestKey: TypeAlias = int | str | bytes
"""What names a request in a router: an integer from 0 to 2**64 - 1, a text or bytes."""


def negotiate(ours: int, theirs: int) -> int | None:
    """How two proposals for a limit become one: the smaller, None if either is 0."""
    return _core.negotiate(ours, theirs)


def reason_of(raised: BaseException | None) -> Reason:
    """The closing reason for leaving a block, by an exception or normally."""
    if raised is None or isinstance(raised, SluicegateError):
        return "" if raised is None else raised
    return type(raised).__name__


class GateBase(Handle, Block):
    """All of a gate but its wait. Any number of threads may use it at once."""

    _core: _core.Gate

    def __init__(self, window: int | GateBase) -> None:
        """Opens a gate with ``window`` chunks of credit, 0 too; or is the same gate as another.

        A gate of ``sluicegate`` and one of ``sluicegate.aio`` can be the same: a thread then
        waits beside a task, in one line.
        """
        self._core = window._core if isinstance(window, GateBase) else _core.Gate(window)

    def try_acquire(self, n: int = 1) -> bool:
        """Takes ``n`` chunks if that needs no waiting; False if it does.

        It does not overtake those who wait. Raises the reason of a closed gate.
        """
        return self._core.try_acquire(n)

    def grant(self, n: int) -> None:
        """Adds ``n`` chunks, up to 2**64 - 1, and serves those who wait.

        Does nothing on a closed gate.
        """
        self._core.grant(n)

    def close(self, reason: Reason = "") -> bool:
        """Closes the gate: every waiter and every later acquire raises the reason (L13).

        The first reason stays. True if this call closed it; calling it again is harmless.
        """
        return self._core.close(reason)

    def on_ready(self, n: int, callback: Callable[[], object]) -> Turn:
        """Stands in line for ``n`` chunks and calls ``callback`` once it is worth asking.

        The callback runs on the notifier thread, also when the turn has come already, and must
        not wait; it may call anything on this gate. Keep the turn: dropping it gives it up.
        """
        return Turn(self._core.acquire(n), callback)

    @property
    def available(self) -> int:
        """Chunks that could be taken now; readable after close too."""
        return self._core.available

    @property
    def waiting(self) -> int:
        """How many stand in line."""
        return self._core.waiting

    @property
    def is_closed(self) -> bool:
        """True once closed."""
        return self._core.is_closed

    @property
    def reason(self) -> SluicegateError | None:
        """Why the gate was closed, None while it is open."""
        return self._core.reason

    def _leave(self, raised: BaseException | None) -> None:
        self.close(reason_of(raised))

    def __repr__(self) -> str:
        closed = f" closed={self.reason.code!r}" if self.reason else ""
        return f"<{type(self).__module__}.Gate available={self.available}{closed}>"


class Turn(Handle, Block):
    """A place in a gate's line, made by ``on_ready``. A context manager: leaving gives it up."""

    def __init__(self, op: _core.Op[None], callback: Callable[[], object]) -> None:
        self._op = op
        self._bell = _core.Bell(callback)
        self._over = False
        if op.poll(self._bell):
            self._bell.ring()

    def take(self) -> bool:
        """True if the credit is the caller's now, False if it is not its turn yet.

        Raises the reason if the gate was closed. A False rings again later.
        """
        if not self._op.poll(self._bell):
            return False
        self._over = True
        self._bell.withdraw()
        self._op.value  # noqa: B018  raises the reason of a closed gate
        return True

    def close(self) -> None:
        """Gives the turn up, takes nothing. Once it returns the callback neither runs nor will.

        Only the callback itself may call it without that promise. Calling it again is harmless.
        """
        self._over = True
        self._bell.withdraw()
        self._op.cancel()

    def _leave(self, raised: BaseException | None) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_over", True):
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)


class Window(Handle):
    """What a receiver has promised room for, in chunks, and what it owes the sender (L10).

    Each step is atomic, so threads that consume at once never grant twice. A grant of 0 means
    send nothing; any other must be sent, since the window counts it as given.
    """

    def __init__(self, window: int, *, batch: int | None = None) -> None:
        """Opens a window of ``window`` chunks.

        A grant is due after ``batch`` of them, held between 1 and half the window, which is also
        the default, so that no batch can stall the sender.
        """
        self._core = _core.Window(window, batch)

    def arrive(self) -> None:
        """A chunk arrives. Raises CreditViolation if no credit is left for it (L12)."""
        self._core.arrive()

    def consumed(self) -> int:
        """A chunk was consumed; the grant that is now due, 0 for none."""
        return self._core.consumed()

    def flush(self) -> int:
        """Everything that is pending, to be sent before any wait (L10)."""
        return self._core.flush()

    def continued(self) -> int:
        """A chunk that only continues an item is given back at once, alone: 1."""
        return self._core.continued()

    @property
    def remaining(self) -> int:
        """Chunks that may still arrive."""
        return self._core.remaining

    @property
    def pending(self) -> int:
        """Chunks consumed and not granted back yet."""
        return self._core.pending

    @property
    def batch(self) -> int:
        """How many consumed chunks make a grant due."""
        return self._core.batch

    @property
    def size(self) -> int:
        """The window that this was opened with."""
        return self._core.size

    def __repr__(self) -> str:
        return f"<sluicegate.Window remaining={self.remaining} pending={self.pending}>"


Delivery: TypeAlias = Literal["granted", "no_stream", "no_request"]
"""What became of a grant: it credited a gate, the request has no such stream, or is not known."""


class Router(Handle):
    """Brings grants to the gates of the streams that are open for sending.

    A stream is named within its request by a text or None; the empty text is a name.
    """

    def __init__(self) -> None:
        self._core = _core.Router()

    def register(self, request: RequestKey, stream: str | None, gate: GateBase) -> None:
        """Enters a stream. The gate it replaces, if any, is closed with ``REPLACED``."""
        self._core.register(request, stream, gate._core)

    def unregister(self, request: RequestKey, stream: str | None) -> None:
        """Takes a stream out once it is no longer open for sending; its gate stays as it is."""
        self._core.unregister(request, stream)

    def grant(self, request: RequestKey, stream: str | None, n: int) -> Delivery:
        """Credits the stream that the grant names, or the request's only one if it names none."""
        return self._core.grant(request, stream, n)

    def close_request(self, request: RequestKey, reason: Reason) -> None:
        """Ends a request: closes its gates, which releases every waiter (L13)."""
        self._core.close_request(request, reason)

    def close_all(self, reason: Reason) -> None:
        """Ends every request, for a connection that is gone."""
        self._core.close_all(reason)

    def __len__(self) -> int:
        """How many requests have streams open for sending."""
        return len(self._core)

    def __bool__(self) -> bool:
        return True
