"""Exports programs as torch.export writes them, and compares what ONNX Runtime makes of them with PyTorch.

    judge.py PATH-OF-aten2onnx [--opsets 9,18] [PATTERN ...]

Prints a line for each program that is wrong, and exits with 1 if any is.
"""
import argparse
import fnmatch
import logging
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
warnings.simplefilter("ignore")

import numpy as np
import onnx
import onnxruntime as ort
import torch

import control_flow

logging.getLogger("torch").setLevel(logging.CRITICAL)

RTOL, ATOL = 1e-4, 1e-5


def flat(result):
    leaves = torch.utils._pytree.tree_leaves(result)
    return [leaf if torch.is_tensor(leaf) else torch.tensor(leaf) for leaf in leaves if leaf is not None]


def array(tensor):
    tensor = tensor.detach()
    return tensor.float().numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def session(path):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def compare(model, inputs, wanted):
    feeds = {i.name: array(t) for i, t in zip(model.get_inputs(), flat(inputs))}
    got = model.run(None, feeds)
    if len(got) != len(wanted):
        raise AssertionError(f"{len(got)} outputs, wanted {len(wanted)}")
    for index, (g, w) in enumerate(zip(got, wanted)):
        w = array(w)
        if g.dtype != w.dtype or g.shape != w.shape or not np.allclose(g, w, RTOL, ATOL, equal_nan=True):
            raise AssertionError(f"output {index}: got {g.dtype}{list(g.shape)} {g.ravel()[:8]}, wanted {w.dtype}{list(w.shape)} {w.ravel()[:8]}")


def save(module, path):
    with torch.no_grad():
        program = torch.export.export(module, module.inputs, dynamic_shapes=module.shapes, strict=False)
        if module.decomposed:
            program = program.run_decompositions({})
        torch.export.save(program, path)


def run(module, inputs):
    """What PyTorch gives; writes to the inputs do not reach the caller."""
    with torch.no_grad():
        return flat(module(*[i.clone() if torch.is_tensor(i) else i for i in inputs]))


def check(binary, folder, module, opset):
    pt2, path = str(folder / "model.pt2"), str(folder / "model.onnx")
    command = [binary, "export", pt2, "-o", path, "--opset", str(opset), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr.strip()[:1500])
    model = session(path)
    for inputs in [module.inputs] + ([module.others] if module.others else []):
        compare(model, inputs, run(module, inputs))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--opsets", default="9,18,23")
    args = parser.parse_args()
    opsets = [int(n) for n in args.opsets.split(",")]
    wrong = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, build in control_flow.cases():
            if args.patterns and not any(fnmatch.fnmatch(name, p) for p in args.patterns):
                continue
            module = build()
            try:
                save(module, str(Path(folder) / "model.pt2"))
            except Exception as error:
                print(f"{name}: PyTorch cannot export it: {type(error).__name__}: {str(error)[:300]}")
                wrong += 1
                continue
            for opset in opsets:
                if opset < module.opset:
                    continue
                total += 1
                try:
                    check(args.binary, Path(folder), module, opset)
                except Exception as error:
                    wrong += 1
                    print(f"{name} at opset {opset}: {type(error).__name__}: {error}", flush=True)
    print(f"{total - wrong} of {total} exports right")
    sys.exit(1 if wrong or not total else 0)


if __name__ == "__main__":
    main()
