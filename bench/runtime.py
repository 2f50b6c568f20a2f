"""How fast files are in ONNX Runtime's CPU provider: ours, with and without --target onnxruntime, beside those of the other exporters.

    python bench/runtime.py [--only bert,vit*] [--threads 1] [--into docs/performance.md]    # PYTHONPATH has the package aten2onnx

The others are `torch.onnx.export(dynamo=True)` and, where `onnxruntime.transformers.optimizer` knows the type of the model, what it makes of that file.
Besides the packages of the tests it takes onnxscript. The models are those of runtime_models.py, with random weights and a dynamic batch.

A time is the least processor time of a run. The sessions of a model take turns in a random order. "outside" is the time in kernels other than those of
products and convolutions, of ONNX Runtime's profile: that is what a graph can change.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import platform
import re
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402
from pages import current_commit, write_table  # noqa: E402
from runtime_models import MODELS, Made  # noqa: E402
from turns import least_times, names_chosen, session_of  # noqa: E402

import aten2onnx  # noqa: E402

MARK, END = "<!-- bench/runtime.py -->", "<!-- bench/runtime.py ends -->"
TORCH, OPTIMIZER, PLAIN, TARGET = "torch.onnx", "optimizer", "ours", "ours for it"
WAYS = (TORCH, OPTIMIZER, PLAIN, TARGET)
#: Kernels whose work no graph can change.
PRODUCTS = ("MatMul", "Gemm", "Conv", "ConvTranspose", "FusedMatMul", "FusedGemm", "FusedConv", "NhwcFusedConv", "LSTM")
#: Each session runs for about so many seconds, and this often.
SECONDS, LEAST, MOST = 1.5, 20, 300
PROFILED = 20


@dataclass
class File:
    """What was found of one file."""

    nodes: int
    difference: float
    outside: float
    seconds: float = 0.0


def written(way: str, kind: str | None, made: Made, folder: Path) -> Path:
    """The file that a way makes."""
    model, args, dynamic = made
    path, of_torch = (folder / f"{WAYS.index(one)}.onnx" for one in (way, TORCH))
    shapes = (dynamic,) if takes_any_number(model) else dynamic
    if way == TORCH:
        torch.onnx.export(model, args, path, dynamo=True, dynamic_shapes=shapes, verbose=False)
    elif way == OPTIMIZER:
        if kind is None:
            raise ValueError("it does not know the type")
        if not of_torch.exists():
            raise ValueError(f"there is no file of {TORCH}")
        from onnxruntime.transformers import optimizer

        optimizer.optimize_model(str(of_torch), model_type=kind).save_model_to_file(str(path))
    else:
        aten2onnx.export(model, args, path, dynamic_shapes=shapes, target="onnxruntime" if way == TARGET else None)
    return path


def takes_any_number(model: torch.nn.Module) -> bool:
    """Whether `forward` is declared with `*given`, whose dynamic dimensions are given as one tuple."""
    return bool(model.forward.__code__.co_flags & 4)


def reason(error: Exception) -> str:
    """The first line of an error, without colours."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines()
    return lines[0][:80] if lines else type(error).__name__


def kernels_outside(path: Path, threads: int, feeds: dict[str, Any]) -> float:
    """The least seconds of a run in kernels that are no products."""
    session = session_of(path, threads, profile=path.with_suffix(""))
    for _ in range(PROFILED):
        session.run(None, feeds)
    events = json.loads(Path(session.end_profiling()).read_text())
    kernels = [event for event in events if event.get("cat") == "Node" and event["name"].endswith("kernel_time")]
    of_run = len(kernels) // PROFILED
    runs = [kernels[at : at + of_run] for at in range(0, len(kernels), of_run)]
    return min(sum(event["dur"] for event in run if event["args"]["op_name"] not in PRODUCTS) for run in runs) / 1e6


