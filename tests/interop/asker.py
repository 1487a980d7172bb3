#!/usr/bin/env python3
"""A cartridge of ours that calls another cap, and may leave all of the answer unread."""

from __future__ import annotations

import json
import threading

from sluicegate import Call, Cartridge, Request, SluicegateError

cartridge = Cartridge("asker", "1.0.0")
LIMIT = 20.0
"""Seconds that the other end may take."""


def send(call: Call, media: str, values: list[object]) -> None:
    """Sends the argument. Why it could not is seen at the end of the call."""
    try:
        with call.input(media) as argument:
            for value in values:
                argument.emit(value)
                argument.flush()
        call.finish_input()
    except SluicegateError:
        pass


@cartridge.cap("cap:ask;in=media:json;out=media:json")
def ask(request: Request) -> None:
    """Calls ``cap`` with a text or ``count`` integers, and answers how that ended."""
    plan = json.loads(request.input().collect_bytes())
    values = [plan["text"].encode()] if "text" in plan else list(range(plan["count"]))
    call = request.peer(plan["cap"])
    sender = threading.Thread(target=send, args=(call, plan["media"], values))
    sender.start()
    answer: dict[str, object]
    try:
        values = [item.value for item in call.output(LIMIT)] if plan["reads"] else []
        call.wait(LIMIT)
        answer = {"code": None, "values": len(values)}
    except SluicegateError as error:
        answer = {"code": error.code, "message": error.message}
    sender.join()
    request.output().write(json.dumps(answer).encode())


if __name__ == "__main__":
    cartridge.run()
