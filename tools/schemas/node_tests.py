"""Writes a call of ONNX's node tests as an `example` of opmap or, where that cannot say it, in words."""

import numpy
import onnx
from onnx import defs, helper, numpy_helper

# The most elements that an example gives as they are. Of larger tensors it says dtype, sizes and range.
ELEMENTS = 12

# The dtypes of opmap.
DTYPES = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "bool",
}

# The letters of attributes, by type.
SUFFIXES = {"FLOAT": "f", "FLOATS": "f", "INT": "i", "INTS": "i", "STRING": "s", "STRINGS": "s"}


class Unsayable(Exception):
    """An example cannot say it."""


def call(case):
    """Returns `{"name", "example"}`, or `{"name", "words"}` of a test of one node."""
    node = case.model.graph.node[0]
    given = iter(case.data_sets[0][0])
    inputs = [None if name == "" else next(given, None) for name in node.input]
    try:
        return {"name": case.name, "example": example(node, inputs)}
    except Unsayable as why:
        return {"name": case.name, "words": f"{words(case.model, node)}: {why}"}


def example(node, inputs):
    arguments = ["None" if value is None else tensor(value) for value in inputs]
    ports = defs.get_schema(node.op_type, node.domain).inputs
    if ports and ports[-1].option == defs.OpSchema.FormalParameterOption.Variadic:
        at = len(ports) - 1
        arguments = [*arguments[:at], f"[{', '.join(arguments[at:])}]"]
    arguments += [f"{a.name}_{suffix(a)} = {attribute(helper.get_attribute_value(a))}" for a in node.attribute]
    if len(node.output) > 1:
        if "" in node.output:
            raise Unsayable("it leaves out an output in the middle")
        arguments.append(f"outputs = {len(node.output)}")
    return f"{node.op_type}({', '.join(arguments)})"


def suffix(attr):
    kind = onnx.AttributeProto.AttributeType.Name(attr.type)
    if kind not in SUFFIXES:
        raise Unsayable(f"the attribute `{attr.name}` is a {kind}")
    return SUFFIXES[kind]


def attribute(value):
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(attribute(v) for v in value) + "]"
    if isinstance(value, bytes):
        return '"' + value.decode("utf-8").replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value) if isinstance(value, int) else number(numpy.float32(value))


def number(value):
    """Returns the shortest text of a number, as opmap writes it."""
    if value.dtype == numpy.bool_:
        return "True" if value else "False"
    if value.dtype.kind in "iu":
        if abs(int(value)) > 2**53:
            raise Unsayable("it has integers beyond 2 ** 53")
        return str(int(value))
    value = value if value.dtype in (numpy.float16, numpy.float32, numpy.float64) else numpy.float32(value)
    if not numpy.isfinite(value):
        return "NAN" if numpy.isnan(value) else ("INF" if value > 0 else "-INF")
    text = numpy.format_float_positional(value, trim="-") if value == 0 or 1e-4 <= abs(float(value)) < 1e6 else str(value)
    return text.replace("e+", "e")


def tensor(value):
    """Returns a tensor with its elements if they are few, else with its range."""
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    if not isinstance(value, (numpy.ndarray, numpy.generic)):
        raise Unsayable("an input is a sequence, an optional value, or none")
    value = numpy.asarray(value)
    name = DTYPES.get(value.dtype.name)
    if name is None:
        raise Unsayable(f"there is no tensor of {value.dtype.name} in an example")
    sizes = f"{name}[{', '.join(map(str, value.shape))}]"
    if value.size == 0:
        return sizes
    if value.ndim > 0 and value.size <= ELEMENTS:
        return name + elements(value)
    if value.dtype == numpy.bool_:
        return sizes
    low, high = value.min(), value.max()
    if value.ndim > 0 and value.dtype.kind not in "iu":
        low, high = rounded(low, numpy.floor), rounded(high, numpy.ceil)
    if not (numpy.isfinite(low) and numpy.isfinite(high)):
        raise Unsayable("it has infinities or NaN among many elements")
    is_usual = value.dtype.kind not in "iu" and value.size > 1 and low < 0 < high and max(-low, high) < 5
    return sizes if is_usual else f"{sizes} in {number(low)} .. {number(high)}"


def rounded(value, towards):
    """Returns a bound of random numbers with two digits after the point."""
    value = numpy.float64(value)
    return towards(value * 100) / 100 if numpy.isfinite(value) else value


def elements(value):
    if value.ndim == 0:
        return number(value[()])
    return "{" + ", ".join(elements(numpy.asarray(part)) for part in value) + "}"


def words(model, node):
    """Returns a call such as `CastLike(input: float[3, 4], target_type: int2[1]; saturate = 1)`."""
    types = {value.name: kind(value.type) for value in model.graph.input}
    inputs = [f"{name}: {types[name]}" if name else "-" for name in node.input]
    plain = [(a.name, helper.get_attribute_value(a)) for a in node.attribute]
    shown = [f"{name} = {value if isinstance(value, (int, float, list)) else '..'}" for name, value in plain]
    return f"{node.op_type}({', '.join(inputs)}{'; ' if shown else ''}{', '.join(shown)})"


def kind(type_proto):
    which = type_proto.WhichOneof("value")
    if which != "tensor_type":
        return (which or "nothing").removesuffix("_type")
    sizes = [str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in type_proto.tensor_type.shape.dim]
    return f"{onnx.TensorProto.DataType.Name(type_proto.tensor_type.elem_type).lower()}[{', '.join(sizes)}]"
