"""HZ-F05, HZ-F14: forks, and the signals of the program."""

from __future__ import annotations

import subprocess
import sys

from conftest import REFERENCE

FORK = """
import multiprocessing, os, sys, threading
import sluicegate
from sluicegate import Engine, Gate, Router, Window
from sluicegate.errors import Forked

def expect_forked(call):
    try:
        call()
    except Forked as error:
        assert error.code == "USED_AFTER_FORK", error
    else:
        raise AssertionError(f"{call} worked")

def in_child(gate, window, router, turn, peer, call, output):
    for inherited in (
        lambda: gate.acquire(timeout=1), lambda: gate.grant(1), lambda: gate.available,
        lambda: gate.close("x"), lambda: gate.on_ready(1, print), window.arrive, window.flush,
        lambda: router.grant(1, None, 1), lambda: len(router), turn.take,
        lambda: peer.call("cap:x"), lambda: peer.dead, lambda: call.wait(1), call.cancel,
        lambda: output.recv(1), output.cancel, output.collect_bytes,
    ):
        expect_forked(inherited)
    new = Gate(0)
    threading.Timer(0.01, new.grant, (1,)).start()
    new.acquire(timeout=120)
    with Engine() as engine, engine.spawn(sys.executable, sys.argv[1]) as peer:
        call = peer.call("cap:fc-echo;in=media:blob;out=media:blob")
        with call.input("media:blob") as stream:
            stream.write(b"from the child")
        call.finish_input()
        assert call.output().collect_bytes() == b"from the child"
        call.wait()

gate, window, router = Gate(0), Window(4), Router()
waiter = threading.Thread(target=gate.acquire)
waiter.start()
while not gate.waiting:
    pass
turn = Gate(0).on_ready(1, print)
with Engine() as engine, engine.spawn(sys.executable, sys.argv[1]) as peer:
    call = peer.call("cap:fc-forever;in=media:blob;out=media:blob")
    output = call.output()
    assert output.recv().value == 0

    pid = os.fork()
    if pid == 0:
        try:
            in_child(gate, window, router, turn, peer, call, output)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=in_child, args=(gate, window, router, turn, peer, call, output))
    child.start()
    child.join(300)
    assert child.exitcode == 0, child.exitcode

    assert [output.recv().value for _ in range(100)] == list(range(1, 101))
    gate.grant(1)
    waiter.join(120)
    assert not waiter.is_alive()
    turn.close()
print("undisturbed")
"""


def test_hz_f05_a_fork_leaves_the_parent_alone_and_the_child_able() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, str(REFERENCE)],
        timeout=600,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "undisturbed\n"), done.stderr


def test_hz_f05_forks_while_wakes_are_under_way() -> None:
    program = """
import os, threading
from sluicegate import Gate
gate, stop = Gate(1), False
def spin():
    while not stop:
        gate.acquire(); gate.grant(1)
threads = [threading.Thread(target=spin) for _ in range(4)]
for thread in threads: thread.start()
for _ in range(40):
    pid = os.fork()
    if pid == 0:
        new = Gate(0)
        threading.Timer(0.001, new.grant, (1,)).start()
        new.acquire(timeout=120)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop = True
for thread in threads: thread.join()
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program],
        timeout=600,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_hz_f14_no_signal_is_taken_over() -> None:
    program = """
import sys, threading
def signals():
    with open("/proc/self/status") as status:
        return [line for line in status if line.startswith(("SigBlk", "SigIgn", "SigCgt"))]
threading.Thread(target=signals).start()  # the C library takes one for itself at the first
before = signals()
from sluicegate import Engine, Gate
Gate(1).acquire()
with Engine() as engine, engine.spawn(sys.executable, sys.argv[1]) as peer:
    assert signals() == before
    peer.kill()
    peer.died()
assert signals() == before, (before, signals())
"""
    command = [sys.executable, "-c", program, str(REFERENCE)]
    done = subprocess.run(command, timeout=300, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
