"""Tests what `aten2onnx convert` keeps, changes and rejects, with onnx's checker and ONNX Runtime.

    features.py PATH-OF-aten2onnx            runs all tests
    features.py --make OUT.onnx              writes the model that the fuzz test mutates
"""
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

import harness
from harness import convert, model, names, run, same, sequence, value, x


def everything():
    """A model with subgraphs that use outer values, functions, sparse and typed tensors, dead nodes and constants."""
    then = h.make_graph([h.make_node("Mul", ["y", "two"], ["t"], "twice")], "then", [], [value("t", shape=None)])
    other = h.make_graph([h.make_node("Unsqueeze", ["y", "zero"], ["u"]), h.make_node("Squeeze", ["u", "zero"], ["e"])], "else", [], [value("e", shape=None)])
    body = h.make_graph(
        [h.make_node("Identity", ["c"], ["c2"]), h.make_node("Add", ["s", "branch"], ["s2"]), h.make_node("ReduceSum", ["s2", "zero"], ["sum"], keepdims=0)],
        "body", [value("i", T.INT64, ()), value("c", T.BOOL, ()), value("s")], [value("c2", T.BOOL, ()), value("s2"), value("sum", shape=(3,))])
    scale = h.make_function("mine", "Scale", ["a"], ["b"], [
        onnx.NodeProto(op_type="Constant", output=["k"], attribute=[onnx.AttributeProto(name="value_float", type=onnx.AttributeProto.FLOAT, ref_attr_name="by")]),
        h.make_node("Mul", ["a", "k"], ["b"])], [h.make_opsetid("", 18)], attributes=["by"])
    sparse = h.make_sparse_tensor(h.make_tensor("sparse", T.FLOAT, [2], [1.5, -2.5]), h.make_tensor("i", T.INT64, [2], [0, 2]), [3])
    nodes = [
        h.make_node("Add", ["x", "typed"], ["a"], "first", doc_string="adds"),
        h.make_node("Scale", ["a"], ["b"], "call", domain="mine", by=3.0),
        h.make_node("Add", ["b", "sparse"], ["y"]),
        h.make_node("Constant", [], ["zero"], value=nh.from_array(np.array([0], np.int64))),
        h.make_node("ReduceMax", ["y"], ["top"], keepdims=0),
        h.make_node("Greater", ["top", "one"], ["large"]),
        h.make_node("If", ["large"], ["branch"], "choose", then_branch=then, else_branch=other),
        h.make_node("Loop", ["three", "", "x"], ["looped", "sums"], "repeat", body=body),
        h.make_node("Exp", ["x"], ["dead"], "dead"),
        h.make_node("LayerNormalization", ["looped", "typed"], ["z"], "norm"),
    ]
    weights = [h.make_tensor("typed", T.FLOAT, [3], [1, 2, 3]), nh.from_array(np.float32(1), "one"), nh.from_array(np.float32(2), "two"), nh.from_array(np.int64(3), "three"), nh.from_array(np.ones(5, np.float32), "unread")]
    made = model(nodes, [value("x")], [value("z"), value("sums", shape=(3, 3))], weights, functions=[scale], domains=[("mine", 1)], sparse_initializer=[sparse], doc_string="all of it")
    h.set_model_props(made, {"author": "somebody"})
    made.graph.node[0].metadata_props.add(key="origin", value="here")
    return made


def check_everything():
    source = everything()
    # Not every runtime supports sparse weights.
    runnable = onnx.ModelProto.FromString(source.SerializeToString())
    del runnable.graph.sparse_initializer[:]
    runnable.graph.initializer.append(nh.from_array(np.array([1.5, 0, -2.5], np.float32), "sparse"))
    for opset in (17, 13, 11, 9):
        made = convert(source, opset)
        same(runnable, made, {"x": x()})
        assert "dead" in names(made) and "first" in names(made), names(made)
        assert {"typed", "one", "unread", "sparse"} <= {t.name for t in made.graph.initializer}
        assert made.graph.doc_string == "all of it", made.graph.doc_string
        assert made.metadata_props[0].value == "somebody"
        first = next(n for n in made.graph.node if n.name == "first")
        assert first.doc_string == "adds", "what is said of a node that stays"
        assert made.ir_version < 10 and not first.metadata_props
    kept = convert(source, 18, "--ir", 10)
    assert kept.ir_version == 10 and kept.graph.node[0].metadata_props[0].value == "here", kept.graph.node[0]


