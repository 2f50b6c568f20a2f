"""Exports whole models at many opsets, with fixed and with symbolic sizes, and compares them with PyTorch.

    judge.py PATH-OF-aten2onnx [MODEL ...]

Prints a line for each model, and exits with 1 if any result is wrong. Constant weights are replaced by random ones, so that a missing
branch changes the result.
"""
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
warnings.simplefilter("ignore")

import numpy as np
import onnx
import onnx.reference
import onnxruntime as ort
import torch

import zoo

OPSETS = [9, 11, 13, 15, 17, 18, 20, 21, 23, 26, 28]
NEWEST_RUNTIME = 26
RTOL, ATOL = 1e-3, 1e-4


def run(path, opset, inputs):
    model = onnx.load(path)
    onnx.checker.check_model(path, full_check=True)
    found = next(o.version for o in model.opset_import if o.domain == "")
    if found != opset:
        raise AssertionError(f"expected opset {opset}, found {found}")
    feeds = {i.name: a.numpy() for i, a in zip(model.graph.input, inputs)}
    if opset > NEWEST_RUNTIME:
        return onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def check(binary, folder, name, build):
    torch.manual_seed(0)
    module, inputs, others, shapes = build()
    module.eval()
    zoo.randomise(module)
    with torch.no_grad():
        wanted, wanted_others = module(*inputs).numpy(), module(*others).numpy()
    wrong, done = [], 0
    for kind, dynamic in (("static", None), ("dynamic", shapes)):
        pt2 = str(folder / f"{name}_{kind}.pt2")
        with torch.no_grad():
            torch.export.save(torch.export.export(module, inputs, dynamic_shapes=dynamic, strict=False), pt2)
        for opset in OPSETS:
            if opset > NEWEST_RUNTIME and name not in zoo.REFERENCE:
                continue
            path = str(folder / f"{name}_{kind}_{opset}.onnx")
            done += 1
            try:
                subprocess.run([binary, "export", pt2, "-o", path, "--opset", str(opset), "--quiet"], check=True, capture_output=True, text=True)
                cases = [(inputs, wanted)] + ([(others, wanted_others)] if dynamic else [])
                for given, want in cases:
                    got, = run(path, opset, given)
                    if got.dtype != want.dtype or got.shape != want.shape or not np.allclose(got, want, RTOL, ATOL):
                        raise AssertionError(f"{got.dtype}{list(got.shape)} differs by {np.abs(got.astype(float) - want).max():.2e}" if got.shape == want.shape else f"expected shape {want.shape}, found {got.shape}")
            except subprocess.CalledProcessError as error:
                wrong.append(f"{kind} at opset {opset}: {error.stderr.strip()[:600]}")
            except Exception as error:
                wrong.append(f"{kind} at opset {opset}: {type(error).__name__}: {str(error)[:300]}")
            Path(path).unlink(missing_ok=True)
    print(f"{name}: {done - len(wrong)} of {done} exports are right", flush=True)
    for line in wrong:
        print("    " + line, flush=True)
    return not wrong


def main(binary, *names):
    builds = [b for b in zoo.MODELS if not names or b.__name__ in names]
    if unknown := set(names) - {b.__name__ for b in zoo.MODELS}:
        sys.exit(f"there are no models {sorted(unknown)}")
    with tempfile.TemporaryDirectory() as folder:
        results = [check(binary, Path(folder), b.__name__, b) for b in builds]
    if not all(results):
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
