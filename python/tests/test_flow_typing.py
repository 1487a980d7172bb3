"""What a type checker sees of ``sluicegate.flow``, and its decorators at work."""

from __future__ import annotations

import asyncio
import inspect
import queue
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any, assert_type

import pytest

from sluicegate import flow
from sluicegate.flow import (
    Completion,
    EdgeOptions,
    Flow,
    Hub,
    Manual,
    MergeHub,
    Outlet,
    Promise,
    RunnableGraph,
    Scope,
    Sink,
    Source,
    Stage,
    Switch,
    testkit,
)

SOON = 120.0


def check_sources(scope: Scope, tasks: asyncio.Queue[str], threads: queue.Queue[int]) -> None:
    """Checked by mypy, never run."""
    numbers = Source.iter([1, 2])
    assert_type(numbers, Source[int, None])
    assert_type(Source.single("x"), Source[str, None])
    assert_type(Source.lines("path"), Source[str, None])
    assert_type(Source.chunks(sys.stdin.buffer), Source[bytes, None])
    assert_type(Source.channel(threads), Source[int, None])
    assert_type(Source.channel(tasks), Source[str, None])
    assert_type(Source.tick(1.0, "x"), Source[str, None])
    assert_type(Source.unfold(0, lambda n: (n + 1, str(n))), Source[str, None])
    assert_type(numbers.map(str), Source[str, None])
    assert_type(numbers.filter_map(lambda n: str(n) if n else None), Source[str, None])
    assert_type(numbers.batch(3), Source[list[int], None])
    assert_type(numbers.sliding(3), Source[list[int], None])
    assert_type(numbers.scan("", lambda a, n: a + str(n)), Source[str, None])
    assert_type(numbers.expand(lambda n: [str(n)]), Source[str, None])
    assert_type(numbers.zip(Source.single("x")), Source[tuple[int, str], None])
    assert_type(numbers.merge(Source.single("x")), Source[int | str, None])
    assert_type(numbers.concat(Source.single("x")), Source[int | str, None])
    assert_type(Source.combine([numbers, numbers]), Source[list[int], list[None]])
    assert_type(numbers.map_parallel(2, str), Source[str, None])
    assert_type(numbers.retry(3), Source[int, None])
    manual: Source[int, Manual[int]] = Source.manual(EdgeOptions(2))
    assert_type(manual.map(str), Source[str, Manual[int]])
    assert_type(manual.map_mat(lambda control: control.held), Source[int, int])
    assert_type(manual.via_mat(Flow.switch(), lambda a, b: (a, b)).run(scope), Outlet[int])
    hub: Source[Any, MergeHub[Any]] = Source.merge_hub()
    assert_type(hub.run(scope), Outlet[Any])


def check_stages_that_take_any(numbers: Source[int, None]) -> None:
    """Checked by mypy, never run. What a stage stands beside says what its elements are."""
    keeping: list[Flow[int, int, None]] = [
        *(Flow.take(2), Flow.drop(2), Flow.page(2), Flow.throttle(1, 1.0), Flow.delay(1.0)),
        *(Flow.debounce(1.0), Flow.idle_timeout(1.0), Flow.initial_timeout(1.0)),
        *(Flow.completion_timeout(1.0), Flow.take_within(1.0), Flow.drop_within(1.0)),
        *(Flow.buffer(), Flow.recover(lambda error: len(str(error))), Flow.recover_with(numbers)),
    ]
    assert_type(numbers.via(keeping[0]), Source[int, None])
    assert_type(numbers.via(Flow.take(2)), Source[int, None])
    assert_type(numbers.via(Flow.throttle(1, 1.0)), Source[int, None])
    assert_type(numbers.via(Flow.idle_timeout(1.0)).map(str), Source[str, None])
    assert_type(Flow.map(str).via(Flow.take(2)), Flow[object, str, None])
    assert_type(numbers.via_mat(Flow.switch(), lambda _, switch: switch), Source[int, Switch])
    assert_type(numbers.via(Flow.recover_with(Source.single("x"))), Source[int | str, None])
    assert_type(numbers.recover(lambda error: str(error)), Source[int | str, None])
    assert_type(numbers.recover_with(Source.single("x")), Source[int | str, None])
    assert_type(numbers.batch(2).flatten(), Source[int, None])
    assert_type(Flow.take(2), Flow[Any, Any, None])  # alone, nobody says it
    assert_type(Source.empty(), Source[Any, None])
    played: Source[str, testkit.Publisher[str]] = testkit.publisher()
    assert_type(played, Source[str, testkit.Publisher[str]])
    none: Source[str, None] = Source.empty()
    assert_type(none.concat(Source.single("x")), Source[str, None])
    numbers.flatten()  # type: ignore[misc]


def check_runs(scope: Scope, source: Source[int, Manual[int]]) -> None:
    """Checked by mypy, never run."""
    collected: RunnableGraph[Completion[list[int]]] = source.to(Sink.collect())
    assert_type(collected.run(scope).result(1.0), list[int])
    assert_type(source.to(Sink.fold("", lambda a, n: a + str(n))).run(scope).result(), str)
    assert_type(source.to(Sink.writer("path")).run(scope).result(), int)
    assert_type(source.to(Sink.ignore()).run(scope).exception(), BaseException | None)
    shared: RunnableGraph[Hub[int]] = source.to(Sink.broadcast_hub())
    assert_type(shared.run(scope).subscribe(), Source[int, None])
    assert_type(next(source.run(scope)), int)
    assert_type(scope.stages(), list[Stage])
    both = source.to_mat(testkit.subscriber(), lambda a, b: (a, b))
    assert_type(both.run(scope), tuple[Manual[int], testkit.Subscriber[int]])
    assert_type(Flow.switch().map_mat(Switch.cancel), Flow[Any, Any, bool])
    promise: Promise[int] = Promise()
    assert_type(promise.completion, Completion[int])


