"""Tests `aten2onnx join`: joined models compute what they do in turn, and names stay except where they clash.

    join.py PATH-OF-aten2onnx [check_NAME ..]
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from harness import ROOT, SCRATCH, checked, command, identical, main, model, names, run, same, saved, session, value
from parts import everything, feeds_of

RNG = np.random.default_rng(0)
OUT = SCRATCH / "joined.onnx"
X = RNG.standard_normal((2, 3)).astype(np.float32)


def join(*arguments, fails=0):
    OUT.unlink(missing_ok=True)
    said = command("join", *arguments, "-o", OUT, fails=fails)
    if fails:
        assert not OUT.exists(), "a failure left a file behind"
        return said
    return checked(OUT), said


def sizes(value):
    return [dim.dim_param or (dim.dim_value if dim.HasField("dim_value") else None) for dim in value.type.tensor_type.shape.dim]


def test_model(by, shape=("n", 3), **more):
    """x * by + 1, with names that others have, too."""
    nodes = [h.make_node("Mul", ["x", "w"], ["m"], "mul"), h.make_node("Add", ["m", "one"], ["y"], "add")]
    return model(nodes, [value("x", shape=shape)], [value("y", shape=shape)], [nh.from_array(np.float32(by), "w"), nh.from_array(np.float32(1), "one")], **more)


def check_a_chain_of_models_with_the_same_names():
    a, b = saved(test_model(2), "a.onnx"), saved(test_model(3), "b.onnx")
    made, _ = join(a, b, "--wire", "a:y=b:x")
    assert names(made.graph.input) == ["x"] and names(made.graph.output) == ["b/y"], made.graph
    assert [node.name for node in made.graph.node] == ["mul", "add", "b/mul", "b/add"]
    assert sizes(made.graph.output[0]) == ["n", 3], "the size of the input is that of the output that it is wired to"
    identical("y", run(OUT, {"x": X})["b/y"], (X * 2 + 1) * np.float32(3) + 1)
    made, _ = join(a, b, a, "--wire", "a:y=b:x", "--wire", "b:y=a_2:x", "--keep", "y")
    assert names(made.graph.output) == ["y", "a_2/y"]
    found = run(OUT, {"x": X})
    identical("y", found["y"], X * 2 + 1)
    identical("z", found["a_2/y"], ((X * 2 + 1) * np.float32(3) + 1) * 2 + 1)
    # The order of files does not matter.
    made, _ = join(b, a, "--wire", "a:y=b:x")
    assert names(made.graph.input) == ["x"] and names(made.graph.output) == ["y"], "no value of the result has the name of a wired input"
    identical("y", run(OUT, {"x": X})["y"], (X * 2 + 1) * np.float32(3) + 1)


def check_models_side_by_side():
    a, b = saved(test_model(2), "a.onnx"), saved(test_model(3), "b.onnx")
    made, _ = join(a, b)
    assert names(made.graph.input) == ["x", "b/x"] and names(made.graph.output) == ["y", "b/y"]
    assert sizes(made.graph.input[0]) == ["n", 3] and sizes(made.graph.input[1]) == ["b_n", 3], "sizes of two models are two sizes"
    found = run(OUT, {"x": X, "b/x": X[:1]})
    identical("y", found["y"], X * 2 + 1)
    identical("b", found["b/y"], X[:1] * 3 + 1)
    other = model([h.make_node("Neg", ["u"], ["v"])], [value("u", shape=("k", 3))], [value("v", shape=("k", 3))])
    made, _ = join(a, saved(other, "other.onnx"))
    assert names(made.graph.input) == ["x", "u"] and sizes(made.graph.input[1]) == ["k", 3], "nothing clashes, nothing is renamed"


def check_inputs_that_models_share():
    a, b = saved(test_model(2), "a.onnx"), saved(test_model(3), "b.onnx")
    made, _ = join(a, b, "--share", "x")
    assert names(made.graph.input) == ["x"] and names(made.graph.output) == ["y", "b/y"]
    assert sizes(made.graph.output[1]) == ["n", 3], "the size is one, too"
    found = run(OUT, {"x": X})
    identical("y", found["y"], X * 2 + 1)
    identical("b", found["b/y"], X * 3 + 1)
    # One of three gets its input from a wire.
    made, _ = join(a, b, a, "--wire", "b:y=a_2:x", "--share", "x")
    assert names(made.graph.input) == ["x"] and names(made.graph.output) == ["y", "a_2/y"]
    identical("z", run(OUT, {"x": X})["a_2/y"], (X * 3 + 1) * 2 + 1)
    other = saved(model([h.make_node("Neg", ["x"], ["v"])], [value("x", T.INT64)], [value("v", T.INT64)]), "ints.onnx")
    assert "int64" in join(a, other, "--share", "x", fails=5)
    assert "no model has it as an input" in join(a, b, "--share", "w", fails=5)
    assert "only `a` has it" in join(a, b, "--share", "x", "--wire", "a:y=b:x", fails=5)


def check_equal_constants_once():
    """As parts of one model have them: those of other elements, and inputs with defaults, stay apart."""
    one, two = test_model(2), test_model(2)
    two.graph.initializer[1].CopyFrom(nh.from_array(np.float32(5), "one"))
    for made in (one, two):
        made.graph.node.insert(0, h.make_node("Constant", [], ["k"], value=nh.from_array(np.float32(3))))
        made.graph.node.insert(1, h.make_node("Mul", ["k", "w"], ["kw"], "six"))
        made.graph.node.insert(2, h.make_node("Mul", ["k", "one"], ["ko"], "of one"))
        made.graph.node.append(h.make_node("Sum", ["y", "kw", "ko"], ["s"], "sum"))
        made.graph.output[0].CopyFrom(value("s"))
    made, _ = join(saved(one, "a.onnx"), saved(two, "b.onnx"), "--wire", "a:s=b:x")
    assert sorted(names(made.graph.initializer)) == ["b/one", "one", "w"]
    assert [node.name for node in made.graph.node if node.op_type == "Mul"] == ["six", "of one", "mul", "b/of one", "b/mul"], made.graph.node
    assert len([node for node in made.graph.node if node.op_type == "Constant"]) == 1
    identical("s", run(OUT, {"x": X})["b/s"], run(saved(two, "b.onnx"), {"x": run(saved(one, "a.onnx"), {"x": X})["s"]})["s"])
    two.graph.node[0].attribute[0].t.CopyFrom(nh.from_array(np.float32(4)))
    made, _ = join(saved(one, "a.onnx"), saved(two, "b.onnx"), "--share", "x")
    assert len([node for node in made.graph.node if node.op_type == "Constant"]) == 2, "another constant of the same name"
    identical("s", run(OUT, {"x": X})["b/s"], run(SCRATCH / "b.onnx", {"x": X})["s"])
    # Large weights are compared where they are stored.
    large = RNG.standard_normal((3, 2000)).astype(np.float32)
    wide = lambda by: model([h.make_node("MatMul", ["x", "big"], ["y"])], [value("x")], [value("y", shape=("n", 2000))], [nh.from_array(large * np.float32(by), "big")])
    made, _ = join(saved(wide(1), "a.onnx"), saved(wide(1), "b.onnx"), "--share", "x")
    assert names(made.graph.initializer) == ["big"]
    made, _ = join(saved(wide(1), "a.onnx"), saved(wide(2), "b.onnx"), "--share", "x")
    assert names(made.graph.initializer) == ["big", "b/big"]
    identical("y", run(OUT, {"x": X})["b/y"], run(SCRATCH / "b.onnx", {"x": X})["y"])
    # A default is replaced in each model alone; random numbers are drawn in each.
    default = test_model(2)
    default.graph.input.append(value("w", shape=()))
    made, _ = join(saved(default, "a.onnx"), saved(default, "b.onnx"), "--share", "x")
    assert names(made.graph.input) == ["x", "w", "b/w"]
    noise = model([h.make_node("RandomNormal", [], ["r"], shape=[2, 3]), h.make_node("Add", ["x", "r"], ["y"])], [value("x")], [value("y")])
    made, _ = join(saved(noise, "a.onnx"), saved(noise, "b.onnx"), "--share", "x")
    assert [node.op_type for node in made.graph.node].count("RandomNormal") == 2


def check_bodies_and_functions():
    first = saved(everything(), "first.onnx")
    changed = everything()
    changed.functions[0].node[0].op_type = "Abs"
    second = saved(changed, "second.onnx")
    feeds = {"x": X}
    one, two = run(first, feeds), run(second, feeds)
    made, _ = join(first, second)
    # Inner differs, and so Scale, which calls it, does.
    assert {f.name for f in made.functions} == {"Inner", "Scale", "Unused", "Inner_second", "Scale_second"}, [f.name for f in made.functions]
    found = run(OUT, {"x": X, "second/x": X})
    for name in one:
        identical(name, found[name], one[name])
        identical(name, found[f"second/{name}"], two[name])
    made, _ = join(first, first, "--wire", "first:z=first_2:x")
    assert {f.name for f in made.functions} == {"Inner", "Scale", "Unused"}, "equal functions once"
    again = run(first, {"x": one["z"]})
    found = run(OUT, feeds)
    for name in again:
        identical(name, found[f"first_2/{name}"], again[name])


def check_parts_joined_again_are_the_whole():
    for name in ("resnet", "vit", "gpt2"):
        path = ROOT / f"tests/data/convert/{name}.onnx"
        feeds = feeds_of(path)
        command("split", path, "--parts", 3, "-o", SCRATCH)
        wiring = json.loads((SCRATCH / f"{name}.json").read_text())
        files = [part["file"] for part in wiring["parts"]]
        if len(wiring["wires"]) == 0:
            continue
        wires = [f"--wire={wire['from'][:-5]}:{wire['value']}={to[:-5]}:{wire['value']}" for wire in wiring["wires"] for to in wire["to"]]
        keep = [f"--keep={name}" for name in wiring["outputs"] if any(wire["value"] == name for wire in wiring["wires"])]
        made, _ = join(*[SCRATCH / file for file in files], *wires, *keep)
        whole = onnx.load(path)
        count = lambda loaded: sorted(node.op_type for node in loaded.graph.node if node.op_type != "Constant")
        assert count(made) == count(whole), "the same nodes"
        given = {node.name: feeds[node.name.split("/", 1)[-1] if node.name not in feeds else node.name] for node in session(OUT).get_inputs()}
        found = run(OUT, given)
        for output, expected in run(path, feeds).items():
            identical(output, found[output], expected)


def check_opsets_and_ir_versions():
    old = model([h.make_node("Squeeze", ["x"], ["y"], axes=[0])], [value("x", shape=(1, "n", 3))], [value("y")], opset=9, ir=3)
    new = model([h.make_node("Gelu", ["x"], ["z"])], [value("x")], [value("z")], opset=20, ir=9)
    made, said = join(saved(old, "old.onnx"), saved(new, "new.onnx"), "--wire", "y=new:x")
    assert made.opset_import[0].version == 20 and made.ir_version == 9 and "converted from opset 9 to 20" in said, said
    found = run(OUT, {"x": X[None]})["z"]
    identical("z", found, run(SCRATCH / "new.onnx", {"x": X})["z"])
    made, _ = join(saved(old, "old.onnx"), saved(new, "new.onnx"), "--wire", "y=new:x", "--opset", 13)
    assert made.opset_import[0].version == 13
    np.testing.assert_allclose(run(OUT, {"x": X[None]})["z"], found, 1e-5, 1e-6)
    # Weights of IR 3 are inputs as well; those of newer models are not.
    third = test_model(2, opset=18, ir=3)
    third.graph.input.extend([value("w", shape=()), value("one", shape=())])
    made, _ = join(saved(third, "third.onnx"), saved(test_model(3), "b.onnx"), "--wire", "third:y=b:x")
    assert names(made.graph.input) == ["x"], names(made.graph.input)


def check_texts():
    a, b = test_model(2), test_model(3)
    h.set_model_props(a, {"author": "me", "stride": "8"})
    h.set_model_props(b, {"author": "me", "stride": "16", "more": "1"})
    a.doc_string, b.doc_string = "first", "second"
    made, _ = join(saved(a, "a.onnx"), saved(b, "b.onnx"), "--wire", "a:y=b:x", "--metadata", "new=2")
    assert {p.key: p.value for p in made.metadata_props} == {"author": "me", "stride": "8", "stride.b": "16", "more": "1", "new": "2"}
    assert made.doc_string == "a: first\nb: second"


def check_sizes_of_wires():
    a = saved(test_model(2, shape=("n", 3)), "a.onnx")
    fixed = saved(test_model(3, shape=(2, 3)), "fixed.onnx")
    made, said = join(a, fixed, "--wire", "a:y=fixed:x")
    assert "has to be 2" in said, said
    made, _ = join(fixed, a, "--wire", "fixed:y=a:x")
    assert sizes(made.graph.output[0]) == [2, 3]
    default = test_model(2)
    default.graph.initializer.append(nh.from_array(X, "x"))
    made, _ = join(fixed, saved(default, "default.onnx"), "--wire", "fixed:y=default:x")
    assert names(made.graph.input) == ["x"] and not any(t.name == "x" for t in made.graph.initializer), "a default of a wired input is never used"


def check_misuse():
    a, b = saved(test_model(2), "a.onnx"), saved(test_model(3), "b.onnx")
    half = test_model(3)
    half.graph.input[0].type.tensor_type.elem_type = half.graph.output[0].type.tensor_type.elem_type = T.FLOAT16
    for t in half.graph.initializer:
        t.CopyFrom(nh.from_array(nh.to_array(t).astype(np.float16), t.name))
    h_ = saved(half, "h.onnx")
    other = model([h.make_node("F", ["u"], ["v"], domain="their")], [value("u")], [value("v")], domains=[("their", 1)])
    newer = model([h.make_node("F", ["q"], ["r"], domain="their")], [value("q")], [value("r")], domains=[("their", 2)])
    for arguments, said in [
        ((a, b, "--wire", "y=x"), "several models have an output `y`"),
        ((a, b, "--wire", "z=b:x"), "no model has an output `z`"),
        ((a, b, "--wire", "a:y=b:z"), "no model has an input `b:z`"),
        ((a, b, "--wire", "a:y=a:x"), "connects a model with itself"),
        ((a, b, a, "--wire", "a:y=b:x", "--wire", "a_2:y=b:x"), "is wired twice"),
        ((a, h_, "--wire", "a:y=h:x"), "the output is float32, but the input is float16"),
        ((a, saved(test_model(1, shape=("n", 3, 1)), "r.onnx"), "--wire", "a:y=r:x"), "2 dimensions, but the input 3"),
        ((a, saved(test_model(1, shape=("n", 4)), "s.onnx"), "--wire", "a:y=s:x"), "axis 1 of the output is 3"),
        ((a, b, "--wire", "a:y=b:x", "--wire", "b:y=a:x"), "circle"),
        ((a, b, "--wire", "a:y=b:x", "--keep", "q"), "no model has an output `q` to keep"),
        ((saved(other, "o.onnx"), saved(newer, "n.onnx")), "version 1 of the domain `their`"),
    ]:
        message = join(*arguments, fails=5)
        assert said in message, message
    join(a, fails=2)
    join(a, b, "--wire", "y", fails=2)
    join(a, ROOT / "README.md", fails=4)


if __name__ == "__main__":
    main(globals())
