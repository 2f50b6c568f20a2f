"""Exports models in half precision, and compares them with PyTorch in float32 and with PyTorch's own half precision.

    judge.py PATH-OF-aten2onnx [MODEL ...]

Each file is checked by onnx and runs in ONNX Runtime at two sizes. A model whose numbers half precision holds may be at most twice as wrong as
`model.half()` is; the others are hazards, where `model.half()` may be as wrong as it likes. No value is cast twice. Prints a line for each model,
and exits with 1 if something is wrong.
"""
import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np
import onnx
import onnx.reference
import onnxruntime as ort
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))

import models
from zoo import randomise

OPSETS = [13, 16, 18, 23]
FLOAT, FLOAT16, BFLOAT16 = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16
# What three more digits than those of float16 leave of a result, relative to its largest element.
EXACT = 2e-3


def run(path, inputs):
    model = onnx.load(path)
    feeds = {i.name: a.numpy() for i, a in zip(model.graph.input, inputs)}
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # With its own optimizations ONNX Runtime removes casts that it thinks superfluous, and is more exact than the file.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def error(found, wanted):
    """The largest difference, relative to the largest element; infinite where one is not finite and the other is."""
    found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    if (np.isfinite(found) != np.isfinite(wanted)).any():
        return np.inf
    if not wanted.size:
        return 0.0
    return float(np.nanmax(np.abs(found - wanted), initial=0.0) / max(np.nanmax(np.abs(wanted), initial=0.0), 1e-9))


def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g)


def twice_cast(model):
    """Values that are cast to one dtype twice, and casts of casts that undo them."""
    casts = [(n.input[0], n.attribute[0].i, n.output[0]) for g in graphs(model.graph) for n in g.node if n.op_type == "Cast"]
    counts = Counter((value, to) for value, to, _ in casts)
    # Casts of half precision alone: the model has others of its own.
    made = {output: to for _, to, output in casts if to in (FLOAT16, BFLOAT16)}
    return [value for (value, to), count in counts.items() if count > 1 and to in (FLOAT, FLOAT16)] + [v for v, to, _ in casts if to == FLOAT and v in made]


def halved(module, inputs):
    """What PyTorch's own half precision gives, or nothing."""
    try:
        narrow = [x.half() if x.dtype == torch.float32 else x for x in inputs]
        with torch.no_grad():
            found = module.half()(*narrow)
        return [x.float().numpy() for x in (found if isinstance(found, tuple) else (found,))]
    except Exception:
        return None
    finally:
        module.float()


def results(module, inputs):
    with torch.no_grad():
        found = module(*inputs)
    return [x.numpy() for x in (found if isinstance(found, tuple) else (found,))]


def check(binary, folder, build):
    torch.manual_seed(0)
    hazard = getattr(build, "hazard", False)
    module, inputs, others, shapes = build()
    module.eval()
    randomise(module)
    wrong, worst, count = [], 0.0, 0
    pt2 = str(folder / "model.pt2")
    with torch.no_grad():
        torch.export.save(torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False), pt2)
    cases = [(inputs, results(module, inputs)), (others, results(module, others))]
    yardsticks = [halved(module, given) for given, _ in cases]
    for opset in getattr(build, "opsets", OPSETS):
        path = str(folder / f"model_{opset}.onnx")
        made = subprocess.run([binary, "export", pt2, "-o", path, "--opset", str(opset), "--quiet", "--precision", "float16"], capture_output=True, text=True)
        count += 1
        if made.returncode:
            wrong.append(f"opset {opset}: {made.stderr.strip()[:600]}")
            continue
        try:
            onnx.checker.check_model(path, full_check=True)
            model = onnx.load(path)
            if twice := twice_cast(model):
                wrong.append(f"opset {opset}: cast twice: {twice[:3]}")
            for (given, wanted), yardstick in zip(cases, yardsticks):
                for place, (found, want) in enumerate(zip(run(path, given), wanted, strict=True)):
                    if found.dtype != want.dtype or found.shape != want.shape:
                        raise AssertionError(f"result {place} is {found.dtype}{list(found.shape)}, not {want.dtype}{list(want.shape)}")
                    limit = EXACT if hazard or yardstick is None else max(2 * error(yardstick[place], want), EXACT)
                    worst = max(worst, error(found, want))
                    if not error(found, want) <= limit:
                        raise AssertionError(f"result {place} is wrong by {error(found, want):.1e}, where {limit:.1e} is allowed")
        except Exception as failure:
            wrong.append(f"opset {opset}: {type(failure).__name__}: {str(failure)[:400]}")
    print(f"{'wrong' if wrong else 'right'}    {build.__name__}: {count} files, largest error {worst:.1e}", flush=True)
    for line in wrong:
        print("    " + line, flush=True)
    return not wrong


def main(binary, *names):
    builds = [b for b in models.MODELS if not names or b.__name__ in names]
    if unknown := set(names) - {b.__name__ for b in models.MODELS}:
        sys.exit(f"there are no models {sorted(unknown)}")
    with tempfile.TemporaryDirectory() as folder:
        results = [check(binary, Path(folder), build) for build in builds]
    if not all(results):
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
