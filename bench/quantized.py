#!/usr/bin/env python3
"""Measures exports of quantized models: sizes beside the packed checkpoint, float copies, memory, and latency in ONNX Runtime.

    bench/quantized.py PATH-OF-aten2onnx [--into docs/quantization.md] [--only sizes|compared|speed|images]

The models are those of tests/quantization/zoo.py. The Llama for speed has 13 million weights. Its latency is a ratio to the float32 export, and the
file that ONNX Runtime's own quantizer makes of that export is measured in the same run: the sessions take turns, on one thread.
"""
import argparse
import collections
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/quantization"))

import numpy as np
import onnx
import torch

import judge
import zoo

LARGE = {"hidden": 512, "inner": 1536, "layers": 4, "vocabulary": 1024}
OPSETS = [11, 18, 21, 25]
# The fewest elements of a weight of the large Llama; scales and zero points are fewer.
SMALLEST = 100_000
RUNS = 200


def table(rows):
    head, *rest = rows
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rest])


# A small process, because one that is forked counts the memory of this one.
PEAK = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def exported(binary, source, target, *options):
    """The peak of the resident memory in MB, which has the pages of mapped files, and the model."""
    command = [sys.executable, "-c", PEAK, binary, "export", source, "-o", target, *map(str, options)]
    peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]
    return int(peak) / 1024, onnx.load(target)


def total(model):
    return sum(map(judge.size, model.graph.initializer))


def saved(folder, name, **sizes):
    """A model as PyTorch saves it, with its inputs and results, and the bits of its weights."""
    module, inputs, bits, _ = zoo.build(name, **sizes)
    with torch.no_grad():
        expected = module(*inputs).numpy()
    program = zoo.captured(module, inputs)
    path = str(folder / f"{name}.pt2")
    torch.export.save(program, path)
    return module, program, path, inputs, expected, bits


def sizes(binary, folder):
    rows = [["model", "packed checkpoint", *(f"opset {opset}" for opset in OPSETS), "to the checkpoint", "float copies"]]
    for name in [*zoo.configs(), *zoo.LAYERS, *zoo.BYTES, *zoo.MX, *zoo.EXPERTS]:
        _, program, path, _, _, bits = saved(folder, name)
        packed, counts = judge.checkpoint(program, bits)
        row, copies, last = [], [], packed
        for opset in OPSETS:
            if opset < zoo.oldest(name):
                row.append("")
                continue
            _, model = exported(binary, path, str(folder / "model.onnx"), "--opset", opset)
            copies += judge.copies(model, counts, name)
            last = total(model)
            row.append(f"{last:,}")
        rows.append([name, f"{packed:,}", *row, f"{last / packed:.3f}", str(len(copies))])
    return table(rows)


def turns(sessions, inputs):
    """The shortest time that the processor works for each session; they take turns, so that all see the same machine."""
    best = dict.fromkeys(sessions, float("inf"))
    for _ in range(RUNS):
        for name, session in sessions.items():
            feeds = {i.name: x.numpy() for i, x in zip(session.get_inputs(), inputs)}
            start = time.thread_time()
            session.run(None, feeds)
            best[name] = min(best[name], time.thread_time() - start)
    return best


def quantizer(source, target, block, level):
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    logging.getLogger("onnxruntime.quantization.matmul_nbits_quantizer").setLevel(logging.WARNING)
    made = MatMulNBitsQuantizer(onnx.load(source), bits=4, block_size=block, is_symmetric=True, accuracy_level=level)
    made.process()
    made.model.save_model_to_file(target)


def kinds(model):
    """The number of nodes of each operator."""
    return collections.Counter(f"{node.domain}::{node.op_type}" if node.domain else node.op_type for node in model.graph.node)


def forms(model):
    """By the value that a node makes: the operator, its attributes, and the dtypes and sizes of the constants, or the values, that it reads."""
    constants = {t.name: (t.data_type, tuple(t.dims)) for t in model.graph.initializer}
    attributes = lambda node: sorted((a.name, str(onnx.helper.get_attribute_value(a))) for a in node.attribute)
    return {node.output[0]: (node.op_type, attributes(node), [constants.get(name, name) for name in node.input]) for node in model.graph.node}


def compared(binary, folder):
    """Files for ONNX Runtime beside those that its own quantizer makes of the float export: nothing here depends on the machine."""
    float_module, inputs = zoo.quantized(None, **LARGE)
    source, floats, own = str(folder / "float.pt2"), str(folder / "float.onnx"), str(folder / "own.onnx")
    torch.export.save(torch.export.export(float_module, inputs, strict=False), source)
    exported(binary, source, floats, "--opset", 21, "--target", "onnxruntime")
    rows = [["model", "nodes", "nodes of its quantizer", "kinds that differ", "nodes that differ", "weights", "its weights", "file", "its file"]]
    for name, block in (("int4_32", 32), ("int4_128", 128)):
        _, _, path, _, _, _ = saved(folder, name, **LARGE)
        target = str(folder / f"{name}.onnx")
        _, ours = exported(binary, path, target, "--opset", 21, "--target", "onnxruntime")
        quantizer(floats, own, block, None)
        theirs = onnx.load(own)
        mine, its = kinds(ours), kinds(theirs)
        kinds_apart = ", ".join(f"{op} {mine[op]} and {its[op]}" for op in sorted({*mine, *its}) if mine[op] != its[op])
        first, second = forms(ours), forms(theirs)
        apart = [value for value in sorted({*first, *second}) if first.get(value) != second.get(value)]
        counts, bytes_ = [str(sum(mine.values())), str(sum(its.values()))], [f"{total(ours):,}", f"{total(theirs):,}"]
        files = [f"{os.path.getsize(target):,}", f"{os.path.getsize(own):,}"]
        rows.append([name, *counts, kinds_apart or "none", ", ".join(apart) or "none", *bytes_, *files])
    return table(rows)


