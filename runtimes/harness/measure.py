"""Runs judged cases in a runtime. What was measured is kept in a file, so that a measurement that was stopped goes on.

A record is of a case as it was: a case that has changed is measured again.
"""
import hashlib
import json
import pickle
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from . import environments, facts_file, verdict
from .cases import DTYPES
from .tensors import dtype_of
from .worker import Worker

# The newest that the exporter writes.
NEWEST_OPSET, NEWEST_IR = 26, 13
# Megabytes of weights. A file has at most 2147.
LARGE = range(0, 2101, 300)
# Dtypes that NumPy lacks, and so the cases of single operators.
OTHER_DTYPES = {"bfloat16": TensorProto.BFLOAT16}


def measure(runtime, cases, seconds=30.0, say=print):
    """Runs the cases that were not measured before. Returns the results of all, by key."""
    results = {}
    if kept(runtime).exists():
        for line in kept(runtime).read_text().splitlines():
            record = json.loads(line)
            results[tuple(record.pop("key"))] = record
    missing = [case for case in cases if results.get(key(case), {}).get("digest") != digest(case)]
    with Worker(runtime, seconds) as worker, tempfile.TemporaryDirectory() as folder, open(kept(runtime), "a") as file:
        at_once = runtime.settings.get("models_at_once", 1)
        for start in range(0, len(missing), at_once):
            if start % 1000 < at_once:
                say(f"{runtime.name}: {start} of {len(missing)} cases")
            cases_now = missing[start : start + at_once]
            paths = [written(case, Path(folder, f"{start + index}.onnx")) for index, case in enumerate(cases_now)]
            if at_once > 1:
                worker.prepare(paths)
            for path, case in zip(paths, cases_now):
                record = {**run(worker, path, case), "digest": digest(case)}
                results[key(case)] = record
                file.write(json.dumps({"key": key(case), **record}) + "\n")
                file.flush()
                path.unlink()
    return {key(case): results[key(case)] for case in cases}


def kept(runtime):
    """The file of what was measured in a runtime."""
    return environments.folder() / f"measured-{runtime.name}-{runtime.version}.jsonl"


def digest(case):
    """Changes with the model, its inputs and the right outputs."""
    return hashlib.sha256(case.model + pickle.dumps((case.inputs, case.expected))).hexdigest()[:12]


def key(case):
    return case.op, case.since, case.dtype, case.form, case.name


def written(case, path):
    """The file of a case, which is written."""
    path.write_bytes(case.model)
    return path


def run(worker, path, case):
    """The verdict on a case, whose model is in a file: right, wrong, refused or failed, and the reason."""
    result = worker.run(path, case.inputs)
    found, reason = result.verdict, result.reason
    if found == "ran":
        found, reason = verdict.compare(result.outputs, case.expected, case.rtol, computes=worker.runtime.computes)
    return {"verdict": found, "reason": reason}


def sample(cases, count, forms, opset, dtypes=None):
    """At most `count` cases of each operator, version, dtype and form; with an opset, only the versions in force in it. An opset and dtypes
    choose among the cases made of onnx's node tests. Those that people write are few."""
    seen = {}
    for case in cases:
        is_written = case.form in facts_file.WRITTEN
        if forms and case.form not in forms:
            continue
        if not is_written and (opset and case.since != in_force(case.op, opset) or dtypes and case.dtype not in dtypes):
            continue
        group = key(case)[:4]
        seen[group] = seen.get(group, 0) + 1
        if count is None or seen[group] <= count:
            yield case


def has_outside(case, dtypes):
    """Whether an input of the model or an output that is right has one of these dtypes."""
    return any(array.dtype.name in dtypes for array in [*case.inputs.values(), *(case.expected or [])])


def in_force(op, opset):
    try:
        return onnx.defs.get_schema(op, opset, "").since_version
    except onnx.defs.SchemaError:
        return None


