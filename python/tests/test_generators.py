"""Handlers that are generators."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from conftest import attached
from sluicegate import Cartridge, Limits, Request, aio
from sluicegate.errors import Cancelled, SluicegateError

SOON = 120.0
THREAD = "cap:thread;in=media:blob;out=media:blob"
TASK = "cap:task;in=media:blob;out=media:blob"
ITEMS = "cap:items;in=media:blob;out=media:items"
RAISES = "cap:raises;in=media:blob;out=media:blob"
FOREVER = "cap:forever;in=media:blob;out=media:blob"


def made() -> tuple[Cartridge, threading.Event]:
    cartridge, closed = Cartridge("generators"), threading.Event()

    @cartridge.cap(THREAD)
    def thread(request: Request) -> Iterator[bytes]:
        for chunk in request.input().chunks():
            yield chunk.upper()

    @cartridge.cap(TASK)
    async def task(request: aio.Request) -> AsyncIterator[bytes]:
        async for chunk in (await request.input()).chunks():
            yield chunk.lower()

    @cartridge.cap(ITEMS, output_sequence=True)
    def items(_: Request) -> Iterator[Any]:
        yield {"n": 1}
        yield b"two"

    @cartridge.cap(RAISES)
    def raises(_: Request) -> Iterator[int]:
        yield 1
        raise ValueError("mine")

    @cartridge.cap(FOREVER)
    def forever(_: Request) -> Iterator[int]:
        try:
            while True:
                yield 0
        finally:
            closed.set()

    return cartridge, closed


@pytest.mark.parametrize(("cap", "answer"), [(THREAD, b"HELLO"), (TASK, b"hello")])
def test_what_a_generator_yields_is_emitted(cap: str, answer: bytes) -> None:
    with attached(made()[0]) as peer, peer.call(cap) as call:
        with call.input("media:blob") as stream:
            stream.write(b"Hello")
        call.finish_input()
        assert call.output().collect_bytes() == answer
        assert call.wait(SOON).progress == 1.0


def test_of_a_sequence_each_is_an_item() -> None:
    with attached(made()[0]) as peer, peer.call(ITEMS) as call:
        call.finish_input()
        assert list(call.output().values()) == [{"n": 1}, b"two"]


def test_what_a_generator_raises_fails_its_call(capfd: pytest.CaptureFixture[str]) -> None:
    with attached(made()[0]) as peer, peer.call(RAISES) as call:
        call.finish_input()
        with pytest.raises(SluicegateError, match="ValueError: mine"):
            call.wait(SOON)
    assert "ValueError: mine" in capfd.readouterr().err


def test_a_generator_is_closed_when_its_call_is_cancelled() -> None:
    cartridge, closed = made()
    with attached(cartridge, Limits(initial_credit=2)) as peer, peer.call(FOREVER) as call:
        call.finish_input()
        assert call.output().recv(SOON).value == 0
        call.cancel()
        with pytest.raises(Cancelled):
            call.wait(SOON)
        assert closed.wait(SOON)
