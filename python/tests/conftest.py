"""Lines that the run ends with."""

from __future__ import annotations

import pytest


class Report:
    """Collects lines for the end of the run, where CI reads them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)


_REPORT = Report()


@pytest.fixture(scope="session")
def report() -> Report:
    return _REPORT


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in _REPORT.lines:
        terminalreporter.write_line(line)
