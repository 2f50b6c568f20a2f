"""Judges mappings/operators.toml: what it says of ONNX's operators must hold in ONNX's reference evaluator, for drawn inputs.

Usage: python tests/operators/facts.py FACTS.json, where FACTS.json is an array of entries as the test `operators` writes them. Prints how many
facts were compared, and each that does not hold.
"""

import json
import re
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

# The reference evaluator does not broadcast the inputs of these.
BY_RUNTIME = {"Mean"}
RANDOM = np.random.default_rng(0)
OPSET = max(version for (domain, version) in helper.OP_SET_ID_VERSION_MAP if domain == "ai.onnx")
DTYPES = {
    "tensor(float)": (TensorProto.FLOAT, np.float32),
    "tensor(double)": (TensorProto.DOUBLE, np.float64),
    "tensor(int64)": (TensorProto.INT64, np.int64),
    "tensor(uint8)": (TensorProto.UINT8, np.uint8),
    "tensor(bool)": (TensorProto.BOOL, np.bool_),
    "tensor(string)": (TensorProto.STRING, np.object_),
}


def run(op, inputs, attrs, outputs=1):
    """The results of one node on arrays; None is an absent input."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], **attrs)
    given = {name: x for name, x in zip(names, inputs) if x is not None}
    code = {np.dtype(dtype): number for number, dtype in DTYPES.values()}
    typed = [helper.make_tensor_value_info(name, code[x.dtype], None) for name, x in given.items()]
    results = [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)]
    graph = helper.make_graph([node], "one", typed, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    if op in BY_RUNTIME:
        model.ir_version, model.opset_import[0].version = 7, 13
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, given)
    return ReferenceEvaluator(model).run(None, given)


def drawn(dtype, shape, low=-2.0, high=2.0):
    """An array of a dtype."""
    if dtype == np.bool_:
        return RANDOM.random(shape) < 0.5
    if dtype == np.object_:
        return RANDOM.integers(0, 9, shape).astype(str).astype(np.object_)
    if dtype == np.uint8:
        return RANDOM.integers(1, 5, shape).astype(dtype)
    if dtype == np.int64:
        numbers = RANDOM.integers(1, 9, shape)
        return (numbers * np.where(RANDOM.random(shape) < 0.5, -1, 1)).astype(dtype)
    return RANDOM.uniform(low, high, shape).astype(dtype)


def allowed(schema, port):
    """The dtype to draw for a port: the first of those above that it takes."""
    types = {t.type_param_str: t.allowed_type_strs for t in schema.type_constraints}
    names = types.get(port.type_str, [port.type_str])
    # Whole numbers cannot be told from truth values by what a mask computes of them.
    return next((dtype for name, (_, dtype) in DTYPES.items() if name in names), None)


# Attributes and positive inputs that elementwise operators need.
ATTRS = {
    "BitShift": {"direction": "LEFT"},
    "BitCast": {"to": TensorProto.FLOAT},
    "Cast": {"to": TensorProto.INT64},
    "RegexFullMatch": {"pattern": "[0-4]"},
}
FROM = {"Acosh": 1.0, "Log": 0.1, "Sqrt": 0.0, "Pow": 0.1}
UNIT = {"Acos", "Asin", "Atanh"}


def elementwise_call(op, schema, shapes):
    """Arguments of an elementwise operator with a tensor of each shape, by port."""
    inputs, dtypes = [], {}
    for i, shape in enumerate(shapes):
        port = schema.inputs[min(i, len(schema.inputs) - 1)]
        dtype = dtypes.setdefault(port.type_str, allowed(schema, port))
        if op == "BitShift":
            dtype = np.uint8
        low, high = FROM.get(op, -0.9 if op in UNIT else -2.0), 0.9 if op in UNIT else 2.0
        inputs.append(drawn(dtype, shape, low, high))
    return inputs


def operands(op, schema, facts):
    """How many inputs with dimensions an elementwise operator is called with."""
    if op == "Clip":
        return 1
    if schema.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
        return 3 if len(schema.inputs) == 1 else len(schema.inputs)
    return 1 if op == "CastLike" else len(schema.inputs)


def same(a, b):
    if a.dtype == np.object_ or a.dtype == np.bool_:
        return a.shape == b.shape and bool((a == b).all())
    return a.shape == b.shape and np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-5, atol=1e-6, equal_nan=True)


def rest(op):
    """Inputs after the ones with dimensions."""
    if op == "Clip":
        return [np.float32(-0.5).reshape(()), np.float32(0.5).reshape(())]
    return [np.zeros((), np.float64)] if op == "CastLike" else []


def check_elementwise(op, schema, facts):
    """The elements in another order give the results in this order, and broadcast inputs those of the broadcast ones."""
    count = operands(op, schema, facts)
    shape = (2, 3, 4)
    inputs = elementwise_call(op, schema, [shape] * count)
    attrs = ATTRS.get(op, {})
    (whole,) = run(op, inputs + rest(op), attrs)
    order = RANDOM.permutation(24)
    (moved,) = run(op, [x.reshape(-1)[order] for x in inputs] + rest(op), attrs)
    assert same(whole.reshape(-1)[order], moved), "an element depends on its place"
    if facts["shape"] in ("broadcast", "broadcast to first") and count > 1:
        shapes = [shape, (3, 1), (4,), ()][:count]
        small = elementwise_call(op, schema, shapes[::-1] if facts["shape"] == "broadcast" else shapes)
        (left,) = run(op, small, attrs)
        wide = [np.ascontiguousarray(np.broadcast_to(x, shape)) for x in small]
        (right,) = run(op, wide, attrs)
        assert same(left, right), "it does not broadcast"


FUNCTIONS = {
    "abs": np.abs,
    "add": lambda *xs: sum(xs),
    "and": np.logical_and,
    "bit and": np.bitwise_and,
    "bit or": np.bitwise_or,
    "bit xor": np.bitwise_xor,
    "shift": np.left_shift,
    "choose": np.where,
    "clip": lambda x: np.clip(x, np.float32(-0.5), np.float32(0.5)),
    "ceil": np.ceil,
    "cos": np.cos,
    "div": lambda a, b: a / b,
    "equal": np.equal,
    "exp": np.exp,
    "floor": np.floor,
    "greater": np.greater,
    "greater or equal": np.greater_equal,
    "infinite": np.isinf,
    "less": np.less,
    "less or equal": np.less_equal,
    "log": np.log,
    "max": lambda *xs: np.stack(xs).max(0),
    "min": lambda *xs: np.stack(xs).min(0),
    "mod": np.mod,
    "mul": np.multiply,
    "neg": np.negative,
    "not": np.logical_not,
    "or": np.logical_or,
    "pow": np.power,
    "reciprocal": np.reciprocal,
    "relu": lambda x: np.maximum(x, 0),
    "round": np.rint,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sign": np.sign,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "sub": np.subtract,
    "tanh": np.tanh,
    "xor": np.logical_xor,
}


def check_computes(op, schema, facts):
    """The function of each element."""
    inputs = elementwise_call(op, schema, [(2, 3, 4)] * operands(op, schema, facts))
    if op == "Mod":
        inputs = [drawn(np.int64, (2, 3, 4)) for _ in inputs]
    if op == "IsInf":
        inputs[0][0] = np.inf
    (result,) = run(op, inputs + rest(op), ATTRS.get(op, {}))
    expected = np.asarray(FUNCTIONS[facts["computes"]](*inputs))
    assert same(result, expected), f"it does not compute `{facts['computes']}`"


def check_combines(op, schema, facts):
    """The function that joins the elements along an axis."""
    x = drawn(np.float32, (2, 3, 4))
    ufunc = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[facts["combines"]]
    if facts["shape"] == "reduce":
        (result,) = run(op, [x, np.array([1], np.int64)], {"keepdims": 0})
        expected = ufunc.reduce(x, axis=1)
    else:
        (result,) = run(op, [x, np.array(1, np.int64)], {})
        expected = ufunc.accumulate(x, axis=1)
    assert same(result, expected), f"it does not combine by `{facts['combines']}`"


I = lambda *numbers: np.array(numbers, np.int64)  # noqa: E731
# A call of each operator that is no function of single elements: inputs of which each is a shape to draw or an array, and attributes.
CALLS = {
    "Compress": ([(3, 4), np.array([True, False, True])], {"axis": 0}),
    "Concat": ([(2, 3), (1, 3)], {"axis": 0}),
    "CumSum": ([(2, 3), np.array(1, np.int64)], {}),
    "DepthToSpace": ([(1, 8, 2, 3)], {"blocksize": 2}),
    "Expand": ([(3, 1), I(2, 3, 4)], {}),
    "Flatten": ([(2, 3, 4)], {"axis": 1}),
    "Gather": ([(3, 4), I(2, 0, 1)], {"axis": 1}),
    "GatherElements": ([(3, 4), np.array([[0, 2, 1, 0], [1, 0, 0, 2]], np.int64)], {"axis": 0}),
    "GatherND": ([(3, 4), np.array([[0, 2], [1, 0]], np.int64)], {}),
    "Identity": ([(2, 3)], {}),
    "Pad": ([(2, 3), I(0, 1, 1, 0), ()], {"mode": "constant"}),
    "ReduceMean": ([(2, 3, 4), I(1)], {}),
    "ReduceSum": ([(2, 3, 4), I(1)], {}),
    "Reshape": ([(2, 3), I(3, 2)], {}),
    "ReverseSequence": ([(4, 3), I(1, 4, 2)], {}),
    "ScatterElements": ([(3, 4), np.array([[0, 2]], np.int64), (1, 2)], {}),
    "ScatterND": ([(3, 4), np.array([[1], [0]], np.int64), (2, 4)], {}),
    "Slice": ([(3, 4), I(1), I(3), I(1)], {}),
    "SpaceToDepth": ([(1, 2, 4, 6)], {"blocksize": 2}),
    "Split": ([(4, 3), I(4)], {}),
    "Squeeze": ([(2, 1, 3), I(1)], {}),
    "Tile": ([(2, 3), I(2, 1)], {}),
    "Transpose": ([(2, 3, 4)], {"perm": [2, 0, 1]}),
    "Trilu": ([(4, 4)], {}),
    "Unsqueeze": ([(2, 3), I(1)], {}),
    "Where": ([np.array([[True], [False]]), (2, 3), (2, 3)], {}),
    "Conv": ([(1, 2, 5, 5), (3, 2, 2, 2)], {}),
    "ConvTranspose": ([(1, 2, 5, 5), (2, 3, 2, 2)], {}),
    "Einsum": ([(2, 3), (3, 4)], {"equation": "ij,jk->ik"}),
    "Gemm": ([(2, 3), (3, 4)], {}),
    "MatMul": ([(2, 3), (3, 4)], {}),
}


def call_of(op, schema):
    """The inputs of a call, where each drawn tensor of the result's type variable is a shape, and the attributes."""
    if op in CALLS:
        return CALLS[op]
    count = operands(op, schema, {})
    return [(2, 3, 4)] * count, ATTRS.get(op, {})


