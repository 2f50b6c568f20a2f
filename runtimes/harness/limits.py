"""What a runtime takes of all operators, by models that differ in nothing else: opsets, IR versions, dtypes, weights, shapes of inputs and outputs."""
import tempfile
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

from . import facts_file, verdict
from .cases import DTYPES
from .tensors import dtype_of
from .worker import Worker

# The newest that the exporter writes.
NEWEST_OPSET, NEWEST_IR = 26, 13
# Megabytes of weights. A file has at most 2147.
LARGE = range(0, 2101, 300)
# Dtypes of initializers that only operators read: float32 and int64 are also those of shapes and weights.
CONSTANTS = [name for name in DTYPES if name not in ("float32", "int64")]
# Dtypes that NumPy lacks, and so the cases of single operators.
OTHER_DTYPES = {"bfloat16": TensorProto.BFLOAT16}


def measured(runtime):
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
            lacks_constants=[name for name in CONSTANTS if not loads(worker, path, dtype_of(name))],
            lacks_functions=without_functions(worker, path),
            narrows_int64=narrows_int64(worker, path),
            widens_int32=widens_int32(worker, path),
            lacks_scalar_outputs=lacks_scalar_outputs(worker, path),
            lacks_empty_outputs=lacks_empty_outputs(worker, path),
            lacks_scalar_inputs=without_scalar_inputs(worker, path),
            lacks_constant_outputs=without_constant_outputs(worker, path),
            drops_inputs=drops_inputs(worker, path),
        )


def run(worker, path, nodes, inputs, output, opset=13, ir=8, functions=(), initializers=()):
    """Runs nodes in a model whose output `y` has the dtype and shape of an array. Returns the result, its verdict, and the reason."""
    values = [value(name, array) for name, array in inputs.items()]
    graph = helper.make_graph(nodes, "main", values, [value("y", output)], list(initializers))
    domains = ["", *sorted({function.domain for function in functions})]
    opsets = [helper.make_opsetid(domain, 1 if domain else opset) for domain in domains]
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=ir, functions=functions).SerializeToString())
    result = worker.run(path, inputs)
    if result.verdict != "ran":
        return result, result.verdict, facts_file.short(result.reason)
    return result, *verdict.compare(result.outputs, [output])


def value(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def adds(worker, path, opset, ir):
    """Whether the runtime runs an addition of an opset and an IR version."""
    x = np.array([1, 2], "float32")
    nodes = [helper.make_node("Add", ["x", "z"], ["y"])]
    _, found, _ = run(worker, path, nodes, {"x": x, "z": x}, x + x, opset, max(ir, 8 if opset > 15 else ir))
    return found == "right"


def ignores_axes(worker, path, opset):
    """Whether a mean along one axis has other numbers than it should. The axes are an input from opset 18 on."""
    is_input = opset >= 18
    node = helper.make_node("ReduceMean", ["x", "axes"] if is_input else ["x"], ["y"], **({} if is_input else {"axes": [2]}))
    axes = [helper.make_tensor("axes", TensorProto.INT64, [1], [2])] if is_input else []
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    _, found, _ = run(worker, path, [node], {"x": x}, x.mean(2, keepdims=True), opset, initializers=axes)
    return found == "wrong"


def multiplies(worker, path, dtype):
    """Whether the runtime runs a product of matrices in a dtype, with a weight and a number of it, between inputs and outputs of float32."""
    numbers = np.array([1, 2, 3, 4], helper.tensor_dtype_to_np_dtype(dtype))
    weight = helper.make_tensor("w", dtype, [2, 2], numbers.tobytes(), raw=True)
    factor = helper.make_tensor("s", dtype, [], numbers[1:2].tobytes(), raw=True)
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], to=dtype),
        helper.make_node("MatMul", ["a", "w"], ["b"]),
        helper.make_node("Mul", ["b", "s"], ["c"]),
        helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT),
    ]
    x = np.array([[1, 2], [0, 4]], "float32")
    expected = x @ np.array([[2, 4], [6, 8]], "float32")
    _, found, _ = run(worker, path, nodes, {"x": x}, expected, initializers=[weight, factor])
    return found == "right"


def loads(worker, path, dtype):
    """Whether an initializer of a dtype can be given back, converted to float32, or dequantized."""
    constant = np.array([0, 1], dtype)
    numbers = np.array([0, 1], "float32")
    initializer = helper.make_tensor("w", helper.np_dtype_to_tensor_dtype(constant.dtype), [2], constant.tobytes(), raw=True)
    half = helper.make_tensor("half", TensorProto.FLOAT, [], [0.5])
    add = helper.make_node("Add", ["x", "z"], ["y"])
    ways = [
        (helper.make_node("Identity", ["w"], ["y"]), {}, constant, []),
        (helper.make_node("Cast", ["w"], ["z"], to=TensorProto.FLOAT), {"x": numbers}, numbers + numbers, [add]),
        (helper.make_node("DequantizeLinear", ["w", "half"], ["z"]), {"x": numbers}, numbers * 1.5, [add]),
    ]
    return any(run(worker, path, [node, *more], inputs, output, initializers=[initializer, half])[1] == "right" for node, inputs, output, more in ways)


