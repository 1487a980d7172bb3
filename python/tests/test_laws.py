"""The laws of flow control, between a Python host and a process: the reference cartridge."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from conftest import REFERENCE
from raw import CHUNK, END, ERR, raw_host
from sluicegate import Call, Engine, Limits, Peer
from sluicegate.errors import Cancelled, SluicegateError, TimedOut, Unbounded

ECHO = "cap:fc-echo;in=media:blob;out=media:blob"
FOREVER = "cap:fc-forever;in=media:blob;out=media:blob"
PRODUCE = "cap:fc-produce;in=media:json;out=media:blob"
SINK = "cap:fc-sink;in=media:blob;out=media:json"
MULTI = "cap:fc-multi;in=media:blob;out=media:text"


@contextmanager
def windowed(window: int) -> Iterator[Peer]:
    """The cartridge, to which every stream starts with this many chunks."""
    limits = Limits(initial_credit=window)
    with Engine(limits=limits) as engine, engine.spawn(sys.executable, REFERENCE) as peer:
        yield peer


def feed(call: Call, count: int) -> threading.Thread:
    """Feeds the numbers below ``count`` to a call, on a thread."""
    stream = call.input("media:blob")

    def send() -> None:
        for number in range(count):
            stream.emit(number)
        call.finish_input()

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def test_l9_a_sender_starts_with_the_window_and_waits_at_zero() -> None:
    """L9: nobody reads this input, so that there is room for the window and no more."""
    with windowed(2) as peer, peer.call(FOREVER) as call:
        stream = call.input("media:blob")
        assert stream.stats.window == 2
        stream.emit(0)
        stream.emit(1)
        with pytest.raises(TimedOut):
            stream.emit(2, timeout=0.1)
        assert (stream.stats.chunks, stream.stats.window) == (2, 0)


@pytest.mark.parametrize("window", [1, 2, 3, 32])
def test_l10_l11_what_is_consumed_comes_back_with_every_window(window: int) -> None:
    """L10, L11: credit comes from whoever consumes in the end, also when no batch is full."""
    with windowed(window) as peer:
        call = peer.call(SINK)
        feeding = feed(call, 100)
        assert call.output().collect_bytes() == b"100"
        feeding.join()
        call.wait()


def test_l12_who_sends_without_credit_fails_that_request_alone() -> None:
    """L12: the chunk beyond the window is not delivered, and the request beside it lives on."""
    with raw_host(window=4) as host:
        host.open(1, ECHO, "media:blob")
        host.open(2, FOREVER, "media:blob")  # which reads none of it
        for index in range(5):
            host.chunk(2, index)
        error = host.until(2, ERR)[5]
        assert (error["code"], error["attribution_class"]) == ("CREDIT_VIOLATION", "internal")
        for index in range(3):
            host.chunk(1, index)
        host.close(1, 3)
        assert [host.until(1, CHUNK)[6][0] for _ in range(3)] == [0, 1, 2]
        host.until(1, END)


def test_l13_a_cancel_releases_who_waits_for_credit() -> None:
    """L13: eight threads wait for room, and all of them are told."""
    with windowed(2) as peer, peer.call(FOREVER) as call:
        stream = call.input("media:blob")
        ends: list[SluicegateError] = []

        def send() -> None:
            try:
                while True:
                    stream.emit(b"x")
            except SluicegateError as error:
                ends.append(error)

        senders = [threading.Thread(target=send) for _ in range(8)]
        for sender in senders:
            sender.start()
        call.output().recv()
        call.cancel()
        for sender in senders:
            sender.join()
        assert [type(end) for end in ends] == [Cancelled] * 8


def test_l14_control_flows_while_no_data_may() -> None:
    """L14: logs and progress cost no credit."""
    with windowed(1) as peer, peer.call(PRODUCE) as full:
        stream = full.input("media:json")
        stream.write(b'{"chunks":20}')
        full.finish_input()
        output = full.output()  # of which nothing is read
        call = peer.call(MULTI)
        with suppress(SluicegateError):  # it reads no input, and may be over
            call.finish_input()
        assert call.wait().message == "done"
        assert len(list(call.events())) == 2
        assert [item.value for item in output] == list(range(20))


def test_l15_both_directions_are_served_at_once() -> None:
    """L15: one chunk of room each way."""
    with windowed(1) as peer:
        call = peer.call(ECHO)
        feeding = feed(call, 200)
        assert list(call.output().values()) == list(range(200))
        feeding.join()
        call.wait()


def test_l16_l17_an_unbounded_stream_ends_by_a_cancel_in_its_middle() -> None:
    """L16, L17: it is never collected whole; the cartridge lives on."""
    with windowed(4) as peer:
        call = peer.call(FOREVER)
        call.finish_input()
        output = call.output()
        assert output.info.unbounded
        with pytest.raises(Unbounded):
            output.collect_items()
        assert [output.recv().value for _ in range(100)] == list(range(100))
        call.cancel()
        with pytest.raises(Cancelled):
            call.wait()
        echo = peer.call(ECHO)
        feeding = feed(echo, 3)
        assert list(echo.output().values()) == [0, 1, 2]
        feeding.join()
