"""Values through a process: types, buffers, ends, modes."""

from __future__ import annotations

import array
import gc
import math
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest

from conftest import WATCHDOG, attached
from sluicegate import Call, Cartridge, InputStream, Limits, Peer, Request, values
from sluicegate.errors import (
    EndOfStream,
    InvalidArgument,
    Malformed,
    SluicegateError,
    TimedOut,
    Unbounded,
    WrongMode,
)

ECHO = "cap:fc-echo;in=media:blob;out=media:blob"
ITEMS = "cap:fc-items;in=media:items;out=media:items"
FOREVER = "cap:fc-forever;in=media:blob;out=media:blob"

VALUES: list[Any] = [
    0,
    -1,
    2**63,
    2**64 - 1,
    -(2**64),
    2**64,
    -(2**64) - 1,
    2**200,
    True,
    False,
    None,
    1.0,
    -0.0,
    math.inf,
    "",
    "ü€😀",
    [],
    [1, [2, [3.5]]],
    {},
    {"a": 1, 2: b"x", (1, 2): None, 2.5: {"deep": [True]}},
    values.Pairs([(1, "int"), (1.0, "float"), (True, "bool")]),
    values.Pairs([({"map": 1}, 2)]),
    values.Tag(32, "http://example.org"),
    values.Tag(2, b"\x01"),
    values.Simple(255),
    values.undefined,
]


def feed(call: Call, emissions: Iterable[Any], *, items: bool = False) -> None:
    """Sends values as an argument and ends the body."""
    with call.input("media:blob") as stream:
        for value in emissions:
            if items:
                stream.emit_item(*value)
            else:
                stream.emit(value)
    call.finish_input()


def test_types_are_kept(reference: Peer) -> None:
    call = reference.call(ECHO)
    threading.Thread(target=feed, args=(call, VALUES)).start()
    got = list(call.output().values())
    assert got == VALUES
    assert list(map(type, got)) == list(map(type, VALUES))
    assert math.copysign(1, got[VALUES.index(-0.0, 12)]) == -1
    assert got[-1] is values.undefined
    call.wait()


def test_items_keep_their_boundaries_and_metadata(reference: Peer) -> None:
    sent: list[tuple[Any, dict[str, Any] | None]] = [
        (b"", None),
        (b"x" * 1_000_000, {"seq": 0, "gap": {"dropped": 3}}),
        ("text", {}),
        ([1, 2], {"pts_us": 17}),
    ]
    call = reference.call(ITEMS)
    threading.Thread(target=feed, args=(call, sent), kwargs={"items": True}).start()
    got = call.output().collect_items()
    assert [(item.value, item.meta) for item in got] == sent
    call.wait()


@pytest.mark.parametrize(
    "data",
    [b"hello", bytearray(b"hello"), memoryview(b"hello"), array.array("B", b"hello")],
    ids=lambda data: type(data).__name__,
)
def test_buffers_go_in(reference: Peer, data: Any) -> None:
    call = reference.call(ECHO)
    with call.input("media:blob") as stream:
        assert stream.write(data) == 5
    if isinstance(data, bytearray):
        data += b"!"  # no view of it is left behind
    call.finish_input()
    assert call.output().collect_bytes() == b"hello"


def test_a_buffer_of_wide_elements_is_its_bytes(reference: Peer) -> None:
    numbers = array.array("d", [1.0, 2.0])
    call = reference.call(ECHO)
    with call.input("media:blob") as stream:
        assert stream.write(numbers) == 16
    call.finish_input()
    assert call.output().collect_bytes() == numbers.tobytes()


def test_what_is_no_buffer_is_refused(reference: Peer) -> None:
    with reference.call(ECHO) as call:
        stream = call.input("media:blob")
        with pytest.raises(TypeError):
            stream.write("text")  # type: ignore[arg-type]
        with pytest.raises(BufferError):
            stream.write(memoryview(b"abcdef")[::2])
        with pytest.raises(TypeError):
            stream.emit(object())
        with pytest.raises(TypeError):
            stream.emit_item(1, {1: "keys are texts"})  # type: ignore[dict-item]
        nest: list[Any] = []
        for _ in range(2000):
            nest = [nest]
        with pytest.raises(InvalidArgument, match="nests deeper"):
            stream.emit(nest)
        endless: list[Any] = []
        endless.append(endless)
        with pytest.raises(InvalidArgument, match="nests deeper"):
            stream.emit(endless)


def test_a_view_pins_its_chunk(reference: Peer) -> None:
    call = reference.call(ECHO)
    with call.input("media:blob") as stream:
        stream.write(b"a" * 300_000)
    call.finish_input()
    views = list(call.output().views())
    call.wait()
    del call
    gc.collect()
    assert sum(map(len, views)) == 300_000
    assert all(view.readonly for view in views)
    assert all(view == b"a" * len(view) for view in views)
    with pytest.raises(TypeError):
        views[0][0] = 1


def test_small_writes_are_sent_together(reference: Peer) -> None:
    with reference.call(ECHO) as call, call.input("media:blob") as stream:
        begun = time.monotonic()
        for _ in range(1000):
            stream.write(b"x")
        took = time.monotonic() - begun
        assert (
            stream.stats.chunks <= took / 0.02
        )  # what is held goes with the first write after 20 ms
        stream.flush()
        assert stream.stats.bytes >= 1000


def test_the_end_is_told_again(reference: Peer) -> None:
    call = reference.call(ECHO)
    feed(call, [b"x"])
    output = call.output()
    assert output.recv().value == b"x"
    for _ in range(2):
        with pytest.raises(EndOfStream):
            output.recv()
        assert list(output) == []
    with pytest.raises(EndOfStream):
        output.try_recv()
    assert output.stats.ended


