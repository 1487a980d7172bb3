"""The Python examples print what the examples of every language print."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SOON = 300.0


@pytest.mark.parametrize("name", ["basic", "showcase", "ledger", "transcode"])
def test_an_example_prints_what_is_expected(name: str) -> None:
    folder = EXAMPLES / name
    ran = subprocess.run(
        [sys.executable, folder / "main.py"], capture_output=True, text=True, timeout=SOON
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == (folder / "expected.txt").read_text()


class Server:
    """The example's server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.said = process.stdout
        self.port = int(self.said.readline().removeprefix("listening on "))

    def get(self, path: str) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), timeout=SOON)
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".encode())
        return client

    def made(self) -> int:
        with self.get("/made") as client, client.makefile() as answer:
            return int(answer.read().rpartition("\n")[2])


@pytest.fixture
def server() -> Iterator[Server]:
    with _started() as server:
        yield server


@contextmanager
def _started() -> Iterator[Server]:
    command = [sys.executable, str(EXAMPLES / "http" / "main.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


def test_http_with_curl(server: Server) -> None:
    url = f"http://127.0.0.1:{server.port}/stream?n=5"
    ran = subprocess.run(["curl", "-sN", url], capture_output=True, text=True, timeout=SOON)
    assert ran.stdout.splitlines() == [f'{{"value":{2 * n}}}' for n in range(5)]


@pytest.mark.parametrize("n", ["?n=abc", "?n=-1", "?n=+1", "?n=" + str(2**64), "?n=1x", "?n=", ""])
def test_http_says_what_is_allowed(server: Server, n: str) -> None:
    with server.get(f"/stream{n}") as client, client.makefile(newline="") as answer:
        said = answer.read()
    assert said.startswith("HTTP/1.1 400 ")
    assert said.endswith(f"\r\n\r\nn must be a whole number from 0 to {2**64 - 1}\n")


def test_http_with_a_reader_that_stops_and_then_leaves(server: Server) -> None:
    client = server.get("/stream?n=1000000000")
    with client.makefile() as lines:
        values = (line for line in lines if "value" in line)
        assert [next(values) for _ in range(10)][9] == '{"value":18}\n'
        # The reader has stopped. Once every buffer on the way is full, the source stands still.
        give_up = time.monotonic() + SOON
        before, now = -1, server.made()
        while before != now:
            assert time.monotonic() < give_up, f"still making: {now}"
            time.sleep(0.3)
            before, now = now, server.made()
        assert now < 10_000_000
    client.close()
    assert server.said.readline().startswith("cancelled after ")