def filled(parts, make):
    return [make(part) if isinstance(part, tuple) else part for part in parts]


def check_linear(op, schema, facts):
    """f(2x - 3y) = 2 f(x) - 3 f(y), in all drawn inputs together or in each of the first two."""
    parts, attrs = call_of(op, schema)
    draw = lambda shape: drawn(np.float32, shape)  # noqa: E731
    places = [[0], [1]] if facts["linear"] == "each" else [[i for i, part in enumerate(parts) if isinstance(part, tuple)]]
    for varied in places:
        x, y = filled(parts, draw), filled(parts, draw)
        y = [b if i in varied else a for i, (a, b) in enumerate(zip(x, y))]
        both = [2 * a - 3 * b if i in varied else a for i, (a, b) in enumerate(zip(x, y))]
        (fx,), (fy,), (fboth,) = run(op, x, attrs), run(op, y, attrs), run(op, both, attrs)
        assert np.allclose(2 * fx - 3 * fy, fboth, rtol=1e-4, atol=1e-4), f"it is not linear in {varied}"


SEQUENCES = {"ConcatFromSequence", "SequenceConstruct", "SplitToSequence"}


def elements(result):
    return set(np.concatenate([np.asarray(part).reshape(-1) for part in result]).tolist()) if isinstance(result, list) else set(np.asarray(result).reshape(-1).tolist())


