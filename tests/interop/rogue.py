#!/usr/bin/env python3
"""A cartridge that breaks the rule that its caller names: the peer's frames, without its gates."""

from __future__ import annotations

import sys

import cbor2
from capdag.bifaci.frame import AttributionClass, Frame, FrameType, MessageId, compute_checksum
from capdag.bifaci.io import FrameReader, FrameWriter, handshake_accept
from capdag.bifaci.pools import PoolState
from cartridge import manifest


def chunk(request: MessageId, stream: str, index: int, value: object) -> Frame:
    payload = cbor2.dumps(value)
    return Frame.chunk(request, stream, 0, payload, index, compute_checksum(payload))


def answer(writer: FrameWriter, request: MessageId, values: list[object]) -> None:
    writer.write(Frame.stream_start(request, "out", "media:blob"))
    for index, value in enumerate(values):
        writer.write(chunk(request, "out", index, value))
    writer.write(Frame.stream_end(request, "out", len(values)))
    writer.write(Frame.end_ok(request))


def main() -> None:
    reader, writer = FrameReader(sys.stdin.buffer), FrameWriter(sys.stdout.buffer)
    limits = handshake_accept(reader, writer, manifest().encode(), {"all": PoolState()})
    caps: dict[MessageId, str] = {}
    got: dict[MessageId, list[object]] = {}
    while (frame := reader.read()) is not None:
        request = frame.id
        if frame.frame_type == FrameType.REQ:
            caps[request], got[request] = frame.cap or "", []
        elif frame.frame_type == FrameType.CHUNK:
            got[request].append(cbor2.loads(frame.payload))
        elif frame.frame_type == FrameType.END and request in got:
            values = got.pop(request)
            if "forever" in caps[request]:
                misbehave(values[0], writer, request, limits.initial_credit)
            else:
                answer(writer, request, values)


def misbehave(rule: object, writer: FrameWriter, request: MessageId, window: int) -> None:
    match rule:
        case "overrun":
            answer(writer, request, list(range(window + 1)))
        case "checksum":
            writer.write(Frame.stream_start(request, "out", "media:blob"))
            bad = chunk(request, "out", 0, 1)
            bad.checksum = 1
            writer.write(bad)
            writer.write(Frame.stream_end(request, "out", 1))
            writer.write(Frame.end_ok(request))
        case "twice":
            writer.write(Frame.stream_start(request, "out", "media:blob"))
            writer.write(Frame.stream_start(request, "out", "media:blob"))
        case "unopened":
            writer.write(chunk(request, "out", 0, 1))
        case "frame":
            sys.stdout.buffer.write(b"\0\0\0\2\xa0\xa0")
            sys.stdout.buffer.flush()
        case "err":
            writer.write(Frame.err(request, "SOME", AttributionClass.USER, "on purpose"))
        case _:
            raise SystemExit(f"no rule {rule!r}")


if __name__ == "__main__":
    main()
