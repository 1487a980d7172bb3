"""Files and queues as sources and sinks."""

from __future__ import annotations

import asyncio
import io
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from conftest import until
from sluicegate import flow
from sluicegate.errors import AlreadySubscribed, InvalidArgument, LimitReached, Malformed
from sluicegate.flow import Completion, Manual, Scope, Sink, Source, _channel
from sluicegate.flow.testkit import subscriber

SOON = 120.0


@pytest.fixture
def scope() -> Iterator[Scope]:
    with Scope("files") as scope:
        yield scope
        scope.shutdown(SOON)
        assert scope.running == 0


def all_of(source: Source[Any, Any], scope: Scope) -> list[Any]:
    result: Completion[list[Any]] = source.to(Sink[Any, Any].collect()).run(scope)
    return result.result(SOON)


class Watched(io.BytesIO):
    """A file that knows whether it was closed, after which its bytes can still be seen."""

    kept = b""

    def close(self) -> None:
        if not self.closed:
            self.kept = self.getvalue()
        super().close()


def test_lines_of_a_path_run_as_often_as_one_likes(scope: Scope, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes("one\r\n\ntwø\rstays\nlast".encode())
    source = Source.lines(path)
    assert all_of(source, scope) == ["one", "", "twø\rstays", "last"]
    assert all_of(source, scope) == ["one", "", "twø\rstays", "last"]
    assert all_of(Source.lines(str(path)).take(1), scope) == ["one"]


def test_an_open_file_runs_once_and_stays_open(scope: Scope) -> None:
    text = io.StringIO("a\nb\n")
    source = Source.lines(text)
    assert all_of(source, scope) == ["a", "b"]
    with pytest.raises(AlreadySubscribed):
        all_of(source, scope)
    assert not text.closed
    binary = io.BytesIO(b"12345")
    chunks = Source.chunks(binary, 2)
    assert all_of(chunks, scope) == [b"12", b"34", b"5"]
    with pytest.raises(AlreadySubscribed):
        all_of(chunks, scope)
    assert not binary.closed


@pytest.mark.parametrize("make", [Source.lines, Source.chunks])
def test_what_a_run_opens_it_closes(
    make: Callable[[Callable[[], IO[Any]]], Source[Any, None]], scope: Scope
) -> None:
    opened: list[Watched] = []

    def open_it() -> Watched:
        opened.append(Watched(b"x\n" * 100_000))
        return opened[-1]

    source = make(open_it)
    for _ in range(2):
        all_of(source, scope)
    assert len(all_of(source.take(1), scope)) == 1  # it is cancelled in the middle
    with source.open(scope) as outlet:
        next(outlet)
    scope.shutdown(SOON)
    until(lambda: all(file.closed for file in opened))
    assert len(opened) == 4


def test_what_is_wrong_with_a_file_fails_the_stream(scope: Scope, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        all_of(Source.lines(tmp_path / "none"), scope)
    with pytest.raises(LimitReached, match="line 2 is longer than 3 bytes"):
        all_of(Source.lines(lambda: io.BytesIO(b"abc\r\nabcd\n"), max_bytes=3), scope)
    with pytest.raises(LimitReached, match="line 1 is longer than 1 characters"):
        all_of(Source.lines(io.StringIO("øø"), max_bytes=1), scope)
    with pytest.raises(Malformed, match="line 1 is no UTF-8") as told:
        all_of(Source.lines(io.BytesIO(b"\xff\n")), scope)
    assert isinstance(told.value.__cause__, UnicodeDecodeError)
    with pytest.raises(IsADirectoryError):
        Source.single(b"").to(Sink.writer(tmp_path)).run(scope).result(SOON)
    read, write = os.pipe()
    os.set_blocking(read, False)
    with open(read, "rb", buffering=0) as raw, pytest.raises(BlockingIOError):
        all_of(Source.chunks(raw), scope)
    os.close(write)


def test_what_is_no_file_and_sizes_of_nothing_are_refused_when_the_blueprint_is_made() -> None:
    nothing: Any = 7
    for make in (Source.lines, Source.chunks, Sink.writer):
        with pytest.raises(TypeError, match="a path, a file or a function"):
            make(nothing)
    for size in (-1, 0, sys.maxsize, 2**64, 2**70):
        with pytest.raises(InvalidArgument, match="it must be from 1 to"):
            Source.lines("x", max_bytes=size)
        with pytest.raises(InvalidArgument, match="it must be from 1 to"):
            Source.chunks("x", size)
    Source.lines("x", max_bytes=sys.maxsize - 2)
    Source.chunks("x", sys.maxsize - 2)
    with pytest.raises(TypeError):
        Source.chunks("x", True)


def test_a_writer_writes_all_and_tells_how_much(scope: Scope, tmp_path: Path) -> None:
    path = tmp_path / "out"
    graph = Source.iter([b"one", bytearray(b"two"), memoryview(b"three")]).to(Sink.writer(path))
    for _ in range(2):  # each run opens it anew
        assert graph.run(scope).result(SOON) == 11
        assert path.read_bytes() == b"onetwothree"
    assert Source.empty().to(Sink.writer(path)).run(scope).result(SOON) == 0
    assert path.read_bytes() == b""
    text = io.StringIO()
    lines = Source.iter(["ø\n", "b\n"]).to(Sink.writer(text))
    assert lines.run(scope).result(SOON) == 4
    assert (text.getvalue(), text.closed) == ("ø\nb\n", False)
    with pytest.raises(AlreadySubscribed):
        lines.run(scope)


def test_a_raw_file_that_takes_a_part_gets_the_rest(scope: Scope) -> None:
    class Slow(io.RawIOBase):
        got = b""

        def writable(self) -> bool:
            return True

        def write(self, some: Any) -> int:
            self.got += bytes(some[:2])
            return len(some[:2])

    slow = Slow()
    assert Source.iter([b"abcde", b"f"]).to(Sink.writer(slow)).run(scope).result(SOON) == 6
    assert slow.got == b"abcdef"


def test_a_writer_that_fails_or_is_cancelled_closes_its_file(scope: Scope) -> None:
    opened: list[Watched] = []

    def open_it() -> Watched:
        opened.append(Watched())
        return opened[-1]

    source: Source[object, Manual[object]] = Source.manual()
    graph = source.to_mat(Sink.writer(open_it), lambda a, b: (a, b))
    control, result = graph.run(scope)
    control << b"kept" << 7  # which is not bytes
    with pytest.raises(TypeError):
        result.result(SOON)
    until(lambda: opened[0].closed)
    assert opened[0].kept == b"kept"
    control, result = graph.run(scope)
    control << b"more"
    control.fail(KeyError("mine"))
    with pytest.raises(KeyError):
        result.result(SOON)
    control, result = graph.run(scope)
    control << b"more"
    until(lambda: len(opened) == 3)
    scope.shutdown(SOON)
    until(lambda: all(file.closed for file in opened))
    assert result.is_cancelled


def test_a_queue_of_threads_is_a_source_and_nothing_is_taken_ahead(scope: Scope) -> None:
    numbers: queue.Queue[int | None] = queue.Queue()
    source = Source.channel(numbers, end=None)
    end = source.to(subscriber()).run(scope)
    for n in range(3):
        numbers.put(n)
    end.expect_no_message()
    assert numbers.qsize() == 3
    end.request(1).expect_next(0, limit=SOON)
    assert numbers.qsize() == 2
    end.request(3).expect_next(1, 2, limit=SOON)
    numbers.put(3)  # for the one that waits
    end.expect_next(3, limit=SOON)
    end.request(1)
    numbers.put(None)
    end.expect_complete(limit=SOON)


def test_a_wait_at_a_queue_ends_with_its_run_and_takes_nothing(scope: Scope) -> None:
    numbers: queue.Queue[int] = queue.Queue()
    before = threading.active_count()
    with Source.channel(numbers).open(scope) as outlet:
        numbers.put(1)
        assert outlet.recv(SOON) == 1
    until(lambda: scope.running == 0)
    numbers.put(2)
    assert numbers.get_nowait() == 2
    full: queue.Queue[int] = queue.Queue(1)
    result = Source.iter(range(10)).to(Sink.channel(full)).run(scope)
    until(full.full)
    scope.shutdown(SOON)
    assert result.is_cancelled
    assert full.get_nowait() == 0
    assert full.empty()
    until(lambda: threading.active_count() <= before)


def test_a_queue_of_threads_is_a_sink_that_waits_for_room(scope: Scope) -> None:
    some: queue.Queue[int] = queue.Queue(2)
    result = Source.iter(range(100)).to(Sink.channel(some)).run(scope)
    assert [some.get(timeout=SOON) for _ in range(100)] == list(range(100))
    assert result.result(SOON) is None
    through: queue.Queue[int] = queue.Queue(3)
    writing = Source.iter(range(1000)).to(Sink.channel(through)).run(scope)
    assert all_of(Source.channel(through).take(1000), scope) == list(range(1000))
    writing.result(SOON)


def test_queues_of_tasks() -> None:
    async def main() -> None:
        async with Scope("tasks") as scope:
            into: asyncio.Queue[Any] = asyncio.Queue(2)
            out: asyncio.Queue[int] = asyncio.Queue(2)
            numbers: Source[int, None] = Source.channel(into, end=None)
            result = numbers.map(lambda n: 2 * n).to(Sink.channel(out)).run(scope)
            got = []
            for n in range(20):
                await into.put(n)
                got.append(await out.get())
            assert got == [2 * n for n in range(20)]
            await into.put(None)
            await result
            # A run that is cancelled waits no longer, and has taken nothing.
            async with Source.channel(into).open(scope) as outlet:
                await into.put(1)
                assert await outlet.recv_async(SOON) == 1
            await scope.shutdown_async()
            into.put_nowait(2)
            await asyncio.sleep(0)
            assert into.get_nowait() == 2

    asyncio.run(main())
    tasks: asyncio.Queue[int] = asyncio.Queue()
    with Scope("no loop") as scope, pytest.raises(RuntimeError, match="event loop"):
        Source.channel(tasks).run(scope)


class Shuttable(queue.Queue[Any]):
    """A queue that can be shut down, as any can from Python 3.13 on."""

    is_shutdown = False

    def shutdown(self) -> None:
        with self.mutex:
            self.is_shutdown = True
            self.not_empty.notify_all()
            self.not_full.notify_all()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if self.is_shutdown and self.empty():
            raise _channel._Shut
        return super().get(block, timeout)

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        if self.is_shutdown:
            raise _channel._Shut
        super().put(item, block, timeout)


def test_a_queue_that_is_shut_down_ends_both(scope: Scope) -> None:
    numbers: Any = queue.Queue(1) if hasattr(queue, "ShutDown") else Shuttable(1)
    result = Source.channel(numbers).to(Sink[Any, Any].collect()).run(scope)
    numbers.put(1)
    until(numbers.empty)
    numbers.shutdown()
    assert result.result(SOON) == [1]
    from sluicegate.errors import Closed

    with pytest.raises(Closed):
        Source.iter([1]).to(Sink.channel(numbers)).run(scope).result(SOON)


def test_what_is_no_queue_is_refused() -> None:
    nothing: Any = queue.SimpleQueue()
    for make in (Source.channel, Sink.channel):
        with pytest.raises(TypeError, match="not SimpleQueue"):
            make(nothing)


def test_a_failure_of_the_upstream_goes_past_a_queue(scope: Scope) -> None:
    @flow.source
    def fails() -> Iterator[int]:
        yield 1
        raise KeyError("mine")

    some: queue.Queue[int] = queue.Queue()
    result = fails.to(Sink.channel(some)).run(scope)
    with pytest.raises(KeyError):
        result.result(SOON)
    assert some.get_nowait() == 1
