"""Models of one operator: the node tests of the onnx package, at every version of the operator and in every dtype that it allows.

Each is made in up to three forms:

- `constant`: parameters such as axes, shapes and weights are initializers, as exporters write them;
- `computed`: all inputs are inputs of the model;
- `symbolic`: as `constant`, and the sizes of the inputs are symbols.
"""
import collections
import contextlib
import dataclasses
import io
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OLDEST, NEWEST = 9, 26
DTYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
# Their results are random, or there is nothing to compute.
LEFT_OUT = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "ImageDecoder"}
# All inputs but the first are weights.
WEIGHTED = {
    "BatchNormalization", "Conv", "ConvInteger", "ConvTranspose", "DeformConv", "DequantizeLinear", "GRU", "GroupNormalization",
    "InstanceNormalization", "LSTM", "LayerNormalization", "PRelu", "QLinearConv", "QuantizeLinear", "RMSNormalization", "RNN",
}  # fmt: skip
# So many node tests of an operator are varied in dtype and taken to older versions. At the newest version all are run.
SAMPLE = 3


@dataclasses.dataclass
class Base:
    """A node with values for its inputs."""

    name: str
    node: onnx.NodeProto
    inputs: dict
    expected: list | None
    opset: int
    rtol: float
    atol: float


@dataclasses.dataclass
class Case:
    """A model of one operator with inputs and, after `judge`, the outputs that are right."""

    op: str
    since: int
    dtype: str
    form: str
    name: str
    model: bytes
    inputs: dict
    expected: list | None
    rtol: float
    atol: float


def node_tests():
    """The node tests of the onnx package that consist of one operator on tensors of numbers."""
    import onnx.backend.test.case.node as tests

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        found = tests.collect_testcases(None)
    for test in found:
        base = base_of(test)
        if base:
            yield base
        if base and (with_signs := signed(base)):
            yield with_signs


def signed(base):
    """The test with negative numbers too, if its first input has none."""
    name = base.node.input[0] if base.node.input else ""
    value = base.inputs.get(name)
    if value is None or value.dtype.kind != "f" or value.size < 2 or not np.isfinite(value).all() or value.min() < 0:
        return None
    moved = (value - value.mean()) * 2
    return dataclasses.replace(base, name=f"{base.name}_signed", inputs={**base.inputs, name: moved.astype(value.dtype)}, expected=None)


def base_of(test):
    model = test.model
    if model is None or len(model.graph.node) != 1 or test.name.endswith("_expanded"):
        return None
    node = model.graph.node[0]
    if node.domain or node.op_type in LEFT_OUT or any(a.type == onnx.AttributeProto.GRAPH for a in node.attribute):
        return None
    given, wanted = test.data_sets[0]
    arrays = [array_of(value) for value in [*given, *wanted]]
    if any(array is None for array in arrays):
        return None
    names = [value.name for value in model.graph.input]
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    return Base(test.name.removeprefix("test_"), node, dict(zip(names, arrays)), arrays[len(given) :], opset, test.rtol, test.atol)


def array_of(value):
    """The array of a test's value; nothing for a sequence, an optional value, text, and dtypes that NumPy lacks."""
    try:
        array = numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)
    except (TypeError, ValueError):
        return None
    return array if not isinstance(value, list) and array.dtype.name in DTYPES else None


def schemas(op):
    """The versions of an operator that are in force in some opset, the newest first."""
    versions = {}
    for opset in range(NEWEST, OLDEST - 1, -1):
        with contextlib.suppress(onnx.defs.SchemaError):
            schema = onnx.defs.get_schema(op, opset, "")
            if not schema.deprecated:
                versions.setdefault(schema.since_version, schema)
    return list(versions.values())


def formal(schema, index):
    """The formal input at an index; the last one is that of all others if it is variadic."""
    if index < len(schema.inputs):
        return schema.inputs[index]
    last = schema.inputs[-1] if schema.inputs else None
    return last if last and last.option == onnx.defs.OpSchema.FormalParameterOption.Variadic else None


def at_version(base, schema, newest):
    """The node in the form of another version: inputs become attributes of the same name. Nothing if there is no such form."""
    node = onnx.NodeProto.FromString(base.node.SerializeToString())
    inputs = dict(base.inputs)
    for attribute in list(node.attribute):
        if attribute.name not in schema.attributes:
            default = newest.attributes[attribute.name].default_value if attribute.name in newest.attributes else None
            if default is None or helper.get_attribute_value(default) != helper.get_attribute_value(attribute):
                return None
            node.attribute.remove(attribute)
    for index in reversed(range(len(node.input))):
        if formal(schema, index):
            continue
        name, there = node.input.pop(), formal(newest, index)
        if not name:
            continue
        attribute = as_attribute(schema, there.name if there else "", inputs.pop(name))
        if attribute is None:
            return None
        node.attribute.append(attribute)
    return dataclasses.replace(base, node=node, inputs=inputs, expected=base.expected if schema.since_version == newest.since_version else None)


