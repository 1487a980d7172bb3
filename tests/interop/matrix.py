"""What passed against what, as a table."""

from __future__ import annotations

from pathlib import Path

BEGIN = "<!-- measured: begin -->"
END = "<!-- measured: end -->"


class Matrix:
    """Rows are what was shown, columns whom it was shown against."""

    def __init__(self) -> None:
        self._cells: dict[str, dict[str, bool]] = {}

    def enter(self, row: str, column: str, passed: bool) -> None:
        cells = self._cells.setdefault(row, {})
        cells[column] = cells.get(column, True) and passed

    def summary(self) -> str:
        """One line for the end of a run."""
        cells = [passed for row in self._cells.values() for passed in row.values()]
        return f"interop matrix: {sum(cells)} of {len(cells)} cells passed"

    def write(self, page: Path) -> None:
        """Replaces the table between the marks of ``page``, one a set of columns."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for row, cells in self._cells.items():
            columns = tuple(sorted(cells))
            groups.setdefault(columns, []).append(
                f"| {row} | {' | '.join('passed' if cells[c] else 'FAILED' for c in columns)} |"
            )
        tables = [
            "\n".join([f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|", *rows])
            for columns, rows in groups.items()
        ]
        before, _, rest = page.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        page.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(tables) + f"\n\n{END}{after}")