def limits(runtime):
    """The limits of a runtime. An opset or IR version counts if it adds two tensors with it and does not ignore the axes of a mean."""
    with Worker(runtime) as worker, tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        opsets = [opset for opset in range(9, NEWEST_OPSET + 1) if adds(worker, path, opset, 4) and not ignores_axes(worker, path, opset)]
        oldest = min(opsets, default=0)
        irs = [ir for ir in range(4, NEWEST_IR + 1) if adds(worker, path, oldest, ir)]
        unknown = [name for name, dtype in OTHER_DTYPES.items() if not multiplies(worker, path, dtype)]
        return facts_file.Limits(
            newest_opset=max(opsets, default=0),
            newest_ir=max(irs, default=0),
            lacks_dtypes=unknown,
            lacks_functions=without_functions(worker, path),
            narrows_int64=narrows_int64(worker, path),
            lacks_scalar_outputs=lacks_scalar_outputs(worker, path),
        )


def narrows_int64(worker, path):
    """Whether the runtime adds integers of 64 bits in 32."""
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, [2]) for name in "xyz"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "main", values[:2], values[2:])
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString())
    small, large = np.array([1, 2]), np.array([2**40, 3])
    result = worker.run(path, {"x": small, "y": small})
    if result.verdict != "ran" or verdict.compare(result.outputs, [2 * small])[0] != "right":
        return False
    result = worker.run(path, {"x": large, "y": small})
    return result.verdict == "ran" and verdict.compare(result.outputs, [large + small])[0] != "right"


def lacks_scalar_outputs(worker, path):
    """Whether the negative of a number or of a sum of all elements, or a choice by a minimum, has the shape [1]."""
    negative = helper.make_node("Neg", ["x"], ["y"])
    sum_and_negative = [helper.make_node("ReduceSum", ["x"], ["z"], keepdims=0), helper.make_node("Neg", ["z"], ["y"])]
    choice = [
        helper.make_node("ReduceMin", ["x"], ["least"], keepdims=0),
        helper.make_node("Equal", ["least", "least"], ["is"]),
        helper.make_node("Neg", ["least"], ["negative"]),
        helper.make_node("Where", ["is", "least", "negative"], ["y"]),
    ]
    return any(widens(worker, path, nodes, shape) for nodes, shape in [([negative], ()), (sum_and_negative, (3,)), (choice, (3,))])


def widens(worker, path, nodes, shape):
    """Whether nodes from x to y, which has no dimensions, give an output of the shape [1]."""
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape), helper.make_tensor_value_info("y", TensorProto.FLOAT, [])]
    graph = helper.make_graph(nodes, "main", values[:1], values[1:])
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString())
    result = worker.run(path, {"x": np.ones(shape, "float32")})
    return result.verdict == "ran" and [output.shape for output in result.outputs] == [(1,)]


def lacks_io(runtime):
    """The dtypes that inputs and outputs of a model cannot have."""
    with Worker(runtime) as worker, tempfile.TemporaryDirectory() as folder:
        names = [*DTYPES, *OTHER_DTYPES]
        return [name for name in names if not passes(worker, Path(folder, "model.onnx"), np.array([0, 1], dtype_of(name)))]


def passes(worker, path, array):
    """Whether the runtime takes an array and gives it back."""
    values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), [2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "main", values[:1], values[1:])
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8).SerializeToString())
    result = worker.run(path, {"x": array})
    return result.verdict == "ran" and verdict.compare(result.outputs, [array])[0] == "right"


def most_weights(runtime):
    """The most megabytes of weights with which the runtime runs a chain of products of matrices, or None if it runs what a file can have."""
    with Worker(runtime, 300, 12) as worker, tempfile.TemporaryDirectory() as folder:
        runs, fails = 0, len(LARGE) - 1
        if multiplies_all(worker, Path(folder, "model.onnx"), LARGE[fails]):
            return None
        while fails - runs > 1:
            middle = (runs + fails) // 2
            runs, fails = (middle, fails) if multiplies_all(worker, Path(folder, "model.onnx"), LARGE[middle]) else (runs, middle)
        return LARGE[runs]


