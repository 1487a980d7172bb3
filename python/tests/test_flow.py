"""The streams protocol: demand, terminals, cancel, failure, rollback, shutdown."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import itertools
import math
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import until
from sluicegate import flow
from sluicegate.errors import (
    BufferOverflow,
    Cancelled,
    InvalidArgument,
    ScopeShutDown,
    TimedOut,
)
from sluicegate.flow import (
    Completion,
    EdgeOptions,
    Flow,
    Manual,
    Offer,
    OfferStatus,
    Overflow,
    Promise,
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
        scope.shutdown(SOON)
        assert scope.running == 0


def test_a_blueprint_runs_as_often_as_one_likes_each_time_afresh(scope: Scope) -> None:
    def value(n: int) -> str:
        return f"value={n}"

    lengths: Flow[int, int, None] = Flow.map(value).via(Flow.map(len))
    source: Source[int, Manual[int]] = Source.manual()
    graph = source.via(lengths).to_mat(Sink[int, Any].collect(), pair)
    for _ in range(3):
        control, result = graph.run(scope)
        assert control.offer(7) == Offer.ENQUEUED
        assert control.complete()
        assert not control.complete(), "one terminal"
        assert result.result(SOON) == [7]


def test_the_probes_of_the_seed(scope: Scope) -> None:
    graph = publisher(EdgeOptions(1)).map(lambda n: f"value={n}").to_mat(subscriber(), pair)
    source, end = graph.run(scope)
    source.limit = end.limit = SOON
    source.send_next(7)
    end.expect_no_message(0.025)
    end.request(1).expect_next("value=7")
    source.send_complete()
    end.expect_complete()
    assert not end.try_request(1), "a terminal that was taken rejects later demand"
    with pytest.raises(AssertionError, match="its terminal"):
        end.request(1)


def test_demand_is_a_grant_and_goes_all_the_way_up() -> None:
    scope = Scope.stepped(1)
    graph = publisher().filter(lambda n: n % 2 == 0).take(3).to_mat(subscriber(), pair)
    source, end = graph.run(scope)
    scope.settle()
    control = source.control
    assert control.demand == 0
    assert control.try_offer(0) is None, "nothing without demand"
    end.request(0)
    assert control.demand == 0, "a request for nothing is ignored"
    end.request(2)
    assert control.demand == 2
    names = [stage.name for stage in scope.stages()]
    assert names == ["probe", "filter", "take", "probe"]
    assert scope.stages()[1].demand() == flow.Demand(downstream=2, upstream=2, held=0)
    for n in range(5):
        assert control.try_offer(n) == Offer.ENQUEUED
        scope.settle()
        # Each that is filtered away is replaced by a request for another, until two have passed.
        assert control.demand == [1, 1, 0, 1, 0][n]
        if n == 2:
            end.request(2**64 - 1)
            assert control.demand == 1, "take(3) has passed on 3 and asks for no fourth"
    assert scope.stages() == [], "the third element ended it"
    end.expect_next(0, 2, 4)
    end.expect_complete()
    assert control.try_offer(9) == Offer.QUEUE_CLOSED


@pytest.mark.parametrize(
    ("overflow", "left", "lost"),
    [
        (Overflow.DROP_HEAD, [8, 9, 10], 7),
        (Overflow.DROP_NEW, [1, 2, 3], 7),
        (Overflow.DROP_TAIL, [1, 2, 10], 7),
        (Overflow.DROP_BUFFER, [10], 9),
    ],
)
def test_every_strategy_holds_three_and_no_more(
    overflow: Overflow, left: list[int], lost: int
) -> None:
    scope = Scope.stepped(3)
    source: Source[int, Manual[int]] = Source.manual(EdgeOptions(3, overflow=overflow))
    control, end = source.to_mat(subscriber(), pair).run(scope)
    for n in range(1, 11):
        offer = control.try_offer(n)
        assert offer in (Offer.ENQUEUED, Offer.DROPPED)
        scope.settle()
        assert control.held <= 3
    assert control.lost == lost
    control.complete()
    end.request(10).expect_next(*left).expect_complete()


def test_under_backpressure_the_fourth_offer_waits_and_fail_ends_the_stream() -> None:
    scope = Scope.stepped(3)
    source: Source[int, Manual[int]] = Source.manual(EdgeOptions(3))
    control, end = source.to_mat(subscriber(), pair).run(scope)
    for n in (1, 2, 3):
        assert control.try_offer(n) == Offer.ENQUEUED
    assert control.try_offer(4) is None
    with pytest.raises(TimedOut):
        control.offer(4, 0)
    end.request(1).expect_next(1)
    assert control.try_offer(4) == Offer.ENQUEUED, "one left, one may come"

    failing: Source[int, Manual[int]] = Source.manual(EdgeOptions(3, overflow=Overflow.FAIL))
    control, end = failing.to_mat(subscriber(), pair).run(scope)
    for n in (1, 2, 3):
        assert control.try_offer(n) == Offer.ENQUEUED
    offer = control.try_offer(4)
    assert offer is not None
    assert offer.status is OfferStatus.FAILURE
    assert isinstance(offer.error, BufferOverflow)
    with pytest.raises(BufferOverflow):
        control << 5
    end.request(10).expect_next(1, 2, 3)
    assert isinstance(end.expect_error(), BufferOverflow)


def test_sizes_of_nothing_are_refused_when_the_blueprint_is_made(scope: Scope) -> None:
    with pytest.raises(InvalidArgument, match="0 elements"):
        EdgeOptions(0)
    with pytest.raises(InvalidArgument, match="0 bytes"):
        EdgeOptions(bytes=0)
    with pytest.raises(TypeError, match="function"):
        Flow.map(7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="count"):
        Source.iter("abc").take(True)
    for capacity in (1, 2**31 - 1, 2**62, 2**64 - 1):
        graph = Source.iter(range(100)).buffer(EdgeOptions(capacity)).to(Sink.collect())
        assert graph.run(scope).result(SOON) == list(range(100))


class Boom(Exception):
    pass


def test_a_function_that_raises_fails_the_stream_at_both_ends_with_the_same_exception(
    scope: Scope,
) -> None:
    boom = Boom("three is too many")

    def double(n: int) -> int:
        if n == 3:
            raise boom
        return 2 * n

    source: Source[int, Manual[int]] = Source.manual()
    control, result = source.map(double).to_mat(Sink[int, Any].collect(), pair).run(scope)
    for n in range(4):
        control.offer(n)
    with pytest.raises(Boom) as caught:
        result.result(SOON)
    assert caught.value is boom
    assert boom.__notes__ == ['in stage "map" of a stream']
    assert result.exception() is boom
    assert boom.__notes__ == ['in stage "map" of a stream'], "said once"
    assert result.status is Status.FAILURE
    while control.offer(9) == Offer.ENQUEUED:
        pass
    assert control.is_over


def test_in_every_stage_and_sink_what_a_function_raises_comes_out(scope: Scope) -> None:
    def bad(*_: object) -> Any:
        raise Boom("bad")

    def rows() -> Iterator[int]:
        yield 1
        raise Boom("bad")

    numbers = Source.iter([1, 2, 3])
    streams: list[Source[Any, None]] = [
        numbers.map(bad),
        numbers.tap(bad),
        numbers.filter(bad),
        numbers.filter_map(bad),
        numbers.scan(0, bad),
        numbers.fold(0, bad),
        numbers.take_while(bad),
        numbers.drop_while(bad),
        numbers.buffer(EdgeOptions(bytes=10), size=bad),
        Source.unfold(0, bad),
        Source.make(rows),
        Source.failed(Boom("bad")),
    ]
    for stream in streams:
        with pytest.raises(Boom, match="bad"):
            stream.to(Sink.ignore()).run(scope).result(SOON)
        with pytest.raises(Boom, match="bad"):
            list(stream.run(scope))
    for sink in (Sink[int, Any].fold(0, bad), Sink[int, Any].foreach(bad)):
        with pytest.raises(Boom, match="bad"):
            numbers.to(sink).run(scope).result(SOON)
    with pytest.raises(Boom, match="bad"):
        Source.make(bad).to(Sink.collect()).run(scope)


class Counted:
    """Counts how many of its kind are alive."""

    alive = 0
    lock = threading.Lock()

    def __init__(self) -> None:
        with Counted.lock:
            Counted.alive += 1

    def __del__(self) -> None:
        with Counted.lock:
            Counted.alive -= 1


def test_a_cancel_releases_every_element_once_and_wakes_the_producer(scope: Scope) -> None:
    Counted.alive = 0
    source: Source[Counted, Manual[Counted]] = Source.manual(EdgeOptions(4))
    control, end = source.buffer(EdgeOptions(4)).to_mat(subscriber(), pair).run(scope)
    accepted = 0

    def produce(control: Manual[Counted]) -> None:
        nonlocal accepted
        while control.offer(Counted()) == Offer.ENQUEUED:
            accepted += 1

    producer = threading.Thread(target=produce, args=(control,))
    producer.start()
    end.limit = SOON
    end.request(1).expect_any()
    until(lambda: accepted >= 8)
    end.cancel()
    producer.join(SOON)
    assert not producer.is_alive()
    scope.shutdown(SOON)
    del control
    gc.collect()
    until(lambda: Counted.alive == 0)


def test_a_scope_that_is_shut_down_cancels_what_runs_and_refuses_what_comes() -> None:
    scope = Scope("test")
    source: Source[int, Manual[int]] = Source.manual(EdgeOptions(1))
    graph = source.to_mat(subscriber(), pair)
    control, end = graph.run(scope)
    kept, result = source.to_mat(Sink[int, Any].collect(), pair).run(scope)
    control.offer(1)
    offers: list[Offer] = []
    blocked = threading.Thread(target=lambda: offers.append(control.offer(2)))
    blocked.start()
    scope.shutdown(SOON)
    blocked.join(SOON)
    assert offers == [Offer.QUEUE_CLOSED]
    assert result.is_cancelled
    with pytest.raises(ScopeShutDown, match="test"):
        result.result()
    assert end.event(SOON)[0] == "error"
    assert kept.is_over
    with pytest.raises(ScopeShutDown):
        graph.run(scope)
    scope.shutdown(SOON)


def test_a_time_that_is_none_is_refused_and_shuts_nothing_down() -> None:
    with Scope("test") as scope:
        for none in (math.nan, -math.inf, -1.0):
            with pytest.raises(InvalidArgument):
                scope.shutdown(none)
            with pytest.raises(InvalidArgument):
                asyncio.run(scope.shutdown_async(none))
        assert list(Source.iter([1]).run(scope)) == [1]
        scope.shutdown(math.inf)


def test_a_combiner_that_raises_takes_everything_back(scope: Scope) -> None:
    kept: list[Manual[int]] = []
    source: Source[int, Manual[int]] = Source.manual()
    boom = Boom("no value of these two")

    def combine(_: object, __: object) -> None:
        raise boom

    graph = source.map_mat(kept.append).buffer().to_mat(Sink[int, Any].collect(), combine)
    with pytest.raises(Boom) as caught:
        graph.run(scope)
    assert caught.value is boom
    assert kept[0].is_over, "its edge was taken back"
    assert scope.running == 0


def test_a_failure_of_the_source_arrives_behind_what_was_accepted(scope: Scope) -> None:
    source: Source[int, Manual[int]] = Source.manual()
    control, end = source.buffer().to_mat(subscriber(), pair).run(scope)
    end.limit = SOON
    gone = OSError("the disk is gone")
    control << 1 << 2
    assert control.fail(gone)
    end.request(9).expect_next(1, 2)
    assert end.expect_error() is gone
    assert control.offer(3) == Offer(OfferStatus.FAILURE, gone)


def test_an_outlet_is_an_iterator_and_leaving_it_cancels(scope: Scope) -> None:
    closed = threading.Event()

    @flow.source
    def numbers() -> Iterator[int]:
        n = 0
        try:
            while True:
                yield n
                n += 1
        finally:
            closed.set()

    @flow.map
    def square(n: int) -> int:
        return n * n

    for _ in range(2):
        closed.clear()
        with numbers.via(square).open(scope) as items:
            assert [next(items) for _ in range(4)] == [0, 1, 4, 9]
        assert closed.wait(SOON), "the generator was closed"
    assert list(numbers.take(3).run(scope)) == [0, 1, 2]


def test_sources_and_sinks(scope: Scope) -> None:
    numbers = Source.iter([1, 2, 3])
    assert numbers.to(Sink.first()).run(scope).result(SOON) == 1
    assert numbers.to(Sink.last()).run(scope).result(SOON) == 3
    assert Source.empty().to(Sink.first()).run(scope).result(SOON) is None
    assert Source.single("x").to(Sink.collect()).run(scope).result(SOON) == ["x"]
    add: Sink[int, Completion[int]] = Sink.fold(0, lambda a, b: a + b)
    assert numbers.to(add).run(scope).result(SOON) == 6
    assert Source.empty().to(add).run(scope).result(SOON) == 0
    seen: list[int] = []
    assert numbers.to(Sink.foreach(seen.append)).run(scope).result(SOON) is None
    assert seen == [1, 2, 3]
    countdown = Source.unfold(3, lambda n: None if n == 0 else (n - 1, n))
    assert list(countdown.run(scope)) == [3, 2, 1]
    assert list(numbers.scan(0, lambda a, b: a + b).run(scope)) == [1, 3, 6]
    assert list(numbers.fold(0, lambda a, b: a + b).run(scope)) == [6]
    assert list(numbers.filter_map(lambda n: None if n == 2 else n).run(scope)) == [1, 3]
    assert list(numbers.drop(1).take_while(lambda n: n < 3).run(scope)) == [2]
    assert list(numbers.drop_while(lambda n: n < 2).run(scope)) == [2, 3]
    sink = Flow[Any, Any, None].take(2).to(Sink.collect())
    assert numbers.to(sink).run(scope).result(SOON) == [1, 2]


def test_an_edge_limited_in_bytes_holds_that_many(scope: Scope) -> None:
    source: Source[bytes, Manual[bytes]] = Source.manual(EdgeOptions(10, bytes=8))
    control, end = source.to_mat(subscriber(), pair).run(scope)
    assert control.try_offer(b"12345") == Offer.ENQUEUED
    assert control.try_offer(b"1234") is None
    end.limit = SOON
    end.request(1).expect_next(b"12345")
    assert control.offer(b"1234", SOON) == Offer.ENQUEUED
    control.complete()
    end.request(1).expect_next(b"1234").expect_complete()


def test_a_promise_is_kept_once() -> None:
    promise: Promise[int] = Promise()
    completion = promise.completion
    told: list[Status] = []
    completion.add_done_callback(lambda settled: told.append(settled.status))
    future = completion.to_concurrent()
    assert completion.is_pending
    with pytest.raises(TimedOut):
        completion.result(0)
    assert promise.try_success(7)
    assert not promise.try_failure(Boom())
    assert not promise.try_cancel()
    with pytest.raises(InvalidArgument, match="Success"):
        promise.success(8)
    assert completion.result() == 7
    assert completion.exception() is None
    assert completion.is_success
    assert told == [Status.SUCCESS]
    assert future.result(SOON) == 7
    lost: Promise[int] = Promise()
    completion = lost.completion
    del lost
    gc.collect()
    assert completion.is_cancelled
    with pytest.raises(Cancelled):
        completion.result()


def test_tasks_wait_for_all_of_it() -> None:
    async def main() -> None:
        async with Scope("tasks") as scope:
            source: Source[int, Manual[int]] = Source.manual(EdgeOptions(1))
            doubled = source.map(lambda n: 2 * n)
            control, outlet = doubled.to_mat(Sink[int, Any].outlet(), pair).run(scope)

            async def feed() -> None:
                for n in range(50):
                    assert await control.offer_async(n) == Offer.ENQUEUED
                control.complete()

            feeding = asyncio.create_task(feed())
            assert [n async for n in outlet] == list(range(0, 100, 2))
            await feeding
            total = Source.iter(range(10)).to(Sink[int, Any].fold(0, lambda a, b: a + b))
            assert await total.run(scope) == 45
            assert await total.run(scope).to_asyncio() == 45
            boom = Boom("here")
            with pytest.raises(Boom) as caught:
                await Source.failed(boom).to(Sink.ignore()).run(scope).to_asyncio()
            assert caught.value is boom
            async with Source.iter(range(10)).open(scope) as items:
                assert await items.recv_async(SOON) == 0

    asyncio.run(main())


def test_another_future_is_a_completion_too() -> None:
    mine = KeyError("mine")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        kept, failed, given_up = (loop.create_future() for _ in range(3))
        ours = [Completion.of(future) for future in (kept, failed, given_up)]
        kept.set_result(7)
        failed.set_exception(mine)
        given_up.cancel()
        assert await ours[0] == 7
        with pytest.raises(KeyError) as raised:
            await ours[1]
        assert raised.value is mine
        with pytest.raises(Cancelled):
            await ours[2]
        assert ours[2].is_cancelled

    asyncio.run(main())
    threads: concurrent.futures.Future[int] = concurrent.futures.Future()
    waiting = Completion.of(threads)
    assert waiting.is_pending
    threads.set_result(8)
    assert waiting.result(SOON) == 8


def test_a_cancelled_task_gives_its_wait_up_and_leaving_the_block_cancels_the_pipeline() -> None:
    async def main() -> None:
        async with Scope("tasks") as scope:
            source: Source[int, Manual[int]] = Source.manual()
            control, result = source.to_mat(Sink[int, Any].collect(), pair).run(scope)

            async def wait() -> None:
                await result

            waiting = asyncio.create_task(wait())
            reading = asyncio.Event()

            async def read() -> None:
                async with Source.make(itertools.count).take_within(SOON).open(scope) as outlet:
                    async for _ in outlet:
                        reading.set()

            task = asyncio.create_task(read())
            await reading.wait()
            for one in (waiting, task):
                one.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await one
            until(lambda: scope.running == 1)  # the one that only a wait was given up for
            control << 1
            control.complete()
            assert await result == [1]

    asyncio.run(main())


def test_a_function_of_a_stage_may_shut_its_own_scope_down() -> None:
    scope = Scope("own")
    result = Source.iter(range(10)).tap(lambda _: scope.shutdown(SOON)).to(Sink.ignore())
    with pytest.raises(ScopeShutDown):
        result.run(scope).result(SOON)
    scope.shutdown(SOON)


def test_a_blueprint_that_refers_to_its_owner_is_collected() -> None:
    class Owner:
        def __init__(self) -> None:
            self.source = Source.iter([1]).map(self.method).filter(self.method)
            self.graph = self.source.to(Sink.foreach(self.method))

        def method(self, n: int) -> int:
            return n

    owner = Owner()
    with Scope() as scope:
        owner.graph.run(scope).result(SOON)
    gone = weakref.ref(owner)
    del owner
    until(lambda: gc.collect() >= 0 and gone() is None)


def test_what_came_to_a_result_is_released_with_it(scope: Scope) -> None:
    Counted.alive = 0
    graph = Source.make(lambda: (Counted() for _ in range(5))).to(Sink.collect())
    result = graph.run(scope)
    assert len(result.result(SOON)) == 5
    assert Counted.alive == 5
    del result
    until(lambda: Counted.alive == 0)


def test_many_threads_feed_and_read_one_pipeline(scope: Scope) -> None:
    source: Source[int, Manual[int]] = Source.manual(EdgeOptions(4))
    control, outlet = source.map(lambda n: n + 1).to_mat(Sink[int, Any].outlet(), pair).run(scope)
    taken: list[int] = []

    def feed(first: int) -> None:
        for n in range(first, first + 100):
            control.offer(n)

    def read() -> None:
        taken.extend(outlet)

    feeders = [threading.Thread(target=feed, args=(100 * i,)) for i in range(4)]
    readers = [threading.Thread(target=read) for _ in range(3)]
    for thread in feeders + readers:
        thread.start()
    for thread in feeders:
        thread.join(SOON)
    control.complete()
    for thread in readers:
        thread.join(SOON)
    assert sorted(taken) == list(range(1, 401))


def test_a_stepped_scope_takes_the_same_turns_for_the_same_seed() -> None:
    def order(seed: int) -> list[str]:
        scope = Scope.stepped(seed)
        seen: list[str] = []
        for name in "abcde":
            stream = Source.iter([name] * 3).tap(seen.append)
            stream.buffer(EdgeOptions(1)).to(Sink.ignore()).run(scope)
        scope.settle()
        return seen

    assert order(7) == order(7)
    assert len({tuple(order(seed)) for seed in range(8)}) > 1
