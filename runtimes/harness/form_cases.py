"""Models of one to a few nodes in the forms that exporters write: the files `forms/*.toml`.

A table `[Operator."VERSIONS"]` has models for opsets, as graphs in ONNX's textual syntax. A symbol in a shape is a size of `SIZES`.
Inputs are random numbers, unless `[values.Operator-name]` has them. A case counts for its operator at the version that is in force
in the opset, and for the dtype of its first input.
"""
import re
import tomllib
import zlib

import numpy as np
import onnx
from onnx import helper

from .cases import OLDEST, Case
from .environments import ROOT

FOLDER = ROOT / "forms"
FORM = "exported"
HALVES = re.compile(r"(float16\[?[\d,]*\]? \w+ = )\{([^}]*)\}")
SIZES = {"b": 2, "s": 5, "t": 4, "h": 8, "w": 6, "p": 10, "q": 7, "n4": 4}


def all_cases(only=None):
    """The cases of all files, or those of some operators. They are not judged yet."""
    for file in sorted(FOLDER.glob("*.toml")):
        tables = tomllib.loads(file.read_text())
        values = tables.pop("values", {})
        for op, by_opset in tables.items():
            for opsets, models in by_opset.items() if only is None or op in only else []:
                for opset in map(int, opsets.split(",")):
                    yield from (case(op, opset, name, text, values.get(f"{op}-{name}", {})) for name, text in models.items())


def case(op, opset, name, text, values):
    """The case of a graph. A fault in its text is an error."""
    imports = [helper.make_opsetid("", max(opset, OLDEST))]
    graph = onnx.parser.parse_graph(f"main {HALVES.sub(with_bits, text)}")
    model = helper.make_model(graph, opset_imports=imports, ir_version=max(4, min(10, helper.find_min_ir_version_for(imports))), producer_name="")
    onnx.checker.check_model(model)
    types = element_types(onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True).graph)
    node = next((node for node in graph.node if node.op_type == op), None)
    if node is None:
        raise ValueError(f"forms/: `{name}` of {op} has no node of {op}")
    dtype = helper.tensor_dtype_to_np_dtype(types[next(name for name in (*node.input, *node.output) if name)]).name
    inputs = {value.name: array(value, f"{op}-{name}", values.get(value.name)) for value in graph.input}
    since = onnx.defs.get_schema(op, opset, "").since_version
    return Case(op, since, dtype, FORM, name, model.SerializeToString(), inputs, None, 1e-3, 1e-7)


def with_bits(found):
    """A constant of float16 as ONNX's parser takes it: by the bits of its numbers."""
    numbers = np.array(found[2].split(","), "float16")
    return f"{found[1]}{{{','.join(map(str, numbers.view('uint16')))}}}"


def element_types(graph):
    values = [*graph.input, *graph.value_info, *graph.output]
    return {value.name: element_type(value.type) for value in values} | {tensor.name: tensor.data_type for tensor in graph.initializer}


def element_type(type_proto):
    """Of a tensor, or of the tensors in a sequence."""
    tensor = type_proto.sequence_type.elem_type if type_proto.HasField("sequence_type") else type_proto
    return tensor.tensor_type.elem_type


def array(value, seed, given):
    """An input: what the file gives, or random numbers that are the same each time."""
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    if given is not None:
        return np.array(given, dtype)
    shape = [SIZES[dim.dim_param] if dim.dim_param else dim.dim_value for dim in value.type.tensor_type.shape.dim]
    random = np.random.default_rng(zlib.crc32(f"{seed} {value.name}".encode()))
    if dtype.kind == "f":
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0 if dtype.kind in "bu" else -4, 2 if dtype.kind == "b" else 5, shape).astype(dtype)
