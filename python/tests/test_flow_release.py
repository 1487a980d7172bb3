"""Every element is released once, those in edges and in stages too: at a cancel, failure, end."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import pytest

from conftest import until
from sluicegate.flow import (
    Again,
    EdgeOptions,
    Flow,
    Hub,
    HubPolicy,
    Manual,
    Out,
    Outlet,
    Overflow,
    Scope,
    Sink,
    Source,
)
from tally import SOON, Element, Tally


def keep(element: Any) -> Any:
    return element


def always(*_: object) -> bool:
    return True


def twice(element: Any) -> list[Any]:
    return [element, element]


def newest(_: Any, element: Any) -> Any:
    return element


def thrice(element: Any) -> Again[Any] | Out[Any]:
    element.turns += 1
    return Out(element) if element.turns > 2 else Again(element)


SMALL = EdgeOptions(2)
GROUPS: Flow[Any, Any, None] = Flow.group_by(9, lambda e: e.number % 3, Flow.map(keep))
Line = Callable[[Source[Any, Any]], Source[Any, Any]]

STAGES: dict[str, Line] = {
    "map": lambda s: s.map(keep),
    "tap": lambda s: s.tap(keep),
    "filter": lambda s: s.filter(always),
    "filter_map": lambda s: s.filter_map(keep),
    "scan": lambda s: s.scan(None, newest),
    "fold": lambda s: s.fold(None, newest),
    "take": lambda s: s.take(10_000),
    "drop": lambda s: s.drop(3),
    "take_while": lambda s: s.take_while(always),
    "drop_while": lambda s: s.drop_while(lambda e: e.number < 3),
    "buffer": lambda s: s.buffer(SMALL),
    "buffer bytes": lambda s: s.buffer(EdgeOptions(4, bytes=2)),
    "buffer drop": lambda s: s.buffer(EdgeOptions(2, overflow=Overflow.DROP_HEAD)),
    "map_parallel": lambda s: s.map_parallel(3, keep),
    "map_parallel unordered": lambda s: s.map_parallel(3, keep, ordered=False),
    "batch": lambda s: s.batch(7),
    "batch within": lambda s: s.batch(1000, within=0.001),
    "batch_bytes": lambda s: s.batch_bytes(5, len),
    "sliding": lambda s: s.sliding(4, 2),
    "expand": lambda s: s.expand(twice),
    "flatten": lambda s: s.map(twice).flatten(),
    "page": lambda s: s.page(8),
    "throttle": lambda s: s.throttle(1000, 0.001, burst=1000),
    "delay": lambda s: s.delay(0.001, room=4),
    "debounce": lambda s: s.debounce(0.0),
    "conflate": lambda s: s.conflate(keep, newest),
    "idle_timeout": lambda s: s.idle_timeout(SOON),
    "initial_timeout": lambda s: s.initial_timeout(SOON),
    "completion_timeout": lambda s: s.completion_timeout(SOON),
    "take_within": lambda s: s.take_within(SOON),
    "drop_within": lambda s: s.drop_within(0.0),
    "recover": lambda s: s.recover(lambda _: None),
    "recover_with": lambda s: s.recover_with(Source.empty()),
    "group_by": lambda s: s.group_by(3, lambda e: e.number % 3, Flow.map(keep)),
    "group_by, queues": lambda s: s.group_by(3, lambda e: e.number % 3, Flow.buffer(SMALL)),
    "group_by, groups": lambda s: s.group_by(9, lambda e: e.number % 2, GROUPS),
    "feedback": lambda s: s.via(Flow.feedback(2, Flow.map(thrice))),
    "feedback, queue": lambda s: s.via(Flow.feedback(4, Flow.map(thrice).via(Flow.buffer(SMALL)))),
    "feedback, threads": lambda s: s.via(Flow.feedback(4, Flow.map_parallel(2, thrice))),
    "switch": lambda s: s.via(Flow.switch()),
    "broadcast": lambda s: s.via(Flow.broadcast([Flow.map(keep), Flow.map(keep)])),
    "balance": lambda s: s.via(Flow.balance([Flow.map(keep), Flow.map(keep)])),
    "partition": lambda s: s.via(Flow.partition([Flow.map(keep)] * 2, lambda e: e.number % 2)),
    "zip": lambda s: s.zip(s),
    "zip_with": lambda s: s.zip_with(s, newest),
    "combine": lambda s: Source.combine([s, s, s]),
    "merge": lambda s: s.merge(s),
    "merge_all": lambda s: Source.merge_all([s, s, s]),
    "merge_prefer": lambda s: s.merge_prefer([s, s]),
    "concat": lambda s: s.concat(s),
    "concat_all": lambda s: Source.concat_all([s, s]),
    "retry": lambda s: s.retry(2),
}


def endless(tally: Tally) -> Source[Element, None]:
    def make() -> Any:
        while True:
            yield tally.make()

    return Source.make(make)


@pytest.mark.parametrize("stage", STAGES)
def test_a_cancel_releases_what_is_on_its_way(stage: str) -> None:
    tally = Tally()
    with Scope("cancel") as scope:
        line = STAGES[stage](endless(tally).buffer(SMALL))
        with line.open(scope, SMALL) as outlet:
            if stage not in ("fold", "conflate", "debounce"):
                next(outlet)
            until(lambda: tally.made >= 3)
        del outlet, line
    tally.check()


@pytest.mark.parametrize("stage", STAGES)
def test_a_failure_releases_what_is_on_its_way(stage: str) -> None:
    tally = Tally()
    source: Source[Element, Manual[Element]] = Source.manual(EdgeOptions(4))
    with Scope("fail") as scope:
        controls: list[Manual[Element]] = []
        counted = source.map_mat(controls.append)
        outlet: Outlet[Any] = STAGES[stage](counted).run(scope, SMALL)
        for control in controls:
            for _ in range(4):
                control.try_offer(tally.make())
            control.fail(KeyError("mine"))
        scope.shutdown(SOON)
        del outlet, control, controls, counted
    del source
    tally.check()


SINKS: dict[str, Callable[[], Sink[Any, Any]]] = {
    "collect": Sink.collect,
    "fold": lambda: Sink.fold(None, newest),
    "foreach": lambda: Sink.foreach(keep),
    "ignore": Sink.ignore,
    "last": Sink.last,
    "first": Sink.first,
    "outlet": lambda: Sink.outlet(SMALL),
    "channel": lambda: Sink.channel(queue.Queue(1)),
    "broadcast_hub": lambda: Sink.broadcast_hub(4, replay=2),
    "broadcast": lambda: Sink.broadcast([Sink.ignore(), Sink.outlet(SMALL)], SMALL),
    "balance": lambda: Sink.balance([Sink.outlet(SMALL), Sink.outlet(SMALL)], SMALL),
    "partition": lambda: Sink.partition([Sink.outlet(SMALL)], lambda _: 0, SMALL),
}


@pytest.mark.parametrize("sink", SINKS)
def test_a_shutdown_releases_what_a_sink_holds(sink: str) -> None:
    tally = Tally()
    with Scope("sink") as scope:
        result = endless(tally).buffer(SMALL).to(SINKS[sink]()).run(scope)
        until(lambda: tally.made >= 1)
        scope.shutdown(SOON)
        del result
    tally.check()


def test_what_a_hub_holds_for_its_subscribers_is_released() -> None:
    tally = Tally()
    with Scope("hub") as scope:
        hub = endless(tally).to(Sink[Any, Any].broadcast_hub(4, replay=4)).run(scope)
        slow = hub.subscribe(HubPolicy.DROP_HEAD, capacity=2).run(scope, SMALL)
        fast = hub.subscribe(capacity=4).run(scope, SMALL)
        for _ in range(20):
            next(fast)

        def has_lost(hub: Hub[Any] = hub) -> bool:
            return any(one.lost for one in hub.subscribers())

        until(has_lost)
        fast.cancel()
        next(slow)
        del hub, slow, fast, has_lost
    tally.check()