async def check_tasks(scope: Scope, source: Source[int, None]) -> None:
    """Checked by mypy, never run."""
    done: RunnableGraph[Completion[list[int]]] = source.to(Sink.collect())
    assert_type(await done.run(scope), list[int])
    async with source.open(scope) as outlet:
        assert_type(outlet, Outlet[int])
        async for number in outlet:
            assert_type(number, int)
        assert_type(await outlet.recv_async(), int)


def test_a_function_becomes_a_stage_by_a_decorator() -> None:
    @flow.source
    def numbers() -> Iterator[int]:
        yield from range(1, 7)

    @flow.unfold(1)
    def doubled(n: int) -> tuple[int, int] | None:
        return (2 * n, n) if n < 10 else None

    @flow.pages(0)
    def paged(page: int) -> tuple[list[int], int | None]:
        return [page, page], page + 1 if page < 2 else None

    @flow.fetch
    def rows(first: int, n: int) -> list[int]:
        return list(range(first, min(first + n, 5)))

    @flow.map
    def text(n: int) -> str:
        return str(n)

    @flow.filter
    def is_even(n: int) -> bool:
        return n % 2 == 0

    @flow.expand
    def twice(n: int) -> Iterator[int]:
        yield n
        yield n

    @flow.scan(0)
    def total(so_far: int, n: int) -> int:
        return so_far + n

    @flow.map_parallel(2)
    def negative(n: int) -> int:
        return -n

    @flow.group_by(2, text)
    def key(n: int) -> int:
        return n % 2

    @flow.fold("")
    def joined(so_far: str, some: str) -> str:
        return so_far + some

    assert_type(numbers, Source[int, None])
    assert_type(text, Flow[int, str, None])
    assert_type(negative, Flow[int, int, None])
    assert_type(joined, Sink[str, Completion[str]])
    seen: list[str] = []
    collects = flow.foreach(seen.append)
    with Scope("decorated") as scope:

        def all_of(source: Source[Any, None]) -> list[Any]:
            return list(source.run(scope))

        assert all_of(numbers.via(is_even)) == [2, 4, 6]
        assert all_of(doubled) == [1, 2, 4, 8]
        assert all_of(paged) == [0, 0, 1, 1, 2, 2]
        assert all_of(rows.page(2)) == [0, 1, 2, 3, 4]
        assert all_of(numbers.take(2).via(twice)) == [1, 1, 2, 2]
        assert all_of(numbers.via(total)) == [1, 3, 6, 10, 15, 21]
        assert all_of(numbers.via(negative)) == [-1, -2, -3, -4, -5, -6]
        assert sorted(all_of(numbers.via(key))) == ["1", "2", "3", "4", "5", "6"]
        assert numbers.via(text).to(joined).run(scope).result(SOON) == "123456"
        numbers.via(text).to(collects).run(scope).result(SOON)
    assert seen == ["1", "2", "3", "4", "5", "6"]


def test_a_coroutine_becomes_a_stage_by_a_decorator() -> None:
    @flow.source
    async def numbers() -> AsyncIterator[int]:
        for n in range(5):
            yield n

    @flow.map_async(2)
    async def squared(n: int) -> int:
        await asyncio.sleep(0)
        return n * n

    assert_type(squared, Flow[int, int, None])

    async def main() -> list[int]:
        async with Scope("tasks") as scope:
            return [n async for n in numbers.via(squared).run(scope)]

    assert asyncio.run(main()) == [0, 1, 4, 9, 16]


def test_what_would_never_run_is_refused_with_what_to_use() -> None:
    async def later(n: int) -> int:
        return n

    async def many(n: int) -> AsyncIterator[int]:
        yield n

    stages: list[Any] = [
        *(Flow.map, Flow.tap, Flow.filter, Flow.filter_map, Flow.expand, Flow.recover),
        *(Flow.take_while, Flow.drop_while, Sink.foreach),
    ]
    for stage in stages:
        for function in (later, many):
            with pytest.raises(TypeError, match="is async, and this stage awaits nothing"):
                stage(function)
    with pytest.raises(TypeError, match="use map_async"):
        Flow.map_parallel(2, later)
    with pytest.raises(TypeError, match="use map_async"):
        Source.iter([1]).scan(0, later)  # type: ignore[arg-type]

    def rows(n: int) -> Iterator[int]:
        yield n

    with pytest.raises(TypeError, match=r"use Source.make\(lambda: .*rows\(...\)\)"):
        flow.source(rows)  # type: ignore[arg-type]


def test_every_public_name_is_documented() -> None:
    for module in (flow, testkit):
        assert inspect.getdoc(module)
        for name in module.__all__:
            public = getattr(module, name)
            assert inspect.getdoc(public), name
            if not inspect.isclass(public):
                continue
            for member, value in vars(public).items():
                value = getattr(value, "__func__", value)
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert inspect.getdoc(value), (name, member)


@pytest.mark.parametrize("module", ["sluicegate.flow", "sluicegate.flow.testkit"])
def test_the_stubs_agree(module: str) -> None:
    command = [sys.executable, "-m", "mypy.stubtest", module]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
