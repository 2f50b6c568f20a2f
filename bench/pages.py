"""Writes a table between its marks in a page of the documentation, and the commit that it is of."""
from __future__ import annotations

import subprocess
from pathlib import Path


def write_table(page: Path, mark: str, end: str, table: str) -> None:
    """Replaces what stands between a line with `mark` and the text `end`."""
    before, rest = page.read_text().split(mark + "\n")
    page.write_text(f"{before}{mark}\n{table}{end}{rest.split(end)[1]}")


def current_commit() -> str:
    """The commit of the sources that this file is in; `unknown` outside of a checkout."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"
