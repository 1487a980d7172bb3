"""The peer's host on a direct link: frames are watched on their way (windows, kinds, order)."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cbor2
from capdag.bifaci.cartridge_runtime import (
    OutputStream,
    PeerCall,
    PeerResponse,
    PeerResponseItem,
    SyncFrameWriter,
    demux_peer_response,
)
from capdag.bifaci.cartridge_runtime import RuntimeError as Refused
from capdag.bifaci.credit import CreditGate, CreditRouter
from capdag.bifaci.frame import (
    CancelReason,
    CreditDirection,
    Frame,
    FrameType,
    Limits,
    MessageId,
    compute_checksum,
)
from capdag.bifaci.io import FrameReader, FrameWriter, handshake, verify_identity
from capdag.bifaci.policy import HostPolicy, NetworkPolicy

from conftest import LIMIT, in_time, ours, process


class Ledger:
    """The remaining window of every stream of both directions, and the least it ever was."""

    def __init__(self, window: int) -> None:
        self._lock = threading.Lock()
        self._left: dict[tuple[str, MessageId, str | None], int] = defaultdict(lambda: window)
        self.least = window
        self.chunks = 0

    def note(self, direction: str, frame: Frame) -> None:
        """Counts a frame that goes as ``request`` (to the cartridge) or as ``response``."""
        with self._lock:
            if frame.frame_type == FrameType.CHUNK:
                key = (direction, frame.id, frame.stream_id)
                self._left[key] -= 1
                self.chunks += 1
                self.least = min(self.least, self._left[key])
            elif frame.frame_type == FrameType.CREDIT:
                assert frame.stream_id is not None, "a grant names its stream"
                # A grant that goes to the cartridge credits its results, and the other way round.
                wanted = {"request": CreditDirection.RESPONSE, "response": CreditDirection.REQUEST}
                assert frame.credit_direction() == wanted[direction], "a grant says its direction"
                assert frame.credit_count(), "a grant grants something"
                other = "response" if direction == "request" else "request"
                self._left[(other, frame.id, frame.stream_id)] += frame.credit_count() or 0


class Request:
    """One call: arguments go out by ``arg``, what comes back is read by ``recv``."""

    def __init__(self, link: Link, cap: str) -> None:
        self.link, self.id = link, MessageId.new_uuid()
        self.frames: list[Frame] = []
        self.inbox: queue.Queue[Frame | None] = queue.Queue()
        self.over = threading.Event()
        link.requests[self.id] = self
        link.writer.write(Frame.req(self.id, cap, b"", "application/cbor"))
        window, chunk = link.limits.initial_credit, link.limits.max_chunk
        self.response: PeerResponse = demux_peer_response(self.inbox, link.writer, self.id, window)
        self._call = PeerCall(link.writer, self.id, None, None, chunk, link.router, window)

    def arg(self, media: str = "media:blob") -> OutputStream:
        return self._call.arg(media)

    def finish(self) -> None:
        self._call.finish()

    def send(self, media: str, *values: Any) -> None:
        """A scalar argument of these values, and the end of the body.

        A handler may answer before it has read all: then the rest is moot.
        """
        stream = self.arg(media)
        try:
            for value in values:
                stream.emit_cbor(value)
            stream.close()
        except Refused:
            if not self.over.is_set():
                raise
        self.finish()

    def send_items(self, media: str, values: list[Any], metas: list[Any]) -> None:
        """A sequence argument: one chunk a fragment, one credit a chunk."""
        gate = CreditGate(self.link.limits.initial_credit)
        self.link.router.register(self.id, "items", gate)
        write, size, index = self.link.writer.write, self.link.limits.max_chunk, 0
        write(Frame.stream_start(self.id, "items", media, True))
        for value, meta in zip(values, metas, strict=True):
            encoded = cbor2.dumps(value)
            for at in range(0, len(encoded), size):
                gate.acquire(1)
                piece = encoded[at : at + size]
                frame = Frame.chunk(self.id, "items", 0, piece, index, compute_checksum(piece))
                frame.meta = meta if at == 0 else None
                write(frame)
                index += 1
        write(Frame.stream_end(self.id, "items", index))
        self.finish()

    def cancel(self) -> None:
        self.link.writer.write(Frame.cancel(self.id, CancelReason.user()))

    def recv(self) -> PeerResponseItem | None:
        """The next item or log; None at the end; raises what failed the call."""
        item = in_time("recv", self.response.recv)
        if item is not None and not item.is_log and item.data_error is not None:
            raise item.data_error
        return item

    def items(self) -> list[PeerResponseItem]:
        found = []
        while (item := self.recv()) is not None:
            found.append(item)
        return found

    def values(self) -> list[Any]:
        return [item.data_value for item in self.items() if not item.is_log]

    def kinds(self) -> list[FrameType]:
        return [frame.frame_type for frame in self.frames]

    def last(self) -> Frame:
        """Its terminal."""
        assert self.over.wait(LIMIT), "no terminal came"
        return self.frames[-1]


class Watched(SyncFrameWriter):  # type: ignore[misc]
    """The peer's numbering writer; what it writes is counted first."""

    def __init__(self, raw: FrameWriter, ledger: Ledger) -> None:
        super().__init__(raw)
        self._ledger = ledger

    def write(self, frame: Frame) -> Any:
        self._ledger.note("request", frame)
        return super().write(frame)


