"""Controls of the stages that many join or leave, and of the one that ends a run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

from sluicegate import _core
from sluicegate._handle import Handle

if TYPE_CHECKING:
    from sluicegate.flow._blueprint import Source
    from sluicegate.flow._sink import Sink

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class HubPolicy(Enum):
    """What a hub does about a subscriber that has not asked and whose buffer is full."""

    WAIT = 0
    """It waits: nothing is lost, and everybody goes at this subscriber's pace."""
    DROP_HEAD = 1
    """This subscriber loses the oldest element of its buffer, and holds nobody up."""
    DROP_TAIL = 2
    """This subscriber loses the newest element of its buffer."""
    DROP_NEW = 3
    """This subscriber does not get the element."""
    DROP_BUFFER = 4
    """This subscriber loses its whole buffer."""
    DISCONNECT = 5
    """The subscription ends with BufferOverflow, once what its buffer holds was taken."""


@dataclass(frozen=True, slots=True)
class HubSubscriber:
    """What was seen of one subscriber, in elements.

    ``demand`` was asked for and not shared with it yet, ``held`` shared and not taken yet,
    ``lost`` by its policy.
    """

    name: str
    demand: int
    held: int
    lost: int


class Hub(Handle, Generic[T_co]):
    """The control of a source that many may listen to. Any thread may use it.

    The hub asks for as much as the largest demand of any subscriber, and never for more than it
    can hold. While nobody listens it asks for nothing. Once the last handle and the last
    subscriber are gone, the source is cancelled.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.FlowHub) -> None:
        self._core = core

    def subscribe(
        self,
        policy: HubPolicy = HubPolicy.WAIT,
        *,
        capacity: int = 16,
        wait_at_most: float | None = None,
    ) -> Source[T_co, None]:
        """A source of what is shared once it runs. It runs once: another run is refused.

        It buffers ``capacity`` elements that it has not asked for. ``wait_at_most`` seconds is as
        long as WAIT holds everybody up; then the subscription ends with BufferOverflow.
        """
        from sluicegate.flow._blueprint import Source

        core = self._core.subscribe(policy.value, wait_at_most, capacity)
        return Source(lambda: core)

    def subscribers(self) -> list[HubSubscriber]:
        """Everybody who listens now, in the order they came."""
        return [HubSubscriber(*row) for row in self._core.subscribers()]

    @property
    def is_over(self) -> bool:
        """True once the source has ended and everything was shared."""
        return self._core.is_over


class MergeHub(Handle, Generic[T]):
    """The control of a source that many may feed. Any thread may use it.

    A producer that completes leaves the others running, and so does one that fails: its failure
    is counted here. The source completes once ``complete`` was called, or the last handle and the
    last sink are gone, and every producer has ended.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.FlowMergeHub) -> None:
        self._core = core

    def sink(self) -> Sink[T, None]:
        """A sink into the source. Each run attaches one producer more."""
        from sluicegate.flow._sink import Sink

        return Sink(self._core.sink)

    def complete(self) -> None:
        """No more producers: the source completes with the last that is attached."""
        self._core.complete()

    @property
    def failures(self) -> int:
        """Producers that have failed so far."""
        return self._core.failures

    @property
    def last_failure(self) -> BaseException | None:
        """What the last of them failed with."""
        return self._core.last_failure


class Switch(Handle):
    """The control of ``Flow.switch``. Letting go of it does nothing."""

    __slots__ = ("_core",)

    def __init__(self, core: _core.FlowSwitch) -> None:
        self._core: _core.FlowSwitch | None = core

    def cancel(self, reason: BaseException | None = None) -> bool:
        """Cancels what is above and ends what is below: the result is cancelled, no failure.

        Waiting for it raises ``reason``, or Cancelled. False if that was done before.
        """
        if self._core is None:
            return False
        won = self._core.cancel(reason)
        if won and reason is not None:
            self._core = None  # which holds the reason, and with it the frames that it went through
        return won
