"""What a type checker sees: the stub against the module, and the types of the public calls."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any, assert_type

import pytest

import sluicegate
from sluicegate import (
    Call,
    Engine,
    Event,
    Gate,
    InputStream,
    Item,
    OutputStream,
    Peer,
    Request,
    Terminal,
    Window,
    aio,
)


def check_types(engine: Engine, peer: Peer, call: Call, request: Request) -> None:
    """Checked by mypy, never run."""
    assert_type(Gate(1).try_acquire(), bool)
    assert_type(Window(1).consumed(), int)
    assert_type(engine.spawn("x", "y", env={"A": None}), Peer)
    assert_type(peer.call("cap:x"), Call)
    assert_type(call.input("media:x"), OutputStream)
    assert_type(call.output(timeout=1), InputStream)
    assert_type(call.output().recv(), Item)
    assert_type(call.output().chunks(), Iterator[bytes])
    assert_type(call.output().recv().view, memoryview)
    assert_type(call.output().collect_items(), list[Item])
    assert_type(call.next_event(), Event | None)
    assert_type(call.wait(), Terminal)
    with call.input("media:x") as stream:
        assert_type(stream, OutputStream)
        assert_type(stream.write(memoryview(b"")), int)
    assert_type(request.next_input(), InputStream | None)
    with engine as entered:
        assert_type(entered, Engine)


async def check_aio_types(engine: aio.Engine, request: aio.Request) -> None:
    """Checked by mypy, never run."""
    peer = await engine.spawn("x")
    assert_type(peer, aio.Peer)
    output = await peer.call("cap:x").output()
    assert_type(output, aio.InputStream)
    assert_type(output.chunks(), AsyncIterator[bytes])
    assert_type(await output.recv(), Item)
    assert_type(await request.output().write(b""), int)
    async for item in output:
        assert_type(item, Item)


@pytest.mark.parametrize(
    "check",
    [["mypy.stubtest", "sluicegate._core"], ["mypy", "--strict", __file__]],
    ids=["stubs", "types"],
)
def test_a_checker_agrees(check: list[str]) -> None:
    command = [sys.executable, "-m", *check]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_says_that_it_is_typed() -> None:
    from importlib.resources import files

    assert files("sluicegate").joinpath("py.typed").is_file()


def test_asyncio_has_the_same_names() -> None:
    """A call that waits is a coroutine there; all else is the same."""
    assert set(sluicegate.__all__) - set(aio.__all__) == {"__version__"}
    assert set(aio.__all__) <= set(sluicegate.__all__)
    for name in aio.__all__:
        ours, theirs = getattr(sluicegate, name), getattr(aio, name)
        if not inspect.isclass(ours) or ours is theirs:
            continue
        for member in set(dir(ours)) | set(dir(theirs)):
            if member.startswith("_") or (name, member) == ("InputStream", "reader"):
                continue
            one, other = getattr(ours, member), getattr(theirs, member)
            if inspect.isfunction(one):
                assert parameters(one) == parameters(other), (name, member)


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_every_public_name_is_documented() -> None:
    for module in (sluicegate, aio):
        for name in module.__all__:
            public = getattr(module, name)
            if not inspect.isclass(public):
                continue
            assert public.__doc__, name
            for member, value in inspect.getmembers(public):
                if not member.startswith("_") and callable(value):
                    assert inspect.getdoc(value), (name, member)


def test_no_wait_of_asyncio_blocks() -> None:
    assert asyncio.iscoroutinefunction(aio.Gate.acquire)
    assert asyncio.iscoroutinefunction(aio.InputStream.recv)
    assert not asyncio.iscoroutinefunction(aio.Gate.try_acquire)