def as_attribute(schema, name, value):
    kinds = onnx.defs.OpSchema.AttrType
    if name not in schema.attributes:
        return None
    match schema.attributes[name].type:
        case kinds.INTS | kinds.FLOATS:
            return helper.make_attribute(name, value.reshape(-1).tolist()) if value.size else None
        case kinds.INT | kinds.FLOAT:
            return helper.make_attribute(name, value.reshape(-1)[0].item()) if value.size == 1 else None
    return None


def variable_of(schema):
    """The type variable of the first input, and the dtypes that it allows; dtypes of facts are its."""
    if not schema.inputs:
        return None, []
    name = schema.inputs[0].type_str
    for constraint in schema.type_constraints:
        if constraint.type_param_str == name:
            allowed = {t.removeprefix("tensor(").removesuffix(")").replace("float", "float32").replace("double", "float64") for t in constraint.allowed_type_strs}
            allowed = {t.replace("float3216", "float16").replace("bfloat3216", "bfloat16") for t in allowed}
            return name, [dtype for dtype in DTYPES if dtype in allowed]
    return name, []


def with_dtype(base, schema, dtype):
    """The node with another dtype for its first type variable."""
    variable, _ = variable_of(schema)
    inputs = dict(base.inputs)
    for index, name in enumerate(base.node.input):
        there = formal(schema, index)
        if name in inputs and there and there.type_str == variable:
            inputs[name] = convert(inputs[name], dtype)
    return dataclasses.replace(base, inputs=inputs, expected=None)


def convert(array, dtype):
    """Values of a dtype that are like those of an array."""
    kind = np.dtype(dtype).kind
    if array.dtype.name == dtype or array.dtype.kind == kind == "f":
        return array.astype(dtype)
    if kind == "b":
        return array > 0 if array.dtype.kind == "f" else array % 2 == 1
    if kind == "f":
        return array.astype(dtype) / (1 if array.dtype.kind == "b" or array.size < 2 else 2)
    wide = np.round(array.astype("float64") * (3 if array.dtype.kind == "f" else 1))
    return np.clip(np.abs(np.nan_to_num(wide)) if kind == "u" else np.nan_to_num(wide), -100, 100).astype(dtype)


def all_cases(only=None):
    """Makes all cases, or those of some operators. They are not judged yet."""
    by_op = collections.defaultdict(list)
    for base in node_tests():
        if only is None or base.node.op_type in only:
            by_op[base.node.op_type].append(base)
    for op, bases in sorted(by_op.items()):
        versions = schemas(op)
        for schema in versions:
            yield from cases_of(op, bases, schema, versions[0])


def cases_of(op, bases, schema, newest):
    variable, allowed = variable_of(schema)
    here = [there for base in bases if (there := at_version(base, schema, newest))]
    own = here if schema is newest else here[:SAMPLE]
    varied = here[:SAMPLE]
    seen = set()
    for base in own:
        yield from forms(op, schema, base, seen)
    for dtype in allowed:
        for base in varied:
            yield from forms(op, schema, with_dtype(base, schema, dtype), seen, is_varied=True)


def forms(op, schema, base, seen, is_varied=False):
    """The case in each of its forms, unless it was seen. Forms matter little to dtypes."""
    dtype = first_dtype(base)
    key = (base.name, dtype)
    if key in seen:
        return
    seen.add(key)
    params = parameters(op, schema, base)
    made = {"constant": model_of(schema, base, params, False)}
    if params and not is_varied:
        made["computed"] = model_of(schema, base, set(), False)
    if len(params) < len(base.inputs) and not is_varied:
        made["symbolic"] = model_of(schema, base, params, True)
    for form, model in made.items():
        if model is not None:
            inputs = {name: value for name, value in base.inputs.items() if form == "computed" or name not in params}
            yield Case(op, schema.since_version, dtype, form, base.name, model, inputs, base.expected, base.rtol, base.atol)


def first_dtype(base):
    first = next((base.inputs[name] for name in base.node.input if name in base.inputs), None)
    return "" if first is None else first.dtype.name


def parameters(op, schema, base):
    """The inputs that exporters write as initializers."""
    names = list(base.node.input)
    if op in WEIGHTED:
        return {name for name in names[1:] if name in base.inputs}
    variable, _ = variable_of(schema)
    if op == "ConstantOfShape":
        return set(names)
    return {name for index, name in enumerate(names) if index and name in base.inputs and formal(schema, index).type_str != variable and base.inputs[name].ndim < 2}


def model_of(schema, base, params, is_symbolic):
    """The model, or nothing if the operator does not take these dtypes."""
    opset = schema.since_version if schema.since_version >= OLDEST else OLDEST
    inputs = []
    for name, value in base.inputs.items():
        if name not in params:
            sizes = [f"n{size}" if is_symbolic and size > 1 and (axis == 0 or schema.name not in WEIGHTED) else size for axis, size in enumerate(value.shape)]
            inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), sizes))
    constants = [numpy_helper.from_array(np.asarray(base.inputs[name]), name) for name in base.inputs if name in params]
    outputs = [onnx.ValueInfoProto(name=name) for name in base.node.output if name]
    graph = helper.make_graph([base.node], "main", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=max(4, min(10, helper.find_min_ir_version_for([helper.make_opsetid("", opset)]))), producer_name="")
    try:
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        onnx.checker.check_model(inferred)
    except Exception:
        return None
    return inferred.SerializeToString()
