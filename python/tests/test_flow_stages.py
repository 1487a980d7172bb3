"""The other stages: groups, pages, time, work, joins, fan-outs, hubs, streams of requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from conftest import attached, until
from sluicegate import Cartridge, Engine, Explanation, Feed, FeedMeta, Request, aio, flow
from sluicegate.errors import (
    AlreadySubscribed,
    BufferOverflow,
    Cancelled,
    Closed,
    InvalidArgument,
    LimitReached,
    PlanRefused,
    TimedOut,
)
from sluicegate.flow import (
    Completion,
    EdgeOptions,
    Flow,
    Hub,
    HubPolicy,
    Manual,
    MergeHub,
    Offer,
    Scope,
    Sink,
    Source,
    Status,
)
from sluicegate.flow.testkit import publisher, subscriber

SOON = 120.0


def pair(left: Any, right: Any) -> tuple[Any, Any]:
    return left, right


@pytest.fixture
def scope() -> Iterator[Scope]:
    with Scope("test") as scope:
        yield scope


class Boom(Exception):
    pass


def test_groups_and_expansions(scope: Scope) -> None:
    numbers = Source.iter(range(5))
    assert list(numbers.batch(2).run(scope)) == [[0, 1], [2, 3], [4]]
    assert list(numbers.sliding(3, 2).run(scope)) == [[0, 1, 2], [2, 3, 4]]
    words = Source.iter(["a", "bb", "ccc", "dddddd"])
    assert list(words.batch_bytes(4, len).run(scope)) == [["a", "bb"], ["ccc"], ["dddddd"]]
    assert list(numbers.expand(range).run(scope)) == [0, 0, 1, 0, 1, 2, 0, 1, 2, 3]
    assert list(words.flatten().take(4).run(scope)) == ["a", "b", "b", "c"]
    assert list(numbers.page(2, 1).run(scope)) == [0, 1, 2, 3, 4]
    for wrong in (numbers.batch, numbers.page, lambda n: numbers.sliding(n, 1)):
        with pytest.raises(InvalidArgument):
            wrong(0)


def test_an_export_fetches_by_the_page_and_writes_by_the_row() -> None:
    scope = Scope.stepped(0)
    fetched: list[tuple[int, int]] = []

    def fetch(first: int, n: int) -> range:
        fetched.append((first, n))
        return range(first, min(first + n, 200))

    end = Source.fetch(fetch).page(64, 48).to(subscriber()).run(scope)
    scope.settle()
    for row in range(200):
        assert fetched == [(0, 64), (64, 48), (112, 48), (160, 48)][: 1 + row // 48]
        end.request(1).expect_next(row)
        assert all(stage.demand().held <= 64 for stage in scope.stages())
    end.expect_complete()
    pages = {0: ([1, 2], 7), 7: ([], 9), 9: ([3], None)}
    seen: list[int] = []

    def page(at: int) -> tuple[list[int], int | None]:
        seen.append(at)
        return pages[at]

    end = Source.pages(0, page).to(subscriber()).run(scope)
    assert seen == []
    end.request(2).expect_next(1, 2)
    assert seen == [0]
    end.request(5).expect_next(3).expect_complete()
    assert seen == [0, 7, 9]


def test_time_is_the_scopes_clock() -> None:
    scope = Scope.stepped(0)
    end = Source.tick(1, "tick").to(subscriber()).run(scope)
    end.request(3).expect_no_message()
    assert scope.advance(1)
    end.expect_next("tick").expect_no_message()
    end.cancel()

    source, end = publisher().throttle(1, 10).to_mat(subscriber(), pair).run(scope)
    end.request(5)
    source.send_next(1).send_next(2)
    end.expect_next(1).expect_no_message()
    scope.advance(10)
    end.expect_next(2)

    source, end = publisher().idle_timeout(5).to_mat(subscriber(), pair).run(scope)
    end.request(1)
    scope.advance(4)
    end.expect_no_message()
    scope.advance(1)
    assert isinstance(end.expect_error(), TimedOut)

    manual: Source[int, Manual[int]] = Source.manual()
    control, end = manual.debounce(3).to_mat(subscriber(), pair).run(scope)
    end.request(2)
    control << 1 << 2
    scope.settle()
    end.expect_no_message()
    scope.advance(3)
    end.expect_next(2)

    control, end = manual.batch(10, 2).to_mat(subscriber(), pair).run(scope)
    end.request(1)
    control << 1 << 2
    scope.settle()
    scope.advance(2)
    end.expect_next([1, 2])

    control, end = manual.delay(1).take_within(9).to_mat(subscriber(), pair).run(scope)
    end.request(2)
    control << 1
    scope.settle()
    end.expect_no_message()
    scope.advance(1)
    end.expect_next(1)
    scope.advance(8)
    end.expect_complete()

    for stream in (manual.initial_timeout(1), manual.completion_timeout(1)):
        control, end = stream.to_mat(subscriber(), pair).run(scope)
        end.request(1)
        scope.advance(1)
        assert isinstance(end.expect_error(), TimedOut)


def test_a_failed_source_is_run_again_or_replaced(scope: Scope) -> None:
    runs: list[int] = []

    @flow.source
    def rows() -> Iterator[int]:
        runs.append(len(runs))
        yield runs[-1]
        if len(runs) < 3:
            raise Boom("again")

    assert list(rows.retry(5, 0, 0).run(scope)) == [0, 1, 2]
    failing = Source.iter([1]).concat(Source.failed(Boom("gone")))
    assert list(failing.recover(lambda error: str(error)).run(scope)) == [1, "gone"]
    assert list(failing.recover_with(Source.iter([7, 8])).run(scope)) == [1, 7, 8]
    with pytest.raises(Boom, match="gone"):
        list(failing.recover(lambda _: None).run(scope))

    def worse(error: BaseException) -> int:
        raise ValueError("worse") from error

    with pytest.raises(ValueError, match="worse"):
        list(failing.recover(worse).run(scope))


def test_what_is_too_fast_is_folded() -> None:
    scope = Scope.stepped(0)
    manual: Source[int, Manual[int]] = Source.manual(EdgeOptions(100))
    stream = manual.conflate(lambda n: [n], lambda all_, n: [*all_, n])
    control, end = stream.to_mat(subscriber(), pair).run(scope)
    for n in range(5):
        control << n
        scope.settle()
    end.request(1).expect_next([0, 1, 2, 3, 4])
    broken = manual.conflate(lambda n: [n], lambda all_, n: all_ / n)  # type: ignore[operator]
    control, end = broken.to_mat(subscriber(), pair).run(scope)
    control << 1 << 2
    scope.settle()
    end.request(1)
    assert isinstance(end.expect_error(), TypeError)


def test_threads_work_side_by_side_and_hand_on_in_order(scope: Scope) -> None:
    meeting = threading.Barrier(3, timeout=SOON)

    def meet(n: int) -> int:
        meeting.wait()
        return n

    assert list(Source.iter(range(6)).map_parallel(3, meet).run(scope)) == list(range(6))
    unordered = Source.iter(range(6)).map_parallel(3, meet, ordered=False)
    assert sorted(unordered.run(scope)) == list(range(6))

    def bad(n: int) -> int:
        raise Boom(str(n))

    with pytest.raises(Boom, match="0"):
        list(Source.iter(range(6)).map_parallel(3, bad).run(scope))


def test_coroutines_work_side_by_side_and_are_cancelled() -> None:
    async def main() -> None:
        async with Scope("tasks") as scope:
            running = 0
            most = 0

            async def work(n: int) -> int:
                nonlocal running, most
                running += 1
                most = max(most, running)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                running -= 1
                if n == 50:
                    raise Boom("fifty")
                return 2 * n

            numbers = Source.iter(range(20)).map_async(4, work)
            for _ in range(2):
                assert [n async for n in numbers.run(scope)] == list(range(0, 40, 2))
            assert most <= 4
            graph = Source.iter(range(100)).map_async(4, work, ordered=False).to(Sink.ignore())
            with pytest.raises(Boom, match="fifty"):
                await graph.run(scope)

            stopped = asyncio.Event()
            begun = asyncio.Event()

            async def for_ever(_: int) -> None:
                begun.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    stopped.set()

            async with Source.iter([1]).map_async(1, for_ever).open(scope):
                await asyncio.wait_for(begun.wait(), SOON)
            await asyncio.wait_for(stopped.wait(), SOON)

            closed = asyncio.Event()

            @flow.source
            async def ticks() -> AsyncIterator[int]:
                try:
                    n = 0
                    while True:
                        yield n
                        n += 1
                        await asyncio.sleep(0)
                finally:
                    closed.set()

            for _ in range(2):
                closed.clear()
                assert [n async for n in ticks.take(3).run(scope)] == [0, 1, 2]
                await asyncio.wait_for(closed.wait(), SOON)

            async def broken() -> AsyncIterator[int]:
                yield 1
                raise Boom("source")

            with pytest.raises(Boom, match="source"):
                await Source.from_async(broken).to(Sink.collect()).run(scope)

    asyncio.run(main())

    async def never(n: int) -> int:
        return n

    graph = Source.iter([1]).map_async(1, never).to(Sink.ignore())
    with Scope() as scope, pytest.raises(RuntimeError, match="no event loop"):
        graph.run(scope)


def test_joins(scope: Scope) -> None:
    left, right = Source.iter([1, 2, 3]), Source.iter("ab")
    assert list(left.zip(right).run(scope)) == [(1, "a"), (2, "b")]
    assert list(left.zip_with(right, lambda n, c: c * n).run(scope)) == ["a", "bb"]
    assert list(left.concat(right).run(scope)) == [1, 2, 3, "a", "b"]
    assert sorted(left.merge(left).run(scope)) == [1, 1, 2, 2, 3, 3]
    assert sorted(left.merge_prefer([left]).run(scope)) == [1, 1, 2, 2, 3, 3]
    assert list(Source.concat_all([left, left]).run(scope)) == [1, 2, 3, 1, 2, 3]
    assert sorted(Source.merge_all([left, left]).run(scope)) == [1, 1, 2, 2, 3, 3]
    assert list(Source.combine([left, left]).run(scope)) == [[1, 1], [2, 2], [3, 3]]
    fed: list[Source[int, Manual[int]]] = [Source.manual(), Source.manual()]
    controls = Source.merge_all(fed)
    both, result = controls.to_mat(Sink[int, Any].collect(), pair).run(scope)
    for n, control in enumerate(both):
        control << n
        control.complete()
    assert sorted(result.result(SOON)) == [0, 1]


def test_fan_outs(scope: Scope) -> None:
    numbers = Source.iter(range(10))
    total: Sink[int, Completion[int]] = Sink.fold(0, lambda a, b: a + b)
    first: Sink[int, Completion[int | None]] = Sink.first()
    whole, one = numbers.to(Sink[int, Any].broadcast([total, first])).run(scope)
    assert whole.result(SOON) == 45
    assert one.result(SOON) == 0
    parts = numbers.to(Sink.balance([total, total])).run(scope)
    assert sum(part.result(SOON) for part in parts) == 45
    odd_even = numbers.to(Sink.partition([total, total], lambda n: n % 2)).run(scope)
    assert [part.result(SOON) for part in odd_even] == [20, 25]
    nowhere = numbers.to(Sink.partition([total], lambda n: n)).run(scope)
    with pytest.raises(InvalidArgument):
        nowhere[0].result(SOON)

    def bad(_: int) -> int:
        raise Boom("which?")

    with pytest.raises(Boom) as raised:
        numbers.to(Sink.partition([total], bad)).run(scope)[0].result(SOON)
    assert raised.value.__notes__ == ['in stage "partition" of a stream']
    double: Flow[int, int, None] = Flow.map(lambda n: 2 * n)
    negate: Flow[int, int, None] = Flow.map(lambda n: -n)
    assert sorted(numbers.take(3).via(Flow.broadcast([double, negate])).run(scope)) == sorted(
        [0, 2, 4, 0, -1, -2]
    )
    through = numbers.via(Flow.partition([double, negate], lambda n: n % 2))
    assert sorted(through.run(scope)) == sorted([0, 4, 8, 12, 16, -1, -3, -5, -7, -9])
    with pytest.raises(Boom) as raised:
        list(numbers.via(Flow.partition([double, negate], bad)).run(scope))
    assert raised.value.__notes__ == ['in stage "partition" of a stream']
    assert sorted(numbers.via(Flow.balance([double, double])).run(scope)) == list(range(0, 20, 2))


def test_a_stream_for_each_key(scope: Scope) -> None:
    total: Flow[int, int, None] = Flow.fold(0, lambda a, b: a + b)
    numbers = Source.iter(range(10))
    grouped = numbers.group_by(2, lambda n: n % 2 == 0, total)
    for _ in range(2):
        assert sorted(grouped.run(scope)) == [20, 25]
    with pytest.raises(LimitReached):
        list(numbers.group_by(2, lambda n: n, total).run(scope))
    with pytest.raises(PlanRefused):
        numbers.group_by(2, lambda n: n, total, slots=1)
    with pytest.raises(TypeError, match="unhashable") as raised:
        list(numbers.group_by(2, lambda n: [n], total).run(scope))  # type: ignore[arg-type,return-value]
    assert raised.value.__notes__ == ['in stage "group_by" of a stream']


def test_a_scope_says_who_waits_for_whom() -> None:
    scope = Scope.stepped(0)
    assert "nothing runs" in scope.explain()
    source, end = publisher().map(str).to_mat(subscriber(), pair).run(scope)
    end.request(2)
    assert 'stage "map" has demand for 2 and waits for its source' in scope.explain()
    said = scope.explain_json()
    assert [stage["stage"] for stage in said["stages"]] == ["probe", "map", "probe"]
    assert said["stages"][1]["waits_for"] == "source"
    source.send_complete()


def test_an_engine_names_the_stages_of_the_scopes_that_tell_it() -> None:
    with Engine() as engine:
        assert engine.explain().stages == []
        with Scope.stepped(1, "export") as scope:
            scope.tell(engine)
            scope.tell(engine)
            source, end = publisher().map(str).to_mat(subscriber(), pair).run(scope)
            end.request(2)
            scope.settle()
            told = engine.explain()
            assert [stage.stage for stage in told.stages] == ["probe", "map", "probe"]
            assert {stage.scope for stage in told.stages} == {"export"}
            assert {stage.waits_for for stage in told.stages} == {"source"}
            assert told.stages[1].downstream == 2
            line = 'scope "export": stage "map" has demand for 2 and waits for its source'
            assert line in str(told)
            assert told.stages[1].says.startswith('stage "map" has demand for 2')
            assert Explanation(told.json) == told
            assert told.standing == []
            source.send_complete()
        assert engine.explain().stages == [], "nothing runs any more"


def test_an_engine_of_asyncio_is_told_too() -> None:
    async def main() -> None:
        async with aio.Engine() as engine, Scope.stepped(1, "export") as scope:
            scope.tell(engine)
            told = await engine.explain()
            assert told.stages == []
            source, end = publisher().map(str).to_mat(subscriber(), pair).run(scope)
            end.request(1)
            scope.settle()
            told = await engine.explain()
            assert [stage.waits_for for stage in told.stages] == ["source"] * 3
            source.send_complete()

    asyncio.run(main())


def test_groups_within_groups_keep_their_keys_apart(scope: Scope) -> None:
    # Each outer group asks for inner keys on a thread of its own, all of them at once.
    queues: Flow[int, int, None] = Flow.buffer(EdgeOptions(64))
    sums: Flow[int, int, None] = Flow.fold(0, lambda total, n: total + n)
    inner = Flow.group_by(64, lambda n: n // 8, sums)
    numbers = [n for n in range(512) for _ in range(4)]
    for _ in range(5):
        grouped = Source.iter(numbers).group_by(8, lambda n: n % 8, queues.via(inner))
        assert sorted(grouped.run(scope)) == sorted(4 * n for n in range(512))


def test_a_hub_is_heard_by_whoever_subscribes(scope: Scope) -> None:
    hub_of: Sink[int, Hub[int]] = Sink.broadcast_hub()
    source: Source[int, Manual[int]] = Source.manual()
    control, hub = source.to_mat(hub_of, pair).run(scope)
    everything = hub.subscribe()
    all_, evens = (
        everything.to(Sink.collect()).run(scope),
        hub.subscribe().filter(lambda n: n % 2 == 0).to(Sink.collect()).run(scope),
    )
    with pytest.raises(AlreadySubscribed):
        everything.to(Sink.ignore()).run(scope).result(SOON)
    slow = hub.subscribe(HubPolicy.DISCONNECT, capacity=1).to(subscriber()).run(scope)
    slow.limit = SOON
    for n in range(1, 6):
        control << n
    control.complete()
    assert all_.result(SOON) == [1, 2, 3, 4, 5]
    assert evens.result(SOON) == [2, 4]
    slow.request(5).expect_any()
    until(lambda: hub.is_over)
    event = slow.event(SOON)
    while event[0] == "next":
        event = slow.event(SOON)
    assert event[0] == "complete" or isinstance(event[1], BufferOverflow)
    with pytest.raises(InvalidArgument):
        hub.subscribe(capacity=0)


def test_a_merge_hub_is_fed_by_whoever_runs_its_sink(scope: Scope) -> None:
    merged: Source[Any, MergeHub[Any]] = Source.merge_hub()
    hub, result = merged.to_mat(Sink[Any, Any].collect(), pair).run(scope)
    Source.iter([1, 2]).to(hub.sink()).run(scope)
    Source.iter([3]).to(hub.sink()).run(scope)
    Source.failed(Boom("one of them")).to(hub.sink()).run(scope)
    until(lambda: hub.failures == 1)
    assert isinstance(hub.last_failure, Boom)
    hub.complete()
    assert sorted(result.result(SOON)) == [1, 2, 3]
    with pytest.raises(Closed):
        Source.iter([4]).to(hub.sink()).run(scope)


def test_a_loop_takes_an_element_again_until_it_is_let_out(scope: Scope) -> None:
    def halve(n: int) -> flow.Again[int] | flow.Out[str]:
        return flow.Again(n // 2) if n % 2 == 0 else flow.Out(str(n))

    looped: Flow[int, str, None] = Flow.feedback(2, Flow.map(halve))
    assert sorted(Source.iter([1, 12, 40, 7]).via(looped).run(scope)) == ["1", "3", "5", "7"]
    assert sorted(Source.iter([1, 12]).feedback(2, Flow.map(halve)).run(scope)) == ["1", "3"]
    with pytest.raises(PlanRefused, match="a cycle without a buffer"):
        Flow.feedback(0, Flow.map(halve))
    with pytest.raises(PlanRefused, match="more or fewer elements"):
        Flow.feedback(2, Flow.map(halve).via(Flow.filter(bool)))

    def neither(n: int) -> Any:
        return n

    with pytest.raises(AttributeError) as raised:
        list(Source.iter([1]).via(Flow.feedback(2, Flow.map(neither))).run(scope))
    assert raised.value.__notes__ == ['in stage "feedback" of a stream']


def test_a_switch_ends_a_run_from_outside(scope: Scope) -> None:
    def right(_: Any, switch: Any) -> Any:
        return switch

    source: Source[int, Manual[int]] = Source.manual()
    stream = source.via_mat(Flow[Any, Any, Any].switch(), pair)
    both, result = stream.to_mat(Sink[int, Any].collect(), pair).run(scope)
    control, switch = both
    assert switch.cancel()
    assert not switch.cancel(Boom())
    with pytest.raises(Cancelled):
        result.result(SOON)
    assert result.status is Status.CANCELLED, "a cancel is no failure"
    assert control.offer(1) == Offer.QUEUE_CLOSED
    (_, switch), result = stream.to_mat(Sink[int, Any].collect(), pair).run(scope)
    assert switch.cancel(Boom())
    with pytest.raises(Boom):
        result.result(SOON)
    assert result.status is Status.CANCELLED, "whatever the reason is"


CAP = "cap:double;in=media:i;out=media:i"


def test_streams_of_a_request_are_sources_and_sinks(scope: Scope) -> None:
    cartridge = Cartridge("test.flow")

    @cartridge.cap(CAP, input_sequence=True, output_sequence=True)
    def double(request: Request) -> None:
        with Scope("cartridge") as inner:
            items = Source.wire(request.input())
            doubled = items.map(lambda item: (2 * item.value, {"was": item.value}))
            doubled.to(Sink.wire_items(request.output())).run(inner).result(SOON)

    with attached(cartridge) as peer, peer.call(CAP) as call:
        rows = Source.iter(range(5)).map(lambda n: (n, None))
        written = rows.to(Sink.wire_items(call.input("media:i"))).run(scope)
        answers = Source.wire(call.output()).map(lambda item: (item.value, item.meta))
        result = answers.to(Sink.collect()).run(scope)
        assert written.result(SOON) is None
        call.finish_input(SOON)
        assert result.result(SOON) == [(2 * n, {"was": n}) for n in range(5)]
        call.wait(SOON)


def test_a_live_feed_is_a_source(scope: Scope) -> None:
    feed = Feed(8)
    for n in range(3):
        feed.push(n, n)
    feed.stop()
    stream = Source.feed(feed).map(lambda item: (item.value, FeedMeta.of(item).seq))
    assert list(stream.run(scope)) == [(0, 0), (1, 1), (2, 2)]
    with pytest.raises(AlreadySubscribed):
        list(stream.run(scope))
