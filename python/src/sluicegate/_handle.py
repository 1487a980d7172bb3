"""What is neither copied nor pickled, and says so."""

from __future__ import annotations

from typing import NoReturn, Self, SupportsIndex


class Handle:
    """Stands for something that is in this process once: it is neither copied nor pickled."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        name = f"{type(self).__module__.partition('._')[0]}.{type(self).__qualname__}"
        raise TypeError(
            f"a {name} is a handle of this process: it is neither copied nor pickled; "
            "threads may share it, another process makes its own"
        )


class Immutable:
    """A blueprint: a copy is itself. It holds functions, so it is not pickled."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        name = f"{type(self).__module__.partition('._')[0]}.{type(self).__qualname__}"
        raise TypeError(
            f"a {name} is a blueprint that holds functions: it is not pickled; "
            "another process builds its own"
        )