def check_moves(op, schema, facts):
    """Each element of the result is one of these inputs, or 0; and none of the other inputs' is."""
    if op == "SequenceConstruct":
        parts, attrs = [(2,), (3,)], {}
    elif op == "SplitToSequence":
        parts, attrs = [(4, 2), I(2, 2)], {}
    elif op == "ConcatFromSequence":
        return  # Its input is no array: `Concat` stands for it.
    else:
        parts, attrs = call_of(op, schema)
    numbers = iter((RANDOM.permutation(1000) + 10) * np.where(np.arange(1000) % 2, -1, 1))
    inputs = filled(parts, lambda shape: np.array([next(numbers) for _ in range(int(np.prod(shape)))], np.float32).reshape(shape))
    (result,) = run(op, inputs, attrs)
    last = len(schema.inputs) - 1
    moved = set().union(*[elements(x) for i, x in enumerate(inputs) if min(i, last) in facts["moves"]])
    assert elements(result) <= moved | {0.0}, "there are other elements"


LIKE_FIRST = {"first", "broadcast to first", "both", "cast", "bit cast", "cast like", "dropout", "scatter elements", "scatter nd", "reverse sequence"}


def check_shape(op, schema, facts):
    """The result has the sizes of the first input, for those that say so and whose call can be made here."""
    parts, attrs = call_of(op, schema)
    dtypes = [allowed(schema, schema.inputs[min(i, len(schema.inputs) - 1)]) for i in range(len(parts))]
    inputs = [drawn(dtype, part) if isinstance(part, tuple) else part for dtype, part in zip(dtypes, parts)]
    (result,) = run(op, inputs + (rest(op) if op not in CALLS else []), attrs)
    assert result.shape == inputs[0].shape, f"the sizes are {result.shape}, not {inputs[0].shape}"


