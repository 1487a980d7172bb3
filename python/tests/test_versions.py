"""The version of the protocol that an engine speaks to its cartridges in."""

from __future__ import annotations

import sys

import pytest

from conftest import REFERENCE
from sluicegate import Engine
from sluicegate.errors import InvalidArgument

ECHO = "cap:fc-echo;in=media:blob;out=media:blob"


@pytest.mark.parametrize("protocol", [4, 5, 6])
def test_a_cartridge_speaks_the_version_of_its_engine(protocol: int) -> None:
    with Engine(protocol=protocol) as engine:
        peer = engine.spawn(sys.executable, REFERENCE)
        with peer.call(ECHO) as call:
            call.input("media:blob").emit("on")
            call.finish_input()
            assert call.output().collect_text() == "on"
            call.wait()


def test_a_version_that_is_not_spoken_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"version 3 .*4, 5 or 6"):
        Engine(protocol=3)
