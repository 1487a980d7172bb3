"""The guide's programs, as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide-python.md"
BLOCKS = re.findall(r"^```python(?: file=(\S+))?\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guide")
    for name, program in BLOCKS:
        if name:
            (folder / name).write_text(program)
    return folder


@pytest.mark.parametrize("number", [n for n, (name, _) in enumerate(BLOCKS) if not name])
def test_a_program_of_the_guide_runs(number: int, folder: Path) -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", BLOCKS[number][1]]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr


def test_the_guide_has_programs() -> None:
    assert len(BLOCKS) == 11
