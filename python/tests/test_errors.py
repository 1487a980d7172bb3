"""The exception classes against the table of the core."""

from __future__ import annotations

import pickle

import pytest

from sluicegate import Gate, _core, errors
from sluicegate.errors import Closed, EndOfStream, InvalidArgument, SluicegateError, TimedOut


def test_one_class_for_each_kind_and_none_besides() -> None:
    table = _core.error_kinds()
    assert {row[1] for row in table} == {c.__name__ for c in SluicegateError.__subclasses__()}
    for number, name, code, class_, text in table:
        error = getattr(errors, name)
        assert (error.number, error.kind) == (number, name)
        assert (error.default_code, error.default_class) == (code, class_)
        assert error.__doc__ == text


def test_the_ordinary_exceptions_catch_them_too() -> None:
    assert issubclass(TimedOut, TimeoutError)
    assert issubclass(EndOfStream, EOFError)
    assert issubclass(InvalidArgument, ValueError)
    assert issubclass(errors.PeerDied, ConnectionError)
    assert issubclass(errors.Io, OSError)


def test_facts_survive_pickling() -> None:
    for kind in SluicegateError.__subclasses__():
        error = kind("what", code="CODE", class_="user")
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind
        assert (again.code, again.class_, again.message) == ("CODE", "user", "what")
        assert str(again) == "CODE: what"


def test_a_reason_keeps_all_of_its_facts() -> None:
    gate = Gate(0)
    gate.close(errors.CreditViolation("chunk 3 came", class_="input"))
    with pytest.raises(errors.CreditViolation, match="chunk 3 came") as caught:
        gate.acquire()
    assert (caught.value.code, caught.value.class_) == ("CREDIT_VIOLATION", "input")


def test_the_empty_text_is_a_reason_like_any_other() -> None:
    gate = Gate(0)
    assert gate.close("")
    assert not gate.close("later")
    assert isinstance(gate.reason, Closed)
    assert gate.reason.code == ""
    assert str(gate.reason) == "Closed"


def test_a_reason_is_a_text_or_one_of_ours() -> None:
    with pytest.raises(TypeError):
        Gate(0).close(ValueError("no"))  # type: ignore[arg-type]
