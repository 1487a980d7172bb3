"""HZ-F01: Ctrl-C, and any handler that raises, ends every wait at once and consumes nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

from conftest import WATCHDOG, attached, inside, is_asleep, until
from sluicegate import Cartridge, Gate, InputStream, Limits, Peer, Request, _wait

CAP = "cap:still;in=media:blob;out=media:blob"


class Struck(Exception):
    """What a handler of a test raises."""


@pytest.fixture
def still() -> Iterator[Peer]:
    """A cartridge whose handler takes nothing and gives nothing until the call is over."""
    cartridge = Cartridge("still")

    @cartridge.cap(CAP)
    def stay(request: Request) -> None:
        request.output().start()
        raise request.cancelled()

    with attached(cartridge, Limits(initial_credit=2)) as peer:
        yield peer


def interrupt(call: Callable[[], object], signal_: int = signal.SIGINT) -> None:
    """Strikes while the main thread waits in `call`, which nothing else would end."""
    over = threading.Event()

    def strike() -> None:
        try:
            until(lambda: is_asleep(threading.main_thread()))
        finally:
            os.kill(os.getpid(), signal_)
        # CPython may have missed it, see `is_asleep`: whatever wakes the thread shows it.
        while not over.wait(1):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR2)

    before = signal.signal(signal.SIGUSR2, lambda *_: None)
    striker = threading.Thread(target=strike)
    striker.start()
    try:
        with pytest.raises((KeyboardInterrupt, Struck)):
            call()
    finally:
        over.set()
        striker.join()
        signal.signal(signal.SIGUSR2, before)


def test_acquire() -> None:
    gate = Gate(2)
    interrupt(lambda: gate.acquire(3))
    assert (gate.available, gate.waiting) == (2, 0)


def test_streams_and_calls(still: Peer) -> None:
    with still.call(CAP) as call:
        output, stream = call.output(), call.input("media:blob")
        interrupt(output.recv)
        interrupt(output.collect_bytes)
        interrupt(lambda: next(output))
        interrupt(call.wait)
        interrupt(call.next_event)
        interrupt(call.next_output)
        stream.emit(0)
        stream.emit(1)
        interrupt(lambda: stream.emit(2))
        stream.write(b"held")
        interrupt(stream.flush)
        interrupt(stream.close)
        interrupt(call.finish_input)
        assert stream.stats.chunks == 2
    interrupt(still.died)


def test_the_programs_own_handler_runs() -> None:
    def handler(*_: object) -> None:
        raise Struck

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        interrupt(Gate(0).acquire, signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_handler_that_does_not_raise_disturbs_nothing() -> None:
    gate, ran = Gate(0), threading.Event()
    before = signal.signal(signal.SIGUSR1, lambda *_: ran.set())

    def strike() -> None:
        until(lambda: is_asleep(threading.main_thread()))
        os.kill(os.getpid(), signal.SIGUSR1)
        assert ran.wait(WATCHDOG)
        gate.grant(1)

    striker = threading.Thread(target=strike)
    striker.start()
    try:
        gate.acquire(timeout=WATCHDOG)
    finally:
        striker.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def storm() -> Iterator[list[int]]:
    """Raises at random moments, while the main thread is in a call of this library."""
    strikes = [0]

    def handler(_: int, frame: FrameType | None) -> None:
        if inside(frame, _wait.wait):
            strikes[0] += 1
            raise Struck

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
    yield strikes
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_an_interrupted_acquire_keeps_no_credit(storm: list[int]) -> None:
    gate, taken = Gate(0), list[object]()
    given = 0
    acquire: Callable[[int], object] = gate.acquire
    give_up = time.monotonic() + 300
    while storm[0] < 200 and time.monotonic() < give_up:
        gate.grant(1)
        given += 1
        with contextlib.suppress(Struck):
            taken.append(acquire(1))  # nothing can strike between the return and the append
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert storm[0] >= 200
    assert gate.available == given - len(taken)


def test_an_interrupted_receive_loses_no_item(storm: list[int]) -> None:
    cartridge = Cartridge("numbers")
    count = 20_000

    @cartridge.cap("cap:numbers;out=media:blob")
    def numbers(request: Request) -> None:
        for number in range(count):
            request.output().emit(number)

    signal.setitimer(signal.ITIMER_REAL, 0)
    with attached(cartridge) as peer:
        call = peer.call("cap:numbers;out=media:blob")
        call.finish_input()
        output: InputStream = call.output()
        got: list[int] = []
        signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
        while len(got) < count:
            with contextlib.suppress(Struck):
                got.append(output.recv().value)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert got == list(range(count))
        assert storm[0] > 0
        call.wait()
