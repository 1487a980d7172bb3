#!/usr/bin/env python3
"""The reference cartridge in Python: every cap of ``tests/cartridges/README.md``."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

from sluicegate import (
    Cartridge,
    Limits,
    OutputStream,
    Request,
    SluicegateError,
    StreamSender,
    aio,
)
from sluicegate.errors import InvalidArgument

SECOND = "media:second"

window = os.environ.get("FC_WINDOW")
cartridge = Cartridge(
    "reference-python",
    "1.0.0",
    description="Every reference cap, in Python",
    limits=Limits(initial_credit=int(window)) if window else None,
)


@cartridge.cap("cap:fc-echo;in=media:blob;out=media:blob")
def echo(request: Request) -> None:
    """Each value back as it comes, types kept, one at a time."""
    output = request.output()
    for value in request.input().values():
        output.emit(value)
        output.flush()  # nothing is held back for the next


@cartridge.cap(
    "cap:fc-items;in=media:items;out=media:items", input_sequence=True, output_sequence=True
)
async def items(request: aio.Request) -> None:
    """Each item back with its metadata."""
    output = request.output()
    async for item in await request.input():
        await output.emit_item(item.value, item.meta)


@cartridge.cap(
    "cap:fc-feed;in=media:feed-frames;out=media:items",
    input_sequence=True,
    output_sequence=True,
    streaming=True,
)
async def feed(request: aio.Request) -> None:
    """Each item of a live feed back with its metadata."""
    output = request.output()
    async for item in await request.input():
        await output.emit_item(item.value, item.meta)


@cartridge.cap("cap:fc-peer;in=media:blob;out=media:blob")
def peer(request: Request) -> None:
    """Calls another cap with what came, and answers what that answers."""
    data = b"".join(bytes(view) for view in request.input().views())
    call = request.peer(os.environ.get("FC_PEER_CAP", "cap:fc-echo;in=media:blob;out=media:blob"))

    def ask() -> None:
        with call.input("media:blob") as argument:
            argument.write(data)
        call.finish_input()

    with ThreadPoolExecutor() as pool:
        asked = pool.submit(ask)
        for value in call.output().values():
            request.output().emit(value)
        call.wait()
        asked.result()


def read_plan(request: Request) -> tuple[int, int | None]:
    """The order of a producer, from the first value: the work starts before the input ends."""
    try:
        plan: Any = json.loads(request.input().recv().value)
        chunks, size = plan["chunks"], plan.get("size")
        if isinstance(chunks, int) and (size is None or isinstance(size, int)):
            return chunks, size
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InvalidArgument(f"not a plan: {error}", code="BAD_PLAN") from error
    raise InvalidArgument(f"not a plan: {plan!r}", code="BAD_PLAN")


def pattern(size: int) -> Iterator[memoryview]:
    """Pieces of ``size`` bytes; byte i of the whole is (i * 31 + 7) mod 251."""
    period = bytes((i * 31 + 7) % 251 for i in range(251))
    whole = memoryview(period * (size // 251 + 2))
    for start in count(0, size):
        yield whole[start % 251 :][:size]


@cartridge.cap("cap:fc-produce;in=media:json;out=media:blob")
def produce(request: Request) -> None:
    """Integers, or byte strings of a known pattern."""
    chunks, size = read_plan(request)
    output = request.output()
    if size is None:
        for number in range(chunks):
            output.emit(number)
    else:
        for _, piece in zip(range(chunks), pattern(size), strict=False):
            output.write(piece)


def count_values(request: Request, work: float) -> None:
    """Answers how many values came; ``work`` seconds of work after each."""
    values = 0
    for _ in request.input():
        values += 1
        if work:
            time.sleep(work)  # the work of this cap
    request.output().write(json.dumps(values).encode())


@cartridge.cap("cap:fc-sink;in=media:blob;out=media:json")
def sink(request: Request) -> None:
    """Reads all at full speed."""
    count_values(request, 0)


@cartridge.cap("cap:fc-slow;in=media:blob;out=media:json")
def slow(request: Request) -> None:
    """Reads all, slowly."""
    count_values(request, int(os.environ.get("SLOW_MS", "20")) / 1000)


@cartridge.cap("cap:fc-digest;in=media:blob;out=media:json")
def digest(request: Request) -> None:
    """Answers the digest of what came."""
    digest, size, chunks = hashlib.sha256(), 0, 0
    for view in request.input().views():
        digest.update(view)
        size += len(view)
        chunks += 1
    answer = {"bytes": size, "chunks": chunks, "sha256": digest.hexdigest()}
    request.output().write(json.dumps(answer).encode())


@cartridge.cap("cap:fc-forever;in=media:blob;out=media:blob", streaming=True)
def forever(request: Request) -> None:
    """Integers without end, from a detached thread, until cancelled."""
    request.output().start(unbounded=True)

    def emit_all(sender: StreamSender) -> None:
        try:
            for number in count():
                sender.emit(number)
        except SluicegateError:
            pass  # the request has ended: the handler knows why

    threading.Thread(target=emit_all, args=(request.stream_sender(),), daemon=True).start()
    raise request.cancelled()


@cartridge.cap("cap:fc-two;in=media:json;out=media:blob", outputs=[SECOND])
def two(request: Request) -> None:
    """Integers on two outputs, from two threads at once."""
    chunks, _ = read_plan(request)

    def emit_all(output: OutputStream) -> None:
        for number in range(chunks):
            output.emit(number)

    with ThreadPoolExecutor() as pool:
        for done in pool.map(emit_all, [request.output(), request.output_for(SECOND)]):
            assert done is None


@cartridge.cap("cap:fc-multi;in=media:blob;out=media:text", outputs=[SECOND])
def multi(request: Request) -> None:
    """A log, progress, two outputs and a final word."""
    request.log("working", level="info", class_="internal")
    request.progress(0.5, "half")
    request.output().emit("main")
    request.output_for(SECOND).emit("second")
    request.finish(0.9, "done")


@cartridge.cap("cap:fc-stderr;in=media:blob;out=media:text")
def stderr(request: Request) -> None:
    """Writes 10 MiB to stderr, then answers."""
    line = "x" * 1023 + "\n"
    for _ in range(10 * 1024):
        sys.stderr.write(line)
    request.output().emit("done")


@cartridge.cap("cap:fc-crash;in=media:blob;out=media:blob")
def crash(request: Request) -> None:
    """Ends the process without an answer."""
    for _ in request.input():
        pass
    sys.stderr.write("one\ntwo\nthe last words\n")
    sys.stderr.flush()
    os._exit(3)


@cartridge.cap("cap:upper;in=media:blob;out=media:blob")
def upper(request: Request) -> None:
    """ASCII letters to upper case."""
    output = request.output()
    for chunk in request.input().chunks():
        output.write(chunk.upper())


def stats(request: Request) -> None:
    """Reads its argument, answers a window full of integers, and then what it says of itself."""
    for _ in request.input():
        pass
    output = request.output()
    for number in range(32):  # a window full: what comes next waits for the host to have read
        output.emit(number)
    output.write(json.dumps(cartridge.stats()).encode())


if __name__ == "__main__":
    if os.environ.get("FC_STATS"):
        cartridge.cap("cap:fc-stats;in=media:blob;out=media:json")(stats)
    cartridge.run()
