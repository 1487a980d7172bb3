"""What a stream carries beyond Python's own types.

int, float, bool, None, str, bytes, list and dict stand for themselves, and arrive as what they were
sent as. bytearray and memoryview are sent as bytes, a tuple as a list; a tuple also stands for a
list that is the key of a dict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final


@dataclass(frozen=True, slots=True)
class Tag:
    """A tagged value of CBOR. Big integers need none: an int of any size is sent as it is."""

    tag: int
    value: Any


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple value of CBOR that has no meaning of its own: 0 to 19, or 32 to 255."""

    number: int

    def __post_init__(self) -> None:
        if not (0 <= self.number <= 19 or 32 <= self.number <= 255):
            raise ValueError(f"{self.number} is not the number of a simple value")


class Pairs(list[tuple[Any, Any]]):
    """A map that a dict cannot hold, as its entries in their order.

    It has keys that a dict takes for the same (1, 1.0 and True), or that are maps themselves.
    """

    __slots__ = ()


@final
class Undefined:
    """The type of ``undefined``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "undefined"

    def __bool__(self) -> bool:
        return False


undefined: Final = Undefined()
"""CBOR's own word for no value; None is ``null``."""