def check_functions():
    double = h.make_function("mine", "Double", ["a"], ["b"], [h.make_node("Add", ["a", "a"], ["b"])], [h.make_opsetid("", 18)])
    norm = h.make_function("mine", "Norm", ["a", "s"], ["b"], [h.make_node("LayerNormalization", ["a", "s"], ["b"])], [h.make_opsetid("", 18)])
    nodes = [h.make_node("Double", ["x"], ["d"], "call", domain="mine"), h.make_node("Norm", ["d", "s"], ["y"], domain="mine")]
    source = model(nodes, [value("x")], [value("y")], [nh.from_array(np.ones(3, np.float32), "s")], domains=[("mine", 1)], functions=[double, norm], value_info=[value("d")])
    made = convert(source, 16)
    assert [f.name for f in made.functions] == ["Double"], "what stands is kept, the rest put where it is called"
    same(source, made, {"x": x()})
    flat = convert(source, 16, "--inline-functions")
    assert not flat.functions and all(n.domain == "" for n in flat.graph.node)
    same(source, flat, {"x": x()})


def check_custom_domains():
    nodes = [h.make_node("Gelu", ["x"], ["g"], "their", domain="com.microsoft"), h.make_node("Squeeze", ["g", "axes"], ["y"])]
    axes = nh.from_array(np.array([0], np.int64), "axes")
    source = model(nodes, [value("x", shape=(1, 3))], [value("y", shape=(3,))], [axes], domains=[("com.microsoft", 1)], value_info=[value("g", shape=(1, 3))])
    made = convert(source, 12)
    same(source, made, {"x": x(1)})
    assert {o.domain: o.version for o in made.opset_import} == {"": 12, "com.microsoft": 1}
    del source.graph.value_info[:]
    source.graph.node[1].op_type = "LayerNormalization"
    source.graph.initializer[0].CopyFrom(nh.from_array(np.ones(3, np.float32), "axes"))
    message = convert(source, 12, fails=5)
    assert "the type of its input `g` is unknown" in message and "value_info" in message, message


def check_external_data():
    weight = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    source = model([h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("ReduceSum", ["m"], ["y"], noop_with_empty_axes=0)], [value("x", shape=("n", 64))], [value("y", shape=(1, 1))], [nh.from_array(weight, "w")])
    outside = harness.SCRATCH / "outside.onnx"
    kept = onnx.ModelProto.FromString(source.SerializeToString())
    onnx.save(kept, outside, save_as_external_data=True, location="outside.bin", size_threshold=0)
    made = convert(outside, 11)
    stored = onnx.load(harness.SCRATCH / "out.onnx", load_external_data=False)
    assert stored.graph.initializer[0].data_location == T.EXTERNAL, "outside it was, outside it stays"
    same(source, made, {"x": x(2, 64)})
    inside = convert(outside, 11, "--external-data", "never")
    same(source, inside, {"x": x(2, 64)})
    for location, help_ in [("../outside.bin", "outside of the model's folder"), ("/etc/passwd", "outside of the model's folder"), ("gone.bin", "gone.bin")]:
        broken = onnx.load(outside, load_external_data=False)
        broken.graph.initializer[0].external_data[0].value = location
        (harness.SCRATCH / "broken.onnx").write_bytes(broken.SerializeToString())
        message = convert(harness.SCRATCH / "broken.onnx", 11, fails=3 if location == "gone.bin" else 4)
        assert help_ in message and "`w`" in message, message
    (harness.SCRATCH / "outside.bin").write_bytes(b"short")
    assert "bytes of `outside.bin`" in convert(outside, 11, fails=4)


