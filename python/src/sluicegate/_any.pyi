"""A type variable for checkers. At run time there is no such module."""

from typing import Any

from typing_extensions import TypeVar

E = TypeVar("E", default=Any)
"""The elements of a stage that takes any: what it stands beside says which; alone, they are Any."""
