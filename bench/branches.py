"""What branches and loops in Python cost an export: the runs of the model, and the time, beside those of the same model without them.

    python bench/branches.py [--into docs/capture.md]    # PYTHONPATH has the package aten2onnx

Times are of the processor, the least of two. "Tried out" is the comparison with the model at other sizes and data.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import torch
from costs import cost_of_export
from pages import finish_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tests"))
from test_branch_runs import FIRST, InLoop, Nested, OnData, OnSizes  # noqa: E402

MARK, END = "<!-- bench/branches.py -->", "<!-- bench/branches.py ends -->"
#: So many exports of each model.
REPEATS = 2
KINDS = {"in a row, on data": OnData, "in a row, on sizes": OnSizes, "in one another": Nested, "in a loop": InLoop}


def row(name: str, kind: Any, count: int) -> str:
    costs = [cost_of_export(kind(count).eval(), (torch.randn(6, 4),), {"x": {0: "n"}})[0] for _ in range(REPEATS)]
    best = min(costs, key=lambda cost: cost.all)
    a_side = (best.runs - FIRST) / (2 * count) if count else 0
    return f"| {name} | {count} | {best.runs} | {a_side:.1f} | {best.all - best.tried:.2f} | {best.tried:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    lines = ["| branches | number | runs | runs for a side | exported in s | tried out in s |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [row(name, kind, count) for name, kind in KINDS.items() for count in (0, 1, 3, 10)]
    finish_table(lines, given.into, MARK, END)


if __name__ == "__main__":
    main()
