"""Writes a table between its marks in a page of the documentation."""
from __future__ import annotations

from pathlib import Path


def write_table(page: Path, mark: str, end: str, table: str) -> None:
    """Replaces what stands between a line with `mark` and the text `end`."""
    before, rest = page.read_text().split(mark + "\n")
    page.write_text(f"{before}{mark}\n{table}{end}{rest.split(end)[1]}")
