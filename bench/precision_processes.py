"""Runs the jobs of precision.py in other processes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

JOBS = Path(__file__).with_name("precision_jobs.py")


def performed(jobs: list[dict[str, Any]], python: str, path: Path) -> list[dict[str, Any]]:
    """What each job found. A process that ends in the middle of a job fails it."""
    path.write_text(json.dumps(jobs))
    target = Path(f"{path}.done")
    target.unlink(missing_ok=True)
    lines: list[str] = []
    while len(lines) < len(jobs):
        ended = subprocess.run([python, JOBS, path], capture_output=True, text=True)
        found = target.read_text().splitlines() if target.exists() else []
        if len(found) == len(lines):
            with target.open("a") as file:
                file.write(json.dumps({"error": f"the process ended with {ended.returncode}: {ended.stderr.strip()[-200:]}"}) + "\n")
            found = target.read_text().splitlines()
        lines = found
    return [json.loads(line) for line in lines]
