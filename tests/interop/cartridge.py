#!/usr/bin/env python3
"""A cartridge of the peer package: what our hosts are tested against. Each request has a thread."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from capdag.bifaci import io
from capdag.bifaci.cartridge_runtime import (
    WET_KEY_REQUEST,
    CartridgeRuntime,
    Request,
    demux_peer_response,
)
from capdag.bifaci.frame import AttributionClass
from capdag.cap.caller import CapArgumentValue
from ops import Op, OpMetadata

SECOND = "media:second"
CAPS: list[dict[str, Any]] = []
HANDLERS: dict[str, Callable[[Request], None]] = {}


def cap(
    name: str,
    takes: str = "media:blob",
    gives: str = "media:blob",
    *,
    sequences: tuple[bool, bool] = (False, False),
    outputs: tuple[str, ...] = (),
) -> Callable[[Callable[[Request], None]], Callable[[Request], None]]:
    """Enters a handler under a cap; ``sequences`` are those of its argument and its output."""

    def enter(handler: Callable[[Request], None]) -> Callable[[Request], None]:
        urn = f"cap:{name};in={takes};out={gives}"
        arg: dict[str, Any] = {"media_urn": takes, "name": "input", "required": True}
        arg |= {"sources": [{"stdin": takes}], "is_sequence": sequences[0]}
        answers: list[dict[str, Any]] = [
            {"media_urn": media, "name": media.removeprefix("media:"), "output_description": "-"}
            for media in (gives, *outputs)
        ]
        answers[0]["is_sequence"] = sequences[1]
        CAPS.append(
            {"urn": urn, "title": name, "aliases": [name], "args": [arg], "outputs": answers}
        )
        HANDLERS[urn] = handler
        return handler

    return enter


def checked(thing: Any) -> Any:
    """What came, unless it is an error: the peer returns those."""
    if isinstance(thing, Exception):
        raise thing
    return thing


def items(request: Request) -> Iterator[tuple[Any, Any]]:
    """Every value of every argument, with its metadata."""
    package = request.take_input()
    while (stream := checked(package.recv())) is not None:
        while (item := checked(stream.recv())) is not None:
            yield item


def plan(request: Request) -> Any:
    return json.loads(b"".join(value for value, _ in items(request)))


@cap("ip-echo")
def echo(request: Request) -> None:
    output = request.emitter()
    for value, _ in items(request):
        output.emit_cbor(value)
        output.flush()


@cap("ip-items", "media:items", "media:items", sequences=(True, True))
def echo_items(request: Request) -> None:
    for value, _ in items(request):
        request.emitter().emit_list_item(value)


@cap("ip-slow", gives="media:json")
def slow(request: Request) -> None:
    """Counts; its work takes SLOW_MS a value."""
    work = int(os.environ.get("SLOW_MS", "2")) / 1000
    count = 0
    for _ in items(request):
        count += 1
        time.sleep(work)  # the work of this cap
    request.emitter().emit_cbor(json.dumps(count).encode())


@cap("ip-produce", takes="media:json")
def produce(request: Request) -> None:
    """Integers, or byte strings of one size."""
    wanted = plan(request)
    for number in range(wanted["chunks"]):
        size = wanted.get("size")
        request.emitter().emit_cbor(number if size is None else bytes([number % 251]) * size)


@cap("ip-forever")
def forever(request: Request) -> None:
    request.emitter().start_unbounded()
    number = 0
    while True:
        request.emitter().emit_cbor(number)
        number += 1


@cap("ip-idle")
def idle(request: Request) -> None:
    """Answers one value, then waits for input that never comes."""
    request.emitter().emit_cbor("here")
    for _ in items(request):
        pass


@cap("ip-two", takes="media:json", outputs=(SECOND,))
def two(request: Request) -> None:
    for number in range(plan(request)["chunks"]):
        request.emitter().emit_cbor(number)
        request.output_for(SECOND).emit_cbor(1000 + number)


@cap("ip-multi", gives="media:text")
def multi(request: Request) -> None:
    for _ in items(request):
        pass
    output = request.emitter()
    output.emit_log("info", AttributionClass.INTERNAL, "working")
    output.progress(0.5, "half")
    output.emit_cbor("main")
    output.finish(0.9, "done")


@cap("ip-fail")
def fail(request: Request) -> None:
    text = b"".join(value for value, _ in items(request)).decode()
    raise ValueError(text)


@cap("ip-feed", "media:feed-frames", "media:items", sequences=(True, True))
def feed(request: Request) -> None:
    """What each item of a live feed says of itself."""
    for _, meta in items(request):
        request.emitter().emit_list_item(meta)


@cap("ip-peer", takes="media:json")
def peer(request: Request) -> None:
    """Calls another cap with the given text, and answers what that answers, value by value.

    The peer's `invoke` gives the frames alone. Without the id of the call nothing is granted, and
    an answer longer than the window never ends; the id is found by the queue.
    """
    asked = plan(request)
    argument = CapArgumentValue(asked["media"], asked["text"].encode())
    calls = request.peer()
    frames = calls.invoke(asked["cap"], [argument])
    with calls.pending_lock:
        pending = calls.pending_requests.values()
        rid = next((call.rid for call in pending if call.queue is frames), None)
    answer = demux_peer_response(frames, calls.writer, rid, calls.initial_credit)
    while (item := answer.recv()) is not None:
        if item.data_error is not None:
            raise item.data_error
        if not item.is_log:
            request.emitter().emit_cbor(item.data_value)


def manifest() -> str:
    """What the cartridge says of itself."""
    blob = "media:"
    identity = {
        "urn": "cap:effect=none",
        "title": "Identity",
        "aliases": ["identity"],
        "args": [
            {"media_urn": blob, "name": "input", "required": True, "sources": [{"stdin": blob}]}
        ],
        "outputs": [{"media_urn": blob, "name": "output", "output_description": "-"}],
    }
    return json.dumps(
        {
            "name": "peer",
            "version": "1.0.0",
            "channel": "nightly",
            "registry_url": None,
            "description": "The peer's cartridge",
            "cap_groups": [{"name": "default", "caps": [identity, *CAPS]}],
        }
    )


def operation(urn: str) -> type[Op]:
    """The peer's form of a handler."""

    class Handler(Op):  # type: ignore[misc]
        async def perform(self, dry: Any, wet: Any) -> None:
            HANDLERS[urn](wet.get_required(WET_KEY_REQUEST))

        def metadata(self) -> OpMetadata:
            return OpMetadata.builder(urn).description(urn).build()

    return Handler


def main() -> None:
    # The package proposes a constant of its own, and has no way to name another.
    io.DEFAULT_INITIAL_CREDIT = int(os.environ.get("IP_WINDOW", io.DEFAULT_INITIAL_CREDIT))
    runtime = CartridgeRuntime.with_manifest_json(manifest())
    for urn in HANDLERS:
        runtime.register_op_type(urn, operation(urn))
    runtime.run()


if __name__ == "__main__":
    sys.exit(main())