class Link:
    """Whom requests can be sent to: a cartridge, or a switch. ``read`` gives None at the end."""

    def __init__(self, read: Callable[[], Frame | None], raw: Any, limits: Limits) -> None:
        self.raw, self.limits = raw, limits
        self.ledger = Ledger(limits.initial_credit)
        self.router, self.requests = CreditRouter(), dict[MessageId, Request]()
        self.writer = Watched(raw, self.ledger)
        self.beats: queue.Queue[Frame] = queue.Queue()
        self.closing = False
        self.broken: list[BaseException] = []
        threading.Thread(target=self._run, args=(read,), daemon=True).start()

    def _run(self, read: Callable[[], Frame | None]) -> None:
        try:
            while (frame := read()) is not None:
                self._dispatch(frame)
        except BaseException as error:
            if not self.closing:
                self.broken.append(error)
        for request in list(self.requests.values()):
            request.inbox.put(None)
            self.router.close_request(request.id, "the link is gone")

    def check(self) -> None:
        """Raises what was wrong with a frame that came."""
        if self.broken:
            raise self.broken[0]

    def _dispatch(self, frame: Frame) -> None:
        if frame.frame_type == FrameType.HEARTBEAT:
            self.beats.put(frame)
            return
        request = self.requests.get(frame.id)
        if request is None:
            return
        self.ledger.note("response", frame)
        request.frames.append(frame)
        if frame.frame_type == FrameType.CREDIT:
            self.router.grant(frame)
            return
        request.inbox.put(frame)
        if frame.frame_type in (FrameType.END, FrameType.ERR):
            request.over.set()
            request.inbox.put(None)
            self.router.close_request(frame.id, frame.frame_type.name)

    def call(self, cap: str) -> Request:
        return Request(self, cap)

    def heartbeat(self) -> Frame:
        self.writer.write(Frame.heartbeat(MessageId.new_uuid()))
        return in_time("heartbeat", lambda: self.beats.get(timeout=LIMIT))


@contextlib.contextmanager
def link(
    program: Path, *, window: int = 32, max_chunk: int | None = None, **env: str
) -> Iterator[Link]:
    """Our cartridge under the peer's host, with these proposals."""
    with process(program, env=env) as child:
        reader, raw = FrameReader(child.stdout), FrameWriter(child.stdin)

        def greet() -> Limits:
            default = Limits.default()
            if window == default.initial_credit and max_chunk is None:
                agreed = handshake(reader, raw).limits
            else:
                size = max_chunk or default.max_chunk
                raw.write(Frame.hello(default.max_frame, size, default.max_reorder_buffer, window))
                hello = reader.read()
                assert hello is not None
                assert hello.frame_type == FrameType.HELLO
                agreed = Limits(
                    hello.hello_max_frame(),
                    hello.hello_max_chunk(),
                    hello.hello_max_reorder_buffer(),
                    hello.hello_initial_credit(),
                )
                reader.set_limits(agreed)
                raw.set_limits(agreed)
            verify_identity(reader, raw)
            return agreed

        limits = in_time(f"handshake of {program.name}", greet)
        opened = Link(reader.read, raw, limits)
        opened.writer.write(Frame.policy(HostPolicy(NetworkPolicy.FULL)))
        yield opened
        opened.check()
        opened.closing = True


class Links:
    """Our cartridges under the peer's host: one process for each language and window."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._open: dict[tuple[str, int], Link] = {}

    def __call__(self, language: str, window: int) -> Link:
        key = (language, window)
        if key not in self._open:
            # Both ends propose it, ours never less than its default.
            env = {"SLOW_MS": "5", "FC_WINDOW": str(max(window, 32))}
            opened = link(ours(language), window=window, max_chunk=4096, **env)
            self._open[key] = self._stack.enter_context(opened)
        self._open[key].check()
        return self._open[key]
