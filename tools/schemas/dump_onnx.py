"""Writes onnx.txt: every version of every operator in ONNX's default domain.

    pip install onnx==1.23.2                     # the version that the head of the file names
    python tools/schemas/dump_onnx.py --check    # fail if the file differs from the installed onnx
    python tools/schemas/dump_onnx.py --out DIR  # write the file of any version elsewhere
    python tools/schemas/dump_onnx.py            # write the file

A newer version is added by `cargo run -p aten2onnx-codegen -- import-onnx VERSION`, which reports what it changes.
"""

import json
import re

import numpy
import onnx
from onnx import defs, helper

from snapshot import finish

# Abbreviations in lists of types: a list that contains all members of a group contains its name instead.
GROUPS = {
    "floats": ["float16", "float", "double"],
    "ints": ["int8", "int16", "int32", "int64"],
    "uints": ["uint8", "uint16", "uint32", "uint64"],
    "complex": ["complex64", "complex128"],
    "float8": ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"],
}

HEADER = """\
# ONNX operators: every version of every schema in the default domain up to opset {opset}.
# Source: onnx {version}, onnx.defs.get_all_schemas_with_history(). Refresh: python tools/schemas/dump_onnx.py
#
# NAME SINCE [deprecated] [function]    `function`: ONNX defines it by a function body
#   in NAME: TYPE [optional | variadic MIN [mixed]]    `mixed`: the types may differ from each other
#   out NAME: TYPE [same options]
#   attr NAME: KIND [required | = DEFAULT]
#   type VAR = TYPES    `float` is tensor(float), `seq(float)` is seq(tensor(float)); one line for each kind of type
"""


def number(value):
    """Returns the shortest text of a float32, as Rust's `{:?}` prints it."""
    value = numpy.float32(value)
    if value == 0 or 1e-4 <= abs(float(str(value))) < 1e16:
        return numpy.format_float_positional(value, trim="0")
    return re.sub(r"e([+-])0*", lambda m: "e-" if m[1] == "-" else "e", str(value))


def default(kind, value):
    if kind == "FLOAT":
        return number(value)
    if kind == "INT":
        return str(value)
    if kind == "STRING":
        return json.dumps(value.decode("utf-8"))
    if kind in ("FLOATS", "INTS", "STRINGS"):
        return "[" + ", ".join(default(kind[:-1], v) for v in value) + "]"
    raise ValueError(f"a default of type {kind}")


def attribute(attr):
    line = f"  attr {attr.name}: {attr.type.name}"
    if attr.required:
        return line + " required"
    if attr.default_value.type == onnx.AttributeProto.UNDEFINED:
        return line
    return line + " = " + default(attr.type.name, helper.get_attribute_value(attr.default_value))


def port(word, p):
    line = f"  {word} {p.name}: {p.type_str}"
    if p.option == defs.OpSchema.FormalParameterOption.Optional:
        return line + " optional"
    if p.option == defs.OpSchema.FormalParameterOption.Variadic:
        return line + f" variadic {p.min_arity}" + ("" if p.is_homogeneous else " mixed")
    assert p.is_homogeneous
    return line


def fewest(ports):
    """Returns how many ports a node must have, as the readers of the file compute it."""
    count = 0
    for i, p in enumerate(ports):
        if p.option == defs.OpSchema.FormalParameterOption.Single:
            count = i + 1
        elif p.option == defs.OpSchema.FormalParameterOption.Variadic:
            count = i + p.min_arity
    return count


def types(var):
    """Returns lines such as `type T = @floats int32`, one for each of tensor, seq(tensor), optional(tensor), ..."""
    kinds = {}
    for text in var.allowed_type_strs:
        wrapper, element = re.fullmatch(r"((?:\w+\()*)tensor\((\w+)\)+", text).groups()
        kinds.setdefault(wrapper, set()).add(element)
    for wrapper in sorted(kinds):
        elements, words = kinds[wrapper], []
        for name, members in GROUPS.items():
            if elements.issuperset(members):
                words.append("@" + name)
                elements = elements - set(members)
        words += sorted(elements)
        yield f"  type {var.type_param_str} = {wrapper}{' '.join(words)}{')' * wrapper.count('(')}"


def block(schema):
    head = f"{schema.name} {schema.since_version}"
    if schema.deprecated:
        head += " deprecated"
    if schema.has_function or schema.has_context_dependent_function:
        head += " function"
    # The readers of the file derive these two numbers.
    assert fewest(schema.inputs) == schema.min_input, head
    assert fewest(schema.outputs) == schema.min_output, head
    lines = [head]
    lines += [port("in", p) for p in schema.inputs]
    lines += [port("out", p) for p in schema.outputs]
    lines += [attribute(a) for _, a in sorted(schema.attributes.items())]
    for var in sorted(schema.type_constraints, key=lambda v: v.type_param_str):
        lines += types(var)
    return "\n".join(lines) + "\n"


def all_schemas():
    """Returns every version of every operator of the default domain, by name and version."""
    schemas = [s for s in defs.get_all_schemas_with_history() if s.domain == ""]
    return sorted(schemas, key=lambda s: (s.name, s.since_version))


def text(schemas):
    """Returns the text of the file."""
    head = HEADER.format(opset=max(s.since_version for s in schemas), version=onnx.__version__)
    groups = "".join(f"@{name} = {' '.join(members)}\n" for name, members in GROUPS.items())
    return head + "\n" + groups + "\n" + "\n".join(block(s) for s in schemas)


if __name__ == "__main__":
    finish(__doc__, {"onnx.txt": text(all_schemas())})
