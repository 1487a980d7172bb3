"""A ledger is fetched by the page and written by the row.

The demand of the page goes up, the demand of the row comes from below.
"""

from sluicegate.flow import Scope, Sink, Source

ROWS = 200
written = 0
fetches = 0


def fetch(first: int, n: int) -> list[str]:
    """What is asked for; fewer rows are the last ones."""
    global fetches
    print(f"fetch {n} rows from {first} after {written} written")
    fetches += 1
    return [f"row {row}" for row in range(first, min(first + n, ROWS))]


def write(_row: str) -> None:
    """Commits one row, and asks for the next."""
    global written
    written += 1


def main() -> None:
    # Holds 64 rows or has asked for them, and asks again once 48 have left: never more than 64.
    ledger = Source.fetch(fetch).page(64, 48)
    with Scope("ledger") as scope:
        ledger.to(Sink.foreach(write)).run(scope).result()
    print(f"written {written} rows in {fetches} fetches")


if __name__ == "__main__":
    main()
