"""What CI runs: exports models of this repository with `--target`, and runs them in OpenVINO, tract and ONNX Runtime for the web.

    python runtimes/slice.py --exporter target/release/aten2onnx

Makes the environments, if they are not there. The right outputs are those of PyTorch. Fails if a model is not right. onnxruntime-web is
left out, and it is said, if Node.js or Chromium is missing.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import setup
import torch
import zoo
from harness import environments, value_info
from harness.worker import Worker

DATA = environments.ROOT.parent / "tests/data"
RUNTIMES = ["openvino", "tract", "onnxruntime-web"]
PROGRAMS = [
    "models/mobilenet_like",
    "pt2/constant_outputs",
    "pt2/derived_dim",
    "pt2/dynamic_shapes",
    "pt2/inplace",
    "pt2/lists",
    "pt2/lstm",
    "pt2/nested_inputs",
    "pt2/static_conv",
    "pt2/strided_weights",
    "pt2/symint_input",
    "pt2/tied_weights",
    "pt2/v28_static_conv",
]

# What a runtime cannot do in any form that was found: it counts as known, as long as it is refused.
KNOWN = {
    ("openvino", "strided_weights"): "a constant of 0 elements",
    ("tract", "dynamic_shapes"): "a Pad by the maximum of symbolic sizes",
    ("tract", "symint_input"): "a shape that is an input",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exporter", default="target/release/aten2onnx", help="the command (default: target/release/aten2onnx)")
    parser.add_argument("--runtimes", type=lambda names: names.split(","), default=RUNTIMES)
    args = parser.parse_args()
    start = time.monotonic()
    bad = []
    with tempfile.TemporaryDirectory() as place:
        programs = [program(Path(place), name) for name in PROGRAMS]
        bad += [f"shapes: {folder.name}" for folder in programs if not shapes_agree(args.exporter, folder)]
        for name in args.runtimes:
            runtime = environments.find(name)
            if why := missing(runtime):
                print(f"{name} is left out: {why}")
            elif not setup.prepare(runtime):
                bad.append(name)
            else:
                bad += not_right(runtime, args.exporter, programs)
    print(f"{len(bad)} not right, {time.monotonic() - start:.0f} s")
    sys.exit(1 if bad else 0)


def missing(runtime):
    """Why a runtime cannot be run on this machine."""
    if runtime.kind != "node":
        return None
    needed = ["node", "npm", *([os.environ.get("ATEN2ONNX_BROWSER", "chromium")] if runtime.name == "onnxruntime-web" else [])]
    absent = [command for command in needed if not shutil.which(command)]
    return f"there is no {' and no '.join(absent)}" if absent else None


def program(place, name):
    """A folder with a program, its example inputs and PyTorch's outputs, as `zoo.py` takes it."""
    folder = place / Path(name).name
    folder.mkdir()
    shutil.copyfile(DATA / f"{name}.pt2", folder / "model.pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = torch.export.load(folder / "model.pt2")
        args, kwargs = loaded.example_inputs
        leaves = torch.utils._pytree.tree_leaves(loaded.module()(*args, **kwargs))
    outputs = [value for value in leaves if value is not None]
    values = torch.utils._pytree.tree_leaves((args, kwargs))
    given = [spec.arg for spec in loaded.graph_signature.input_specs if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT]
    inputs = {arg.name: value for arg, value in zip(given, values, strict=True) if not isinstance(arg, torch.export.graph_signature.ConstantArgument)}
    np.savez(folder / "inputs.npz", **{f"i{index}": array(value) for index, value in enumerate(inputs.values())})
    np.savez(folder / "expected.npz", **{f"o{index}": array(value) for index, value in enumerate(outputs)})
    (folder / "meta.json").write_text(json.dumps({"user_inputs": list(inputs)}))
    return folder


def shapes_agree(exporter, folder):
    """Whether onnx's shape inference contradicts no shape that the exporter records."""
    model = folder / "default.onnx"
    error, _ = zoo.exported(exporter, folder)(model)
    found = [error] if error else value_info.clashes(model)
    print(f"onnx's shape inference, {folder.name}: {'; '.join(found) or 'agrees'}", flush=True)
    return not found


def array(value):
    return torch.as_tensor(value).detach().numpy()


def not_right(runtime, exporter, programs):
    """Runs the programs in a runtime. Returns those that are not right."""
    target = zoo.target_of(exporter, runtime)
    bad = []
    with Worker(runtime) as worker:
        for folder in programs:
            record = zoo.one(worker, zoo.exported(exporter, folder, target), folder)
            known = KNOWN.get((runtime.name, folder.name)) if record["verdict"] == "refused" else None
            print(f"{runtime.name} {runtime.version}, {folder.name}: {record['verdict']} {known or record['reason']}".rstrip(), flush=True)
            if record["verdict"] != "right" and not known:
                bad.append(f"{runtime.name}: {folder.name}")
    return bad


if __name__ == "__main__":
    main()
