"""One call, at the caller's end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from sluicegate import _core
from sluicegate._block import Block
from sluicegate._credit import Reason
from sluicegate._data import Event, Terminal, event_of
from sluicegate._handle import Handle
from sluicegate._stream import InputStream, OutputStream
from sluicegate._wait import NEVER, Deadline, seconds_of, wait


class CallBase(Handle):
    """All of a call but its waits and streams. Any thread may use it."""

    def __init__(self, core: _core.Call) -> None:
        self._core = core

    @property
    def id(self) -> str:
        """The request's id."""
        return self._core.id

    @property
    def cap(self) -> str:
        """The cap that is called."""
        return self._core.cap

    @property
    def ended(self) -> bool:
        """True once the call has ended, in whatever way."""
        return self._core.ended

    def close_stream(self, stream: str | None = None) -> None:
        """Asks the handler to stop capturing for one result stream, or for every one of the call.

        What the live source holds still comes, so read on; then the call ends by itself.
        """
        self._core.close_stream(stream)

    def limit(self, limit: float | timedelta | None) -> None:
        """Allows the call so many seconds from now until it has ended; None takes a limit back.

        Then every wait of the call raises TimedOut, also one without a timeout, and says what
        stood still: credit, room on the link, a value, or values that nobody read, which are
        forgotten. The handler is told (L13). Never waits.
        """
        self._core.limit(seconds_of(limit))

    def cancel(self, reason: Reason = "CANCELLED") -> None:
        """Cancels the call: its waiters are released with the reason (L13), the handler is told.

        Nothing happens if it has ended.
        """
        self._core.cancel(reason)

    def __repr__(self) -> str:
        return f"<sluicegate.Call {self.cap} {self.id} ended={self.ended}>"


class Call(CallBase, Block):
    """One call of a cap.

    Sending arguments and reading results go on at the same time (L15): feed on one thread and
    read on another, unless one of the two is short. Forgetting a call, with all of its streams,
    cancels it; so does leaving it as a context manager before its end.
    """

    def input(self, media: str) -> OutputStream:
        """Opens an argument stream."""
        return OutputStream(self._core.input(media))

    def finish_input(self, timeout: float | None = None) -> None:
        """Ends the arguments: closes their streams, which may wait for credit, and the body."""
        wait(self._core.finish_input(), Deadline.after(timeout))

    def output(self, timeout: float | None = None) -> InputStream:
        """The next result stream. Raises Protocol if the call ends without one."""
        return InputStream(wait(self._core.output(), Deadline.after(timeout)))

    def next_output(self, timeout: float | None = None) -> InputStream | None:
        """The next result stream, as they open; None once the call has succeeded."""
        stream = wait(self._core.next_output(), Deadline.after(timeout))
        return None if stream is None else InputStream(stream)

    def outputs(self) -> Iterator[InputStream]:
        """The result streams as they open, until the call has succeeded."""
        while (stream := self.next_output()) is not None:
            yield stream

    def next_event(self, timeout: float | None = None) -> Event | None:
        """The next log or progress; None after the end. The last 1024 wait for a late reader."""
        row = wait(self._core.next_event(), Deadline.after(timeout))
        return None if row is None else event_of(row)

    def events(self) -> Iterator[Event]:
        """The logs and progress as they come, until the end."""
        while (row := wait(self._core.next_event(), NEVER)) is not None:
            yield event_of(row)

    def wait(self, timeout: float | None = None) -> Terminal:
        """Waits for the end. Raises why the call failed."""
        return Terminal(*wait(self._core.wait(), Deadline.after(timeout)))

    def _leave(self, raised: BaseException | None) -> None:
        self.cancel()
