"""Which opset is the fastest in ONNX Runtime: the models of models.py, exported at each opset for it, run in turns.

    python bench/opsets.py [--only bert] [--opsets 18,21,23] [--into docs/targets.md]    # PYTHONPATH has the package aten2onnx

The result is `fastest_opset` of a release in mappings/targets: the oldest opset that is not slower than the fastest by more than noise.

Each file is held against PyTorch. A time is the least processor time of a run, of one thread; the table has it beside that of the default opset.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import platform
import random
import statistics
import tempfile
import time
from pathlib import Path

import onnxruntime
import torch
from models import MODELS
from pages import write_table

import aten2onnx

MARK, END = "<!-- bench/opsets.py -->", "<!-- bench/opsets.py ends -->"
DEFAULT = 18
ROUNDS = 60
NOISE = 0.01
#: Too large to be exported at each opset.
LEFT_OUT = ["llama_2gb"]


def session_of(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def times_of(name: str, opsets: list[int], folder: Path) -> dict[int, float]:
    """The least processor time of a run at each opset, in seconds."""
    torch.manual_seed(0)
    model, args = MODELS[name]()
    with torch.no_grad():
        wanted = model.eval()(*args)
    sessions = {}
    for opset in opsets:
        path = folder / f"{name}_{opset}.onnx"
        aten2onnx.export(model, args, path, opset_version=opset, target="onnxruntime", dynamic_shapes=({0: "batch"},))
        sessions[opset] = session_of(path)
    times: dict[int, list[float]] = {opset: [] for opset in opsets}
    shuffled = random.Random(0)
    for turn in range(ROUNDS):
        # A session that runs twice in a row finds its weights in the caches: no opset may do so more often than others.
        for opset in shuffled.sample(opsets, len(opsets)):
            session = sessions[opset]
            feeds = {put.name: arg.numpy() for put, arg in zip(session.get_inputs(), args)}
            start = time.thread_time()
            (found,) = session.run(None, feeds)
            times[opset].append(time.thread_time() - start)
            if turn == 0:
                torch.testing.assert_close(torch.from_numpy(found), wanted, rtol=1e-3, atol=1e-3)
    return {opset: min(found) for opset, found in times.items()}


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
    for name in MODELS:
        if name in LEFT_OUT or not any(fnmatch.fnmatch(name, only) for only in given.only.split(",")):
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
