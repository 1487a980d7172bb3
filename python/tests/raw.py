"""A host, caller or switch that a test plays, which may break the protocol: frames by hand."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket
from typing import IO, Any

from conftest import REFERENCE

HELLO, REQ, CHUNK, END, ERR, STREAM_START, STREAM_END = 0, 1, 3, 4, 6, 8, 9
RELAY_NOTIFY, POLICY = 10, 15

LIMITS = {"max_frame": 3670016, "max_chunk": 262144, "max_reorder_buffer": 64}

Frame = dict[Any, Any]


def _head(major: int, n: int) -> bytes:
    if n < 24:
        return bytes([major << 5 | n])
    for code, (limit, shape) in enumerate([(2**8, ">B"), (2**16, ">H"), (2**32, ">I")], 24):
        if n < limit:
            return bytes([major << 5 | code]) + struct.pack(shape, n)
    return bytes([major << 5 | 27]) + struct.pack(">Q", n)


def encode(value: Any) -> bytes:
    """CBOR of what frames are made of."""
    if isinstance(value, bool):
        return bytes([0xF5 if value else 0xF4])
    if isinstance(value, int):
        return _head(0, value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        return _head(3, len(value.encode())) + value.encode()
    assert isinstance(value, dict)
    pairs = (encode(key) + encode(of) for key, of in value.items())
    return _head(5, len(value)) + b"".join(pairs)


def decode(data: bytes, at: int = 0) -> tuple[Any, int]:
    """A value, and where the next one begins."""
    major, n, at = data[at] >> 5, data[at] & 31, at + 1
    if 24 <= n < 28:
        size = 1 << (n - 24)
        n, at = int.from_bytes(data[at : at + size], "big"), at + size
        if major == 7:
            return None, at  # a float, in which no test is interested
    if major == 0:
        return n, at
    if major in (2, 3):
        some = data[at : at + n]
        return (some if major == 2 else some.decode()), at + n
    if major == 4:
        items = []
        for _ in range(n):
            item, at = decode(data, at)
            items.append(item)
        return items, at
    if major == 5:
        pairs = {}
        for _ in range(n):
            key, at = decode(data, at)
            pairs[key], at = decode(data, at)
        return pairs, at
    assert major == 7
    return {20: False, 21: True, 22: None}[n], at


def fnv(data: bytes) -> int:
    """The checksum of a payload."""
    state = 14695981039346656037
    for byte in data:
        state = (state ^ byte) * 1099511628211 % 2**64
    return state


class RawHost:
    """Speaks to a cartridge, or a relay, by frames."""

    def __init__(self, out: IO[bytes], into: IO[bytes]) -> None:
        self._out, self._in = out, into

    @classmethod
    def over(cls, connection: socket) -> RawHost:
        """One that speaks over a socket."""
        return cls(connection.makefile("wb"), connection.makefile("rb"))

    def hello(self, window: int = 4) -> None:
        """The handshake, up to the identity check."""
        self.send(HELLO, 0, k5={**LIMITS, "initial_credit": window, "version": 6})
        assert self.receive()[5]["initial_credit"] == window

    def send(self, kind: int, request: int, **keys: Any) -> None:
        """A frame; ``keys`` are named ``k4`` for key 4."""
        frame = {0: 6, 1: kind, 2: request, 3: 0}
        frame.update((int(key[1:]), value) for key, value in keys.items())
        body = encode(frame)
        self._out.write(struct.pack(">I", len(body)) + body)
        self._out.flush()

    def receive(self) -> Frame:
        """The next frame."""
        (size,) = struct.unpack(">I", self._in.read(4))
        frame, _ = decode(self._in.read(size))
        assert isinstance(frame, dict)
        return frame

    def until(self, request: int, kind: int) -> Frame:
        """The next frame of this kind and request; others are passed over."""
        while True:
            frame = self.receive()
            if (frame[1], frame[2]) == (kind, request):
                return frame

    def open(self, request: int, cap: str, media: str) -> None:
        """Begins a request with one stream, named "in"."""
        self.send(REQ, request, k4="application/cbor", k6=b"", k10=cap)
        self.send(STREAM_START, request, k11="in", k12=media)

    def chunk(self, request: int, index: int) -> None:
        """A chunk of the stream, in or out of credit: an integer."""
        payload = encode(index)
        self.send(CHUNK, request, k6=payload, k11="in", k14=index, k16=fnv(payload))

    def close(self, request: int, count: int) -> None:
        """Ends the stream and the request's body."""
        self.send(STREAM_END, request, k11="in", k15=count)
        self.send(END, request, k9=True)


@contextmanager
def raw_host(window: int) -> Iterator[RawHost]:
    """The reference cartridge behind a host that is played by hand."""
    command = [sys.executable, str(REFERENCE)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            host = RawHost(process.stdin, process.stdout)
            host.hello(window)
            host.send(POLICY, 0, k5={"network": "full"})
            yield host
        finally:
            process.kill()
