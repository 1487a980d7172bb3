"""What a handle is: in one process and one interpreter, once."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sluicegate
from sluicegate import Cartridge, Engine, Feed, Gate, Router, Window, aio
from sluicegate.flow import (
    EdgeOptions,
    Flow,
    Hub,
    Offer,
    Promise,
    RunnableGraph,
    Scope,
    Sink,
    Source,
)
from sluicegate.flow.testkit import Faults, Seed, Shuffle, publisher, subscriber

COPIES: list[Callable[[Any], object]] = [copy.copy, copy.deepcopy]


def handles(scope: Scope) -> Iterator[object]:
    yield from (Gate(1), Window(1), Router(), Cartridge("a"), aio.Cartridge("a"), Feed(), scope)
    with Engine() as engine:
        yield engine
    promise: Promise[int] = Promise()
    yield from (promise, promise.completion, Shuffle())
    yield from publisher().to_mat(subscriber(), lambda a, b: (a, b)).run(scope)
    yield from Source.manual().to_mat(Sink.outlet(), lambda a, b: (a, b)).run(scope)
    hub: Hub[int] = Source.iter([1]).to(Sink[int, Any].broadcast_hub()).run(scope)
    yield hub
    with Gate(0).on_ready(1, lambda *_: None) as turn:
        yield turn


def test_a_handle_is_neither_copied_nor_pickled_and_says_so() -> None:
    with Scope("handles") as scope:
        for handle in handles(scope):
            for refused in [*COPIES, pickle.dumps]:
                with pytest.raises(TypeError, match=r"a sluicegate\S* is a handle of this process"):
                    refused(handle)


def test_a_copy_of_a_blueprint_is_itself_and_no_pickle() -> None:
    graph: RunnableGraph[Any] = Source.empty().to(Sink.ignore())
    for blueprint in (Source.iter([1]), Flow.map(str), Sink.ignore(), graph):
        for same in COPIES:
            assert same(blueprint) is blueprint
        with pytest.raises(TypeError, match=r"a sluicegate.flow.\w+ is a blueprint"):
            pickle.dumps(blueprint)


def test_what_is_a_value_is_copied_and_pickled() -> None:
    for value in (EdgeOptions(2), Offer.DROPPED, Faults(1).splits(), sluicegate.Limits()):
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(Seed(7))).value == 7


SECOND = """
import sys
import {module} as interpreters
if sys.argv[1:]:
    import sluicegate
second = interpreters.create()
try:
    failed = interpreters.run_string(second, "import sluicegate")
except Exception as error:
    failed = error
ours, pythons = "works in the main interpreter only", "does not support loading in subinterpreters"
assert ours in str(failed) or pythons in str(failed), failed
interpreters.destroy(second)
import sluicegate
sluicegate.Gate(1).acquire()
"""


@pytest.mark.parametrize("before", [[], ["imported"]])
def test_a_second_interpreter_of_a_process_is_refused(before: list[str]) -> None:
    module = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    command = [sys.executable, "-c", SECOND.format(module=module), *before]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stderr) == (0, "")
