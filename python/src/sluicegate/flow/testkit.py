"""Probes: a source and a sink that a test plays by hand.

Every assertion waits no longer than its limit, and says in an AssertionError what it awaited and
what came. On a stepped scope nothing waits: each verb has the scope settle first.

``Faults`` are for links: a test draws them from one seed, which it tells when it fails::

    with testkit.seed() as seed:  # SLUICEGATE_SEED=... replays it
        ours, theirs = socket.socketpair()
        link = testkit.Faults(seed.fork("link")).splits().delays(0.001).apply(ours)
        peer = engine.attach(link, link)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sluicegate import _core
from sluicegate._handle import Handle
from sluicegate._wait import Deadline, wait
from sluicegate.errors import TimedOut
from sluicegate.flow._blueprint import Source
from sluicegate.flow._edge import EdgeOptions, Offer
from sluicegate.flow._faults import VARIABLE as VARIABLE
from sluicegate.flow._faults import Faults as Faults
from sluicegate.flow._faults import Seed as Seed
from sluicegate.flow._faults import Shuffle as Shuffle
from sluicegate.flow._faults import seed as seed
from sluicegate.flow._run import Manual
from sluicegate.flow._scope import BUILDING, Scope
from sluicegate.flow._sink import Sink

if TYPE_CHECKING:
    from sluicegate._any import E as _E

__all__ = [
    "Faults",
    "Publisher",
    "Seed",
    "Shuffle",
    "Subscriber",
    "publisher",
    "seed",
    "subscriber",
]

T = TypeVar("T")

LIMIT = 1.0
"""Seconds that a probe waits for what a test expects, unless told otherwise."""

ALL = 2**64 - 1


def publisher(options: EdgeOptions | None = None) -> Source[_E, Publisher[_E]]:
    """A source that a test plays. Without an edge it sends nothing that was not asked for."""
    edge = None if options is None else options._row
    return Source(lambda: _core.FlowSource.probe(edge).map_mat(Publisher))


def subscriber() -> Sink[_E, Subscriber[_E]]:
    """A sink that a test plays: nothing is asked for but by ``request``."""
    return Sink(lambda: _core.FlowSink.probe().map_mat(Subscriber))


class _Probe(Handle):
    """A probe, which knows whether its scope runs by itself."""

    def __init__(self) -> None:
        scope = BUILDING.scope
        self._scope: Scope | None = scope if scope is not None and scope._stepped else None
        self.limit = LIMIT
        """Seconds that an assertion waits."""

    def _settle(self) -> None:
        if self._scope is not None:
            self._scope.settle()

    def _deadline(self, limit: float | None) -> Deadline:
        self._settle()
        if self._scope is not None:
            return Deadline.after(0)  # nobody else brings anything
        return Deadline.after(self.limit if limit is None else limit)


class Publisher(_Probe, Generic[T]):
    """A source that a test plays. ``control`` is what a manual source has."""

    def __init__(self, core: _core.FlowManual) -> None:
        super().__init__()
        self.control: Manual[T] = Manual(core)

    def offer(self, element: T, timeout: float | None = None) -> Offer:
        """Offers an element and waits for room or demand, at most ``timeout`` seconds."""
        self._settle()
        offer = self.control.offer(element, timeout)
        self._settle()
        return offer

    def send_next(self, element: T, limit: float | None = None) -> Publisher[T]:
        """Sends an element. If it is not taken within the limit, the source is failed too."""
        try:
            offer = self.control.offer(element, self._deadline(limit).left())
        except TimedOut as late:
            self.control.fail(late)
            raise AssertionError(f"awaited: {element!r} is taken; came: no demand") from None
        if offer != Offer.ENQUEUED:
            raise AssertionError(f"awaited: {element!r} is taken; came: {offer}")
        self._settle()
        return self

    def send_complete(self) -> bool:
        """Completes the source. False if it had ended."""
        ended = self.control.complete()
        self._settle()
        return ended

    def send_error(self, error: BaseException) -> bool:
        """Fails the source. False if it had ended."""
        ended = self.control.fail(error)
        self._settle()
        return ended

    def expect_demand(self, n: int = 1, limit: float | None = None) -> Publisher[T]:
        """Waits until ``n`` elements at least can be sent."""
        try:
            ready = wait(self.control._core.ready(n), self._deadline(limit))
        except TimedOut:
            demand = self.control.demand
            message = f"awaited: demand for {n}; came: demand for {demand}"
            raise AssertionError(message) from None
        if not ready:
            raise AssertionError(f"awaited: demand for {n}; came: cancel")
        return self

    def expect_cancel(self, limit: float | None = None) -> None:
        """Waits until the source was cancelled from below."""
        try:
            # More than any gate holds: this waits for the end alone.
            ready = wait(self.control._core.ready(ALL), self._deadline(limit))
        except TimedOut:
            ready = True
        if ready:
            raise AssertionError("awaited: cancel; came: nothing")


_NOTHING: tuple[str, Any] = ("nothing", None)


class Subscriber(_Probe, Generic[T]):
    """A sink that a test plays."""

    def __init__(self, core: _core.FlowSubscriber) -> None:
        super().__init__()
        self._core = core

    def try_request(self, n: int) -> bool:
        """Asks for ``n`` more; 0 is ignored. False once a terminal was taken."""
        taken = self._core.request(n)
        self._settle()
        return taken

    def request(self, n: int = 1) -> Subscriber[T]:
        """Asks for ``n`` more. Fails once a terminal was taken: it rejects later demand."""
        if not self.try_request(n):
            raise AssertionError("awaited: a stream that takes demand; came: its terminal, before")
        return self

    def cancel(self) -> None:
        """Wants no more: everything above is cancelled."""
        self._core.cancel()
        self._settle()

    def event(self, limit: float | None = None) -> tuple[str, Any] | None:
        """("next", element), ("complete", None), ("error", exception), or None in time."""
        try:
            event = wait(self._core.event(), self._deadline(limit))
        except TimedOut:
            return None
        self._core.request(0)  # there is room for another
        return event

    def expect_next(self, *elements: T, limit: float | None = None) -> Subscriber[T]:
        """Takes these elements, in this order."""
        for element in elements:
            what, came = self.event(limit) or _NOTHING
            if what != "next" or came != element:
                raise AssertionError(f"awaited: {element!r}; came: {_said(what, came)}")
        return self

    def expect_any(self, limit: float | None = None) -> T:
        """Takes an element, whatever it is."""
        what, came = self.event(limit) or _NOTHING
        if what != "next":
            raise AssertionError(f"awaited: an element; came: {_said(what, came)}")
        element: T = came
        return element

    def expect_complete(self, limit: float | None = None) -> None:
        """Takes the end."""
        what, came = self.event(limit) or _NOTHING
        if what != "complete":
            raise AssertionError(f"awaited: complete; came: {_said(what, came)}")

    def expect_error(self, limit: float | None = None) -> BaseException:
        """Takes the failure."""
        what, came = self.event(limit) or _NOTHING
        if what != "error":
            raise AssertionError(f"awaited: a failure; came: {_said(what, came)}")
        error: BaseException = came
        return error

    def expect_no_message(self, limit: float = 0.1) -> Subscriber[T]:
        """Sees that nothing comes within ``limit`` seconds."""
        event = self.event(limit)
        if event is not None:
            raise AssertionError(f"awaited: nothing; came: {_said(*event)}")
        return self


def _said(what: str, came: object) -> str:
    return repr(came) if what in ("next", "error") else what
