"""Quantizes the weights of models while they are exported, and compares the files with PyTorch.

    judge.py PATH-OF-aten2onnx [MODEL ...]

A format has to have a signal to noise of its bits, and its files for all opsets and targets have to give the same results: they have the same integers and
scales. Each file is checked by onnx, runs in ONNX Runtime at two sizes, and has to be about as large as its bits.
Prints a line for each model, and exits with 1 if something is wrong.
"""
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np
import onnx
import onnxruntime as ort
import torch
from models import MODELS

# The format and further options.
FORMATS = {
    "int8": ["int8"],
    "uint8": ["uint8"],
    "int4": ["int4"],
    "uint4": ["uint4"],
    "fp8": ["fp8"],
    "int8 in blocks": ["int8", "--block-size", "64"],
    "uint4 by channel": ["uint4", "--block-size", "channel"],
    "uint4 mse": ["uint4", "--scales", "mse"],
    "int4 hqq": ["int4", "--scales", "hqq"],
    "dynamic int8": ["int8", "--quantize", "dynamic"],
    "dynamic uint8": ["uint8", "--quantize", "dynamic"],
}
OPSETS = [9, 11, 13, 18, 21, 23]
TARGETS = [[], ["--target", "onnxruntime"]]
# The least signal to noise in decibels: of random weights, whose quantization is the worst.
LEAST = {"int8": 35, "uint8": 35, "int4": 12, "uint4": 13, "fp8": 22}
# Bits of a number with its share of a scale and a zero point, by format, in blocks of 32.
BITS = {"int8": 8, "uint8": 8, "int4": 5, "uint4": 5.25, "fp8": 8}


def run(path, inputs):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # Products keep their floats: by default ONNX Runtime rounds the other operand of what it fuses to 8 bits.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "0")
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: a.numpy() for i, a in zip(session.get_inputs(), inputs)})


def noise(found, wanted):
    """Decibels of the result over the differences."""
    found, wanted = np.float64(found), np.float64(wanted)
    if not np.isfinite(found).all():
        return -np.inf
    return 10 * np.log10((wanted**2).sum() / max(((found - wanted) ** 2).sum(), 1e-30))


def stored(model):
    """Bytes of all initializers."""
    return sum(len(t.raw_data) for t in model.graph.initializer)


def floats(model):
    """The number of floats in large initializers."""
    kinds = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16)
    return sum(int(np.prod(t.dims)) for t in model.graph.initializer if t.data_type in kinds and len(t.dims) > 1 and np.prod(t.dims) >= 1024)


def results(module, inputs):
    with torch.no_grad():
        found = module(*inputs)
    return [x.numpy() for x in (found if isinstance(found, tuple) else (found,))]


def check(binary, folder, name):
    build, given, shapes = MODELS[name]
    torch.manual_seed(0)
    module = build().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            torch.nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5 if parameter.dim() > 1 else 0.1)
        if name == "left":
            module.odd.weight[3, 5] = float("nan")
    cases = [(inputs, results(module, inputs)) for inputs in (given(3), given(5))]
    pt2 = str(folder / f"{name}.pt2")
    torch.export.save(torch.export.export(module, given(3), dynamic_shapes=shapes, strict=False), pt2)
    elements = sum(p.numel() for p in module.parameters() if p.dim() > 1)
    wrong, count, worst = [], 0, {}
    # One scale for all activations.
    least = {label: LEAST[options[0]] - (11 if "dynamic" in label else 0) for label, options in FORMATS.items()}
    for label, options in FORMATS.items():
        same = {False: [], True: []}
        for opset in OPSETS:
            for target in TARGETS:
                for half in ([], ["--precision", "float16"]):
                    if (options[0] == "fp8" and opset < 19) or (name == "loops" and opset < 11) or (half and label not in ("int8", "int4", "uint4")):
                        continue
                    where = f"{label} at opset {opset} {' '.join(target + half)}"
                    path = str(folder / "made.onnx")
                    command = [binary, "export", pt2, "-o", path, "--opset", str(opset), "--quantize-weights", *options, *target, *half]
                    made = subprocess.run(command, capture_output=True, text=True)
                    count += 1
                    if made.returncode:
                        wrong.append(f"{where}: {made.stderr.strip()[:400]}")
                        continue
                    try:
                        judge(name, path, options[0], opset, cases, elements, (made.stderr, label), worst, same[bool(half)], 45 if half else 70 if "dynamic" not in label else 32, least[label])
                    except Exception as failure:
                        wrong.append(f"{where}: {type(failure).__name__}: {str(failure)[:400]}")
    told = ", ".join(f"{format} {worst[format]:.0f} dB" for format in worst)
    print(f"{'wrong' if wrong else 'right'}    {name}: {count} files, {told}", flush=True)
    for line in wrong:
        print("    " + line, flush=True)
    return not wrong


def judge(name, path, format, opset, cases, elements, notes, worst, same, close, least):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=not any(i.domain for i in model.opset_import))
    made = [run(path, inputs) for inputs, _ in cases]
    same.append(made)
    for found, first in zip(sum(made, []), sum(same[0], [])):
        assert noise(found, first) >= close, f"{noise(found, first):.1f} dB from the first file of the format, where {close} is the least"
    for found, (_, wanted) in zip(made, cases):
        for found, want in zip(found, wanted, strict=True):
            assert found.dtype == want.dtype and found.shape == want.shape, f"{found.dtype}{found.shape}, not {want.dtype}{want.shape}"
            found = noise(found, want)
            worst[format] = min(worst.get(format, np.inf), found)
            assert found >= least, f"signal to noise {found:.1f} dB, where {least} is the least"
    notes, label = notes
    if name == "left":
        assert "`odd.weight` stays as it is: infinities or NaN" in notes and "`shared.weight` stays as it is" in notes, notes
        return
    assert floats(model) <= elements // 8, f"{floats(model)} floats stay of {elements}"
    # A lookup and a product of integers read a shared weight in two layouts.
    if name == "tied" and "dynamic" in label:
        return
    bits = 8 if format in ("int4", "uint4") and opset < 11 else BITS[format]
    allowed = elements * (bits + 1.5) / 8 + 10000
    assert stored(model) <= allowed, f"{stored(model)} bytes, where {allowed:.0f} are allowed"


def main(binary, *names):
    if unknown := set(names) - set(MODELS):
        sys.exit(f"there are no models {sorted(unknown)}")
    with tempfile.TemporaryDirectory() as folder:
        rights = [check(binary, Path(folder), name) for name in names or MODELS]
    if not all(rights):
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