def check_links():
    """With `link` the weights stay in their file, the .onnx or the one beside it."""
    weight = np.random.default_rng(1).standard_normal((3, 400)).astype(np.float32)
    source = model([h.make_node("MatMul", ["x", "w"], ["y"])], [value("x")], [value("y", shape=("n", 400))], [nh.from_array(weight, "w")])
    want = run(source, {"x": x()})[0]
    for name, location in (("in.onnx", "in.onnx"), ("beside.onnx", "beside.data")):
        path = harness.SCRATCH / name
        onnx.save(source, path, save_as_external_data=name != location, location=location, size_threshold=0)
        convert(path, 13, "--external-data", "link")
        made = harness.SCRATCH / "out.onnx"
        places = [e.value for w in onnx.load(made, load_external_data=False).graph.initializer for e in w.external_data if e.key == "location"]
        assert places == [location], places
        assert not made.with_name("out.onnx.data").exists() and made.stat().st_size < 1000
        np.testing.assert_allclose(ort.InferenceSession(str(made)).run(None, {"x": x()})[0], want, 1e-5)
    elsewhere = harness.SCRATCH / "elsewhere"
    elsewhere.mkdir()
    run_ = subprocess.run([harness.BINARY, "convert", harness.SCRATCH / "in.onnx", "-o", elsewhere / "out.onnx", "--external-data", "link"], capture_output=True, text=True)
    assert run_.returncode == 5 and "is not in the folder of the model" in run_.stderr, run_.stderr


def check_inputs_with_defaults():
    nodes, weights = [h.make_node("Add", ["x", "w"], ["y"])], [nh.from_array(np.ones(3, np.float32), "w")]
    source = model(nodes, [value("x"), value("w", shape=(3,))], [value("y")], weights)
    made = convert(source, 13)
    assert [i.name for i in made.graph.input] == ["x", "w"] and made.graph.initializer[0].name == "w"
    same(source, made, {"x": x()})
    same(source, made, {"x": x(), "w": np.full(3, 5, np.float32)})
    source.ir_version = 3
    source.opset_import[0].version = 9
    made = convert(source, 13)
    assert [i.name for i in made.graph.input] == ["x"], "before IR 4 every weight had to be listed"
    same(model(nodes, [value("x")], [value("y")], weights), made, {"x": x()})


def check_outputs():
    """Inputs and weights may be outputs, and two outputs may have the same value."""
    nodes = [h.make_node("Identity", ["x"], ["i"]), h.make_node("Dropout", ["x"], ["d"])]
    source = model(nodes, [value("x")], [value("x"), value("w", shape=(3,)), value("i"), value("d")], [nh.from_array(np.ones(3, np.float32), "w")])
    made = convert(source, 9)
    assert [o.name for o in made.graph.output] == ["x", "w", "i", "d"]
    same(source, made, {"x": x()})


def check_problems():
    nodes = [
        h.make_node("StringSplit", ["s"], ["parts", "counts"], "split", delimiter=" "),
        h.make_node("RegexFullMatch", ["s"], ["matches"], "regex", pattern="a+"),
        h.make_node("Relu", ["x"], ["y"]),
    ]
    source = model(nodes, [value("x"), value("s", T.STRING, ("n",))], [value("y"), value("matches", T.BOOL, ("n",)), value("counts", T.INT64, ("n",))], opset=20, ir=9)
    message = convert(source, 13, fails=5)
    for part in ("cannot be converted to opset 13", "`StringSplit` at 1 node", "first at `split`", "`RegexFullMatch`", "needs opset 20"):
        assert part in message, message
    broken = model([h.make_node("Relu", ["nowhere"], ["y"], "lost")], [value("x")], [value("y")])
    message = convert(broken, 13, fails=4)
    assert "`nowhere` is used before it is defined" in message and "node `lost` (Relu)" in message, message
    unknown = model([h.make_node("Frobnicate", ["x"], ["y"], "odd")], [value("x")], [value("y")])
    assert "no known opset has this operator" in convert(unknown, 13, fails=4)


