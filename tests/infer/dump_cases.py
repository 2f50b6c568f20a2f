"""Writes tests/data/infer_cases.json and infer_graphs.json: the output types of operators according to ONNX.

Sources:
- ONNX's backend node tests with a single node, whose types are concrete;
- old_forms.py: calls in forms that later opsets changed, with the outputs of onnx.shape_inference;
- for the graphs, the backend tests of functions, whose bodies compute shapes from shapes.

Run with onnx 1.23.2: python tests/infer/dump_cases.py
"""

import json
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from old_forms import OLD_FORMS

warnings.filterwarnings("ignore")
DATA = Path(__file__).resolve().parent.parent / "data"

# Inputs whose values determine the type of an output.
CONTENTS = {
    "AffineGrid": [1],
    "BlackmanWindow": [0],
    "CenterCropPad": [1],
    "Col2Im": [1, 2],
    "ConstantOfShape": [0],
    "DFT": [1, 2],
    "Expand": [1],
    "HammingWindow": [0],
    "HannWindow": [0],
    "MaxUnpool": [2],
    "MelWeightMatrix": [0, 1],
    "OneHot": [1],
    "Pad": [1, 3],
    "Range": [0, 1, 2],
    "Reshape": [1],
    "Resize": [1, 2, 3],
    "STFT": [1, 3],
    "Slice": [1, 2, 3, 4],
    "Split": [1],
    "SplitToSequence": [1],
    "Squeeze": [1],
    "Tile": [1, 2],
    "TopK": [1],
    "Unsqueeze": [1],
    "Upsample": [1],
}
CONTENTS.update({op: [1] for op in (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare"
).split()})


def dtype_name(number):
    return TensorProto.DataType.Name(number).lower()


def type_text(proto):
    """Returns the text of a type: `float[2,?]`, `float` for an unknown rank, `seq(..)`, `opt(..)`."""
    if proto.HasField("sequence_type"):
        return f"seq({type_text(proto.sequence_type.elem_type)})"
    if proto.HasField("optional_type"):
        return f"opt({type_text(proto.optional_type.elem_type)})"
    tensor = proto.tensor_type
    name = dtype_name(tensor.elem_type)
    if not tensor.HasField("shape"):
        return name
    dims = [str(d.dim_value) if d.HasField("dim_value") else "?" for d in tensor.shape.dim]
    return f"{name}[{','.join(dims)}]"


def sized(proto, data):
    """Returns the type, with the sizes of the data if the declaration has none."""
    if not proto.HasField("tensor_type") or not isinstance(data, np.ndarray | np.generic):
        return proto
    out = onnx.TypeProto()
    out.CopyFrom(proto)
    out.tensor_type.ClearField("shape")
    out.tensor_type.shape.SetInParent()
    for size in np.shape(data):
        out.tensor_type.shape.dim.add().dim_value = size
    return out


def small(array):
    return array is not None and array.ndim <= 1 and array.size <= 16 and array.dtype.kind in "iuf" and np.isfinite(array).all()


def content(array):
    return {"dtype": str(array.dtype), "sizes": list(array.shape), "data": array.reshape(-1).tolist()}


def attribute(attr):
    kind = onnx.AttributeProto.AttributeType.Name(attr.type)
    value = helper.get_attribute_value(attr)
    if kind == "GRAPH":
        return [kind, {"inputs": [type_text(i.type) for i in value.input], "outputs": [type_text(o.type) for o in value.output]}]
    if kind == "TENSOR":
        array = numpy_helper.to_array(value)
        return [kind, {"dtype": dtype_name(value.data_type), "sizes": list(value.dims), "data": array.reshape(-1).tolist() if small(array) else None}]
    if kind == "STRING":
        return [kind, value.decode()]
    if kind == "STRINGS":
        return [kind, [v.decode() for v in value]]
    if kind == "TYPE_PROTO":
        return [kind, type_text(value)]
    return [kind, list(value) if kind in ("INTS", "FLOATS") else value]


