"""Which opset is the fastest in ONNX Runtime: the models of models.py, exported at each opset for it, run in turns.

    python bench/opsets.py [--only bert] [--opsets 18,21,23] [--into docs/targets.md]    # PYTHONPATH has the package aten2onnx

The result is `fastest_opset` of a release in mappings/targets: the oldest opset that is not slower than the fastest by more than noise.

Each file is held against PyTorch. A time is the least processor time of a run, of one thread; the table has it beside that of the default opset.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import onnxruntime
import torch
from models import MODELS
from pages import write_table
from turns import least_times, names_chosen, session_of

import aten2onnx

MARK, END = "<!-- bench/opsets.py -->", "<!-- bench/opsets.py ends -->"
DEFAULT = 18
ROUNDS = 60
NOISE = 0.01
#: Too large to be exported at each opset.
LEFT_OUT = ["llama_2gb"]


def times_of(name: str, opsets: list[int], folder: Path) -> dict[int, float]:
    """The least processor time of a run at each opset, in seconds."""
    torch.manual_seed(0)
    model, args = MODELS[name]()
    with torch.no_grad():
        wanted = model.eval()(*args)
    runs = {}
    for opset in opsets:
        path = folder / f"{name}_{opset}.onnx"
        aten2onnx.export(model, args, path, opset_version=opset, target="onnxruntime", dynamic_shapes=({0: "batch"},))
        session = session_of(path)
        feeds = {put.name: arg.numpy() for put, arg in zip(session.get_inputs(), args, strict=True)}
        (found,) = session.run(None, feeds)
        torch.testing.assert_close(torch.from_numpy(found), wanted, rtol=1e-3, atol=1e-3)
        runs[opset] = partial(session.run, None, feeds)
    return least_times(runs, ROUNDS, time.thread_time)


def oldest_of_fastest(means: dict[int, float]) -> int:
    """The oldest opset that is as fast as the fastest but for noise: more programs read it."""
    return min(opset for opset, mean in means.items() if mean <= min(means.values()) + NOISE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", help="names of models, with * and ?, with commas between")
    parser.add_argument("--opsets", default="17,18,20,21,22,23,24,25,26", help="with commas between")
    parser.add_argument("--into", type=Path, help="the page that gets the table, between its marks")
    given = parser.parse_args()
    opsets = sorted({DEFAULT, *(int(opset) for opset in given.opsets.split(","))})
    torch.set_num_threads(1)
    ratios: dict[int, list[float]] = {opset: [] for opset in opsets}
    lines = ["| model | ms at 18 | " + " | ".join(map(str, opsets)) + " |", "|---" * (len(opsets) + 2) + "|"]
    for name in names_chosen(MODELS, given.only):
        if name in LEFT_OUT:
            continue
        with tempfile.TemporaryDirectory() as folder:
            times = times_of(name, opsets, Path(folder))
        for opset in opsets:
            ratios[opset].append(times[opset] / times[DEFAULT])
        cells = [f"{times[opset] / times[DEFAULT]:.2f}" for opset in opsets]
        lines.append(f"| {name} | {1000 * times[DEFAULT]:.1f} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    means = {opset: statistics.geometric_mean(found) for opset, found in ratios.items()}
    lines.append("| **mean** | | " + " | ".join(f"{means[opset]:.3f}" for opset in opsets) + " |")
    fastest = oldest_of_fastest(means)
    about = f"onnxruntime {onnxruntime.__version__}, PyTorch {torch.__version__}, {platform.machine()}, load average {os.getloadavg()[0]:.1f} at the end"
    table = "\n".join(lines) + f"\n\n- the fastest: opset {fastest}; {about}\n"
    print(table)
    if given.into:
        write_table(given.into, MARK, END, table)


if __name__ == "__main__":
    main()
