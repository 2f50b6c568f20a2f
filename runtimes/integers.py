"""Which operators ONNX Runtime computes with integers of 8 bits, where DequantizeLinear and QuantizeLinear stand around them.

    python runtimes/integers.py [--write]

For each operator that `mappings/operators.toml` gives the word `integers`, a model with the operator between the two is optimized as a session
does it. If neither is left, the operator computes with integers. `float_results` are products that also do so without QuantizeLinear. With --write,
both lists go into the entry of the release in mappings/targets/onnxruntime_releases.toml.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[1]
OPSET = 18
# A picture, and what operators need beside it.
SIZES = [1, 4, 8, 8]
ATTRIBUTES: dict[str, dict[str, object]] = {
    "AveragePool": {"kernel_shape": [2, 2]},
    "Concat": {"axis": 1},
    "DepthToSpace": {"blocksize": 2},
    "LpPool": {"kernel_shape": [2, 2]},
    "MaxPool": {"kernel_shape": [2, 2]},
    "Softmax": {"axis": -1},
    "Split": {"axis": 1},
    "SpaceToDepth": {"blocksize": 2},
}
NUMBERS: dict[str, list[tuple[type, list[float]]]] = {
    "Clip": [(np.float32, [-1.0]), (np.float32, [1.0])],
    "Expand": [(np.int64, [2, 4, 8, 8])],
    "Gather": [(np.int64, [0, 0])],
    "Pad": [(np.int64, [0, 0, 1, 1, 0, 0, 1, 1])],
    "Reshape": [(np.int64, [4, 64])],
    "Resize": [(np.float32, []), (np.float32, [1, 1, 2, 2])],
    "Slice": [(np.int64, [0]), (np.int64, [2]), (np.int64, [1])],
    "Split": [(np.int64, [2, 2])],
    "Squeeze": [(np.int64, [0])],
    "Unsqueeze": [(np.int64, [0])],
}
SCALARS = {"Clip"}
# The weights of products, and the axis of the scales.
WEIGHTS: dict[str, tuple[list[int], int]] = {"Conv": ([4, 4, 3, 3], 0), "ConvTranspose": ([4, 4, 3, 3], 1), "Gemm": ([8, 8], 1), "MatMul": ([8, 8], 1)}
RESULTS = {"Split": 2}
OPERANDS = {"Add": 2, "Concat": 2, "Div": 2, "Max": 2, "Min": 2, "Mul": 2, "Sub": 2}


def model_of(operator: str, is_same: bool, is_rounded: bool = True) -> onnx.ModelProto:
    """The operator with each input dequantized and its result quantized, with the scale of the input if it is the same."""
    sizes = [8, 8] if operator == "Gemm" else SIZES
    constants, nodes, inputs = [], [], []

    def constant(name: str, array: np.ndarray) -> str:
        constants.append(numpy_helper.from_array(array, name))
        return name

    result_scale = constant("result_scale", np.float32(0.02 if is_same else 0.03).reshape(()))
    scale, zero = constant("scale", np.float32(0.02).reshape(())), constant("zero", np.uint8(128).reshape(()))
    operands = []
    for i in range(OPERANDS.get(operator, 1)):
        inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.UINT8, sizes))
        nodes.append(helper.make_node("DequantizeLinear", [f"x{i}", scale, zero], [f"f{i}"]))
        operands.append(f"f{i}")
    for i, (dtype, numbers) in enumerate(NUMBERS.get(operator, [])):
        array = np.array(numbers, dtype)
        operands.append(constant(f"n{i}", array.reshape(()) if operator in SCALARS else array))
    if operator in WEIGHTS:
        shape, axis = WEIGHTS[operator]
        codes = np.arange(np.prod(shape)).reshape(shape) % 255 - 127
        parts = [constant("codes", codes.astype(np.int8)), constant("scales", np.full(shape[axis], 0.01, np.float32)), constant("zeros", np.zeros(shape[axis], np.int8))]
        nodes.append(helper.make_node("DequantizeLinear", parts, ["w"], axis=axis))
        operands.append("w")
    results = [f"r{i}" for i in range(RESULTS.get(operator, 1))]
    nodes.append(helper.make_node(operator, operands, results, **ATTRIBUTES.get(operator, {})))
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
    if is_rounded:
        nodes.extend(helper.make_node("QuantizeLinear", [name, result_scale, zero], [f"{name}/codes"]) for name in results)
        outputs = [helper.make_tensor_value_info(f"{name}/codes", TensorProto.UINT8, None) for name in results]
    graph = helper.make_graph(nodes, operator, inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def computes_with_integers(operator: str, is_same: bool, is_rounded: bool = True) -> bool:
    """Whether a session has no floats left."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = f"{folder}/optimized.onnx"
        onnxruntime.InferenceSession(model_of(operator, is_same, is_rounded).SerializeToString(), options, providers=["CPUExecutionProvider"])
        left = onnx.load(options.optimized_model_filepath).graph.node
    return all(node.op_type not in ("DequantizeLinear", "QuantizeLinear") for node in left)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    facts = tomllib.loads((ROOT / "mappings/operators.toml").read_text())["operators"]
    asked = {name: fact["integers"] == "same" for name, fact in facts.items() if "integers" in fact}
    found = [name for name, is_same in asked.items() if computes_with_integers(name, is_same)]
    products = [name for name in found if name in WEIGHTS and computes_with_integers(name, False, is_rounded=False)]
    lines = f"integer_operators = {json.dumps(found)}\nfloat_results = {json.dumps(products)}"
    print(lines)
    if not write:
        return
    release = ".".join(onnxruntime.__version__.split(".")[:2])
    path = ROOT / "mappings/targets/onnxruntime_releases.toml"
    entry = re.compile(rf'(\[\[release\]\]\nname = "{re.escape(release)}"\n(?:(?!\[\[)[^\n]*\n)*?)integer_operators = [^\n]*\nfloat_results = [^\n]*')
    text, count = entry.subn(lambda match: match[1] + lines, path.read_text())
    if count != 1:
        sys.exit(f"error: {path} has no entry of the release {release} with `integer_operators` and `float_results`. Add both lines to it, empty")
    path.write_text(text)


if __name__ == "__main__":
    main()
