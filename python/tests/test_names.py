"""The names that `docs/flow.md` gives for those of other libraries are there, here and in Swift."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluicegate import flow
from sluicegate.flow import testkit as testkit

HERE = Path(__file__).resolve().parents[2]
HEADING = "## The seed's names and ours"


def rows() -> Iterator[dict[str, str]]:
    """The rows of both tables, by column."""
    text = (HERE / "docs" / "flow.md").read_text().partition(HEADING)[2]
    columns: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not columns:
            columns = cells
        elif set(line) != set("|-"):
            yield dict(zip(columns, cells, strict=True))


def names(cell: str) -> Iterator[str]:
    """The names in a cell, each with its owner: one without is of the owner before it."""
    owner = ""
    for name in re.findall(r"`@?(?:flow\.)?([\w.]+)(?:\(.*?\))?`", cell):
        before, _, last = name.rpartition(".")
        if before or not last[0].islower():
            owner = before or last
            yield name
        else:
            yield f"{owner}.{last}" if owner else last


ROWS = list(rows())
PYTHON = sorted({name for row in ROWS for name in names(row["Python"])})
SWIFT = sorted({name for row in ROWS for name in names(row["Swift"])})
SOURCES = "\n".join(
    path.read_text() for path in sorted((HERE / "swift/Sources/Sluicegate").rglob("*.swift"))
)


@pytest.mark.parametrize("name", PYTHON)
def test_a_name_of_python_is_there(name: str) -> None:
    if keyword.iskeyword(name.rpartition(".")[2]) or hasattr(builtins, name):
        return
    found: object = flow
    for part in name.split("."):
        found = getattr(found, part)


@pytest.mark.parametrize("name", SWIFT)
def test_a_name_of_swift_is_declared(name: str) -> None:
    for part in name.split("."):
        declared = rf"\bpublic [\w ]*\b(?:func|var|let|class|struct|enum) {part}\b"
        assert re.search(declared, SOURCES), f"{part} of {name}"


def test_every_row_names_both() -> None:
    assert len(ROWS) == 24
    for row in ROWS:
        assert row["Python"], row
        assert row["Swift"], row
    assert len(PYTHON) > 40
    assert len(SWIFT) > 40
