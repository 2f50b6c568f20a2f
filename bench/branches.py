"""What branches and loops in Python cost an export: the runs of the model, and the time, beside those of the same model without them.

    python bench/branches.py [--into docs/capture.md]    # PYTHONPATH has the package aten2onnx

Times are of the processor, the least of two. "Tried out" is the comparison with the model at other sizes and data.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

import torch
from pages import write_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tests"))
from test_branch_runs import FIRST, InLoop, Nested, OnData, OnSizes  # noqa: E402

import aten2onnx
from aten2onnx import _recorded
from aten2onnx._record import runs

MARK, END = "<!-- bench/branches.py -->", "<!-- bench/branches.py ends -->"
#: So many exports of each model.
REPEATS = 2
KINDS = {"in a row, on data": OnData, "in a row, on sizes": OnSizes, "in one another": Nested, "in a loop": InLoop}


class Cost:
    """The runs and the time of one export."""

    def __init__(self) -> None:
        self.runs, self.tried, self.all = 0, 0.0, 0.0
        self._recorded, self._try_out = runs._recorded, _recorded._try_out

    def export(self, model: torch.nn.Module) -> Cost:
        runs._recorded, _recorded._try_out = self._counted, self._timed
        start = time.process_time()
        try:
            aten2onnx.export(model.eval(), (torch.randn(6, 4),), dynamic_shapes={"x": {0: "n"}}, capture="record")
        finally:
            runs._recorded, _recorded._try_out = self._recorded, self._try_out
        self.all = time.process_time() - start
        return self

    def _counted(self, *args: Any) -> Any:
        self.runs += 1
        return self._recorded(*args)

    def _timed(self, *args: Any) -> None:
        start = time.process_time()
        self._try_out(*args)
        self.tried += time.process_time() - start


def row(name: str, kind: Any, count: int) -> str:
    costs = [Cost().export(kind(count)) for _ in range(REPEATS)]
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
    table = "\n".join(lines) + f"\n\n- PyTorch {torch.__version__}, {os.cpu_count()} cores, {platform.machine()}, load average {os.getloadavg()[0]:.1f} at the end\n"
    print(table)
    if given.into:
        write_table(given.into, MARK, END, table)


if __name__ == "__main__":
    main()
