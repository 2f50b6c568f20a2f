"""Tests `aten2onnx convert` with sequences in loops and branches, at opsets whose loops and branches carry only tensors.

    sequences.py PATH-OF-aten2onnx
"""
import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

import harness
from harness import convert, model, run, sequence, value

OPSETS = (9, 11, 12)


def agree(source, all_feeds, opsets=OPSETS):
    """The results of the converted models are those of the source, lists included, for each of these inputs."""
    for opset in opsets:
        made = convert(source, opset)
        for feeds in all_feeds:
            for a, b in zip(run(source, feeds), run(made, feeds), strict=True):
                pairs = list(zip(a, b, strict=True)) if isinstance(a, list) else [(a, b)]
                for left, right in pairs:
                    assert left.shape == right.shape and left.dtype == right.dtype and np.array_equal(left, right), (opset, a, b)


def loop(nodes, carried, extra=(), declared=None):
    """The body of a Loop: nodes that make `next` of the sequence `s`, and scan outputs."""
    taken = [value("i", T.INT64, ()), value("go", T.BOOL, ()), sequence("s", declared, carried)]
    given = [value("on", T.BOOL, ()), sequence("next", None, carried), *extra]
    return h.make_graph([h.make_node("Identity", ["go"], ["on"]), *nodes], "body", taken, given)


def constants(**numbers):
    return [nh.from_array(np.array(n), name) for name, n in numbers.items()]


def ints(name, shape=()):
    return value(name, T.INT64, shape)


def prefixes(n=5):
    """A loop that collects longer and longer parts of `x`, and the length of each."""
    nodes = [h.make_node("Add", ["i", "one"], ["end"]), h.make_node("Unsqueeze", ["end", "zeros"], ["ends"]),
             h.make_node("Slice", ["x", "zeros", "ends"], ["part"]), h.make_node("SequenceInsert", ["s", "part"], ["next"]), h.make_node("Shape", ["part"], ["size"])]
    return loop(nodes, T.FLOAT, [ints("size", (1,))]), [*constants(one=1, zeros=[0], n=n), nh.from_array(np.array(0), "zero")]


def check_sequences_that_grow():
    body, weights = prefixes()
    nodes = [h.make_node("SequenceEmpty", [], ["empty"]), h.make_node("Loop", ["n", "", "empty"], ["parts", "sizes"], body=body),
             h.make_node("SequenceAt", ["parts", "k"], ["y"]), h.make_node("SequenceLength", ["parts"], ["count"]), h.make_node("ConcatFromSequence", ["parts"], ["all"], axis=0)]
    outputs = [value("y", shape=("m",)), ints("count"), value("all", shape=("a",)), ints("sizes", ("l", 1))]
    source = model(nodes, [value("x", shape=("w",)), ints("k")], outputs, weights)
    agree(source, [{"x": np.arange(7, dtype=np.float32), "k": np.array(k)} for k in (0, 3, -1, -5)])
    # The sequence itself is an output.
    source = model(nodes[:2], [value("x", shape=("w",))], [sequence("parts", None), ints("sizes", ("l", 1))], weights)
    agree(source, [{"x": np.arange(7, dtype=np.float32)}], (12,))
    assert "have no sequences" in convert(source, 10, fails=5)