def check_not_elementwise(op, schema, facts):
    """An operator that does not say that it is elementwise depends on the order of its elements."""
    inputs = elementwise_call(op, schema, [(3, 4)])
    (whole,) = run(op, inputs, {})
    order = RANDOM.permutation(12)
    (moved,) = run(op, [inputs[0].reshape(-1)[order].reshape(3, 4)], {})
    if not same(whole.reshape(-1)[order].reshape(3, 4), moved):
        return
    raise AssertionError("it is elementwise, and does not say so")


# They take images only.
OF_IMAGES = {"LRN", "MeanVarianceNormalization"}


def check_values(op, schema, facts):
    """Each word stands in ONNX's documentation of the attribute in some version, and defaults are among the values."""
    versions = [s for s in onnx.defs.get_all_schemas_with_history() if s.name == op and s.domain == ""]
    for name, values in facts["values"].items():
        known = [(s, s.attributes[name]) for s in versions if name in s.attributes]
        text = " ".join(attribute.description + s.doc for s, attribute in known)
        for version, attribute in known:
            # The oldest GRU has a misspelled default.
            is_old = op == "GRU" and version.since_version < schema.since_version
            given = attribute.default_value if attribute.default_value.name and not is_old else None
            default = None if given is None else helper.get_attribute_value(given)
            if isinstance(values, dict):
                assert default is None or values["first"] <= default <= values["last"], f"{name} = {default} by default"
            elif isinstance(default, bytes):
                assert default.decode() in values, f"{name} = {default} by default"
        missing = [] if isinstance(values, dict) else [word for word in values if not re.search(rf"\b{word}\b", text)]
        assert not missing, f"ONNX's documentation of {name} has no {missing}"


def checks_of(facts, schema):
    single = len(schema.inputs) == 1 and schema.inputs[0].option == onnx.defs.OpSchema.FormalParameterOption.Single
    if facts["elementwise"]:
        yield check_elementwise
    elif single and facts["shape"] == "first" and facts["op"] not in OF_IMAGES:
        yield check_not_elementwise
    if facts["computes"]:
        yield check_computes
    if facts["combines"]:
        yield check_combines
    if facts["linear"] != "no":
        yield check_linear
    if facts["moves"]:
        yield check_moves
    if facts["shape"] in LIKE_FIRST and (facts["elementwise"] or facts["op"] in CALLS):
        yield check_shape
    if facts["values"]:
        yield check_values


def main():
    np.seterr(all="ignore")
    compared, wrong = 0, []
    for facts in json.load(open(sys.argv[1])):
        op = facts["op"]
        schema = onnx.defs.get_schema(op, OPSET)
        if schema.deprecated:
            continue
        for check in checks_of(facts, schema):
            compared += 1
            try:
                check(op, schema, facts)
            except Exception as error:  # noqa: BLE001
                wrong.append(f"{op}: {check.__name__}: {type(error).__name__}: {error}")
    print(compared, "facts")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
