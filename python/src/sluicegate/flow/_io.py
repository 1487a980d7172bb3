"""Files as sources and sinks: lines and chunks in, bytes out."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias, TypeVar

from sluicegate import _core
from sluicegate.errors import AlreadySubscribed, InvalidArgument, LimitReached, Malformed

F = TypeVar("F")

File: TypeAlias = str | os.PathLike[str] | F | Callable[[], F]
"""A path and a function that opens are good for any number of runs; an open file for one."""


class HasLines(Protocol):
    """What lines are read from: any file, opened as bytes or as text."""

    def readline(self, size: int, /) -> bytes | str:
        """A line with its end, or as much of it."""


class HasChunks(Protocol):
    """What chunks are read from: any file that was opened as bytes."""

    def read(self, size: int, /) -> bytes | None:
        """At most so many bytes; none at the end."""


class Writable(Protocol):
    """What elements are written to: any file."""

    def write(self, element: Any, /) -> object:
        """Writes it."""

    def flush(self) -> object:
        """Hands on what it holds."""


class _Opened:
    """A file for the length of one run: closed at its end if the run has opened it."""

    __slots__ = ("file", "ours")

    def __init__(self, given: File[Any], mode: str) -> None:
        if isinstance(given, (str, os.PathLike)):
            self.file: Any = open(given, mode)  # noqa: SIM115 - for as long as the run lasts
            self.ours = True
        elif callable(given):
            self.file, self.ours = given(), True
        else:
            self.file, self.ours = given, False

    def close(self) -> None:
        if self.ours:
            self.file.close()


def _checked(what: str, given: File[Any], method: str) -> None:
    """Raises what is wrong with a file when the blueprint is made."""
    if isinstance(given, (str, os.PathLike)) or callable(given) or hasattr(given, method):
        return
    kind = type(given).__qualname__
    raise TypeError(f"{what} needs a path, a file or a function that opens one, not {kind}")


_MOST = sys.maxsize - 2
"""What a file can be asked for at once: it counts in ssize_t, and a line has an end too."""


def _positive(what: str, unit: str, n: int) -> None:
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"{what} is an int, not {type(n).__qualname__}")
    if not 1 <= n <= _MOST:
        raise InvalidArgument(f"{what} of {n} {unit}: it must be from 1 to {_MOST}")


def once(what: str, given: File[Any]) -> Callable[[None], None]:
    """Called for each run: refuses the second of something that can be read or written once."""
    if isinstance(given, (str, os.PathLike)) or callable(given):
        return lambda _: None
    lock, used = threading.Lock(), False

    def begin(_: None) -> None:
        nonlocal used
        with lock:
            if used:
                raise AlreadySubscribed(f"{what}: an open file runs once; give its path instead")
            used = True

    return begin


def lines(file: File[HasLines], max_bytes: int) -> Callable[[], _core.FlowSource]:
    """Makes a source of the lines of a file."""
    _checked("lines", file, "readline")
    _positive("a line length", "bytes", max_bytes)

    def read() -> Iterator[str]:
        opened = _Opened(file, "rb")
        try:
            at = 0
            while line := opened.file.readline(max_bytes + 2):  # and its end
                at += 1
                yield _line(line, max_bytes, at)
        finally:
            opened.close()

    begin = once("lines", file)
    return lambda: _core.FlowSource.make(read).named("lines").map_mat(begin)


def _line(line: bytes | str, most: int, at: int) -> str:
    if isinstance(line, str):
        if line.endswith("\n"):
            line = line[:-1].removesuffix("\r")
        if len(line) > most:
            raise LimitReached(f"line {at} is longer than {most} characters")
        return line
    if line.endswith(b"\n"):
        line = line[:-1].removesuffix(b"\r")
    if len(line) > most:
        raise LimitReached(f"line {at} is longer than {most} bytes")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"line {at} is no UTF-8: {error}") from error


def chunks(file: File[HasChunks], size: int) -> Callable[[], _core.FlowSource]:
    """Makes a source of what each read of a file gives."""
    _checked("chunks", file, "read")
    _positive("a chunk", "bytes", size)

    def read() -> Iterator[bytes]:
        opened = _Opened(file, "rb")
        try:
            some = getattr(opened.file, "read1", opened.file.read)
            while chunk := some(size):
                yield chunk
            if chunk is None:
                raise BlockingIOError("chunks: the file does not block, and has nothing to read")
        finally:
            opened.close()

    begin = once("chunks", file)
    return lambda: _core.FlowSource.make(read).named("chunks").map_mat(begin)


class _Writing:
    """What one run writes to: opened with the first element, or at the end if there is none."""

    def __init__(self, given: File[Writable]) -> None:
        self._given = given
        self._opened: _Opened | None = None
        self._written = 0

    def _open(self) -> _Opened:
        if self._opened is None:
            self._opened = _Opened(self._given, "wb")
        return self._opened

    def write(self, element: Any) -> None:
        try:
            self._written += _write_all(self._open().file, element)
        except BaseException:
            self.close()
            raise

    def finish(self) -> int:
        try:
            self._open().file.flush()
        finally:
            self.close()
        return self._written

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def __del__(self) -> None:
        self.close()  # the stream was failed or cancelled


def _write_all(file: Any, element: Any) -> int:
    """Writes all of it, however little a raw file takes at once."""
    if not isinstance(file, io.RawIOBase):
        file.write(element)
        return len(element) if isinstance(element, str) else memoryview(element).nbytes
    rest = memoryview(element).cast("B")
    whole = rest.nbytes
    while rest:
        taken = file.write(rest)
        if taken is None:
            raise BlockingIOError("writer: the file does not block, and takes nothing now")
        rest = rest[taken:]
    return whole


def writer(file: File[Writable]) -> Callable[[], _core.FlowSink]:
    """Makes a sink into a file, whose last element is how much was written."""
    _checked("writer", file, "write")
    begin = once("writer", file)

    def make() -> _core.FlowSink:
        writing = _Writing(file)  # of one run

        def write(written: _Writing, element: Any) -> _Writing:
            written.write(element)
            return written

        stage = _core.FlowStage.fold(writing, write).named("writer")
        end = _core.FlowStage.map(_Writing.finish).named("flush")
        flow = stage.map_mat(begin).via(end, True)
        return flow.to(_core.FlowSink.last(), False)

    return make
