#!/usr/bin/env python3
"""The reference host in Python: ``tests/hosts/README.md`` says what it does."""

from __future__ import annotations

import json
import os
import shlex
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from sluicegate import Call, Engine, Peer, SluicegateError
from sluicegate.errors import Cancelled


class Order(NamedTuple):
    """The command line."""

    cartridge: str
    cap: str
    chunks: int
    size: int
    calls: int
    cancel_after: float | None


def read_order(arguments: list[str]) -> Order:
    """The order; raises ValueError for a wrong command line."""
    if len(arguments) not in (5, 6):
        raise ValueError("wrong number of arguments")
    chunks, size, calls, *cancel = map(int, arguments[2:])
    if min(chunks, size, calls, *cancel) < 0:
        raise ValueError("a negative number")
    after = cancel[0] / 1000 if cancel else None
    return Order(arguments[0], arguments[1], chunks, size, calls, after)


def argument(cap: str) -> str:
    """The media of the cap's argument, from its URN."""
    parts = (part.removeprefix("in=") for part in cap.split(";") if part.startswith("in="))
    return next(parts, "media:blob")


def send(call: Call, order: Order) -> None:
    """Sends everything. Why it could not is seen at the end of the call."""
    period = bytes((i * 31 + 7) % 251 for i in range(251))
    try:
        with call.input(argument(order.cap)) as stream:
            for chunk in range(order.chunks):
                start = chunk * order.size % 251
                stream.write((period * (order.size // 251 + 2))[start : start + order.size])
        call.finish_input()
    except SluicegateError:
        pass


def length(value: object) -> int:
    """How many bytes a value is."""
    if isinstance(value, str):
        return len(value.encode())
    return len(value) if isinstance(value, bytes | bytearray | memoryview) else 0


def receive(call: Call, peer: Peer) -> int:
    """How many bytes came. With HOST_STATS, what both ends say of the connection goes there."""
    received, told = 0, bytearray()
    for item in call.output():
        received += length(item.value)
        if not told:
            told += json.dumps(peer.stats()).encode() + b"\n"
        elif isinstance(item.value, bytes):
            told += item.value
    if path := os.environ.get("HOST_STATS"):
        Path(path).write_bytes(told)
    return received


def once(peer: Peer, order: Order) -> int:
    """One call; answers how many bytes came."""
    call = peer.call(order.cap)
    sender = threading.Thread(target=send, args=(call, order), daemon=True)
    sender.start()
    alarm = None
    if order.cancel_after is not None:
        reason = Cancelled("the host was told to cancel")
        alarm = threading.Timer(order.cancel_after, call.cancel, [reason])
        alarm.start()
    try:
        received = receive(call, peer)
        call.wait()
        return received
    except SluicegateError:
        call.wait()  # how the call ended explains best
        raise
    finally:
        if alarm is not None:
            alarm.cancel()
        sender.join()


def tell(peer: Peer, order: Order) -> None:
    """One call, and its line."""
    try:
        print(json.dumps({"ok": True, "bytes": once(peer, order)}, separators=(",", ":")))
    except SluicegateError as error:
        fail(error)


def fail(error: SluicegateError) -> None:
    """The line of what did not go well."""
    line = {"ok": False, "code": error.code, "message": error.message}
    print(json.dumps(line, separators=(",", ":"), ensure_ascii=False), flush=True)


def main() -> int:
    """Runs the order."""
    try:
        order = read_order(sys.argv[1:])
    except ValueError:
        print("usage: HOST CARTRIDGE CAP CHUNKS SIZE CALLS [CANCEL_MS]", file=sys.stderr)
        return 2
    is_program = Path(order.cartridge).exists()
    command = [order.cartridge] if is_program else shlex.split(order.cartridge)
    with Engine() as engine:
        try:
            peer = engine.spawn(*command)
        except SluicegateError as error:
            fail(error)
            return 1
        for _ in range(order.calls):
            tell(peer, order)
    return 0


if __name__ == "__main__":
    sys.exit(main())