def check_stacked_results():
    """What TorchScript makes of `ys.append(x[i]); torch.stack(ys)`, with a trip count that the model computes."""
    nodes = [h.make_node("Gather", ["x", "i"], ["row"]), h.make_node("Mul", ["row", "row"], ["square"]), h.make_node("SequenceInsert", ["s", "square"], ["next"])]
    body = loop(nodes, T.FLOAT)
    feeds = [{"x": np.random.default_rng(1).standard_normal((4, 3, 2)).astype(np.float32), "n": np.array(n)} for n in (1, 3)]
    for axis, opset in ((0, 9), (1, 11), (-1, 12)):
        outer = [h.make_node("SequenceEmpty", [], ["empty"]), h.make_node("Loop", ["n", "", "empty"], ["rows"], body=body),
                 h.make_node("ConcatFromSequence", ["rows"], ["y"], axis=axis, new_axis=1)]
        source = model(outer, [value("x", shape=("k", 3, 2)), ints("n")], [value("y", shape=("a", "b", "c"))])
        agree(source, feeds, (opset,))
    for axis, opset in ((0, 9), (1, 11), (-1, 9)):
        outer[-1] = h.make_node("ConcatFromSequence", ["rows"], ["y"], axis=axis)
        source = model(outer, [value("x", shape=("k", 3, 2)), ints("n")], [value("y", shape=("a", "b"))])
        agree(source, feeds, (opset,))
    source = model(outer[:2], [value("x", shape=("k", 3, 2)), ints("n")], [sequence("rows", None)])
    agree(source, [*feeds, {**feeds[0], "n": np.array(0)}], (11,))


def check_every_operator():
    """Insertions before positions, removals, elements of earlier rounds; elements without dimensions."""
    nodes = [
        h.make_node("SequenceLength", ["s"], ["length"]), h.make_node("SequenceAt", ["s", "last"], ["end"]), h.make_node("SequenceAt", ["s", "i"], ["other"]),
        h.make_node("Add", ["end", "other"], ["sum"]), h.make_node("SequenceInsert", ["s", "sum", "i"], ["a"]), h.make_node("SequenceInsert", ["a", "sum", "last"], ["b"]),
        h.make_node("SequenceErase", ["b", "i"], ["c"]), h.make_node("SequenceInsert", ["c", "x"], ["d"]), h.make_node("SequenceErase", ["d", "last"], ["e"]),
        h.make_node("SequenceInsert", ["e", "other"], ["f"]), h.make_node("SequenceErase", ["f"], ["next"]),
    ]
    for shape, dtype in (((), np.int64), ((2,), np.float32), ((2, 3), np.float64)):
        code = h.np_dtype_to_tensor_dtype(np.dtype(dtype))
        body = loop(nodes, code, [ints("length")])
        outer = [h.make_node("SequenceConstruct", ["x", "y"], ["first"]), h.make_node("Loop", ["n", "", "first"], ["items", "lengths"], body=body),
                 h.make_node("SequenceAt", ["items", "k"], ["z"])]
        inputs = [value("x", code, shape), value("y", code, shape), ints("k")]
        source = model(outer, inputs, [value("z", code, shape), ints("lengths", ("l",))], constants(n=4, last=-1))
        feeds = {"x": np.full(shape, 2, dtype), "y": (np.arange(np.prod(shape)) + 3).reshape(shape).astype(dtype)}
        agree(source, [{**feeds, "k": np.array(k)} for k in (0, 2, -2)], (9, 11))
        source = model(outer[:2], inputs[:2], [sequence("items", shape, code), ints("lengths", ("l",))], constants(n=4, last=-1))
        agree(source, [feeds], (12,))


def check_sequences_from_outside():
    """Inputs of the model, and pieces of a tensor, enter and leave the loop; a body reads one that the loop does not carry."""
    nodes = [h.make_node("SequenceAt", ["other", "i"], ["item"]), h.make_node("SequenceInsert", ["s", "item"], ["next"])]
    lists = [np.arange(n, dtype=np.float32) for n in (2, 3, 1)]
    outer = [h.make_node("SplitToSequence", ["x", "lengths"], ["other"], axis=0), h.make_node("Loop", ["n", "", "given"], ["all"], body=loop(nodes, T.FLOAT))]
    source = model(outer, [sequence("given", ("k",)), value("x", shape=(5,))], [sequence("all", None)], constants(lengths=[2, 3], n=2))
    agree(source, [{"given": given, "x": np.arange(5, dtype=np.float32)} for given in (lists, lists[:1], [])], (11,))
    message = convert(source, 10, fails=5)
    assert "passes on this sequence needs opset 13" in message, message