def check_wrong_attributes():
    """An unknown attribute is an error in the model."""
    wrong = h.make_node("Gelu", ["x"], ["y"], aproximate="tanh")
    source = model([wrong], [value("x")], [value("y")], opset=20)
    message = convert(source, 13, fails=4)
    assert "`Gelu` has no attribute `aproximate` in version 20" in message and "it has: approximate" in message, message


def check_raising():
    nodes = [
        h.make_node("Squeeze", ["x"], ["s"], axes=[0]),
        h.make_node("Unsqueeze", ["s"], ["u"], axes=[0, 2]),
        h.make_node("Clip", ["u"], ["c"], min=-0.5, max=0.5),
        h.make_node("Softmax", ["c"], ["p"], axis=1),
        h.make_node("Pad", ["p"], ["q"], pads=[0, 0, 0, 1, 0, 1], value=0.25),
        h.make_node("Slice", ["q"], ["t"], starts=[0], ends=[4], axes=[1]),
        h.make_node("TopK", ["t"], ["v", "i"], k=2, axis=1),
        h.make_node("ReduceSum", ["v"], ["r"], axes=[0], keepdims=0),
        h.make_node("Split", ["r"], ["l", "m"], axis=0, split=[1, 1]),
        h.make_node("Dropout", ["l"], ["y"], ratio=0.3),
        h.make_node("Upsample", ["t", "scales"], ["big"], mode="nearest"),
    ]
    scales = nh.from_array(np.array([1, 2, 2], np.float32), "scales")
    outputs = [value("y", shape=None), value("m", shape=None), value("i", T.INT64, None), value("big", shape=None)]
    source = model(nodes, [value("x", shape=(1, 6))], outputs, [scales], opset=9, ir=4)
    for opset in (10, 11, 12, 13, 17, 18, 21, 26):
        same(source, convert(source, opset), {"x": x(1, 6)})
    source = model([h.make_node("OneHot", ["x", "d", "v"], ["y"], "hot")], [value("x", T.INT64, ("n",))], [value("y", shape=("n", 3))], [nh.from_array(np.int64(3), "d"), nh.from_array(np.array([0, 1], np.float32), "v")], opset=9, ir=4)
    message = convert(source, 13, fails=5)
    assert "`OneHot` of opset 9 cannot be upgraded to opset 11: negative indices count from the end" in message, message
    rule = harness.SCRATCH / "own.opmap"
    rule.write_text("raise OneHot from 11 (indices, depth, values, axis_i) = OneHot(indices, depth, values, axis_i = axis_i)\n")
    same(source, convert(source, 13, "--mappings", rule), {"x": np.array([0, 2])})


def check_raising_loops():
    """Loop 11 differs from Loop 1 in what it allows."""
    body = h.make_graph([h.make_node("Identity", ["c"], ["c2"]), h.make_node("ReduceSum", ["s"], ["r"], axes=[1], keepdims=0), h.make_node("Add", ["s", "x"], ["s2"])],
                        "body", [value("i", T.INT64, ()), value("c", T.BOOL, ()), value("s")], [value("c2", T.BOOL, ()), value("s2"), value("r", shape=("n",))])
    nodes = [h.make_node("Loop", ["count", "", "x"], ["y", "sums"], body=body)]
    source = model(nodes, [value("x")], [value("y"), value("sums", shape=("k", "n"))], [nh.from_array(np.int64(3), "count")], opset=9, ir=4)
    for opset in (10, 11, 13, 18, 26):
        same(source, convert(source, opset), {"x": x()})


