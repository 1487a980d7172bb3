"""Every element is released once that is with a coroutine, in a queue or a file, or in a loop."""

from __future__ import annotations

import asyncio
import gc
import itertools
import queue
import threading
import traceback
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from conftest import until
from sluicegate.errors import InvalidArgument, LimitReached
from sluicegate.flow import (
    Again,
    Completion,
    EdgeOptions,
    Flow,
    Manual,
    Offer,
    OfferStatus,
    Out,
    Promise,
    Scope,
    Sink,
    Source,
    Status,
    testkit,
)
from tally import SOON, Element, Tally

SMALL = EdgeOptions(2)
Loop = asyncio.AbstractEventLoop


@pytest.fixture
def loop() -> Iterator[Loop]:
    """A loop on a thread of its own, which has nothing left to do in the end."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
        until(lambda: not asyncio.all_tasks(loop), SOON)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def endless(tally: Tally) -> Source[Element, None]:
    def make() -> Iterator[Element]:
        while True:
            yield tally.make()

    return Source.make(make)


async def keep(element: Element) -> Element:
    return element


async def hold(element: Element) -> Any:
    """Ends by a cancel alone."""
    await asyncio.Event().wait()
    return element


async def refuse(element: Element) -> Element:
    if element.number == 3:
        raise KeyError("mine")
    return element


Work = Callable[[Loop], Flow[Any, Any, None]]

HELD: dict[str, Work] = {
    "ordered": lambda loop: Flow.map_async(4, hold, loop=loop),
    "unordered": lambda loop: Flow.map_async(4, hold, ordered=False, loop=loop),
    "grouped": lambda loop: Flow.group_by(
        4, lambda e: e.number % 4, Flow.map_async(1, hold, loop=loop)
    ),
    "looped": lambda loop: Flow.feedback(4, Flow.map_async(4, hold, loop=loop)),
}
DONE: dict[str, Work] = {
    "ordered": lambda loop: Flow.map_async(4, keep, loop=loop),
    "unordered": lambda loop: Flow.map_async(4, keep, ordered=False, loop=loop),
    "grouped": lambda loop: Flow.group_by(
        4, lambda e: e.number % 4, Flow.map_async(2, keep, loop=loop)
    ),
    "looped": lambda loop: Flow.feedback(4, Flow.map_async(2, keep, loop=loop).via(TURN)),
}
FAILS: dict[str, Work] = {
    "ordered": lambda loop: Flow.map_async(4, refuse, loop=loop),
    "unordered": lambda loop: Flow.map_async(4, refuse, ordered=False, loop=loop),
    "grouped": lambda loop: Flow.group_by(
        4, lambda e: e.number % 4, Flow.map_async(2, refuse, loop=loop)
    ),
    "looped": lambda loop: Flow.feedback(4, Flow.map_async(2, refuse, loop=loop).via(TURN)),
}


def turn(element: Element) -> Again[Element] | Out[Element]:
    element.turns += 1
    return Out(element) if element.turns > 2 else Again(element)


TURN: Flow[Element, Again[Element] | Out[Element], None] = Flow.map(turn)


@pytest.mark.parametrize("work", HELD)
def test_a_cancel_releases_what_coroutines_hold(work: str, loop: Loop) -> None:
    tally = Tally()
    held = endless(tally).via(HELD[work](loop))
    with Scope("held") as scope, held.open(scope, EdgeOptions(8)):
        until(lambda: len(asyncio.all_tasks(loop)) == 4, SOON)
    tally.check()


@pytest.mark.parametrize("work", DONE)
def test_a_cancel_releases_what_coroutines_have_given(work: str, loop: Loop) -> None:
    tally = Tally()
    with Scope("given") as scope:
        with endless(tally).via(DONE[work](loop)).open(scope, SMALL) as outlet:
            next(outlet)
            until(lambda: tally.made >= 3, SOON)
        del outlet
    tally.check()


@pytest.mark.parametrize("work", FAILS)
def test_a_coroutine_that_raises_releases_the_others(work: str, loop: Loop) -> None:
    tally = Tally()
    with Scope("fails") as scope:
        result = endless(tally).via(FAILS[work](loop)).to(Sink.ignore()).run(scope)
        assert isinstance(result.exception(SOON), KeyError)
        del result
    tally.check()


def test_a_cancel_releases_what_an_async_generator_has_given(loop: Loop) -> None:
    tally, closed = Tally(), threading.Event()

    async def make() -> AsyncIterator[Element]:
        try:
            while True:
                yield tally.make()
        finally:
            closed.set()

    with Scope("generator") as scope:
        with Source.from_async(make, SMALL, loop=loop).open(scope, SMALL) as outlet:
            next(outlet)
            until(lambda: tally.made >= 4, SOON)
        del outlet
        assert closed.wait(SOON)
    tally.check()


def a_queue_of_threads(_: Loop) -> queue.Queue[Element]:
    return queue.Queue(4)


def a_queue_of_tasks(loop: Loop) -> asyncio.Queue[Element]:
    async def make() -> asyncio.Queue[Element]:
        return asyncio.Queue(4)

    return asyncio.run_coroutine_threadsafe(make(), loop).result(SOON)


QUEUES: list[Callable[[Loop], Any]] = [a_queue_of_threads, a_queue_of_tasks]


def nobody_waits(loop: Loop) -> bool:
    """Whether no thread and no task of a run is at a queue any more."""
    names = [thread.name for thread in threading.enumerate()]
    return "sluicegate-channel" not in names and not asyncio.all_tasks(loop)


@pytest.mark.parametrize("make", QUEUES)
def test_a_cancel_leaves_in_a_queue_what_it_has_not_taken(
    make: Callable[[Loop], Any], loop: Loop
) -> None:
    tally = Tally()

    def run() -> None:
        jobs = make(loop)
        for _ in range(4):
            loop.call_soon_threadsafe(jobs.put_nowait, tally.make())
        until(jobs.full, SOON)
        with Scope("queue") as scope:
            with Source.channel(jobs, loop=loop).open(scope, EdgeOptions(1)) as outlet:
                assert next(outlet).number == 1
                until(lambda: outlet.held == 1, SOON)  # the second
            until(lambda: len(tally.released) == 2, SOON)
            assert jobs.qsize() == 2
            with Source.channel(jobs, loop=loop).open(scope, EdgeOptions(4)) as outlet:
                assert [next(outlet).number for _ in range(2)] == [3, 4]
        until(lambda: nobody_waits(loop), SOON)
        loop.call_soon_threadsafe(jobs.put_nowait, tally.make())
        until(lambda: jobs.qsize() == 1, SOON)

    run()
    tally.check()


@pytest.mark.parametrize("make", QUEUES)
def test_a_shutdown_releases_what_waits_for_room_in_a_queue(
    make: Callable[[Loop], Any], loop: Loop
) -> None:
    tally = Tally()

    def run() -> None:
        jobs = make(loop)
        with Scope("full") as scope:
            result = endless(tally).to(Sink.channel(jobs, loop=loop)).run(scope)
            until(lambda: tally.made >= 5, SOON)
            scope.shutdown(SOON)
            assert result.status is Status.CANCELLED
        until(lambda: nobody_waits(loop), SOON)
        assert jobs.qsize() == 4
        until(lambda: tally.is_even() or len(tally.released) == tally.made - 4, SOON)

    run()
    tally.check()


class Line(str):
    """A line of a file, without an end, that tells when it is released."""

    tally: Tally
    at: int

    def __new__(cls, tally: Tally) -> Line:
        number = tally.number()
        line = super().__new__(cls, number)
        line.tally, line.at = tally, number
        return line

    def __del__(self) -> None:
        self.tally.release(self.at)


class Lines:
    """An endless file, which takes what is written to it up to the tenth."""

    def __init__(self, tally: Tally) -> None:
        self.tally, self.closed, self.written = tally, 0, 0

    def readline(self, size: int) -> Line:
        return Line(self.tally)

    def read(self, size: int) -> Any:
        return self.tally.make()

    def write(self, element: str) -> None:
        self.written += 1
        if self.written == 10:
            raise OSError("full")

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed += 1


READS: dict[str, Callable[[Callable[[], Lines]], Source[Any, Any]]] = {
    "lines": Source.lines,
    "chunks": Source.chunks,
}


@pytest.mark.parametrize("read", READS)
def test_a_cancel_releases_what_was_read(read: str) -> None:
    tally = Tally()
    file = Lines(tally)
    with Scope("file") as scope:
        with READS[read](lambda: file).open(scope, SMALL) as outlet:
            next(outlet)
            until(lambda: tally.made >= 4, SOON)
        del outlet
    tally.check()
    assert file.closed == 1


def test_a_file_that_takes_no_more_releases_what_was_to_be_written() -> None:
    tally = Tally()
    file = Lines(tally)
    with Scope("file") as scope:
        lines = Source.lines(lambda: file).buffer(SMALL)
        written: Completion[int] = lines.to(Sink.writer(lambda: file)).run(scope)
        assert isinstance(written.exception(SOON), OSError)
        del written
    tally.check()
    assert file.closed == 2, "once by the source, once by the sink"


class Local:
    """What a frame holds, seen by a weak reference."""


def fails(_: object) -> object:
    raise KeyError("mine")


def waits(scope: Scope) -> None:
    result = Source.single(1).map(fails).to(Sink.ignore()).run(scope)
    for _ in range(2):
        with pytest.raises(KeyError):
            result.result(SOON)
    assert isinstance(result.exception(), KeyError)
    assert (result.status, result.is_failure) == (Status.FAILURE, True)
    assert repr(result) == "<sluicegate.flow.Completion failure>"
    told: list[object] = []
    result.add_done_callback(told.append)
    assert told == [result]
    with pytest.raises(KeyError):
        result.to_concurrent().result(SOON)


def reads(scope: Scope) -> None:
    outlet = Source.single(1).map(fails).run(scope)
    for _ in range(2):
        with pytest.raises(KeyError):
            outlet.recv(SOON)
    with pytest.raises(KeyError):
        list(outlet)
    assert outlet.held == 0
    outlet.cancel()


def settles(_: Scope) -> None:
    promise: Promise[int] = Promise()
    completion = promise.completion
    try:
        fails(1)
    except KeyError as raised:
        promise.failure(raised)
    assert not promise.try_failure(KeyError("late"))
    for one in (completion, promise.completion):
        with pytest.raises(KeyError):
            one.result(SOON)
    assert not promise.try_success(1)
    assert not promise.try_cancel()
    with pytest.raises(InvalidArgument):
        promise.success(1)


def cancels(_: Scope) -> None:
    promise: Promise[int] = Promise()
    try:
        fails(1)
    except KeyError as raised:
        promise.cancel(raised)
    assert promise.completion.is_cancelled
    with pytest.raises(KeyError):
        promise.completion.result(SOON)


def feeds(scope: Scope) -> None:
    source: Source[int, Manual[int]] = Source.manual(EdgeOptions(2))
    manual, result = source.to_mat(Sink.ignore(), lambda a, b: (a, b)).run(scope)
    try:
        fails(1)
    except KeyError as raised:
        won = manual.fail(raised)
    assert won
    with pytest.raises(KeyError):
        result.result(SOON)
    for offer in (manual.offer(1), manual.try_offer(1)):
        assert offer is not None
        assert (offer.status, type(offer.error)) == (OfferStatus.FAILURE, KeyError)
    with pytest.raises(KeyError):
        manual << 1
    assert not manual.fail(KeyError("late"))
    assert not manual.complete()
    assert (manual.held, manual.lost, manual.is_over) == (0, 0, True)


def feeds_nobody(scope: Scope) -> None:
    source: Source[int, Manual[int]] = Source.manual(EdgeOptions(2))
    manual, outlet = source.to_mat(Sink.outlet(), lambda a, b: (a, b)).run(scope)
    for number in range(2):
        assert manual.try_offer(number) == Offer.ENQUEUED
    try:
        fails(1)
    except KeyError as raised:
        won = manual.fail(raised)
    assert won
    assert manual.held <= 2
    outlet.cancel()
    del outlet  # which may have been told of the failure
    until(lambda: manual.held == 0, SOON)


def plays(scope: Scope) -> None:
    publisher, result = testkit.publisher().to_mat(Sink.ignore(), lambda a, b: (a, b)).run(scope)
    try:
        fails(1)
    except KeyError as raised:
        won = publisher.send_error(raised)
    assert won
    with pytest.raises(KeyError):
        result.result(SOON)
    publisher.expect_cancel()


def switches(scope: Scope) -> None:
    endless = Source.make(lambda: itertools.repeat(1)).via_mat(
        Flow.switch(), lambda _, switch: switch
    )
    switch, result = endless.to_mat(Sink.ignore(), lambda a, b: (a, b)).run(scope)
    try:
        fails(1)
    except KeyError as raised:
        won = switch.cancel(raised)
    assert won
    assert not switch.cancel()
    with pytest.raises(KeyError):
        result.result(SOON)


async def awaits(scope: Scope) -> None:
    result = Source.single(1).map(fails).to(Sink.ignore()).run(scope)
    for one in (result, result.to_asyncio(), result):
        with pytest.raises(KeyError):
            await one
    outlet = Source.single(1).map(fails).run(scope)
    for _ in range(2):
        with pytest.raises(KeyError):
            await outlet.recv_async(SOON)
    with pytest.raises(KeyError):
        _ = [element async for element in outlet]


async def fails_in_tasks(scope: Scope) -> None:
    async def refuses(_: int) -> int:
        raise KeyError("mine")

    async def generates() -> AsyncIterator[int]:
        yield 1
        raise KeyError("mine")

    for source in (Source.single(1).map_async(1, refuses), Source.from_async(generates)):
        with pytest.raises(KeyError):
            await source.to(Sink.ignore()).run(scope)


FAILING: dict[str, Callable[[Scope], Any]] = {
    "result": waits,
    "outlet": reads,
    "promise": settles,
    "cancel": cancels,
    "manual": feeds,
    "outlet of a manual": feeds_nobody,
    "probe": plays,
    "switch": switches,
    "await": awaits,
    "tasks": fails_in_tasks,
}


@pytest.mark.parametrize("fail", FAILING)
def test_what_was_raised_keeps_no_frame_alive(fail: str) -> None:
    gone: list[weakref.ref[Local]] = []

    def run(scope: Scope) -> None:
        local = Local()
        gone.append(weakref.ref(local))
        answer = FAILING[fail](scope)
        if answer is not None:
            asyncio.run(answer)

    def all_gone() -> bool:
        gc.collect()
        return all(one() is None for one in gone)

    with Scope("frames") as scope:
        for _ in range(3):
            run(scope)
        until(all_gone, SOON)


def test_a_failure_that_is_told_again_has_the_same_traceback() -> None:
    with Scope("told") as scope:
        result = Source.single(1).map(fails).to(Sink.ignore()).run(scope)
        lengths = []
        for _ in range(4):
            with pytest.raises(KeyError) as info:
                result.result(SOON)
            lengths.append(len(list(traceback.walk_tb(info.value.__traceback__))))
        assert "fails" in [frame.f_code.co_name for frame, _ in traceback.walk_tb(info.tb)]
    assert lengths[1] == lengths[2] == lengths[3]


def test_a_group_too_many_releases_those_of_the_others() -> None:
    tally = Tally()
    with Scope("groups") as scope:
        queues: Flow[Element, Element, None] = Flow.buffer(SMALL)
        groups = endless(tally).group_by(3, lambda e: min(e.number // 4, 3), queues)
        result = groups.to(Sink.ignore()).run(scope)
        assert isinstance(result.exception(SOON), LimitReached)
        del result
    tally.check()


def test_a_loop_whose_body_raises_releases_what_is_in_it() -> None:
    tally = Tally()

    def body(element: Element) -> Again[Element] | Out[Element]:
        if element.number == 7 and element.turns == 2:
            raise KeyError("mine")
        return turn(element)

    with Scope("loop") as scope:
        loop = endless(tally).via(Flow.feedback(4, Flow.map(body)))
        result = loop.to(Sink.ignore()).run(scope)
        assert isinstance(result.exception(SOON), KeyError)
        del result
    tally.check()
