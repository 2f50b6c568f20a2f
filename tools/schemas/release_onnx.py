"""Writes what a release of ONNX says of opsets that are newer than `--after`, as JSON, for `aten2onnx-codegen import-onnx`.

    python tools/schemas/release_onnx.py --after 27 --out FILE

    onnx      the version of the package
    releases  by opset: the first release that has it, and its IR version
    snapshot  the text of onnx.txt, as dump_onnx.py writes it
    texts     by version of an operator (`Celu 28`): the lines of its description that differ from the version before
    bodies    by version of an operator: the function that ONNX defines it by
    tests     by version of an operator: calls of ONNX's node tests, as `example`s of opmap or, where those cannot say it, in words
"""

import argparse
import difflib
import importlib
import json
import pkgutil
from pathlib import Path

import onnx
from onnx import defs, helper, printer

import dump_onnx
from node_tests import call

# The most lines of a description, and the most calls, for one operator.
LINES = 40
CALLS = 6


def described(schema):
    """Returns all that a schema says in words, by line."""
    ports = [f"{word} {p.name}: {p.description}" for word, ports in (("input", schema.inputs), ("output", schema.outputs)) for p in ports]
    attributes = [f"attribute {name}: {a.description}" for name, a in sorted(schema.attributes.items())]
    text = "\n".join([schema.doc or "", *ports, *attributes])
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def differences(before, schema):
    """Returns the lines that are new or gone."""
    lines = list(difflib.unified_diff(described(before) if before else [], described(schema), n=0, lineterm=""))
    lines = [line for line in lines if line[:3] not in ("---", "+++") and not line.startswith("@@")]
    rest = len(lines) - LINES
    return lines[:LINES] + ([f"({rest} more lines)"] if rest > 0 else [])


def body(schema):
    """Returns the function that defines an operator, as text."""
    if schema.has_function:
        return printer.to_text(schema.function_body)
    return "it depends on the call" if schema.has_context_dependent_function else None


def modules(operators):
    """Imports the modules of node tests that are named after the operators, which collects their tests."""
    names = {op.lower() for op in operators}
    package = importlib.import_module("onnx.backend.test.case.node")
    for found in pkgutil.iter_modules(package.__path__):
        if found.name.replace("_", "").removesuffix("op") in names or found.name.replace("_", "") in names:
            importlib.import_module(f"{package.__name__}.{found.name}")
    return package._NodeTestCases


def is_about(model, before, schema):
    """Whether a test uses what the version before does not have."""
    node = model.graph.node[0]
    if before is None:
        return True
    dtypes = {types for var in before.type_constraints for types in var.allowed_type_strs}
    given = {f"tensor({onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower()})" for value in model.graph.input}
    return any(a.name not in before.attributes for a in node.attribute) or len(node.input) > len(before.inputs) or not given <= dtypes


def tests(versions):
    """Returns the calls of node tests by version, those about what is new first."""
    found = {}
    for case in modules({schema.name for schema, _ in versions}):
        if case.name.endswith("_expanded") or "_expanded_" in case.name or len(case.model.graph.node) != 1:
            continue
        opset = next((i.version for i in case.model.opset_import if i.domain in ("", "ai.onnx")), 0)
        node = case.model.graph.node[0]
        for schema, before in versions:
            if schema.name == node.op_type and defs.get_schema(node.op_type, opset, "").since_version == schema.since_version:
                entry = (not is_about(case.model, before, schema), case.name, call(case))
                found.setdefault(f"{schema.name} {schema.since_version}", []).append(entry)
    return {key: {"count": len(calls), "calls": [c for _, _, c in sorted(calls, key=lambda e: e[:2])[:CALLS]]} for key, calls in found.items()}


def releases(newest):
    """Returns the first release of each opset. That of an opset without one is this package."""
    table = {}
    for version, ir, opset, *_ in helper.VERSION_TABLE:
        table.setdefault(opset, [version if version.count(".") == 2 else version + ".0", ir])
    table.setdefault(newest, [onnx.__version__, onnx.IR_VERSION])
    return {str(opset): entry for opset, entry in table.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--after", type=int, required=True, help="the newest opset that is known")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    args = parser.parse_args()
    schemas = dump_onnx.all_schemas()
    versions, before = [], {}
    for schema in schemas:
        if schema.since_version > args.after:
            versions.append((schema, before.get(schema.name)))
        before[schema.name] = schema
    keyed = [(f"{s.name} {s.since_version}", s, b) for s, b in versions]
    texts = {key: differences(b, s) for key, s, b in keyed}
    bodies = {key: body(s) for key, s, _ in keyed}
    said = {
        "onnx": onnx.__version__,
        "releases": releases(max(s.since_version for s in schemas)),
        "snapshot": dump_onnx.text(schemas),
        "texts": {key: lines for key, lines in texts.items() if lines},
        "bodies": {key: text for key, text in bodies.items() if text},
        "tests": tests(versions),
    }
    args.out.write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main()