def check_not_raised():
    """Calls whose meaning depends on what changed are refused; the same operators without it are not."""
    def pool(**attributes):
        return h.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2], **attributes)
    channels = [nh.from_array(np.ones(3, np.float32), name) for name in ("scale", "bias", "mean", "var")]
    norm = ["x", "scale", "bias", "mean", "var"]
    kernel = [nh.from_array(np.ones((3, 2, 3), np.float32), "w")]
    cases = [
        (9, 10, h.make_node("Dropout", ["x"], ["y", "mask"]), [], "`Dropout` of opset 7 cannot be upgraded to opset 10: the mask has another type"),
        (9, 14, h.make_node("BatchNormalization", norm, ["y", "", "", "m", "v"]), channels, "the meaning of its optional outputs changed"),
        (9, 11, h.make_node("ConvTranspose", ["x", "w"], ["y"], auto_pad="SAME_UPPER", strides=[2]), kernel, "the padding derived from the output shape is on the other side"),
        (10, 22, pool(ceil_mode=1), [], "windows that start in the padding are dropped"),
        (18, 21, h.make_node("GroupNormalization", ["x", "scale", "bias"], ["y"], num_groups=3), channels[:2], "scale and bias are per channel, not per group"),
    ]
    for opset, target, node, weights, reason in cases:
        outputs = [value(name, shape=None) for name in node.output if name]
        source = model([node], [value("x", shape=(1, 3, 5))], outputs, weights, opset=opset, ir=4)
        message = convert(source, target, fails=5)
        assert "cannot be upgraded" in message and reason in message, message
    source = model([pool(strides=[2])], [value("x", shape=(1, 3, 5))], [value("y", shape=None)], opset=10, ir=4)
    same(source, convert(source, 22), {"x": x(1, 15).reshape(1, 3, 5)})


def check_sequences():
    """Opsets 11 and 12 have sequences, but Identity, If and Loop do not support them."""
    lists = [x(1, n).reshape(n) for n in (2, 3, 1)]
    body = h.make_graph([h.make_node("Add", ["a", "a"], ["double"]), h.make_node("Shape", ["a"], ["size"])], "body",
                        [value("a", shape=("k",))], [value("double", shape=("k",)), value("size", T.INT64, (1,))])
    nodes = [h.make_node("SequenceMap", ["s"], ["doubles", "sizes"], body=body)]
    source = model(nodes, [sequence("s", ("k",))], [sequence("doubles", None), sequence("sizes", None, T.INT64)])
    for opset in (11, 12, 13):
        for given, made in zip(run(source, {"s": lists}), run(convert(source, opset), {"s": lists}), strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(given, made, strict=True)), made
    refused = convert(source, 9, fails=5)
    assert "sequences as inputs are not supported" in refused and "`--opset 11`" in refused, refused
    grown = h.make_graph([h.make_node("Unsqueeze", ["a", "zero"], ["row"])], "body", [value("a", shape=("k",))], [value("row", shape=("one", "k"))])
    source = model([h.make_node("SequenceMap", ["s"], ["rows"], body=grown)], [sequence("s", ("k",))], [sequence("rows", None)], [nh.from_array(np.array([0]), "zero")])
    assert "whose elements differ in shape" in convert(source, 11, fails=5)

    source = model([h.make_node("Identity", ["s"], ["t"])], [sequence("s", ("k",))], [sequence("t", ("k",))])
    made = run(convert(source, 11), {"s": lists})[0]
    assert all(np.array_equal(a, b) for a, b in zip(lists, made, strict=True)), made

    def branch(*items):
        return h.make_graph([h.make_node("SequenceConstruct", list(items), ["items"]), h.make_node("Neg", ["x"], ["n"])], "branch", [], [sequence("items", None), value("n")])
    nodes = [h.make_node("If", ["c"], ["s", "n"], then_branch=branch("x", "y"), else_branch=branch("y", "x")), h.make_node("SequenceAt", ["s", "one"], ["z"])]
    one = [nh.from_array(np.int64(1), "one")]
    source = model(nodes, [value("c", T.BOOL, ()), value("x"), value("y")], [value("z"), value("n")], one)
    for opset in (9, 11, 12, 13):
        for condition in (True, False):
            same(source, convert(source, opset), {"c": np.array(condition), "x": x(), "y": x() + 1})
    nodes[0] = h.make_node("If", ["c"], ["s", "n"], then_branch=branch("x", "y"), else_branch=branch("x", "y", "x"))
    source = model(nodes, [value("c", T.BOOL, ()), value("x"), value("y")], [value("z"), value("n")], one)
    for condition in (True, False):
        same(source, convert(source, 12), {"c": np.array(condition), "x": x(), "y": x() + 1})


