"""Exports quantized models at several opsets, and compares them with PyTorch and with the size of their checkpoints.

    judge.py PATH-OF-aten2onnx [MODEL ...]

Each model is exported as torch.export captures it and decomposed, with and without passes, and for ONNX Runtime. No float copy of a quantized
weight may be in the file, the passes may not make it larger, and from the opset on that has integers of so few bits its weights take at most
1.05 times the bytes of the packed checkpoint. Prints a line for each model, and exits with 1 if something is wrong.
"""
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.simplefilter("ignore")

import numpy as np
import onnx
import onnxruntime as ort
import torch

import zoo
from saturation import in_floats, saturates

SATURATES = saturates()
OPSETS = [11, 18, 21, 25]
# For models whose layers have a form of their own, which does not change with the opset.
BRIEFLY = [11, 21]
# Before opset 13 nothing but operators of integers has a scale for each channel. ONNX Runtime loads no other form at opset 10.
INTEGERS = 10
# Relative to the largest result. Activations that are rounded to int8 may differ by one step.
TOLERANCE, STEP = 1e-5, 0.03
# Tensors with fewer elements are scales and zero points.
SMALLEST = 16384
BITS = {onnx.TensorProto.INT4: 4, onnx.TensorProto.UINT4: 4, onnx.TensorProto.INT2: 2, onnx.TensorProto.UINT2: 2}
FAST = {*zoo.MULTIPLIED, *zoo.SCALED, *zoo.STATIC, *zoo.DYNAMIC, "dynamic_int8", "dynamic_int8_asymmetric"}
FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE}


def size(tensor):
    width = BITS.get(tensor.data_type) or onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize * 8
    return int(np.prod(tensor.dims)) * width // 8


