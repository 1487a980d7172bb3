"""HZ-F04: a program ends as it says, whatever waits or runs then. Each run is a process."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import REFERENCE

RUNS = int(os.environ.get("SLUICEGATE_SHUTDOWN_RUNS", "200"))

PROGRAM = """
import sys, threading, time
from sluicegate import Engine, Gate, aio
import asyncio

gate = Gate(0)
gates = [Gate(0) for _ in range(8)]
for waiting in gates:
    threading.Thread(target=waiting.acquire, daemon=True).start()

def spin():
    while True:
        gate.grant(1)
        gate.acquire()
threading.Thread(target=spin, daemon=True).start()

ringing = Gate(1)
def again():
    turns.append(ringing.on_ready(1, again))
    del turns[:-2]
turns = []
again()

def tasks():
    async def main():
        await asyncio.gather(*(aio.Gate(0).acquire() for _ in range(4)))
    asyncio.run(main())
threading.Thread(target=tasks, daemon=True).start()

if len(sys.argv) > 2:
    engine = Engine()
    peer = engine.spawn(sys.executable, sys.argv[2])
    call = peer.call("cap:fc-forever;in=media:blob;out=media:blob")
    output = call.output()
    def read():
        for _ in output:
            pass
    threading.Thread(target=read, daemon=True).start()

while any(waiting.waiting == 0 for waiting in gates):
    time.sleep(0)
kind = sys.argv[1]
if kind == "exit":
    sys.exit(7)
if kind == "error":
    raise LookupError("on purpose")
"""
STATUS = {"end": 0, "exit": 7, "error": 1}


def run(kind: str, *more: str) -> tuple[int, str]:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, kind, *more]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        _, stderr = process.communicate(timeout=300)
    return process.returncode, stderr


@pytest.mark.parametrize("kind", STATUS)
def test_the_status_is_the_programs_own(kind: str) -> None:
    def check(_: int) -> None:
        status, stderr = run(kind)
        assert status == STATUS[kind], stderr
        assert ("LookupError" in stderr) == (kind == "error"), stderr
        assert "panicked" not in stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(check, range(RUNS // 3 + 1)))


@pytest.mark.parametrize("kind", STATUS)
def test_with_a_cartridge_running(kind: str) -> None:
    for _ in range(3):
        status, stderr = run(kind, str(REFERENCE))
        assert status == STATUS[kind], stderr


def test_it_ends_though_nothing_that_waits_is_ever_granted() -> None:
    status, stderr = run("end")  # but for the end of the program, these waits would last for ever
    assert status == 0, stderr


def test_a_callback_that_waits_does_not_hold_up_the_end() -> None:
    program = """
import threading
from sluicegate import Gate
started = threading.Event()
def callback():
    started.set()
    threading.Event().wait()
turn = Gate(1).on_ready(1, callback)
started.wait()
"""
    command = [sys.executable, "-W", "ignore", "-c", program]
    assert subprocess.run(command, timeout=300, check=False).returncode == 0


def test_a_wait_at_exit_still_works_or_says_why() -> None:
    program = """
import atexit
def late():
    from sluicegate import Gate
    try:
        Gate(0).acquire(timeout=0.01)
    except TimeoutError:
        print("waited")
atexit.register(late)
import sluicegate
def last():
    try:
        sluicegate.Gate(0).acquire(timeout=0.01)
    except TimeoutError:
        print("waited")
atexit.register(last)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], timeout=300, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stdout == "waited\n"
    assert "the interpreter is ending" in done.stderr