def check_strings():
    """Up to opset 10 strings are only compared with constants, up to opset 18 with the help of Unique."""
    words = np.array([["b", "a", ""], ["\u00e9", "b", "c"]], np.object_)
    asked = nh.from_array(np.array(["b", "c", "b"], np.object_), "w")
    for inputs in (["x", "w"], ["w", "x"]):
        source = model([h.make_node("Equal", inputs, ["y"])], [value("x", T.STRING)], [value("y", T.BOOL)], [asked], opset=19, ir=9)
        for opset in (9, 10, 11, 18):
            same(source, convert(source, opset), {"x": words})
    source = model([h.make_node("Equal", ["x", "w"], ["y"])], [value("x", T.STRING), value("w", T.STRING)], [value("y", T.BOOL)], opset=19, ir=9)
    same(source, convert(source, 11), {"x": words, "w": words[::-1]})
    assert "only compare strings with a constant" in convert(source, 10, fails=5)


def check_bfloat16():
    """bfloat16: up to opset 15 branches and loops do not support it, and ONNX Runtime has few kernels for it on the CPU."""
    def halves(name, shape=("n", 3)):
        return value(name, T.BFLOAT16, shape)
    grown = h.make_graph([h.make_node("Add", ["a", "a"], ["b"]), h.make_node("Identity", ["go"], ["on"])], "body",
                         [value("i", T.INT64, ()), value("go", T.BOOL, ()), halves("a")], [value("on", T.BOOL, ()), halves("b")])
    yes, no = (h.make_graph([h.make_node(op, ["l"], [name])], name, [], [halves(name)]) for op, name in (("Neg", "yes"), ("Abs", "no")))
    nodes = [h.make_node("Loop", ["three", "", "x"], ["l"], body=grown), h.make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no)]
    source = model(nodes, [value("c", T.BOOL, ()), halves("x")], [halves("y")], [nh.from_array(np.int64(3), "three")], opset=16)
    halved = x().astype(ml_dtypes.bfloat16)
    made = convert(source, 13)
    for condition in (True, False):
        given, got = (run(m, {"c": np.array(condition), "x": halved}, True)[0].astype(np.float32) for m in (source, made))
        assert np.array_equal(given, got), (given, got)

    nodes = [h.make_node("MatMul", ["x", "w"], ["p"]), h.make_node("Add", ["p", "b"], ["q"]), h.make_node("Softmax", ["q"], ["s"]), h.make_node("Cast", ["s"], ["y"], to=T.FLOAT)]
    weights = [h.make_tensor(name, T.BFLOAT16, sizes, np.ones(sizes, np.float32).ravel()) for name, sizes in (("w", (3, 3)), ("b", (3,)))]
    source = model([h.make_node("Cast", ["f"], ["x"], to=T.BFLOAT16), *nodes], [value("f")], [value("y")], weights)
    assert [n.op_type for n in convert(source, 17).graph.node] == ["Cast", *[n.op_type for n in nodes]]
    made = convert(source, 18, "--target", "onnxruntime")
    np.testing.assert_allclose(run(made, {"f": x()})[0], run(source, {"f": x()}, True)[0], 1e-2)


def check_passes():
    """`-O1` simplifies the graph and keeps the names of inputs and outputs."""
    nodes = [
        h.make_node("Transpose", ["x"], ["t"], "there", perm=[1, 0]), h.make_node("Transpose", ["t"], ["u"], "back", perm=[1, 0]),
        h.make_node("Relu", ["u"], ["y"], "relu"), h.make_node("Relu", ["u"], ["z"], "again"), h.make_node("Identity", ["y"], ["same"]),
        h.make_node("Neg", ["x"], ["unread"]), h.make_node("MyOp", ["y"], ["own"], domain="mine"), h.make_node("Identity", ["x"], ["copy"]),
    ]
    outputs = [value(name) for name in ("y", "z", "same", "own", "copy", "x")]
    weights = [nh.from_array(np.ones(3, np.float32), "idle")]
    source = model(nodes, [value("x")], outputs, weights, domains=[("mine", 1)])
    as_is = convert(source, 13)
    assert len(as_is.graph.node) == len(nodes) and [w.name for w in as_is.graph.initializer] == ["idle"]
    made = convert(source, 13, "-O1")
    assert [n.op_type for n in made.graph.node].count("Transpose") == 0, made.graph.node
    assert not made.graph.initializer and not [n for n in made.graph.node if n.op_type == "Neg"]
    assert [o.name for o in made.graph.output] == [o.name for o in outputs]
    del source.graph.node[6], source.graph.output[3]
    same(source, convert(source, 13, "-O1"), {"x": x()})