def test_a_receive_that_times_out_loses_nothing(reference: Peer) -> None:
    call = reference.call(ECHO)
    stream = call.input("media:blob")
    stream.emit(0)
    output = call.output()
    got: list[int] = []
    timeouts = 0

    def send() -> None:
        for number in range(1, 300):
            stream.emit(number)
        call.finish_input()

    sender = threading.Thread(target=send)
    sender.start()
    while True:
        try:
            got.append(output.recv(timeout=0.001).value)
        except TimedOut:
            timeouts += 1
        except EndOfStream:
            break
    sender.join()
    assert got == list(range(300))


def test_collectors_refuse_what_has_no_end(reference: Peer) -> None:
    with reference.call(FOREVER) as call:
        call.finish_input()
        output = call.output()
        assert output.info.unbounded
        for collect in (output.collect_bytes, output.collect_text, output.collect_items):
            with pytest.raises(Unbounded):
                collect()
        assert [value for value, _ in zip(output.values(), range(100), strict=False)] == list(
            range(100)
        )


def test_modes_are_not_mixed(reference: Peer) -> None:
    with reference.call(ITEMS) as call:
        stream = call.input("media:items")
        stream.emit_item(1)
        with pytest.raises(WrongMode):
            stream.write(b"x")
        with pytest.raises(InvalidArgument):
            stream.start(unbounded=True)


def test_a_stream_of_something_else_is_told(reference: Peer) -> None:
    call = reference.call(ECHO)
    feed(call, ["text", "text"])
    output = call.output()
    with pytest.raises(WrongMode):
        next(output.chunks())
    with pytest.raises(WrongMode):
        next(output.views())
    call = reference.call(ECHO)
    feed(call, [1])
    with pytest.raises(WrongMode):
        call.output().collect_bytes()


def test_a_stream_reads_as_a_file(reference: Peer) -> None:
    call = reference.call(ECHO)
    feed(call, [b"first\nsecond\n", b"third"])
    with call.output().reader() as file:
        assert file.readline() == b"first\n"
        assert file.read(3) == b"sec"
        assert file.read() == b"ond\nthird"


def test_facts_of_a_stream() -> None:
    cartridge = Cartridge("facts")
    told: list[InputStream] = []

    @cartridge.cap("cap:facts;in=media:a;out=media:b", outputs=["media:c"])
    def facts(request: Request) -> None:
        told.append(request.input())
        told[0].collect_items()
        request.output().start(sequence=True, meta={"format": "raw"})
        request.output().emit_item(1)
        request.output_for("media:c").emit(2)
        with pytest.raises(InvalidArgument):
            request.output_for("media:d")

    with attached(cartridge, Limits(initial_credit=7)) as peer:
        assert peer.limits.initial_credit == 7
        call = peer.call("cap:facts;in=media:a;out=media:b")
        with call.input("media:a") as stream:
            stream.start(unbounded=False, meta={"k": [1]})
            stream.write(b"x")
        call.finish_input()
        outputs = {stream.info.output: stream for stream in call.outputs()}
        main, other = outputs[None].info, outputs["media:c"].info
        assert (main.media, main.is_sequence, main.meta) == ("media:b", True, {"format": "raw"})
        assert (other.media, other.is_sequence, other.meta) == ("media:c", False, None)
        assert told[0].info.meta == {"k": [1]}
        assert told[0].stats.initial_credit == 7
        assert (told[0].stats.chunks, told[0].stats.ended) == (1, True)
        assert "media:a" in repr(told[0])
        told.clear()


def test_hz_c19_a_sleeping_reader_holds_at_most_a_window() -> None:
    cartridge = Cartridge("flood")
    blocked = threading.Event()

    @cartridge.cap("cap:flood;out=media:blob")
    def flood(request: Request) -> None:
        output = request.output()
        for number in range(4):
            output.emit(number)
        with pytest.raises(TimedOut):
            output.emit(4, timeout=0.2)
        assert output.stats.chunks == 4
        assert output.stats.window == 0
        blocked.set()

    with (
        attached(cartridge, Limits(initial_credit=4)) as peer,
        peer.call("cap:flood;out=media:blob") as call,
    ):
        call.finish_input()
        output = call.output()
        assert blocked.wait(WATCHDOG)
        assert list(output.values()) == [0, 1, 2, 3]


def test_an_item_wider_than_the_window() -> None:
    cartridge = Cartridge("wide")

    @cartridge.cap("cap:wide;in=media:i;out=media:i", input_sequence=True, output_sequence=True)
    def wide(request: Request) -> None:
        for item in request.input():
            request.output().emit_item(item.value, item.meta)

    with attached(cartridge, Limits(initial_credit=2, max_chunk=1000)) as peer:
        call = peer.call("cap:wide;in=media:i;out=media:i")
        sent = [(b"x" * 50_000, {"n": 1}), (b"y", None)]
        threading.Thread(target=feed, args=(call, sent), kwargs={"items": True}).start()
        got = call.output().collect_items()
        assert [(item.value, item.meta) for item in got] == sent


def test_a_failed_handler_fails_the_stream(reference: Peer) -> None:
    call = reference.call("cap:fc-produce;in=media:json;out=media:blob")
    with suppress(SluicegateError):  # it may fail before all of its input has ended
        feed(call, [b"no plan"])
    with pytest.raises(SluicegateError) as caught:
        call.wait(timeout=WATCHDOG)
    assert caught.value.code == "BAD_PLAN"
    assert not isinstance(caught.value, Malformed)