def check_nested_bodies():
    """A branch in a loop in a loop."""
    def branch(name, node):
        return h.make_graph([node], name, [], [sequence(name, None)])
    yes = branch("yes", h.make_node("SequenceInsert", ["t", "x"], ["yes"]))
    no = branch("no", h.make_node("Identity", ["t"], ["no"]))
    inner_nodes = [h.make_node("Identity", ["g"], ["h"]), h.make_node("Mod", ["j", "two"], ["odd"]), h.make_node("Cast", ["odd"], ["is_odd"], to=T.BOOL),
                   h.make_node("If", ["is_odd"], ["u"], then_branch=yes, else_branch=no)]
    inner = h.make_graph(inner_nodes, "inner", [ints("j"), value("g", T.BOOL, ()), sequence("t", None)], [value("h", T.BOOL, ()), sequence("u", None)])
    body = loop([h.make_node("Loop", ["n", "", "s"], ["next"], body=inner)], T.FLOAT)
    outer = [h.make_node("SequenceEmpty", [], ["empty"]), h.make_node("Loop", ["n", "", "empty"], ["all"], body=body), h.make_node("SequenceLength", ["all"], ["y"])]
    source = model(outer, [value("x", shape=("k",))], [ints("y")], constants(n=5, two=2))
    agree(source, [{"x": np.ones(3, np.float32)}], (9, 11))


def check_branches():
    def branch(*items):
        return h.make_graph([h.make_node("SequenceConstruct", list(items), ["items"])], "branch", [], [sequence("items", None)])
    empty = h.make_graph([h.make_node("SequenceEmpty", [], ["items"])], "none", [], [sequence("items", None)])
    split = h.make_graph([h.make_node("SplitToSequence", ["x"], ["items"], keepdims=0)], "split", [], [sequence("items", None)])
    inputs = [value("c", T.BOOL, ()), value("x", shape=(2, 3)), value("y", shape=(3,))]
    feeds = [{"c": np.array(c), "x": np.arange(6, dtype=np.float32).reshape(2, 3), "y": np.ones(3, np.float32)} for c in (True, False)]
    for yes, no, opset in ((branch("y", "y"), branch("y"), 11), (branch("y"), empty, 12), (empty, branch("y"), 11), (split, branch("y"), 11)):
        nodes = [h.make_node("If", ["c"], ["s"], then_branch=yes, else_branch=no), h.make_node("SequenceLength", ["s"], ["z"])]
        agree(model(nodes, inputs, [ints("z")]), feeds, (opset,))
        agree(model(nodes, inputs, [sequence("s", None)]), feeds, (12,))
    nodes[0] = h.make_node("If", ["c"], ["s"], then_branch=branch("x"), else_branch=branch("y", "y"))
    assert "different rank" in convert(model(nodes, inputs, [ints("z")]), 12, fails=5)


def check_refused():
    """Elements whose rank is unknown or differs, and results whose elements differ in several dimensions."""
    body = loop([h.make_node("SequenceInsert", ["s", "x"], ["next"])], T.FLOAT)
    outer = [h.make_node("SequenceConstruct", ["y"], ["first"]), h.make_node("Loop", ["n", "", "first"], ["all"], body=body), h.make_node("SequenceLength", ["all"], ["z"])]
    source = model(outer, [value("x", shape=("k",)), value("y", shape=(2, 2)), ints("n")], [ints("z")])
    message = convert(source, 12, fails=5)
    assert "different rank" in message and "`--opset 13`" in message, message
    rows = [h.make_node("Unsqueeze", ["i", "zero"], ["end"]), h.make_node("Slice", ["x", "zero", "end"], ["part"]), h.make_node("Transpose", ["part"], ["turned"]),
            h.make_node("SequenceInsert", ["s", "turned"], ["next"])]
    outer = [h.make_node("SequenceEmpty", [], ["empty"]), h.make_node("Loop", ["n", "", "empty"], ["all"], body=loop(rows, T.FLOAT))]
    source = model(outer, [value("x", shape=("k", 4)), ints("n")], [sequence("all", None)], constants(zero=[0]))
    message = convert(source, 12, fails=5)
    assert "differ in several dimensions" in message and "`--opset 13`" in message, message


harness.main(globals())