def check_mappings():
    """Lowerings of mapping files replace the built-in ones."""
    rules = harness.SCRATCH / "mine.opmap"
    rules.write_text("lower Mish before 18 (X) = X * Tanh(Log(Exp(X) + 1))\nexample Mish(f32[3])\n")
    source = model([h.make_node("Mish", ["x"], ["y"])], [value("x")], [value("y")])
    built, own = (convert(source, 13, *options) for options in ((), ("--mappings", rules)))
    assert [n.op_type for n in own.graph.node] == ["Exp", "Add", "Log", "Tanh", "Mul"], own.graph.node
    assert [n.op_type for n in built.graph.node] != [n.op_type for n in own.graph.node]
    same(source, own, {"x": x()})


def check_sizes():
    """`--dim` makes sizes of inputs constant, and what follows from them."""
    source = model(
        [h.make_node("Shape", ["x"], ["s"]), h.make_node("ConstantOfShape", ["s"], ["z"]), h.make_node("Add", ["x", "z"], ["y"])],
        [value("x", shape=("batch", None, 3))], [value("y", shape=("batch", None, 3))], opset=18)
    made = convert(source, 18, "--dim", "batch=2", "--dim", "x:1=4", "-O1")
    sizes = [d.dim_value for d in made.graph.input[0].type.tensor_type.shape.dim]
    assert sizes == [2, 4, 3], sizes
    assert [d.dim_value for d in made.graph.output[0].type.tensor_type.shape.dim] == [2, 4, 3]
    assert not [n.op_type for n in made.graph.node if n.op_type == "Shape"]
    same(source, made, {"x": np.ones((2, 4, 3), np.float32)})
    assert "the inputs have `batch`" in convert(source, 18, "--dim", "n=2", fails=5)
    assert "the model has `x`" in convert(source, 18, "--dim", "y:0=2", fails=5)
    assert "has no axis 3" in convert(source, 18, "--dim", "x:3=2", fails=5)
    assert "is 3, not 4" in convert(source, 18, "--dim", "x:-1=4", fails=5)
    assert "two sizes are given for `x:0`" in convert(source, 18, "--dim", "batch=2", "--dim", "x:0=3", fails=5)
    assert "does not rename" in convert(source, 18, "--dim", "batch=b", fails=5)


def check_targets():
    source = model([h.make_node("LayerNormalization", ["x", "s"], ["y"])], [value("x")], [value("y")], [nh.from_array(np.ones(3, np.float32), "s")], opset=18)
    made = convert(source, 17, "--target", "tensorrt-8.5")
    assert "LayerNormalization" not in [n.op_type for n in made.graph.node]
    same(source, made, {"x": x()})
    assert "LayerNormalization" in [n.op_type for n in convert(source, 17, "--target", "tensorrt-8.6").graph.node]
    assert "does not support opset 18" in convert(source, 18, "--target", "tensorrt-8.4", fails=5)
    assert "does not support IR version 10" in convert(source, 17, "--target", "horizon", "--ir", 10, fails=5)
    assert "did you mean `tensorrt-8.6`" in convert(source, 17, "--target", "tensorrt-8.61", fails=2)
    unpool = model([h.make_node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2])], [value("x", shape=(1, 1, 2)), value("i", T.INT64, (1, 1, 2))], [value("y", shape=(1, 1, 4))], opset=13)
    assert "the runtime has no `MaxUnpool`" in convert(unpool, 13, "--target", "tensorrt-8.4", fails=5)


if sys.argv[1] == "--make":
    pathlib.Path(sys.argv[2]).write_bytes(everything().SerializeToString())
else:
    harness.main(globals())
