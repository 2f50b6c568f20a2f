"""Half precision: our files beside those of other converters, in ONNX Runtime and OpenVINO, at other sizes than those of the example.

    python bench/precision.py [--only bert,hazard*] [--peers PYTHON] [--into docs/precision.md]    # PYTHONPATH has the package aten2onnx

The others convert our float32 file: onnxconverter-common, ONNX Runtime (`onnxruntime.transformers.float16`), and NVIDIA's AutoCast, which is given the inputs of the
example. They and OpenVINO are no packages of the tests. `--peers` is the Python of an environment that has them; without it their cells are empty. Make it so:

    python -m venv /tmp/peers
    /tmp/peers/bin/pip install numpy onnx==1.23.2 onnxruntime==1.31.1 ml_dtypes openvino onnxconverter-common
    /tmp/peers/bin/pip install torch onnx-graphsurgeon onnxscript onnxslim polygraphy tqdm lief nvidia-ml-py    # what AutoCast imports
    /tmp/peers/bin/pip install --no-deps nvidia-modelopt    # its dependencies are older releases of onnx and ONNX Runtime

The models are those of precision_models.py, with random weights. A model whose package is not installed (diffusers) is left out, and told.
Most of the time is that of onnx's reference evaluator, which is slow for convolutions of many groups.
Differences are from PyTorch in float64, or in float32 where the model cannot be of float64, and are the largest of all results, relative to the largest number of each.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import platform
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import torch  # noqa: E402
from pages import current_commit, write_table  # noqa: E402
from precision_facts import Comparison, Facts, compared, facts_of, results_of, worst  # noqa: E402
from precision_models import MODELS, Made, made  # noqa: E402
from precision_processes import performed  # noqa: E402
from precision_tables import table_of  # noqa: E402
from turns import names_chosen  # noqa: E402

import aten2onnx  # noqa: E402

MARK, END = "<!-- bench/precision.py -->", "<!-- bench/precision.py ends -->"
#: By dtype: the opset, our conversions of the float32 file, those of others, and where files run. `WHOLE` and `OURS` are exports.
OPSETS = {"float16": 18, "bfloat16": 22}
WHOLE, OURS = "float32", "ours"
CONVERTED = {"float16": ("ours, converted", "ours, mixed"), "bfloat16": ("ours, converted",)}
OTHERS = {"float16": ("onnxconverter-common", "ONNX Runtime", "AutoCast"), "bfloat16": ("AutoCast",)}
RUNTIMES = {"float16": ("rounding", "ONNX Runtime", "OpenVINO"), "bfloat16": ("rounding", "OpenVINO")}
#: What runs with the Python of --peers.
OF_PEERS = ("OpenVINO",)


@dataclass
class File:
    """What was found of one file: its facts, and how it runs by the name of the runtime; or why there is none."""

    facts: Facts | None = None
    seconds: float | None = None
    runs: dict[str, Comparison | str] = field(default_factory=dict)
    why: str | None = None


@dataclass
class Found:
    """What was found of a model in one dtype: the results of PyTorch, those of its own half precision, and each file, also that of float32."""

    wanted: list[np.ndarray]
    torch: Comparison | None
    files: dict[str, File]


def exported(model: Made, target: Path, opset: int, precision: str | None = None) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        aten2onnx.export(model.module, model.example, target, dynamic_shapes=model.dynamic, opset_version=opset, precision=precision)


def prepared(model: Made, dtype: str, folder: Path) -> Found:
    """Writes the float32 file, ours, the inputs and what PyTorch makes of them."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = results_of(model.module, model.second, torch.float64) or results_of(model.module, model.second, torch.float32)
    if wanted is None:
        raise RuntimeError("PyTorch does not run it at the second sizes")
    whole, ours = folder / f"{WHOLE}.onnx", File()
    exported(model, whole, OPSETS[dtype])
    try:
        exported(model, folder / f"{OURS}.onnx", OPSETS[dtype], dtype)
    except aten2onnx.Error as error:
        ours.why = str(error).splitlines()[0]
    names = [put.name for put in onnx.load(whole).graph.input]
    for part, given in (("example", model.example), ("second", model.second)):
        np.savez(folder / f"{part}.npz", **{name: tensor.numpy() for name, tensor in zip(names, given, strict=True)})
    own = results_of(model.module, model.second, getattr(torch, dtype))
    yardstick = compared(own, wanted) if own and [x.shape for x in own] == [x.shape for x in wanted] else None
    return Found(wanted, yardstick, {WHOLE: File(), OURS: ours})