def checkpoint(exported, bits, smallest=SMALLEST):
    """The bytes of the packed checkpoint, and the numbers of elements of its quantized weights."""
    total, counts = 0, set()
    read = {spec.target for spec, node in zip(exported.graph_signature.input_specs, exported.graph.nodes) if node.users}
    for name, tensor in {**exported.state_dict, **exported.constants}.items():
        if not isinstance(tensor, torch.Tensor) or name not in read:
            continue
        if tensor.dtype == torch.float8_e8m0fnu or 0 in tensor.shape:
            total += tensor.numel()
            continue
        whole = not tensor.dtype.is_floating_point or tensor.dtype.itemsize == 1
        is_packed = tensor.dtype in (torch.int32, torch.uint8)
        count = tensor.numel() * (tensor.dtype.itemsize * 8 // bits if is_packed else 1)
        if whole and count >= smallest:
            counts.add(count)
        total += tensor.numel() * tensor.dtype.itemsize if not whole or is_packed else tensor.numel() * bits // 8
    return total, counts


def export(binary, program, target, *options):
    subprocess.run([binary, "export", program, "-o", target, *map(str, options)], check=True, capture_output=True, text=True)
    model = onnx.load(target)
    onnx.checker.check_model(target, full_check=True)
    return model


def copies(model, counts, name):
    """Floats with as many elements as a quantized weight. Embeddings are quantized only where the name says so."""
    kept = "none" if name.startswith("embedding") else "embed"
    floats = (t for t in model.graph.initializer if t.data_type in FLOATS and kept not in t.name)
    return [t.name for t in floats if int(np.prod(t.dims)) in counts]


def session(path, optimized=None, plain=False):
    options = ort.SessionOptions()
    if plain:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if optimized:
        options.optimized_model_filepath = optimized
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def difference(path, inputs, expected, optimized=None, plain=False):
    made = session(path, optimized, plain)
    if SATURATES:
        made = session(in_floats(path), plain=True)
    found = made.run(None, {i.name: x.numpy() for i, x in zip(made.get_inputs(), inputs)})[0]
    return np.abs(found - expected).max() / np.abs(expected).max()


def limit(name, module, expected):
    """How much results may differ. ONNX Runtime's integer kernels round where a network of floats does not, by no more than quantization does."""
    if name in zoo.STATIC:
        return np.abs(module.meta["floats"] - expected).max() / np.abs(expected).max()
    return STEP if "dynamic" in name or name in {**zoo.DYNAMIC, **zoo.BYTES} else TOLERANCE


def count(model, *ops):
    return sum(1 for node in model.graph.node if node.op_type in ops)


def slow(name, model, optimized, exported):
    """What ONNX Runtime does not compute with integers although the target could."""
    targets = [str(n.target) for n in exported.graph.nodes]
    if name in zoo.STATIC:
        kept = count(onnx.load(optimized), "Conv", "FusedConv")
        # X86's quantizer leaves some convolutions to an addition of floats.
        allowed = sum(1 for t in targets if "add.Tensor" in t) if name.endswith("x86") else 0
        return f"{kept} convolutions of floats" if kept > allowed else None
    if name in zoo.EXPERTS:
        fused = count(model, "QMoE")
        return None if fused == int(name in zoo.FUSED) else f"{fused} QMoE"
    if name in zoo.MX:
        return None
    if name in zoo.MULTIPLIED:
        wanted = 1 if name in zoo.LAYERS or name in zoo.BYTES else sum(1 for t in targets if "linear" in t or "aten.mm" in t)
        fast = count(model, "MatMulNBits")
        looked_up = count(model, "GatherBlockQuantized") == int(name.startswith("embedding"))
        return None if fast == wanted and looked_up else f"{fast} MatMulNBits, but {wanted} products"
    if name in zoo.SCALED:
        looked_up = count(model, "GatherBlockQuantized") == int(name.startswith("embedding"))
        floats = count(model, "DequantizeLinear", "MatMulNBits")
        return None if floats == 0 and looked_up else f"{floats} operators of dequantized numbers"
    wanted = sum(1 for t in targets if "_int_mm" in t or "aten.linear" in t or "aten.addmm" in t)
    fast = count(model, "MatMulInteger")
    sums = count(model, "ReduceSum")
    return None if fast == wanted and (sums == 0 or "asymmetric" in name) else f"{fast} MatMulInteger and {sums} sums, but {wanted} products"


def check(binary, folder, name):
    module, inputs, bits, native = zoo.build(name)
    with torch.no_grad():
        expected = module(*inputs).numpy()
    exported = zoo.captured(module, inputs)
    most = limit(name, module, expected)
    packed, counts = checkpoint(exported, bits)
    wrong, sizes = [], {}
    is_brief = name in zoo.BRIEF
    forms = {"captured": exported} if is_brief else {"captured": exported, "decomposed": exported.run_decompositions()}
    for form, program in forms.items():
        source, target = str(folder / f"{name}.{form}.pt2"), str(folder / "model.onnx")
        torch.export.save(program, source)
        oldest = [INTEGERS] if name in zoo.STATIC else []
        for opset in oldest + (BRIEFLY if is_brief else OPSETS):
            if opset < zoo.oldest(name):
                continue  # no opset below has such numbers
            where = f"{name} ({form}) at opset {opset}"
            plain = export(binary, source, target, "--opset", opset, "-O0")
            wrong += [f"{where}, -O0: `{copy}` is a float copy" for copy in copies(plain, counts, name)]
            model = export(binary, source, target, "--opset", opset)
            wrong += [f"{where}: `{copy}` is a float copy" for copy in copies(model, counts, name)]
            total, before = (sum(map(size, m.graph.initializer)) for m in (model, plain))
            sizes[opset] = total
            if total > 1.01 * before + 2048:
                wrong.append(f"{where}: {total} bytes, and {before} with -O0")
            if opset >= native and total > 1.05 * packed + 2048:
                wrong.append(f"{where}: {total} bytes, and {packed} in the checkpoint")
            is_rounded = name in zoo.STATIC and opset > INTEGERS
            found = difference(target, inputs, expected, plain=is_rounded)
            if not found <= (STEP if is_rounded else most):
                wrong.append(f"{where}: differs by {found:.1e}")
        for opset in oldest + (BRIEFLY[-1:] if is_brief else [18, 21] if name in FAST else []):
            where = f"{name} ({form}) at opset {opset} for ONNX Runtime"
            model = export(binary, source, target, "--opset", opset, "--target", "onnxruntime")
            optimized = str(folder / "optimized.onnx")
            total = sum(map(size, model.graph.initializer))
            found = difference(target, inputs, expected, optimized)
            reason = slow(name, model, optimized, program)
            if reason:
                wrong.append(f"{where}: {reason}")
            if total > 1.05 * packed + 2048:
                wrong.append(f"{where}: {total} bytes, and {packed} in the checkpoint")
            if not found <= most:
                wrong.append(f"{where}: differs by {found:.1e}")
    print(f"{name}: checkpoint {packed}, " + ", ".join(f"opset {opset} {n}" for opset, n in sizes.items()), flush=True)
    return wrong


def main():
    binary, *names = sys.argv[1:]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names or zoo.names():
            wrong += check(binary, Path(folder), name)
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
