#!/usr/bin/env python3
"""Measures the operators that ONNX Runtime has for quantized numbers: right or wrong, and the time beside a product of floats.

    bench/quantized_operators.py

The facts of mappings/targets/onnxruntime_releases.toml come from here. Times are ratios of the shortest of several turns on one thread.
"""
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

K = N = 1024
TURNS = 30
OWN = "com.microsoft"
random = np.random.default_rng(0)


def session(nodes, inputs, weights):
    ports = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for name, x in inputs.items()]
    constants = [numpy_helper.from_array(np.ascontiguousarray(x), name) for name, x in weights.items()]
    graph = helper.make_graph(nodes, "graph", ports, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(OWN, 1)]
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def packed(codes, bits):
    each = 8 // bits
    parts = codes.reshape(*codes.shape[:-1], -1, each)
    return sum(parts[..., i] << (bits * i) for i in range(each)).astype(np.uint8)


def error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


def gather():
    """GatherBlockQuantized by bits and lengths of blocks, with and without zero points."""
    rows, indices = 40, np.array([[0, 3, 39], [-1, 7, 7]])
    for bits in (2, 4, 8):
        for block in (8, 16, 64, 256, 96):
            columns = 2 * max(block, 64)
            columns -= columns % block
            codes, zeros = (random.integers(0, 2**bits, (rows, n)) for n in (columns, max(8, columns // block)))
            zeros = zeros[:, : columns // block] if columns // block >= 8 // bits else None
            scale = (random.random((rows, columns // block)) + 0.1).astype(np.float32)
            for zero in (None, zeros):
                weights = {"data": packed(codes, bits), "scale": scale}
                if zero is not None and zero.shape[1] % (8 // bits) == 0:
                    weights["zero"] = packed(zero, bits)
                middle = np.repeat(zero, block, 1) if "zero" in weights else 2 ** (bits - 1)
                names = ["data", "indices", "scale", *(["zero"] if "zero" in weights else [])]
                attrs = {"bits": bits, "block_size": block, "gather_axis": 0, "quantize_axis": 1, "domain": OWN}
                node = helper.make_node("GatherBlockQuantized", names, ["y"], **attrs)
                try:
                    found = session([node], {"indices": indices}, weights).run(None, {"indices": indices})[0]
                    verdict = f"differs by {error(found, ((codes - middle) * np.repeat(scale, block, 1))[indices]):.0e}"
                except Exception as reason:  # noqa: BLE001: whatever it says is the result
                    verdict = str(reason).splitlines()[-1][-90:]
                print(f"GatherBlockQuantized, {bits} bits, blocks of {block}, {'zero points' if 'zero' in weights else 'no zero points'}: {verdict}")


def multiply(bits, block, level):
    codes = random.integers(0, 2**bits, (N, K))
    scale = (random.random((N, K // block)) * 0.01 + 0.001).astype(np.float32)
    data = packed(codes.reshape(N, K // block, block), bits)
    attrs = {"K": K, "N": N, "bits": bits, "block_size": block, "accuracy_level": level, "domain": OWN}
    node = helper.make_node("MatMulNBits", ["x", "data", "scale"], ["y"], **attrs)
    return [node], {"data": data, "scale": scale}, ((codes - 2 ** (bits - 1)) * np.repeat(scale, block, 1)).T.astype(np.float32)


def activations(is_signed, is_shared):
    """A product of static QDQ, whose activation has a second user or none."""
    dtype, zero = (np.int8, 3) if is_signed else (np.uint8, 131)
    weight, factor = random.integers(-127, 128, (K, N)).astype(np.int8), np.float32(0.01)
    make = helper.make_node
    nodes = [make("QuantizeLinear", ["x", "s", "z"], ["q"]), make("DequantizeLinear", ["q", "s", "z"], ["d"]), make("Relu", ["d"], ["r"]),
             make("QuantizeLinear", ["r", "s", "z"], ["rq"]), make("DequantizeLinear", ["rq", "s", "z"], ["rd"]),
             make("DequantizeLinear", ["w", "f"], ["wd"]), make("MatMul", ["rd", "wd"], ["p"]),
             make("QuantizeLinear", ["p", "t", "z"], ["pq"]), make("DequantizeLinear", ["pq", "t", "z"], ["pd"])]
    nodes.append(make("Add", ["pd", "rd"], ["y"]) if is_shared else make("Identity", ["pd"], ["y"]))
    weights = {"s": np.float32(0.03), "t": np.float32(1.0), "z": np.array(zero, dtype), "w": weight, "f": factor}
    return nodes, weights, None


def dynamic(kind):
    """A product of activations whose scale is computed, as floats or as integers."""
    make = helper.make_node
    nodes = [make("ReduceMin", ["x"], ["low0"], keepdims=0), make("ReduceMax", ["x"], ["high0"], keepdims=0), make("Min", ["low0", "o"], ["low"]),
             make("Max", ["high0", "o"], ["high"]), make("Sub", ["high", "low"], ["range"]), make("Div", ["range", "steps"], ["s"]),
             make("Div", ["low", "s"], ["z0"]), make("Round", ["z0"], ["z1"]), make("Neg", ["z1"], ["z2"]), make("Cast", ["z2"], ["z"], to=TensorProto.UINT8)]
    if kind == "DynamicQuantizeLinear":
        nodes = [make(kind, ["x"], ["q", "s", "z"])]
    else:
        nodes.append(make("QuantizeLinear", ["x", "s", "z"], ["q"]))
    if kind == "floats":
        nodes += [make("DequantizeLinear", ["q", "s", "z"], ["d"]), make("DequantizeLinear", ["w", "f"], ["wd"], axis=1), make("Cast", ["wd"], ["wc"], to=1),
                  make("MatMul", ["d", "wc"], ["y"])]
    else:
        nodes += [make("MatMulInteger", ["q", "w", "z"], ["p"]), make("Cast", ["p"], ["pf"], to=TensorProto.FLOAT), make("Mul", ["s", "f"], ["sf"]),
                  make("Mul", ["pf", "sf"], ["y"])]
    weight, factor = random.integers(-127, 128, (K, N)).astype(np.int8), (random.random(N) * 0.01 + 0.001).astype(np.float32)
    constants = {"o": np.float32(0), "steps": np.float32(255), "w": weight, "f": factor}
    return nodes, constants, weight * factor


def main():
    gather()
    for rows in (1, 8, 128):
        x = random.normal(size=(1, rows, K)).astype(np.float32)
        weight = random.normal(size=(K, N)).astype(np.float32)
        made = {"floats": ([helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": weight}, weight)}
        for bits in (2, 4, 8):
            made |= {f"MatMulNBits, {bits} bits, blocks of {block}, level {level}": multiply(bits, block, level) for block in (32, 256) for level in (0, 4)}
        made |= {f"dynamic activations as {kind}": dynamic(kind) for kind in ("floats", "MatMulInteger", "DynamicQuantizeLinear")}
        for is_signed in (True, False):
            for is_shared in (True, False):
                made[f"{'signed' if is_signed else 'unsigned'} activations with {'two users' if is_shared else 'one user'}"] = activations(is_signed, is_shared)
        sessions = {name: session(nodes, {"x": x}, weights) for name, (nodes, weights, _) in made.items()}
        best = dict.fromkeys(sessions, float("inf"))
        for _ in range(TURNS):
            for name, ready in sessions.items():
                start = time.perf_counter()
                ready.run(None, {"x": x})
                best[name] = min(best[name], time.perf_counter() - start)
        for name, (_, _, weight) in made.items():
            differs = "" if weight is None else f", differs by {error(sessions[name].run(None, {'x': x})[0], x @ weight):.0e}"
            print(f"{rows} rows, {name}: {best[name] / best['floats']:.2f} of the time of floats{differs}")


if __name__ == "__main__":
    main()
