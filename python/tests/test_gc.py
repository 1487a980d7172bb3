"""HZ-F03, HZ-F06, HZ-F13 and what is forgotten: objects that go, while something runs in them."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
import weakref
from functools import partial

import pytest

from conftest import REFERENCE, WATCHDOG, until
from sluicegate import Call, Engine, Gate, Turn
from sluicegate.errors import Cancelled, SluicegateError


def all_gone(refs: list[weakref.ref[object]]) -> bool:
    gc.collect()
    return not any(ref() is not None for ref in refs)


class Callback:
    """A callback that can be seen to go."""

    def __init__(self) -> None:
        self.entered, self.leave = threading.Event(), threading.Event()
        self.finished = False

    def __call__(self) -> None:
        self.entered.set()
        assert self.leave.wait(WATCHDOG)
        self.finished = True


def test_hz_f03_dropping_a_turn_waits_for_its_callback_without_the_interpreter_lock() -> None:
    gate, callback = Gate(1), Callback()
    turns = [gate.on_ready(1, callback)]
    assert callback.entered.wait(WATCHDOG)
    dropped = threading.Event()

    def drop() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            turns.clear()
        assert callback.finished  # no callback after the drop has returned
        dropped.set()

    dropper = threading.Thread(target=drop)
    dropper.start()
    assert not dropped.wait(0.05)
    callback.leave.set()
    assert dropped.wait(WATCHDOG)
    dropper.join()
    assert gate.available == 1


def test_hz_f13_no_callback_after_close() -> None:
    closed: set[int] = set()
    late: list[int] = []

    def callback(number: int) -> None:
        if number in closed:
            late.append(number)

    for number in range(1000):
        turn = Gate(1).on_ready(1, partial(callback, number))
        turn.close()
        closed.add(number)
        turn.close()
    assert not late


def test_a_callback_may_give_its_own_turn_up() -> None:
    gate, turns, done = Gate(1), list[Turn](), threading.Event()
    ready = threading.Event()

    def callback() -> None:
        assert ready.wait(WATCHDOG)
        turns[0].close()
        done.set()

    turns.append(gate.on_ready(1, callback))
    ready.set()
    assert done.wait(WATCHDOG)
    assert gate.available == 1


def test_hz_f06_a_callback_nobody_else_holds_lives_until_it_is_given_up() -> None:
    fired = 0
    lock = threading.Lock()
    for _ in range(10_000 // 100):
        gates = [Gate(0) for _ in range(100)]
        gone: list[weakref.ref[object]] = []

        def make(gone: list[weakref.ref[object]] = gone) -> object:
            def callback() -> None:
                nonlocal fired
                with lock:
                    fired += 1

            gone.append(weakref.ref(callback))
            return callback

        turns = [gate.on_ready(1, make()) for gate in gates]  # type: ignore[arg-type]
        gc.collect()
        assert all(ref() is not None for ref in gone)
        before = fired
        for gate in gates:
            gate.grant(1)
        until(lambda before=before: fired == before + 100)  # type: ignore[misc]
        assert all(turn.take() for turn in turns)
        del turns
        gc.collect()
        until(partial(all_gone, gone))


def test_a_cycle_through_a_callback_is_collected() -> None:
    gate = Gate(0)

    class Owner:
        def __init__(self) -> None:
            self.turn = gate.on_ready(1, self.ready)

        def ready(self) -> None:
            raise AssertionError("never rung")

    owner = Owner()
    gone = weakref.ref(owner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del owner
        gc.collect()
    assert gone() is None
    assert gate.waiting == 0


def test_a_forgotten_turn_is_told() -> None:
    turns = [Gate(0).on_ready(1, print)]
    with pytest.warns(ResourceWarning, match="Turn"):
        turns.clear()


def test_a_forgotten_peer_is_told_and_closed() -> None:
    with Engine() as engine:
        peers = [engine.spawn(sys.executable, REFERENCE)]
        pid = peers[0].pid
        assert pid is not None
        with pytest.warns(ResourceWarning, match="unclosed cartridge"):
            peers.clear()
    until(lambda: not is_running(pid))


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_forgotten_call_is_cancelled(engine: Engine) -> None:
    with engine.spawn(sys.executable, REFERENCE) as peer:
        call: Call | None = peer.call("cap:fc-forever;in=media:blob;out=media:blob")
        assert call is not None
        output = call.output()
        call = None
        gc.collect()
        assert output.recv().value == 0  # its stream keeps it
        assert peer.live_calls == 1
        del output
        gc.collect()
        until(lambda: peer.live_calls == 0)


def test_a_callback_that_raises_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: told.append(what.exc_value))

    def callback() -> None:
        raise SluicegateError("from the callback")

    gate = Gate(1)
    with gate.on_ready(1, callback):
        until(lambda: told)
    assert isinstance(told[0], SluicegateError)
    gate.acquire(timeout=WATCHDOG)


def test_an_exception_does_not_keep_a_call_alive(engine: Engine) -> None:
    with engine.spawn(sys.executable, REFERENCE) as peer:
        call = peer.call("cap:fc-forever;in=media:blob;out=media:blob")
        output = call.output()
        call.cancel("WHY")
        with pytest.raises(Cancelled) as caught:
            for _ in output:
                pass
        assert caught.value.code == "WHY"
