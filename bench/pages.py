"""Writes a table between its marks in a page of the documentation, with the machine and the commit that it is of."""
from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path


def write_table(page: Path, mark: str, end: str, table: str) -> None:
    """Replaces what stands between a line with `mark` and the text `end`."""
    before, rest = page.read_text().split(mark + "\n")
    page.write_text(f"{before}{mark}\n{table}{end}{rest.split(end)[1]}")


def finish_table(lines: list[str], page: Path | None, mark: str, end: str) -> None:
    """Prints a table with the versions and the machine below it, and writes it into a page, if there is one."""
    import torch

    machine = f"{os.cpu_count()} cores, {platform.machine()}, load average {os.getloadavg()[0]:.1f} at the end"
    table = "\n".join(lines) + f"\n\n- PyTorch {torch.__version__}, {machine}\n"
    print(table)
    if page:
        write_table(page, mark, end, table)


def current_commit() -> str:
    """The commit of the sources that this file is in; `unknown` outside of a checkout."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"