def of_backend_test(case):
    graph = case.model.graph
    if len(graph.node) != 1 or graph.node[0].domain not in ("", "ai.onnx") or graph.initializer:
        return None
    node = graph.node[0]
    opset = next(o.version for o in case.model.opset_import if o.domain == "")
    ins, outs = case.data_sets[0]
    given = {i.name: (sized(i.type, d), d) for i, d in zip(graph.input, ins)}
    wanted = {o.name: sized(o.type, d) for o, d in zip(graph.output, outs)}
    inputs = [type_text(given[n][0]) if n else None for n in node.input]
    contents = {}
    for i in CONTENTS.get(node.op_type, []):
        if i < len(node.input) and node.input[i]:
            data = given[node.input[i]][1]
            if isinstance(data, np.ndarray | np.generic) and small(np.asarray(data)):
                contents[i] = content(np.asarray(data))
    return {
        "name": graph.name,
        "op": node.op_type,
        "opset": opset,
        "inputs": inputs,
        "contents": contents,
        "attrs": {a.name: attribute(a) for a in node.attribute},
        "outputs": [type_text(wanted[n]) if n in wanted else None for n in node.output],
    }


def type_proto(text):
    """The inverse of type_text, for the types in old_forms.py."""
    if text.startswith("seq("):
        return helper.make_sequence_type_proto(type_proto(text[4:-1]))
    dtype, _, dims = text.rstrip("]").partition("[")
    return helper.make_tensor_type_proto(TensorProto.DataType.Value(dtype.upper()), [int(d) for d in dims.split(",") if d])


def of_old_form(name, op, opset, inputs, attrs, outputs):
    """Returns a case. An input is a type such as 'float[2,3]', an array (a constant), or None."""
    names, protos, constants, contents, types = [], [], [], {}, []
    for i, given in enumerate(inputs):
        names.append("" if given is None else f"i{i}")
        if given is None:
            types.append(None)
        elif isinstance(given, np.ndarray):
            constants.append(numpy_helper.from_array(given, f"i{i}"))
            contents[i] = content(given)
            dtype = dtype_name(helper.np_dtype_to_tensor_dtype(given.dtype))
            types.append(f"{dtype}[{','.join(map(str, given.shape))}]")
        else:
            protos.append(helper.make_value_info(f"i{i}", type_proto(given)))
            types.append(given)
    node = helper.make_node(op, names, [f"o{i}" for i in range(outputs)], **attrs)
    graph = helper.make_graph([node], name, protos, [helper.make_empty_tensor_value_info(f"o{i}") for i in range(outputs)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4)
    model = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    return {
        "name": f"old_{name}",
        "op": op,
        "opset": opset,
        "inputs": types,
        "contents": contents,
        "attrs": {a.name: attribute(a) for a in node.attribute},
        "outputs": [type_text(o.type) for o in model.graph.output],
    }


def graph_of_function(case):
    graph = case.model.graph
    nodes = [n for n in graph.node if n.domain in ("", "ai.onnx")]
    has_body = any(a.type == onnx.AttributeProto.GRAPH for n in nodes for a in n.attribute)
    if len(nodes) < 4 or len(nodes) != len(graph.node) or has_body or graph.initializer:
        return None
    ins, outs = case.data_sets[0]
    opset = next(o.version for o in case.model.opset_import if o.domain == "")
    names = {"": ""}
    short = lambda name: names.setdefault(name, f"v{len(names)}")
    pairs = [(i, d, np.asarray(d) if isinstance(d, np.ndarray | np.generic) else None) for i, d in zip(graph.input, ins)]
    return {
        "name": graph.name,
        "opset": opset,
        "inputs": {short(i.name): type_text(sized(i.type, d)) for i, d, _ in pairs},
        "contents": {short(i.name): content(a) for i, _, a in pairs if small(a) and a.dtype.kind in "iu"},
        "nodes": [
            [n.op_type, list(map(short, n.input)), list(map(short, n.output)), {a.name: attribute(a) for a in n.attribute}]
            for n in nodes
        ],
        "outputs": {short(o.name): type_text(sized(o.type, d)) for o, d in zip(graph.output, outs)},
    }


def chosen_graphs(cases):
    """Returns three cases of each function."""
    counts = {}
    for case in cases:
        graph = graph_of_function(case) if case.name.endswith("expanded") or "_expanded_ver" in case.name else None
        function = case.name.split("_")[1]
        if graph and counts.get(function, 0) < 3:
            counts[function] = counts.get(function, 0) + 1
            yield graph


def write(name, items):
    path = DATA / name
    lines = ",\n".join(json.dumps(item, separators=(",", ":")) for item in items)
    path.write_text(f"[\n{lines}\n]\n")
    print(f"{name}: {len(items)} cases, {path.stat().st_size} bytes")


def main():
    tests = collect_testcases(None)
    cases = [c for c in map(of_backend_test, tests) if c]
    write("infer_cases.json", cases + [of_old_form(*form) for form in OLD_FORMS])
    write("infer_graphs.json", list(chosen_graphs(tests)))


if __name__ == "__main__":
    main()
