"""Products of integers without what the processor makes of them.

On x86 processors without VNNI, ONNX Runtime adds pairs of products of uint8 and int8 in 16 bits, which saturate: results depend on the machine. Its option
`session.x64quantprecision` is no way out, because it has no kernel for the convolutions that it makes then. So there a model is judged as a copy in which
these nodes compute with floats.
"""
import platform
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def saturates():
    """Whether products of uint8 and int8 saturate on this machine."""
    flags = Path("/proc/cpuinfo")
    return platform.machine() in ("x86_64", "AMD64") and not (flags.exists() and "vnni" in flags.read_text())


def in_floats(path):
    """A copy of a model whose convolutions and products of integers compute with floats. Returns its path."""
    model = onnx.load(path)
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    nodes = []
    for node in model.graph.node:
        made = {"QLinearConv": convolution, "MatMulInteger": product}.get(node.op_type)
        nodes += made(node, known, model.graph) if made else [node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    target = path.replace(".onnx", ".floats.onnx")
    onnx.save(model, target)
    return target


def constant(graph, name, array):
    graph.initializer.append(numpy_helper.from_array(array, name))
    return name


def convolution(node, known, graph):
    """DequantizeLinear, Conv and QuantizeLinear, with weights that are floats."""
    x, x_scale, x_zero, weight, scale, zero, y_scale, y_zero, *bias = node.input
    name, shape = f"floats/{node.output[0]}", (-1,) + (1,) * (known[weight].ndim - 1)
    floats = (known[weight].astype(np.float32) - known[zero].astype(np.float32).reshape(shape)) * known[scale].reshape(shape)
    inputs = [f"{name}_x", constant(graph, f"{name}_w", floats.astype(np.float32))]
    if bias:
        inputs.append(constant(graph, f"{name}_b", (known[bias[0]] * (known[x_scale] * known[scale].reshape(-1))).astype(np.float32)))
    conv = helper.make_node("Conv", inputs, [f"{name}_y"])
    conv.attribute.extend(node.attribute)
    return [
        helper.make_node("DequantizeLinear", [x, x_scale, x_zero], [f"{name}_x"]),
        conv,
        helper.make_node("QuantizeLinear", [f"{name}_y", y_scale, y_zero], list(node.output)),
    ]


def product(node, *_):
    """MatMul of doubles, which hold each sum exactly."""
    name, made, inputs = f"floats/{node.output[0]}", [], []
    for place in (0, 1):
        found = f"{name}_{place}"
        made.append(helper.make_node("Cast", [node.input[place]], [found], to=TensorProto.DOUBLE))
        if len(node.input) > place + 2 and node.input[place + 2]:
            made.append(helper.make_node("Cast", [node.input[place + 2]], [f"{found}_zero"], to=TensorProto.DOUBLE))
            made.append(helper.make_node("Sub", [found, f"{found}_zero"], [f"{found}_moved"]))
            found = f"{found}_moved"
        inputs.append(found)
    made.append(helper.make_node("MatMul", inputs, [f"{name}_sum"]))
    return [*made, helper.make_node("Cast", [f"{name}_sum"], list(node.output), to=TensorProto.INT32)]