def without_functions(worker, path):
    """Why the runtime does not run a model whose only node calls a local function, or None."""
    body = helper.make_node("Add", ["a", "b"], ["c"])
    function = helper.make_function("local", "Sum", ["a", "b"], ["c"], [body], [helper.make_opsetid("", 13)])
    x = np.array([1, 2], "float32")
    call = helper.make_node("Sum", ["x", "z"], ["y"], domain="local")
    _, found, reason = run(worker, path, [call], {"x": x, "z": x}, x + x, functions=[function])
    return None if found == "right" else reason


def narrows_int64(worker, path):
    """Whether the runtime adds integers of 64 bits in 32."""
    nodes = [helper.make_node("Add", ["x", "z"], ["y"])]
    small, large = np.array([1, 2]), np.array([2**40, 3])
    _, of_small, _ = run(worker, path, nodes, {"x": small, "z": small}, 2 * small)
    _, of_large, _ = run(worker, path, nodes, {"x": large, "z": small}, large + small)
    return of_small == "right" and of_large == "wrong"


def widens_int32(worker, path):
    """Whether integers that are converted to 32 bits have 64."""
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT32)
    result, _, _ = run(worker, path, [node], {"x": np.array([1, 2])}, np.array([1, 2], "int32"))
    return result.verdict == "ran" and [output.dtype.name for output in result.outputs] == ["int64"]


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
    result, _, _ = run(worker, path, nodes, {"x": np.ones(shape, "float32")}, np.zeros((), "float32"))
    return result.verdict == "ran" and [output.shape for output in result.outputs] == [(1,)]


def lacks_empty_outputs(worker, path):
    """Whether a constant or a part without elements has another shape as an output."""
    nothing = np.zeros(0, "float32")
    constant = helper.make_tensor("w", TensorProto.FLOAT, [0], b"", raw=True)
    numbers = {"from": 1, "to": 1, "axis": 0, "step": 2}
    bounds = [helper.make_tensor(name, TensorProto.INT64, [1], [number]) for name, number in numbers.items()]
    given = {"x": np.ones(3, "float32")}
    ways = [
        ([helper.make_node("Identity", ["w"], ["y"])], {}, [constant]),
        ([helper.make_node("Slice", ["x", *numbers], ["y"])], given, bounds),
    ]
    found = [run(worker, path, nodes, inputs, nothing, initializers=initializers)[0] for nodes, inputs, initializers in ways]
    return any(result.verdict == "ran" and [output.shape for output in result.outputs] != [nothing.shape] for result in found)


def without_scalar_inputs(worker, path):
    """Why the runtime does not add an input without dimensions to a tensor, or None."""
    x, z = np.array([[1, 2, 3]], "float32"), np.array(2, "float32")
    _, found, reason = run(worker, path, [helper.make_node("Add", ["x", "z"], ["y"])], {"x": x, "z": z}, x + z)
    return None if found == "right" else reason


def without_constant_outputs(worker, path):
    """Why the runtime does not give an output that is a constant beside one that is not, or None."""
    x = np.array([1, 2], "float32")
    weight = helper.make_tensor("w", TensorProto.FLOAT, [2], x.tobytes(), raw=True)
    nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Identity", ["w"], ["z"])]
    graph = helper.make_graph(nodes, "main", [value("x", x)], [value("y", x), value("z", x)], [weight])
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString())
    result = worker.run(path, {"x": x})
    if result.verdict != "ran":
        return facts_file.short(result.reason)
    return None if verdict.compare(result.outputs, [-x, x])[0] == "right" else "it is another"


def drops_inputs(worker, path):
    """Whether the runtime takes the first of two inputs in place of the second, if no node reads the first."""
    x, z = np.array([1, 2], "float32"), np.array([3, 4], "float32")
    result, found, _ = run(worker, path, [helper.make_node("Neg", ["z"], ["y"])], {"x": x, "z": z}, -z)
    return found == "wrong" and verdict.compare(result.outputs, [-x])[0] == "right"


def lacks_io(runtime):
    """The dtypes that inputs and outputs of a model cannot have."""
    with Worker(runtime) as worker, tempfile.TemporaryDirectory() as folder:
        names = [*DTYPES, *OTHER_DTYPES]
        return [name for name in names if not passes(worker, Path(folder, "model.onnx"), np.array([0, 1], dtype_of(name)))]


def passes(worker, path, array):
    """Whether the runtime takes an array and gives it back."""
    _, found, _ = run(worker, path, [helper.make_node("Identity", ["x"], ["y"])], {"x": array}, array, opset=16)
    return found == "right"


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
    names = [f"x{index}" for index in range(count)] + ["y"]
    nodes = [helper.make_node("MatMul", [names[index], f"w{index}"], [names[index + 1]]) for index in range(count)]
    weights = [helper.make_tensor(f"w{index}", TensorProto.FLOAT, [side, side], weight, raw=True) for index in range(count)]
    ones = np.ones((1, side), "float32")
    _, found, _ = run(worker, path, nodes, {"x0": ones}, ones, initializers=weights)
    return found == "right"