def compared(name: str, folder: Path, threads: int) -> dict[str, File | str]:
    """The file of each way, or why there is none."""
    kind, build = MODELS[name]
    torch.manual_seed(0)
    made = build()
    model, args, _ = made
    model.eval()
    with torch.no_grad():
        wanted = model(*args)
    found: dict[str, File | str] = {}
    runs: dict[str, Callable[[], object]] = {}
    for way in WAYS:
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                path = written(way, kind, made, folder)
            session = session_of(path, threads)
            feeds = {put.name: arg.numpy() for put, arg in zip(session.get_inputs(), args, strict=True)}
            result = torch.from_numpy(session.run(None, feeds)[0])
            difference = float((result - wanted).abs().max() / wanted.abs().max())
            nodes = len(onnx.load(path, load_external_data=False).graph.node)
            found[way] = File(nodes, difference, kernels_outside(path, threads, feeds))
        except Exception as error:  # noqa: BLE001: what another exporter raises may be anything.
            found[way] = reason(error)
            continue
        runs[way] = partial(session.run, None, feeds)
    for way, seconds in timed(runs, time.thread_time if threads == 1 else time.process_time).items():
        found[way].seconds = seconds
    return found


def timed(runs: dict[str, Callable[[], object]], clock: Callable[[], float]) -> dict[str, float]:
    """The least seconds of each run. The slowest says how many there are."""
    slowest = max(least_times(runs, 3, clock).values(), default=1.0)
    return least_times(runs, max(LEAST, min(MOST, int(SECONDS / slowest))), clock)


def row(name: str, found: dict[str, File | str], ratios: dict[str, list[float]], outside: list[float]) -> str:
    """A line of the table. Ratios are to torch.onnx's file, or to our plain one where there is none."""
    files = {way: file for way, file in found.items() if isinstance(file, File)}
    base = (files.get(TORCH) or files[PLAIN]).seconds
    cells = [f"{1000 * base:.2f}"]
    for way in WAYS[1:]:
        cells.append(f"{files[way].seconds / base:.2f}" if way in files else "")
        if way in files and TORCH in files:
            ratios[way].append(files[way].seconds / base)
    if TORCH in files and TARGET in files:
        outside.append(files[TARGET].outside / files[TORCH].outside)
        cells.append(f"{outside[-1]:.2f}")
    else:
        cells.append("")
    cells.append(" / ".join(str(files[way].nodes) if way in files else "-" for way in WAYS))
    cells.append(" / ".join(f"{files[way].difference:.0e}" if way in files else "-" for way in WAYS))
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", help="names of models, with * and ?, with commas between")
    parser.add_argument("--threads", type=int, default=1, help="of ONNX Runtime")
    parser.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    given = parser.parse_args()
    torch.set_num_threads(1)
    names = names_chosen(MODELS, given.only)
    if not names:
        sys.exit(f"error: no model has the name `{given.only}`; there are {', '.join(MODELS)}")
    lines = [f"| model | ms of {TORCH} | {OPTIMIZER} | {PLAIN} | {TARGET} | outside | nodes | difference |", "|---" * 8 + "|"]
    ratios: dict[str, list[float]] = {way: [] for way in WAYS}
    outside: list[float] = []
    notes, slower = [], []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found = compared(name, Path(folder), given.threads)
        lines.append(row(name, found, ratios, outside))
        print(lines[-1], flush=True)
        missing = {way: why for way, why in found.items() if isinstance(why, str)}
        notes += [f"- {name}, {way}: no file: {why}" for way, why in missing.items() if MODELS[name][0] or way != OPTIMIZER]
        times = {way: file.seconds for way, file in found.items() if isinstance(file, File)}
        others = [seconds for way, seconds in times.items() if way != TARGET]
        if TARGET in times and times[TARGET] > 1.03 * min(others):
            slower.append(f"{name} {times[TARGET] / min(others):.2f}")
    for way in WAYS[1:]:
        if ratios[way]:
            lines.append(f"| **mean, {way}** | | " + f"{statistics.geometric_mean(ratios[way]):.3f} of {len(ratios[way])} models | | | | | |")
    if outside:
        notes.append(f"- outside of products: median {statistics.median(outside):.2f} of {TORCH}'s file")
    notes.append(f"- {TARGET} is slower than the fastest of the others by more than 3 %: {', '.join(slower) or 'nowhere'}")
    about = f"onnxruntime {onnxruntime.__version__}, PyTorch {torch.__version__}, {platform.machine()}, {given.threads} thread(s), commit {current_commit()}"
    notes.append(f"- nodes and differences are those of {', '.join(WAYS)}; {about}; load average {os.getloadavg()[0]:.1f} at the end")
    table = "\n".join([*lines, "", *notes]) + "\n"
    print(table)
    if given.into:
        write_table(given.into, MARK, END, table)


if __name__ == "__main__":
    main()