def multiplies_all(worker, path, megabytes):
    """Whether the runtime multiplies a row of ones with matrices of so many megabytes."""
    count, side = megabytes // 100, 5000
    weight = np.full((side, side), 1 / side, "float32").tobytes()
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, side]) for name in ("x0", f"x{count}")]
    nodes = [helper.make_node("MatMul", [f"x{index}", f"w{index}"], [f"x{index + 1}"]) for index in range(count)]
    weights = [helper.make_tensor(f"w{index}", TensorProto.FLOAT, [side, side], weight, raw=True) for index in range(count)]
    graph = helper.make_graph(nodes, "main", values[:1], values[1:], weights)
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString())
    result = worker.run(path, {"x0": np.ones((1, side), "float32")})
    return result.verdict == "ran" and verdict.compare(result.outputs, [np.ones((1, side), "float32")])[0] == "right"


def adds(worker, path, opset, ir):
    """Whether the runtime runs an addition of an opset and an IR version."""
    ir = max(ir, 8 if opset > 15 else ir)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xyz"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "main", values[:2], values[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)
    path.write_bytes(model.SerializeToString())
    x = np.array([1, 2], "float32")
    result = worker.run(path, {"x": x, "y": x})
    return result.verdict == "ran" and verdict.compare(result.outputs, [x + x])[0] == "right"


def ignores_axes(worker, path, opset):
    """Whether a mean along one axis has other numbers than it should. The axes are an input from opset 18 on."""
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4]), helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3, 1])]
    is_input = opset >= 18
    node = helper.make_node("ReduceMean", ["x", "axes"] if is_input else ["x"], ["y"], **({} if is_input else {"axes": [2]}))
    axes = [helper.make_tensor("axes", TensorProto.INT64, [1], [2])] if is_input else []
    model = helper.make_model(helper.make_graph([node], "main", values[:1], values[1:], axes), opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    result = worker.run(path, {"x": x})
    return result.verdict == "ran" and verdict.compare(result.outputs, [x.mean(2, keepdims=True)])[0] == "wrong"


def without_functions(worker, path):
    """Why the runtime does not run a model whose only node calls a local function, or None."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xyz"]
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("local", 1)]
    body = helper.make_node("Add", ["a", "b"], ["c"])
    function = helper.make_function("local", "Sum", ["a", "b"], ["c"], [body], opsets[:1])
    graph = helper.make_graph([helper.make_node("Sum", ["x", "y"], ["z"], domain="local")], "main", values[:2], values[2:])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=[function])
    path.write_bytes(model.SerializeToString())
    x = np.array([1, 2], "float32")
    result = worker.run(path, {"x": x, "y": x})
    if result.verdict != "ran":
        return facts_file.short(result.reason)
    found, reason = verdict.compare(result.outputs, [x + x])
    return None if found == "right" else reason


def multiplies(worker, path, dtype):
    """Whether the runtime runs a product of matrices in a dtype, with a weight and a number of it, between inputs and outputs of float32."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in "xy"]
    numbers = np.array([1, 2, 3, 4], helper.tensor_dtype_to_np_dtype(dtype))
    weight = helper.make_tensor("w", dtype, [2, 2], numbers.tobytes(), raw=True)
    factor = helper.make_tensor("s", dtype, [], numbers[1:2].tobytes(), raw=True)
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], to=dtype),
        helper.make_node("MatMul", ["a", "w"], ["b"]),
        helper.make_node("Mul", ["b", "s"], ["c"]),
        helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT),
    ]
    graph = helper.make_graph(nodes, "main", values[:1], values[1:], [weight, factor])
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString())
    x = np.array([[1, 2], [0, 4]], "float32")
    result = worker.run(path, {"x": x})
    return result.verdict == "ran" and verdict.compare(result.outputs, [x @ np.array([[2, 4], [6, 8]], "float32")])[0] == "right"