def speed(binary, folder):
    """The Llama: bytes, memory, results and time beside its float export."""
    float_module, inputs = zoo.quantized(None, **LARGE)
    source, floats = str(folder / "float.pt2"), str(folder / "float.onnx")
    torch.export.save(torch.export.export(float_module, inputs, strict=False), source)
    memory, model = exported(binary, source, floats, "--opset", 21, "--target", "onnxruntime")
    sessions = {"float32": judge.session(floats)}
    rows = [["model", "weights", "to the checkpoint", "peak memory", "differs from PyTorch", "time to float32", "products"]]
    facts = {"float32": [f"{total(model) / 1e6:.1f} MB", "", f"{memory:.0f} MB", "", fast(model)]}
    for name in zoo.configs():
        _, program, path, given, expected, bits = saved(folder, name, **LARGE)
        target = str(folder / f"{name}.onnx")
        memory, model = exported(binary, path, target, "--opset", 21, "--target", "onnxruntime")
        packed, counts = judge.checkpoint(program, bits, SMALLEST)
        copies = judge.copies(model, counts, name)
        if copies:
            raise SystemExit(f"{name}: {copies} are float copies")
        sessions[name] = judge.session(target)
        difference = judge.difference(target, given, expected)
        facts[name] = [f"{total(model) / 1e6:.1f} MB", f"{total(model) / packed:.3f}", f"{memory:.0f} MB", f"{difference:.1e}", fast(model)]
    for block in (32, 128):
        name, target = f"ONNX Runtime's quantizer, groups of {block}", str(folder / f"own_{block}.onnx")
        quantizer(floats, target, block, None)
        model = onnx.load(target)
        sessions[name] = judge.session(target)
        facts[name] = [f"{total(model) / 1e6:.1f} MB", "", "", "", fast(model)]
    best = turns(sessions, inputs)
    for name, (size, ratio, peak, difference, products) in facts.items():
        rows.append([name, size, ratio, peak, difference, f"{best[name] / best['float32']:.2f}", products])
    return table(rows)


def fast(model):
    """The operators that multiply with integers."""
    wanted = ("MatMulNBits", "GatherBlockQuantized", "MatMulInteger", "MatMul")
    counts = collections.Counter(node.op_type for node in model.graph.node if node.op_type in wanted)
    return ", ".join(f"{counts[op]} {op}" for op in wanted if counts[op])


def images(binary, folder):
    """Networks whose activations are quantized too."""
    rows = [["model", "int8 weights", "all weights", "without target: time to float32", "with target: time to float32", "with target, ONNX Runtime's own operators"]]
    for name in zoo.STATIC:
        module, _, path, inputs, _, _ = saved(folder, name)
        floats = str(folder / "float.pt2")
        torch.export.save(torch.export.export(module.meta["float_module"], inputs), floats)
        target = {kind: str(folder / f"{kind}.onnx") for kind in ("float32", "plain", "target")}
        exported(binary, floats, target["float32"])
        exported(binary, path, target["plain"])
        _, model = exported(binary, path, target["target"], "--target", "onnxruntime")
        optimized = str(folder / "optimized.onnx")
        sessions = {kind: judge.session(file, optimized if kind == "target" else None) for kind, file in target.items()}
        best = turns(sessions, inputs)
        whole = sum(judge.size(t) for t in model.graph.initializer if t.data_type == onnx.TensorProto.INT8)
        counts = collections.Counter(node.op_type for node in onnx.load(optimized).graph.node)
        used = ", ".join(f"{n} {op}" for op, n in sorted(counts.items()) if op in ("Conv", "FusedConv", "QGemm", "QLinearAdd", "QLinearConv"))
        ratio = {kind: f"{best[kind] / best['float32']:.2f}" for kind in best}
        rows.append([name, f"{whole:,}", f"{total(model):,}", ratio["plain"], ratio["target"], used])
    return table(rows)


MEASURES = {"sizes": sizes, "compared": compared, "speed": speed, "images": images}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--into", type=Path, help="a page whose marked tables are replaced")
    parser.add_argument("--only", choices=list(MEASURES))
    args = parser.parse_args()
    torch.manual_seed(0)
    for name, measure in MEASURES.items():
        if args.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            shown = measure(args.binary, Path(folder))
        print(f"{shown}\n", flush=True)
        if args.into:
            start, end = f"<!-- bench/quantized.py {name} -->\n", f"<!-- {name} ends -->"
            before, _, rest = args.into.read_text().partition(start)
            _, _, after = rest.partition(end)
            args.into.write_text(f"{before}{start}\n{shown}\n\n{end}{after}")


if __name__ == "__main__":
    main()
