"""Handlers that are generators: what they yield is what they answer."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any


def emitting(handler: Callable[[Any], Any], sequence: bool) -> Callable[[Any], Any]:
    """A handler that emits to the main output what ``handler`` yields; others as they are.

    A generator is closed when its request is over before it is.
    """
    if inspect.isasyncgenfunction(handler):

        @functools.wraps(handler)
        async def in_task(request: Any) -> None:
            output = request.output()
            emit = output.emit_item if sequence else output.emit
            async with contextlib.aclosing(handler(request)) as values:
                async for value in values:
                    await emit(value)

        return in_task
    if inspect.isgeneratorfunction(handler):

        @functools.wraps(handler)
        def on_thread(request: Any) -> None:
            output = request.output()
            emit = output.emit_item if sequence else output.emit
            with contextlib.closing(handler(request)) as values:
                for value in values:
                    emit(value)

        return on_thread
    return handler
