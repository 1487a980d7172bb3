"""Arguments at their limits: HZ-G06, HZ-G07, HZ-G08, HZ-G10."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from typing import Any

import pytest

from conftest import until
from sluicegate import Gate, Limits, Router, Window, aio, negotiate
from sluicegate.errors import InvalidArgument, TimedOut

MAX = 2**64 - 1


@pytest.mark.parametrize("count", [0, 1, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, MAX])
def test_hz_g07_every_count_is_honoured(count: int) -> None:
    gate = Gate(count)
    assert gate.available == count
    assert gate.try_acquire(count)
    gate.grant(count)
    gate.acquire(count, timeout=0)
    assert gate.available == 0
    assert Window(count).remaining == count
    assert negotiate(count, MAX) == (count or None)
    router = Router()
    router.register(count, None, gate)
    assert router.grant(count, None, count) == "granted"
    assert gate.available == count


@pytest.mark.parametrize("count", [-1, -(2**31), -(2**63), -(2**64), 2**64, 2**70])
def test_hz_g07_what_does_not_fit_is_refused(count: int) -> None:
    gate = Gate(5)
    calls: list[Any] = [Gate, Window, gate.try_acquire, gate.acquire, gate.grant]
    for call in calls:
        with pytest.raises(InvalidArgument):
            call(count)
    with pytest.raises(ValueError, match="not a count"):
        Window(4, batch=count)
    assert gate.available == 5


@pytest.mark.parametrize("count", [True, False, 1.0, "1", None, b"1", [1]])
def test_what_is_no_integer_is_refused(count: Any) -> None:
    gate = Gate(5)
    for call in (Gate, Window, gate.try_acquire, gate.acquire, gate.grant):
        with pytest.raises(TypeError):
            call(count)
    assert gate.available == 5


@pytest.mark.parametrize("request_", [1.5, None, ("a",)])
def test_a_request_is_named_by_a_number_a_text_or_bytes(request_: Any) -> None:
    with pytest.raises(TypeError):
        Router().register(request_, None, Gate(1))


def test_the_kinds_of_names_are_never_equal() -> None:
    router, gates = Router(), [Gate(0), Gate(0), Gate(0)]
    names: list[int | str | bytes] = [1, "1", b"1"]
    for name, gate in zip(names, gates, strict=True):
        router.register(name, None, gate)
    assert router.grant("1", None, 7) == "granted"
    assert [gate.available for gate in gates] == [0, 7, 0]
    assert len(router) == 3


def test_hz_g06_credit_saturates() -> None:
    gate = Gate(0)
    for n in (MAX, MAX, 1):
        gate.grant(n)
    assert gate.available == MAX
    gate.acquire(1)
    gate.grant(1)
    gate.acquire(MAX)
    assert gate.available == 0


def test_hz_g08_no_time_at_all_is_a_try() -> None:
    gate = Gate(1)
    gate.acquire(timeout=0)
    with pytest.raises(TimedOut):
        gate.acquire(timeout=0)
    with pytest.raises(TimedOut):
        gate.acquire(timeout=1e-9)
    assert gate.waiting == 0


@pytest.mark.parametrize(
    "timeout", [None, float("inf"), sys.float_info.max, 10**400, threading.TIMEOUT_MAX]
)
def test_hz_g08_the_largest_limit_is_none_and_is_woken(timeout: float | None) -> None:
    gate = Gate(0)
    waiter = threading.Thread(target=gate.acquire, kwargs={"timeout": timeout})
    waiter.start()
    until(lambda: gate.waiting == 1)
    gate.grant(1)
    waiter.join(5)
    assert not waiter.is_alive()


@pytest.mark.parametrize("timeout", [-1, -0.001, float("nan"), float("-inf"), -(10**400)])
def test_a_limit_that_is_no_duration_is_refused(timeout: float) -> None:
    with pytest.raises(InvalidArgument):
        Gate(1).acquire(timeout=timeout)
    with pytest.raises(InvalidArgument):
        asyncio.run(aio.Gate(1).acquire(timeout=timeout))


@pytest.mark.parametrize("timeout", ["1", True, b"", (1,)])
def test_a_limit_of_another_type_is_refused(timeout: Any) -> None:
    with pytest.raises(TypeError):
        Gate(1).acquire(timeout=timeout)


def test_hz_g08_async() -> None:
    async def main() -> None:
        gate = aio.Gate(0)
        with pytest.raises(TimedOut):
            await gate.acquire(timeout=0)
        waiters = [
            asyncio.create_task(gate.acquire(timeout=t))
            for t in (None, float("inf"), sys.float_info.max)
        ]
        while gate.waiting < 3:
            await asyncio.sleep(0)
        gate.grant(3)
        await asyncio.wait_for(asyncio.gather(*waiters), 5)

    asyncio.run(main())


def test_a_limit_is_kept() -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        Gate(0).acquire(timeout=0.05)
    assert time.monotonic() - started >= 0.05  # a loaded machine is late, never early


def test_hz_g10_nothing_is_nothing() -> None:
    gate = Gate(0)
    gate.grant(0)
    assert gate.available == 0
    gate.acquire(0, timeout=0)
    assert Window(4).flush() == 0


def test_limits_of_zero_are_refused() -> None:
    from sluicegate import Engine

    with pytest.raises(InvalidArgument, match="initial_credit"):
        Engine(limits=Limits(initial_credit=0))
    with pytest.raises(InvalidArgument, match="policy"):
        Engine(policy="none")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="handshake_timeout"):
        Engine(handshake_timeout=-1)
