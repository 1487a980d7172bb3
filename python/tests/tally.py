"""Elements that are counted: each one that was made, and when it was released."""

from __future__ import annotations

import gc
import threading
from collections import Counter

from conftest import until

SOON = 120.0


class Tally:
    """What was made and what was released, by number: released twice would be seen."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a collection inside releases elements
        self.made = 0
        self.released: Counter[int] = Counter()

    def make(self) -> Element:
        return Element(self, self.number())

    def number(self) -> int:
        with self._lock:
            self.made += 1
            return self.made

    def release(self, number: int) -> None:
        with self._lock:
            self.released[number] += 1

    def is_even(self) -> bool:
        gc.collect()
        with self._lock:
            return len(self.released) == self.made

    def check(self) -> None:
        until(self.is_even, SOON)
        assert set(self.released.values()) <= {1}, "none twice"


class Element:
    """An element that tells when it is released, and survives nothing."""

    def __init__(self, tally: Tally, number: int) -> None:
        self.tally, self.number, self.turns = tally, number, 0

    def __del__(self) -> None:
        self.tally.release(self.number)

    def __len__(self) -> int:
        return 1
