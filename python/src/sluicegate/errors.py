"""One exception class for each kind of error, the same kinds in every language.

Each class stands for a row of the core's table; a test holds the two against each other.
"""

from __future__ import annotations

from typing import ClassVar


class SluicegateError(Exception):
    """What every error of this library is.

    ``kind`` is the name of the kind and ``number`` its number, the same in every language.
    ``code`` is the text that stands for it on the wire, or the text that a gate was closed with,
    which may be empty. ``class_`` says whose fault it is: input, resource, environment, internal
    or user. ``message`` is a sentence for a person, naming what, where and the limit.
    """

    kind: ClassVar[str] = ""
    number: ClassVar[int] = 0
    default_code: ClassVar[str] = "HANDLER_ERROR"
    default_class: ClassVar[str] = "internal"

    code: str
    class_: str
    message: str

    def __init__(
        self, message: str = "", *, code: str | None = None, class_: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = self.default_code if code is None else code
        self.class_ = self.default_class if class_ is None else class_

    def __str__(self) -> str:
        if self.code and self.message:
            return f"{self.code}: {self.message}"
        return self.code or self.message or self.kind

    @classmethod
    def of(cls, number: int, code: str, class_: str, message: str) -> SluicegateError:
        """The exception for a row of the table; ``Remote`` for a number this version lacks."""
        return _BY_NUMBER.get(number, Remote)(message, code=code, class_=class_)


class TimedOut(SluicegateError, TimeoutError):
    """A limit passed: of a wait, which took nothing, or of a whole call or stream, now ended."""

    kind = "TimedOut"
    number = 2
    default_code = "DEADLINE_EXCEEDED"
    default_class = "resource"


class Closed(SluicegateError):
    """The gate, stream or request was closed; the reason says why."""

    kind = "Closed"
    number = 3
    default_code = "CLOSED"
    default_class = "environment"


class EndOfStream(SluicegateError, EOFError):
    """The stream ended as it should; there is nothing more to read."""

    kind = "EndOfStream"
    number = 4
    default_code = "END_OF_STREAM"
    default_class = "environment"


class Cancelled(SluicegateError):
    """The request was cancelled."""

    kind = "Cancelled"
    number = 5
    default_code = "CANCELLED"
    default_class = "user"


class CreditViolation(SluicegateError):
    """A chunk came that no credit had been granted for (L12)."""

    kind = "CreditViolation"
    number = 6
    default_code = "CREDIT_VIOLATION"
    default_class = "internal"


class PeerDied(SluicegateError, ConnectionError):
    """The process or connection at the other end is gone."""

    kind = "PeerDied"
    number = 7
    default_code = "PEER_DIED"
    default_class = "environment"


class InvalidArgument(SluicegateError, ValueError):
    """An argument is outside what the call takes."""

    kind = "InvalidArgument"
    number = 8
    default_code = "INVALID_ARGUMENT"
    default_class = "input"


class FrameTooLarge(SluicegateError):
    """A frame is larger than the limit of the link."""

    kind = "FrameTooLarge"
    number = 9
    default_code = "FRAME_TOO_LARGE"
    default_class = "resource"


class Malformed(SluicegateError):
    """Bytes that are not a frame, or a value that is not CBOR."""

    kind = "Malformed"
    number = 10
    default_code = "MALFORMED"
    default_class = "input"


class Protocol(SluicegateError):
    """A well-formed frame where the protocol does not allow it."""

    kind = "Protocol"
    number = 11
    default_code = "PROTOCOL_ERROR"
    default_class = "internal"


class Handshake(SluicegateError):
    """The two ends could not agree on version, limits or identity."""

    kind = "Handshake"
    number = 12
    default_code = "HANDSHAKE_FAILED"
    default_class = "environment"


class Checksum(SluicegateError):
    """A chunk's bytes do not match its checksum."""

    kind = "Checksum"
    number = 13
    default_code = "CHECKSUM_MISMATCH"
    default_class = "internal"


class Unbounded(SluicegateError):
    """A call that collects a whole stream met one without end (L16)."""

    kind = "Unbounded"
    number = 14
    default_code = "UNBOUNDED_STREAM"
    default_class = "input"


class Remote(SluicegateError):
    """The other end failed the request; code, class and message are its own."""

    kind = "Remote"
    number = 15
    default_code = "HANDLER_ERROR"
    default_class = "internal"


class Io(SluicegateError, OSError):
    """The operating system refused a read, a write or a start."""

    kind = "Io"
    number = 16
    default_code = "IO_ERROR"
    default_class = "environment"


class Spawn(SluicegateError):
    """The cartridge could not be started."""

    kind = "Spawn"
    number = 17
    default_code = "SPAWN_FAILED"
    default_class = "environment"


class Forked(SluicegateError):
    """The handle was made before a fork and is used in the child."""

    kind = "Forked"
    number = 18
    default_code = "USED_AFTER_FORK"
    default_class = "input"


class Broken(SluicegateError):
    """An earlier panic left the object in an unknown state."""

    kind = "Broken"
    number = 19
    default_code = "BROKEN"
    default_class = "internal"


class Panic(SluicegateError):
    """The library panicked; the call had no effect that can be relied on."""

    kind = "Panic"
    number = 20
    default_code = "PANIC"
    default_class = "internal"


class NoHandler(SluicegateError):
    """Nobody serves this cap."""

    kind = "NoHandler"
    number = 21
    default_code = "NO_HANDLER"
    default_class = "environment"


class LimitReached(SluicegateError):
    """A stated bound was reached: item size, queued control frames, open requests."""

    kind = "LimitReached"
    number = 22
    default_code = "LIMIT_REACHED"
    default_class = "resource"


class WrongMode(SluicegateError):
    """Scalar and sequence calls were mixed on one stream."""

    kind = "WrongMode"
    number = 23
    default_code = "WRONG_MODE"
    default_class = "input"


class FeedOverrun(SluicegateError):
    """The live feed's ring was full and its policy is to fail rather than to drop."""

    kind = "FeedOverrun"
    number = 24
    default_code = "FEED_OVERRUN"
    default_class = "resource"


class BufferOverflow(SluicegateError):
    """A bounded queue between two stages was full and its strategy is to fail."""

    kind = "BufferOverflow"
    number = 25
    default_code = "BUFFER_OVERFLOW"
    default_class = "resource"


class StageFailed(SluicegateError):
    """A user's function in a stage failed or panicked."""

    kind = "StageFailed"
    number = 26
    default_code = "STAGE_FAILED"
    default_class = "internal"


class AlreadySubscribed(SluicegateError):
    """A stage that takes one subscriber has one already."""

    kind = "AlreadySubscribed"
    number = 27
    default_code = "ALREADY_SUBSCRIBED"
    default_class = "input"


class ScopeShutDown(SluicegateError):
    """The scope was shut down: it runs nothing more."""

    kind = "ScopeShutDown"
    number = 28
    default_code = "SCOPE_SHUT_DOWN"
    default_class = "input"


class PlanRefused(SluicegateError):
    """The plan of stages could lock up, or cannot do what it says."""

    kind = "PlanRefused"
    number = 29
    default_code = "PLAN_REFUSED"
    default_class = "input"


_BY_NUMBER: dict[int, type[SluicegateError]] = {
    error.number: error for error in SluicegateError.__subclasses__()
}