def convert(found: dict[str, Found], dtype: str, folder: Path, peers: str | None) -> None:
    """Converts all float32 files: by ours, and by others."""
    for python, ways in ((sys.executable, CONVERTED[dtype]), (peers, OTHERS[dtype])):
        if python is None:
            continue
        pairs = [(name, way) for way in ways for name in found]
        jobs = []
        for name, way in pairs:
            at = folder / name
            precision = "mixed" if "mixed" in way else dtype
            jobs.append({"way": way, "source": f"{at}/{WHOLE}.onnx", "target": f"{at}/{way}.onnx", "dtype": precision, "data": f"{at}/example.npz"})
        for (name, way), made in zip(pairs, performed(jobs, python, folder / "jobs.json"), strict=True):
            found[name].files[way] = File(seconds=made.get("seconds"), why=made.get("error"))


def run(found: dict[str, Found], dtype: str, folder: Path, peers: str | None) -> None:
    """Runs each file in each runtime at the second sizes."""
    there = [(name, way, file) for name, one in found.items() for way, file in one.files.items() if file.why is None]
    for runtime in RUNTIMES[dtype]:
        python = peers if runtime in OF_PEERS else sys.executable
        if python is None:
            continue
        jobs = [
            {"runtime": runtime, "model": f"{folder / name / way}.onnx", "feeds": [f"{folder / name}/second.npz"], "results": [f"{folder / name / way}.npz"]}
            for name, way, _ in there
        ]
        for (name, way, file), ran in zip(there, performed(jobs, python, folder / "jobs.json"), strict=True):
            file.runs[runtime] = ran.get("error") or beside(folder / name / f"{way}.npz", found[name].wanted)


def beside(path: Path, wanted: list[np.ndarray]) -> Comparison | str:
    """Stored results beside those of PyTorch."""
    with np.load(path) as found:
        try:
            return compared(list(found.values()), wanted)
        except ValueError as error:
            return str(error)


def measured(names: list[str], dtype: str, folder: Path, peers: str | None) -> tuple[dict[str, Found], list[str]]:
    """What was found of models in one dtype, and which are left out. All files are written first, so that each process loads its packages once."""
    found, missing = {}, []
    for name in names:
        try:
            found[name] = prepared(made(name), dtype, folder / name)
        except (ImportError, RuntimeError, aten2onnx.Error) as error:
            missing.append(f"{name} ({str(error).splitlines()[0]})")
        print(f"{dtype}: {name} is {'left out' if name not in found else 'exported'}", file=sys.stderr, flush=True)
    convert(found, dtype, folder, peers)
    for name, one in found.items():
        for way, file in one.files.items():
            file.facts = facts_of(folder / name / f"{way}.onnx") if file.why is None else None
    run(found, dtype, folder, peers)
    return found, missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", help="names of models, with * and ?, with commas between")
    parser.add_argument("--dtype", choices=list(OPSETS), action="append", help="of these alone")
    parser.add_argument("--peers", help="the Python of an environment with the other converters and OpenVINO")
    parser.add_argument("--into", type=Path, help="the page that gets the tables, between its marks")
    given = parser.parse_args()
    torch.set_num_threads(1)
    names = names_chosen(MODELS, given.only)
    if not names:
        sys.exit(f"error: no model has the name `{given.only}`; there are {', '.join(MODELS)}")
    parts = []
    for dtype in given.dtype or OPSETS:
        with tempfile.TemporaryDirectory() as folder:
            parts.append(table_of(dtype, *measured(names, dtype, Path(folder), given.peers)))
    chosen = "" if given.only == "*" else f"models `{given.only}`, "
    about = f"{chosen}PyTorch {torch.__version__}, {os.cpu_count()} cores, {platform.machine()}, commit {current_commit()}"
    table = "\n\n".join([*parts, f"{about}."]) + "\n"
    print(table)
    if given.into:
        write_table(given.into, MARK, END, table)


if __name__ == "__main__":
    main()
