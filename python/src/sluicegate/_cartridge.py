"""The plugin's runtime: handlers by cap, each request on a thread or task of its own."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from sluicegate import _core
from sluicegate._data import Limits
from sluicegate._engine import HasFileno, descriptor
from sluicegate._generator import emitting
from sluicegate._handle import Handle
from sluicegate._report import Control, Explanation, Loss, place, stats_of
from sluicegate._request import Request, RequestBase
from sluicegate._wait import NEVER, Deadline, wait
from sluicegate.errors import Handshake, InvalidArgument, LimitReached, NoHandler, SluicegateError

Handler = Callable[[Any], object]
_H = TypeVar("_H", bound=Handler)

GRACE = 5.0
"""Seconds that handlers get to notice that the host is gone."""


class CartridgeBase(Handle):
    """A manifest and its handlers."""

    def __init__(
        self,
        name: str,
        version: str = "0.1.0",
        *,
        description: str | None = None,
        limits: Limits | None = None,
        quiet_losses: bool = False,
    ) -> None:
        """A cartridge without caps; ``limits`` are proposed to the host.

        Warnings of lost frames, which ``next_loss`` tells of, are also written to stderr, unless
        ``quiet_losses``.
        """
        self.name = name
        self.version = version
        self.description = description
        self.limits = limits or Limits()
        self._caps: list[tuple[str, str | None, bool, bool, list[tuple[str, bool]], bool]] = []
        self._handlers: dict[str, Handler] = {}
        self._session: _core.Session | None = None
        self._control: tuple[str | None] | None = None
        self._quiet_losses = quiet_losses
        self._losses: dict[int, _core.Losses] = {}  # by process: a child of a fork has its own

    def cap(
        self,
        urn: str,
        *,
        title: str | None = None,
        input_sequence: bool = False,
        output_sequence: bool = False,
        outputs: Iterable[str | tuple[str, bool]] = (),
        streaming: bool = False,
    ) -> Callable[[_H], _H]:
        """Serves a cap with the decorated function, which takes the request.

        The main input and output are the URN's ``in=`` and ``out=``. ``outputs`` are further ones:
        a media, or a media and whether it is a sequence. ``streaming`` says that the main output
        may have no end. A function with ``async`` gets a ``sluicegate.aio.Request``. What a
        generator yields, ``async`` or not, is emitted: as items if the output is a sequence.
        """
        if urn in self._handlers:
            raise InvalidArgument(f"{urn} has a handler already")
        further = [(out, False) if isinstance(out, str) else out for out in outputs]

        def register(handler: _H) -> _H:
            self._caps.append((urn, title, input_sequence, output_sequence, further, streaming))
            self._handlers[urn] = emitting(handler, output_sequence)
            return handler

        return register

    def manifest(self) -> str:
        """What the cartridge says of itself, JSON."""
        return _core.manifest(self.name, self.version, self.description, self._caps)

    def serve_control(self, address: str | os.PathLike[str] | None = None) -> None:
        """Opens a control socket whenever the cartridge runs, until its host is gone.

        See ``Engine.serve_control``. Call it before ``run``, which raises Io if the place is taken.
        """
        self._control = (place(address),)

    def stats(self) -> dict[str, Any] | None:
        """What is live and what was lost between it and its host; None unless it runs."""
        return None if self._session is None else stats_of(self._session.stats())

    def explain(self) -> Explanation | None:
        """What stands still in it; None unless it runs. Asks nobody."""
        return None if self._session is None else Explanation(self._session.explain())

    @contextlib.contextmanager
    def _serving(self, session: _core.Session) -> Iterator[None]:
        self._session = session
        try:
            with contextlib.ExitStack() as stack:
                if self._control is not None:
                    stack.enter_context(Control(session.serve_control(*self._control)))
                yield
        finally:
            self._session = None
            session.close()

    def _serve(
        self, reader: int | HasFileno | None, writer: int | HasFileno | None
    ) -> _core.Op[_core.Session]:
        descriptors = None
        if reader is not None and writer is not None:
            descriptors = (descriptor(reader), descriptor(writer))
        elif reader is not writer:
            raise InvalidArgument("a cartridge needs both a reader and a writer, or none")
        losses, quiet = self._heard(), self._quiet_losses
        return _core.Session.serve(self.manifest(), self.limits.row(), losses, quiet, descriptors)

    def _heard(self) -> _core.Losses:
        return self._losses.setdefault(os.getpid(), _core.Losses())

    def _handler_of(self, request: _core.Request) -> Handler | None:
        handler = self._handlers.get(request.cap)
        if handler is None:
            request.fail(NoHandler(f"no handler for {request.cap}"))
        return handler


class Cartridge(CartridgeBase):
    """A plugin whose requests run on threads; those of ``async`` handlers on one event loop.

    A handler that returns finishes the request, one that raises fails it and nothing else.
    """

    def run(
        self, reader: int | HasFileno | None = None, writer: int | HasFileno | None = None
    ) -> None:
        """Serves the host on stdin and stdout, or two descriptors, until the host closes them.

        What the program prints on stdout meanwhile goes to stderr. Raises Handshake, or what the
        host did to the protocol; a host that goes away is the ordinary end. Started by hand on a
        terminal, it says so on stderr and ends the program with exit code 2.
        """
        with plainly(reader):
            session = wait(self._serve(reader, writer), NEVER)
        crew = Crew()
        try:
            with self._serving(session):
                while (request := wait(session.next_request(), NEVER)) is not None:
                    if handler := self._handler_of(request):
                        crew.start(request, handler)
        finally:
            crew.finish(GRACE)

    def next_loss(self, timeout: float | None = None) -> Loss:
        """Waits for the next notice of frames that were lost here; see ``Engine.next_loss``.

        It may be asked before ``run`` and after it; notices of all runs are kept.
        """
        return Loss.read(wait(self._heard().next(), Deadline.after(timeout)))


@contextlib.contextmanager
def plainly(reader: object) -> Iterator[None]:
    """Who starts a cartridge by hand on a terminal reads what it is, and no traceback."""
    try:
        yield
    except Handshake as error:
        if reader is not None or not (os.isatty(0) or os.isatty(1)):
            raise
        print(error, file=sys.stderr)
        raise SystemExit(2) from None


class Crew:
    """The handlers that are running."""

    def __init__(self) -> None:
        self._idle = threading.Condition()
        self._running = 0
        self._loop: LoopThread | None = None

    def start(self, core: _core.Request, handler: Handler) -> None:
        """Runs a handler on a thread, or on the loop if it is ``async``."""
        with self._idle:
            self._running += 1
        try:
            if inspect.iscoroutinefunction(handler):
                self._loop = self._loop or LoopThread()
                self._loop.run(self._in_task(core, handler))
            else:
                threading.Thread(
                    target=self._on_thread, args=(core, handler), name=core.cap, daemon=True
                ).start()
        except RuntimeError as error:
            core.fail(LimitReached(f"no thread for the handler: {error}"))
            self._done()

    def finish(self, grace: float) -> None:
        """Waits for the handlers, which were told to stop, at most ``grace`` seconds."""
        until = time.monotonic() + grace
        with self._idle:
            self._idle.wait_for(lambda: not self._running, max(0.0, until - time.monotonic()))
        if self._loop is not None:
            self._loop.finish(max(0.0, until - time.monotonic()))

    def _done(self) -> None:
        with self._idle:
            self._running -= 1
            self._idle.notify_all()

    def _on_thread(self, core: _core.Request, handler: Handler) -> None:
        try:
            request = Request(core)
            try:
                handler(request)
            except BaseException as raised:
                fail(request, raised)
            else:
                with contextlib.suppress(SluicegateError):  # the caller is told of it
                    request.finish()
        finally:
            self._done()

    async def _in_task(
        self, core: _core.Request, handler: Callable[[Any], Coroutine[Any, Any, object]]
    ) -> None:
        from sluicegate.aio._cartridge import serve

        try:
            await serve(core, handler)
        finally:
            self._done()


class LoopThread:
    """An event loop on a thread of its own."""

    def __init__(self) -> None:
        self._running: set[Future[None]] = set()  # a loop itself keeps no task alive
        self._ready = threading.Event()
        self._thread = threading.Thread(
            target=asyncio.run, args=(self._main(),), name="sluicegate-loop", daemon=True
        )
        self._thread.start()
        self._ready.wait()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._ready.set()
        await self._over.wait()

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine as a task of the loop."""
        running = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    def finish(self, timeout: float) -> None:
        """Cancels what still runs and ends the loop, waiting at most ``timeout`` seconds."""
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(timeout)


def fail(request: RequestBase, raised: BaseException) -> None:
    """Fails a request with what its handler raised, and leaves the trace on stderr.

    A request that had to stop answers so itself, and a handler that stopped for it is no news.
    """
    stopped = request.stopped
    request.fail(raised)
    if stopped is None and not isinstance(raised, SluicegateError):
        traceback.print_exception(raised, file=sys.stderr)
