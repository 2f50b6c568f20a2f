"""Writes mappings/targets/onnxruntime.toml: the dtypes for which ONNX Runtime's CPU provider has no kernel, by operator and version.

    python tools/targets/dump_onnxruntime.py [--check]

The source is the kernel registry of the installed onnxruntime.

- Operators without kernels that ONNX defines as functions are not listed if the runtime loads ONNX's node tests of them.
- float16 is not listed if there is a float32 kernel, because the runtime then computes in float32.
- bfloat16 is listed unless it has its own kernel.
- The dtypes in INEXACT are always listed.
- A kernel without a last version is only used for the version at which it starts.
- An operator without inputs that has no kernel is listed without dtypes.
"""
import collections
import functools
import sys
from pathlib import Path

import onnx
import onnx.backend.test.case.node
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as state

TARGET = Path(__file__).resolve().parents[2] / "mappings/targets/onnxruntime.toml"
OLDEST, NEWEST = 9, 26
# The last version of a kernel without an end.
OPEN = 2**31 - 1
TORCH = {"float": "float32", "double": "float64"}
# Kernels that round where PyTorch does not: Attention rounds the products of queries and keys to float16.
INEXACT = {"Attention": ["float16"]}
DTYPES = ["float", "double", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


def at_opset(op, opset):
    """Returns the version of an operator in an opset."""
    try:
        return onnx.defs.get_schema(op, opset, "").since_version
    except Exception:
        return None


def kernels():
    found = collections.defaultdict(list)
    for kernel in state.get_all_opkernel_def():
        if kernel.domain in ("", "ai.onnx") and kernel.provider == "CPUExecutionProvider":
            found[kernel.op_name].append(kernel)
    return found


@functools.cache
def node_tests():
    return onnx.backend.test.case.node.collect_testcases(None)


def loads_as_function(op):
    """Whether the runtime loads a model of ONNX's node tests that consists of the operator."""
    ort.set_default_logger_severity(4)
    for case in node_tests():
        model = case.model
        if model is None or [n.op_type for n in model.graph.node] != [op]:
            continue
        model = onnx.ModelProto.FromString(model.SerializeToString())
        del model.opset_import[:]
        model.opset_import.append(onnx.helper.make_opsetid("", NEWEST))
        model.ir_version = 10
        try:
            ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            return True
        except Exception:
            return False
    return False


def fits(kernel, version):
    """Whether the runtime takes a kernel for a version. A kernel without an end is only taken for the version at which it starts."""
    first, last = kernel.version_range
    return first == version or first < version <= last < OPEN


def missing(schema, found):
    """Returns the dtypes without a kernel, of the first type variable that allows several types."""
    fitting = [k for k in found if fits(k, schema.since_version)]
    choices = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints if len(c.allowed_type_strs) > 1}
    variable = next((i.type_str for i in schema.inputs if i.type_str in choices), None)
    if variable is None:
        return []
    allowed = choices[variable]
    wanted = [d for d in DTYPES if f"tensor({d})" in allowed]
    if not fitting:
        function = schema.has_function or schema.has_context_dependent_function
        return with_halves([] if function and loads_as_function(schema.name) else wanted, allowed, set(), schema.name)
    if any(variable not in k.type_constraints for k in fitting):
        return []
    taken = {t for k in fitting for t in k.type_constraints[variable]}
    return with_halves([d for d in wanted if f"tensor({d})" not in taken], allowed, taken, schema.name)


def is_absent(schema, found):
    """Whether there is no kernel of an operator without inputs, which is listed without dtypes."""
    return not schema.inputs and not any(fits(k, schema.since_version) for k in found) and not loads_as_function(schema.name)


def with_halves(names, allowed, taken, op):
    """Adds float16, which can be computed in float32, and bfloat16, which needs its own kernel, if they are missing."""
    lacking = {"float16": "float" in names or "float16" in INEXACT.get(op, []), "bfloat16": "tensor(bfloat16)" not in taken}
    return names + [d for d, lacks in lacking.items() if lacks and f"tensor({d})" in allowed]


def text():
    found = kernels()
    lines = [
        f"# The dtypes for which the CPU provider of ONNX Runtime {ort.__version__} has no kernel, by operator and version.",
        "# Refresh: python tools/targets/dump_onnxruntime.py",
        "",
        f"newest_opset = {NEWEST}",
        "newest_ir = 13",
    ]
    schemas = [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == "" and not s.deprecated]
    for schema in sorted(schemas, key=lambda s: (s.name, s.since_version)):
        in_force = any(onnx.defs.has(schema.name, "") and at_opset(schema.name, o) == schema.since_version for o in range(OLDEST, NEWEST + 1))
        if not in_force:
            continue
        names = [TORCH.get(d, d) for d in missing(schema, found[schema.name])]
        if names or is_absent(schema, found[schema.name]):
            listed = ", ".join(f'"{n}"' for n in names)
            lines += ["", "[[lacks]]", f'op = "{schema.name}"', f"since = {schema.since_version}", f"dtypes = [{listed}]"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    new = text()
    if "--check" in sys.argv:
        sys.exit(0 if TARGET.read_text() == new else f"{TARGET.name} differs from the installed onnxruntime")
    TARGET.write_text(new)
