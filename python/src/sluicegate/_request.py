"""One call, at the handler's end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from sluicegate import _core
from sluicegate._call import Call
from sluicegate._handle import Handle
from sluicegate._stream import InputStream, OutputStream, StreamSender
from sluicegate._wait import Deadline, seconds_of, wait
from sluicegate.errors import SluicegateError


class RequestBase(Handle):
    """All of a request but its waits and streams. Any thread may use it."""

    def __init__(self, core: _core.Request) -> None:
        self._core = core

    @property
    def id(self) -> str:
        """The request's id."""
        return self._core.id

    @property
    def cap(self) -> str:
        """The cap that was called."""
        return self._core.cap

    @property
    def stopped(self) -> SluicegateError | None:
        """Why the handler has to stop: cancelled, or the host is gone; None while it may go on."""
        return self._core.stopped

    def progress(self, value: float, message: str = "") -> None:
        """Says how far the handler is, 0 to 1. Costs no credit and never waits (L14)."""
        self._core.progress(value, message)

    def log(self, message: str, level: str = "info", class_: str = "internal") -> None:
        """Says something to people. Costs no credit and never waits (L14).

        ``class_`` says whose matter it is: input, resource, environment, internal or user.
        """
        self._core.log(level, class_, message)

    def limit(self, limit: float | timedelta | None) -> None:
        """Allows the request so many seconds from now until it has ended; None is no limit.

        Then the caller is told, every wait of the request raises TimedOut and says what stood
        still (L13), and what the handler still does for it has no effect. Never waits.
        """
        self._core.limit(seconds_of(limit))

    def fail(self, error: BaseException) -> None:
        """Ends the request as failed. Never waits; the first end stays.

        An error of this library keeps its code and class, any other becomes HANDLER_ERROR.
        """
        self._core.fail(error)

    def __repr__(self) -> str:
        return f"<sluicegate.Request {self.cap} {self.id}>"


class Request(RequestBase):
    """One call that a handler serves.

    It ends once: when the handler returns or calls ``finish``, or as failed when the handler
    raises or calls ``fail``.
    """

    def input(self, timeout: float | None = None) -> InputStream:
        """The next argument stream. Raises Protocol if the caller ends its body without one."""
        return InputStream(wait(self._core.input(), Deadline.after(timeout)))

    def next_input(self, timeout: float | None = None) -> InputStream | None:
        """The next argument stream, as they open; None when the caller has ended its body."""
        stream = wait(self._core.next_input(), Deadline.after(timeout))
        return None if stream is None else InputStream(stream)

    def inputs(self) -> Iterator[InputStream]:
        """The argument streams as they open, until the caller ends its body."""
        while (stream := self.next_input()) is not None:
            yield stream

    def output(self) -> OutputStream:
        """The main output; the same stream each time."""
        return OutputStream(self._core.output())

    def output_for(self, media: str) -> OutputStream:
        """Another declared output, by its media. Raises InvalidArgument if there is none."""
        return OutputStream(self._core.output_for(media))

    def stream_sender(self) -> StreamSender:
        """A detached emitter on the main output, for another thread."""
        return StreamSender(self._core.stream_sender())

    def peer(self, cap: str, *, limit: float | timedelta | None = None) -> Call:
        """Calls a cap through the host. ``limit`` is for the whole call; see ``Call.limit``."""
        call = Call(self._core.peer(cap))
        if limit is not None:
            call.limit(limit)
        return call

    def cancelled(self, timeout: float | None = None) -> SluicegateError:
        """Waits until the handler has to stop, and says why; Closed if it finished before."""
        return wait(self._core.cancelled(), Deadline.after(timeout))

    def finish(
        self,
        progress: float | None = None,
        message: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Ends the request as done, with a final progress of 1 unless given (L3).

        Flushes and closes every output first, which may wait for credit. Raises the reason if the
        request had to stop.
        """
        wait(self._core.finish(progress, message), Deadline.after(timeout))
