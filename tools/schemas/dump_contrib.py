"""Writes com.microsoft.txt: ONNX Runtime's own operators.

    pip install onnx==1.23.2 onnxruntime==1.31.1
    python tools/schemas/dump_contrib.py            # write the file
    python tools/schemas/dump_contrib.py --check    # fail if the file differs from the installed onnxruntime

The file has the format of onnx.txt, with the domain before each name.
"""

import onnx
import onnxruntime
from onnx import helper
from onnxruntime.capi import onnxruntime_pybind11_state as state

from dump_onnx import GROUPS, default, types
from snapshot import finish

DOMAIN = "com.microsoft"
VERSION = "1.31.1"

HEADER = f"""\
# The operators of {DOMAIN} (ONNX Runtime).
# Source: onnxruntime {VERSION}, get_all_operator_schema(). Refresh: python tools/schemas/dump_contrib.py
#
# The format is that of onnx.txt.
"""

Option = state.schemadef.OpSchema.FormalParameterOption


def kind(attr):
    return str(attr.type).rsplit(".", 1)[-1]


def attribute(attr):
    line = f"  attr {attr.name}: {kind(attr)}"
    if attr.required:
        return line + " required"
    proto = onnx.AttributeProto.FromString(attr._default_value)
    if proto.type == onnx.AttributeProto.UNDEFINED:
        return line
    return line + " = " + default(kind(attr), helper.get_attribute_value(proto))


def port(word, p, least):
    line = f"  {word} {p.name}: {p.typeStr}"
    if p.option == Option.Optional:
        return line + " optional"
    if p.option == Option.Variadic:
        return line + f" variadic {least}" + ("" if p.isHomogeneous else " mixed")
    return line


def ports(word, all_ports, fewest):
    """Returns lines for all ports. The minimum of a variadic port is the minimum number of ports minus the ports before it."""
    return [port(word, p, max(0, fewest - i)) for i, p in enumerate(all_ports)]


def sparse(schema):
    """Whether a schema uses sparse tensors, which rules do not support."""
    return any("sparse_tensor" in text for var in schema.type_constraints for text in var.allowed_type_strs)


def block(schema):
    lines = [f"{DOMAIN}::{schema.name} {schema.since_version}" + (" deprecated" if schema.deprecated else "")]
    lines += ports("in", schema.inputs, schema.min_input)
    lines += ports("out", schema.outputs, schema.min_output)
    lines += [attribute(a) for _, a in sorted(schema.attributes.items())]
    for var in sorted(schema.type_constraints, key=lambda v: v.type_param_str):
        lines += types(var)
    return "\n".join(lines) + "\n"


def main():
    assert onnxruntime.__version__ == VERSION, f"expected onnxruntime {VERSION}, found {onnxruntime.__version__}"
    schemas = [s for s in state.get_all_operator_schema() if s.domain == DOMAIN and not sparse(s)]
    schemas.sort(key=lambda s: s.name)
    groups = "".join(f"@{name} = {' '.join(members)}\n" for name, members in GROUPS.items())
    text = HEADER + "\n" + groups + "\n" + "\n".join(block(s) for s in schemas)
    finish(__doc__, {"com.microsoft.txt": text})


if __name__ == "__main__":
    main()
