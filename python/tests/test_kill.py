"""HZ-C14: a cartridge that is killed while its host sends is an error, and nothing else."""

from __future__ import annotations

import os
import signal
import sys
from itertools import repeat

import pytest

from conftest import REFERENCE
from sluicegate import Engine, OutputStream
from sluicegate.errors import PeerDied

ECHO = "cap:fc-echo;in=media:blob;out=media:blob"


def fill(stream: OutputStream) -> None:
    """Writes until something stops it."""
    for chunk in repeat(bytes(4096)):
        stream.write(chunk)


def test_hz_c14_a_cartridge_that_is_killed_while_the_host_sends(engine: Engine) -> None:
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    for _ in range(10):
        peer = engine.spawn(sys.executable, REFERENCE)
        with peer, peer.call(ECHO) as call:
            stream = call.input("media:blob")
            stream.emit(7)
            output = call.output()
            assert output.recv().value == 7
            assert peer.pid is not None
            os.kill(peer.pid, signal.SIGKILL)
            with pytest.raises(PeerDied) as sending:
                fill(stream)
            with pytest.raises(PeerDied) as ended:
                call.wait()
            for error in (sending.value, ended.value):
                assert "SIGKILL" in error.message
                assert peer.name in error.message
    assert before == {number: signal.getsignal(number) for number in signal.valid_signals()}
    with engine.spawn(sys.executable, REFERENCE) as peer, peer.call(ECHO) as call:
        call.input("media:blob").emit("on")
        call.finish_input()
        assert call.output().collect_text() == "on"
