"""Tests `aten2onnx edit`: what changes, what stays, and that a model computes what it did.

    edit.py PATH-OF-aten2onnx [check_NAME ..]
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from harness import ROOT, SCRATCH, checked, command, identical, main, model, names, run, same, saved, session, value
from parts import everything

RNG = np.random.default_rng(0)
OUT = SCRATCH / "edited.onnx"
X = RNG.standard_normal((2, 3)).astype(np.float32)


def edit(source, *options, fails=0):
    path = source if isinstance(source, pathlib.Path) else saved(source)
    OUT.unlink(missing_ok=True)
    said = command("edit", path, "-o", OUT, *options, fails=fails)
    if fails:
        assert not OUT.exists(), "a failure left a file behind"
        return said
    return checked(OUT), said


def sizes(value):
    return [dim.dim_param or (dim.dim_value if dim.HasField("dim_value") else None) for dim in value.type.tensor_type.shape.dim]


def check_names():
    path = saved(everything())
    whole = run(path, {"x": X})
    made, _ = edit(path, "--input-name", "image", "--output-name", "z=scores", "--output-name", "sums=totals")
    assert names(made.graph.input) == ["image"] and names(made.graph.output) == ["scores", "totals"]
    found = run(OUT, {"image": X})
    same({"z": found["scores"], "sums": found["totals"]}, whole)
    # An input that bodies read, and two names that change places.
    swapped = model([h.make_node("If", ["c"], ["y"], then_branch=h.make_graph([h.make_node("Sub", ["a", "b"], ["t"])], "t", [], [value("t", shape=None)]), else_branch=h.make_graph([h.make_node("Sub", ["b", "a"], ["e"])], "e", [], [value("e", shape=None)]))],
                    [value("c", T.BOOL, ()), value("a"), value("b")], [value("y")])
    made, _ = edit(swapped, "--input-name", "a=b", "--input-name", "b=a")
    assert names(made.graph.input) == ["c", "b", "a"]
    feeds = {"c": np.array(True), "a": X, "b": X + 1}
    identical("y", run(OUT, feeds)["y"], (X + 1) - X)
    # All else stays.
    made, _ = edit(path)
    assert made == onnx.load(path)


def check_fixed_and_renamed_dimensions():
    source = model([h.make_node("Concat", ["x", "x"], ["c"], axis=0), h.make_node("Relu", ["c"], ["y"])], [value("x")], [value("y", shape=("2*n", 3))], value_info=[value("c", shape=("2*n", 3))])
    made, _ = edit(source, "--dim", "n=4")
    assert sizes(made.graph.input[0]) == [4, 3] and sizes(made.graph.output[0]) == [None, 3]
    made, _ = edit(source, "--dim", "n=batch")
    assert sizes(made.graph.input[0]) == ["batch", 3] and sizes(made.graph.output[0]) == ["2*batch", 3] == sizes(made.graph.value_info[0])
    made, _ = edit(source, "--dim", "x:-2=batch")
    assert sizes(made.graph.input[0]) == ["batch", 3]
    made, _ = edit(source, "--dim", "x:0=4")
    assert sizes(made.graph.input[0]) == [4, 3]
    unnamed = model([h.make_node("Relu", ["x"], ["y"])], [value("x", shape=(None, 3))], [value("y", shape=(None, 3))])
    made, _ = edit(unnamed, "--dim", "x:0=batch")
    assert sizes(made.graph.input[0]) == ["batch", 3]


def check_freed_dimensions():
    """A file of a constant batch, with every kind of Reshape that holds it."""
    shape = lambda name, *sizes: nh.from_array(np.array(sizes, np.int64), name)
    nodes = [
        h.make_node("Reshape", ["x", "flat"], ["a"], "flatten"),                 # [1, 12]
        h.make_node("MatMul", ["a", "w"], ["b"]),                                # [1, 12]
        h.make_node("Constant", [], ["heads"], value=nh.from_array(np.array([1, 3, 2, 2], np.int64))),
        h.make_node("Reshape", ["b", "heads"], ["c"], "heads"),                  # [1, 3, 2, 2]
        h.make_node("Reshape", ["c", "folded"], ["d"], "fold"),                  # [3, 2, 2]
        h.make_node("Softmax", ["d"], ["e"], axis=-1),
        h.make_node("Reshape", ["e", "back"], ["f"], "back"),                    # [1, 3, -1]
        h.make_node("Add", ["f", "one"], ["y"]),
    ]
    weights = [shape("flat", 1, -1), shape("folded", 3, 2, 2), shape("back", 1, 3, -1), nh.from_array(RNG.standard_normal((12, 12)).astype(np.float32), "w"), nh.from_array(np.float32(1), "one")]
    source = model(nodes, [value("x", shape=(1, 4, 3))], [value("y", shape=(1, 3, 4))], weights, value_info=[value("c", shape=(1, 3, 2, 2))])
    path = saved(source, "fixed.onnx")
    made, said = edit(path, "--dim", "x:0=batch")
    for node in ("flatten", "heads", "fold", "back"):
        assert f"`{node}` (Reshape)" in said, said
    assert sizes(made.graph.input[0]) == ["batch", 4, 3] and sizes(made.graph.output[0])[1:] == [3, 4], sizes(made.graph.output[0])
    x = RNG.standard_normal((5, 4, 3)).astype(np.float32)
    whole = run(OUT, {"x": x})["y"]
    for row in range(5):
        identical(row, whole[row : row + 1], run(path, {"x": x[row : row + 1]})["y"])
    # Back to a number: the same model again.
    command("edit", OUT, "-o", SCRATCH / "again.onnx", "--dim", "batch=1")
    same(run(SCRATCH / "again.onnx", {"x": x[:1]}), run(path, {"x": x[:1]}))
    # The batch is not the first dimension: nothing follows.
    moved = model([h.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]), h.make_node("Reshape", ["t", "to"], ["y"], "held")], [value("x", shape=(2, 4, 3))], [value("y", shape=(8, 3))], [shape("to", 8, 3)])
    message = edit(moved, "--dim", "x:0=batch", fails=5)
    assert "`held` (Reshape) reshapes to [8, 3]" in message, message
    added = model([h.make_node("Add", ["x", "w"], ["y"], "add")], [value("x", shape=(2, 3))], [value("y", shape=(2, 3))], [nh.from_array(np.ones((2, 3), np.float32), "w")])
    made, _ = edit(added, "--dim", "x:1=n")


def check_dropped_outputs():
    path = saved(everything())
    made, _ = edit(path, "--drop-output", "z")
    assert names(made.graph.output) == ["sums"] and not any("z" in node.output or "dead" in node.output for node in made.graph.node)
    identical("sums", run(OUT, {"x": X})["sums"], run(path, {"x": X})["sums"])
    two = model([h.make_node("Relu", ["x"], ["y"]), h.make_node("Mul", ["x", "w"], ["z"]), h.make_node("F", ["z"], ["q"], domain="mine")], [value("x")], [value("y"), value("q")], [nh.from_array(np.ones(3, np.float32), "w")],
                functions=[h.make_function("mine", "F", ["a"], ["b"], [h.make_node("Abs", ["a"], ["b"])], [h.make_opsetid("", 18)])], domains=[("mine", 1)])
    made, _ = edit(two, "--drop-output", "q")
    assert len(made.graph.node) == 1 and not made.graph.initializer and not made.functions


def check_types():
    source = model([h.make_node("Mul", ["x", "x"], ["y"]), h.make_node("Neg", ["y"], ["z"])], [value("x")], [value("y"), value("z")])
    made, _ = edit(source, "--input-type", "x=uint8", "--output-type", "y=f16", "--output-type", "z=float32")
    assert made.graph.input[0].type.tensor_type.elem_type == T.UINT8 and made.graph.output[0].type.tensor_type.elem_type == T.FLOAT16
    assert [node.op_type for node in made.graph.node] == ["Cast", "Mul", "Neg", "Cast"], "a dtype that is the same needs no cast"
    found = run(OUT, {"x": np.array([[1, 2, 3]], np.uint8)})
    identical("y", found["y"], np.array([[1, 4, 9]], np.float16))
    identical("z", found["z"], -np.array([[1, 4, 9]], np.float32))
    made, _ = edit(everything(), "--input-type", "x=f64", "--output-type", "z=f64")
    whole = run(saved(everything()), {"x": X})
    found = run(OUT, {"x": X.astype(np.float64)})
    same(found, {"z": whole["z"].astype(np.float64), "sums": whole["sums"]})


def check_weights_and_inputs():
    path = saved(everything())
    whole = run(path, {"x": X})
    w = np.array([1, 2, 3], np.float32)
    made, _ = edit(path, "--to-input", "w")
    assert names(made.graph.input) == ["x", "w"] and sizes(made.graph.input[1]) == [3] and "w" not in names(made.graph.initializer)
    same(run(OUT, {"x": X, "w": w}), whole)
    exposed = SCRATCH / "exposed.onnx"
    command("edit", path, "-o", exposed, "--to-input", "w", "--keep-defaults")
    same(run(exposed, {"x": X}), whole)
    made, _ = edit(exposed, "--to-weight", "w")
    assert names(made.graph.input) == ["x"]
    same(run(OUT, {"x": X}), whole)
    command("edit", path, "-o", exposed, "--to-input", "w")
    made, _ = edit(exposed, "--to-weight", "w=1,2,3")
    same(run(OUT, {"x": X}), whole)
    flags = model([h.make_node("Where", ["c", "x", "i"], ["y"])], [value("c", T.BOOL, ("b",)), value("x", T.INT64, (3,)), value("i", T.INT64, (3,))], [value("y", T.INT64, (3,))])
    command("edit", saved(flags), "-o", exposed, "--dim", "b=1")
    made, _ = edit(exposed, "--to-weight", "c=true", "--to-weight", "i=-1")
    identical("y", run(OUT, {"x": np.arange(3)})["y"], np.arange(3))
    assert "1.5 is no int64" in edit(exposed, "--to-weight", "i=1.5", fails=5)
    assert "3 elements, but 2 are given" in edit(exposed, "--to-weight", "i=1,2", fails=5)
    assert "sizes are not all known" in edit(flags, "--to-weight", "c=1", fails=5)
    assert "has no default" in edit(path, "--to-weight", "x", fails=5)


def check_strip_sort_and_deduplicate():
    source = everything()
    source.graph.node[0].doc_string = "adds"
    source.graph.node[6].attribute[0].g.node[0].doc_string = "inside"
    path = saved(source)
    whole = run(path, {"x": X})
    made, _ = edit(path, "--strip", "docs,names,metadata,types")
    text = str(made)
    assert "doc_string" not in text and "author" not in text and "net.first" not in text and "inside" not in text
    assert names(made.graph.input) == ["x"] and "w" in names(made.graph.initializer) and made.graph.node[0].output == ["v0"]
    same(run(OUT, {"x": X}), whole)
    shuffled = onnx.ModelProto.FromString(source.SerializeToString())
    del shuffled.graph.node[:]
    shuffled.graph.node.extend(reversed(source.graph.node))
    body = next(a.g for n in shuffled.graph.node for a in n.attribute if a.name == "body")
    inner = list(body.node)
    del body.node[:]
    body.node.extend(reversed(inner))
    made, _ = edit(shuffled, "--sort")
    same(run(OUT, {"x": X}), whole)
    large = RNG.standard_normal((16, 32)).astype(np.float32)
    twice = [nh.from_array(large, "a"), nh.from_array(large, "b"), nh.from_array(large.reshape(32, 16), "c"), nh.from_array(np.float32(2), "s"), nh.from_array(np.float32(2), "t"), nh.from_array(np.int32(2), "u"), nh.from_array(large, "exposed")]
    doubled = model([h.make_node("Mul", ["a", "s"], ["p"]), h.make_node("Mul", ["b", "t"], ["q"]), h.make_node("Add", ["p", "q"], ["r"]), h.make_node("Add", ["r", "exposed"], ["y"])], [value("exposed", shape=(16, 32))], [value("y", shape=(16, 32))], twice)
    path = saved(doubled, "doubled.onnx")
    whole = run(path, {})
    for place in ("auto", "link", "always"):
        made, said = edit(path, "--deduplicate", "--external-data", place)
        assert sorted(names(made.graph.initializer)) == ["a", "c", "exposed", "s", "u"], names(made.graph.initializer)
        assert "2 weights were equal" in said and "2048 bytes" in said, said
        same(run(OUT, {}), whole)


def check_metadata():
    source = everything()
    made, _ = edit(source, "--drop-metadata", "author", "--metadata", "stride=8", "--value-doc", "z=last")
    assert {p.key: p.value for p in made.metadata_props} == {"stride": "8"} and made.graph.output[0].doc_string == "last"
    assert "no entry of metadata `autor`" in edit(source, "--drop-metadata", "autor", fails=5)


def check_misuse():
    source = everything()
    for options, said in [
        (("--input-name", "y=image"), "no input `y`"),
        (("--input-name", "a", "--input-name", "b"), "only 1 of its inputs"),
        (("--input-name", "x=y"), "two values would have the name `y`"),
        (("--input-name", "x=t"), "two values would have the name `t`"),
        (("--output-name", "z=sums"), "two values would have the name `sums`"),
        (("--output-name", "a", "--output-name", "z=b"), "two names are given for `z`"),
        (("--dim", "m=1"), "no dimension `m`"),
        (("--dim", "x:2=1"), "no axis 2"),
        (("--dim", "w:0=1"), "no input `w`"),
        (("--dim", "x:1=4"), "is 3, another number"),
        (("--drop-output", "y"), "no output `y`"),
        (("--drop-output", "z", "--drop-output", "sums"), "no output of the model would be left"),
        (("--input-type", "z=f16"), "no input `z`"),
        (("--output-type", "z=uint4"), "opset 18 cannot cast uint4"),
        (("--to-input", "a"), "no weight `a`"),
    ]:
        message = edit(source, *options, fails=5)
        assert said in message, message
    edit(source, "--dim", "x", fails=2)
    edit(source, "--strip", "all", fails=2)
    old = model([h.make_node("Neg", ["x"], ["y"])], [value("x")], [value("y")], opset=9, ir=4)
    assert "opset 9 cannot cast bfloat16" in edit(old, "--output-type", "y=bf16", fails=5)
    same_value = model([h.make_node("Neg", ["x"], ["y"])], [value("x")], [value("y"), value("x")])
    assert "an input and an output at once" in edit(same_value, "--input-type", "x=f16", fails=5)


def check_weights_beside_the_model():
    """All edits of a model of 2 GB of zeros take no memory for them."""
    made = model([h.make_node("MatMul", ["x", "w"], ["y"])], [value("x", shape=("n", 16384))], [value("y", shape=("n", 32768))])
    with (SCRATCH / "w.bin").open("wb") as file:
        file.truncate(2 << 30)
    weight = onnx.TensorProto(name="w", dims=[16384, 32768], data_type=T.FLOAT, data_location=T.EXTERNAL)
    weight.external_data.add(key="location", value="w.bin")
    made.graph.initializer.append(weight)
    edited, said = edit(made, "--external-data", "link", "--dim", "n=1", "--input-name", "image", "--input-type", "x=f16", "--strip", "names")
    assert "2.1 GB of them linked" in said and names(edited.graph.input) == ["image"], said


if __name__ == "__main__":
    main(globals())
