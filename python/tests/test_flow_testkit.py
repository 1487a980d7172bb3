"""Faults from a seed: the same seed gives the same faults, and a cut fails what runs once."""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import until
from sluicegate import Cartridge, Engine, Limits, Peer, Request
from sluicegate.errors import InvalidArgument, SluicegateError
from sluicegate.flow import EdgeOptions, Scope, Source
from sluicegate.flow.testkit import Faults, Seed, Shuffle, seed, subscriber

SOON = 120.0
BYTES = bytes(range(256)) * 20


def lengths_of(faults: Faults) -> tuple[list[int], bytes]:
    """How a link hands on what was written at its other end, by the read."""
    ours, theirs = socket.socketpair(type=socket.SOCK_STREAM)
    with ours, theirs:
        theirs.sendall(BYTES)
        theirs.shutdown(socket.SHUT_WR)
        link = faults.apply(ours)
    lengths, got = [], b""
    with link:
        while some := link.recv(1 << 16):
            lengths.append(len(some))
            got += some
    return lengths, got


def refuses(link: socket.socket) -> bool:
    """Writes to a link until it is broken, or reset."""
    try:
        link.sendall(BYTES)
    except OSError:
        return True
    return False


def carriers() -> int:
    """Threads that carry bytes over links now."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended since
            names.append(task.joinpath("comm").read_text())
    return sum(name.startswith("sluice-faults-") for name in names)


def test_a_link_changes_no_byte_and_ends_with_both_ends() -> None:
    for faults in (Faults(1), Faults(1).splits(), Faults(1).splits().delays(1e-6)):
        assert lengths_of(faults)[1] == BYTES
        ours, theirs = socket.socketpair()
        with theirs, faults.apply(ours) as link:
            ours.close()
            link.sendall(BYTES)
            link.shutdown(socket.SHUT_WR)  # one direction is over, the other goes on
            got = b""
            while some := theirs.recv(1 << 16):
                got += some
            assert got == BYTES
            theirs.sendall(b"back")
            theirs.close()
            assert link.recv(4) == b"back"
            assert link.recv(1) == b""
    until(lambda: carriers() == 0)


def test_a_cut_comes_after_its_byte_in_both_directions() -> None:
    for cut in (0, 1, 777):
        assert lengths_of(Faults(1).splits().cut_after(cut))[1] == BYTES[:cut]
        ours, theirs = socket.socketpair()
        with ours, theirs, Faults(1).splits().cut_after(cut).apply(ours) as link:
            until(lambda: refuses(link))
            got = b""
            while some := theirs.recv(1 << 16):
                got += some
            assert got == BYTES * (cut // len(BYTES)) + BYTES[: cut % len(BYTES)]


def test_a_seed_has_a_number_for_each_name() -> None:
    assert Seed(3).value == 3
    assert Seed(3).fork("a") == Seed(3).fork("a") != Seed(3).fork("b")
    assert Seed(3).fork("a") != Seed(4).fork("a")
    assert 0 <= seed().value < 2**64
    for wrong in (-1, 2**64):
        with pytest.raises(InvalidArgument):
            Seed(wrong)


FAILS = """
from sluicegate.flow import testkit
with testkit.seed() as seed:
    assert False, f"the seed is {seed.value}"
"""


def test_a_failing_test_tells_its_seed_and_the_variable_replays_it() -> None:
    def run(text: str) -> str:
        environment = {**os.environ, "SLUICEGATE_SEED": text}
        command = [sys.executable, "-c", FAILS]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert ran.returncode != 0
        return ran.stderr

    told = run("42")
    assert "the seed is 42" in told
    assert told.count("this schedule again: SLUICEGATE_SEED=42") == 2, "said, and a note"
    assert "'many' is no seed" in run("many")
    assert "InvalidArgument" in run(str(2**64))


class Counted:
    """Elements that know how many of their kind are alive."""

    alive = 0
    lock = threading.Lock()

    def __init__(self, n: int) -> None:
        self.n = n
        with Counted.lock:
            Counted.alive += 1

    def __del__(self) -> None:
        with Counted.lock:
            Counted.alive -= 1


@contextmanager
def linked(faults: Faults) -> Iterator[Peer]:
    """A cartridge that counts, in this process, behind a link with faults."""
    cartridge = Cartridge("test", "1")

    @cartridge.cap("cap:numbers;in=media:numbers;out=media:numbers")
    def numbers(request: Request) -> None:
        output, n = request.output(), 0
        while True:
            output.emit(n)
            n += 1

    ours, theirs = socket.socketpair()
    running = threading.Thread(target=cartridge.run, args=(theirs, theirs))
    with theirs, Engine(limits=Limits(initial_credit=4, max_chunk=64)) as engine:
        running.start()
        with ours, faults.apply(ours) as link, engine.attach(link, link) as peer:
            yield peer
    running.join(SOON)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_link_that_is_cut_fails_the_pipeline_once_and_everything_is_released() -> None:
    with seed() as chosen:
        for turn in range(6):
            cut = 3_000 + chosen.fork(f"cut {turn}") % 5_000
            faults = Faults(chosen.fork(f"link {turn}")).splits().delays(50e-6).cut_after(cut)
            with linked(faults) as peer, Scope("test") as scope:
                call = peer.call("cap:numbers;in=media:numbers;out=media:numbers")
                call.finish_input()
                counted = Source.wire_values(call.output()).map(Counted)
                end = counted.buffer(EdgeOptions(4)).to(subscriber()).run(scope)
                end.request(2**64 - 1)
                at = 0
                while True:
                    event = end.event(SOON)
                    assert event is not None
                    if event[0] != "next":
                        break
                    assert event[1].n == at, "in order, none missing"
                    at += 1
                assert event[0] == "error", "cut, and said to be complete"
                assert isinstance(event[1], SluicegateError)
                assert end.event(0) is None, "once"
                with pytest.raises(SluicegateError):
                    call.wait(SOON)
                del event, end, counted
                scope.shutdown(SOON)
            gc.collect()
            until(lambda: Counted.alive == 0)


def test_links_that_change_places_lose_nothing() -> None:
    shuffle = Shuffle()
    with seed() as chosen:
        links = [Faults(chosen.fork(f"link {n}")).splits().shuffled(shuffle) for n in range(3)]
        got: list[bytes] = []
        threads = [
            threading.Thread(target=lambda one=one: got.append(lengths_of(one)[1])) for one in links
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SOON)
        assert got == [BYTES] * 3
    until(lambda: carriers() == 0)
